; machine: vm7
; Pointers that are apart.
.program
        .linear words, 8                ; Lines that are wrong.
        .pointer p = c4 by 16
        .apart p,
        .apart 3
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear names, 8                ; No pointer has the name.
        .pointer p = c4 by 16
        .pointer out = c5 by 16
        .apart p, oout
        ldq x, [p]
        stq x, [out]
        .endlinear
        .linear quad, 8                 ; A quad is no address.
        .pointer p = c4 by 16
        .apart p, x
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear earlier, 8
        .pointer p = c4 by 16
        .before n@1 = c5
        .apart p, n@1
        addi n, n@1, 8
        ldq x, [n]
        stq x, [p]
        .endlinear
        stop
