; machine: vm7
; Tables of steps.
.program
        .linear words, 8                ; Lines that are wrong.
        .pointer p = c4 by 16
        .pointer a = c4 by table 64
        .pointer b = c4 by table 64 by 8
        .pointer c = c4 by table nowhere round 64
        .pointer d = c4 by table c5 round 64
        .pointer e = c4 by table 64 round 64 round 8 round 8
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear odd, 8
        .pointer p = c4 by table 4 round 64
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear extent, 8
        .pointer p = c4 by table 64 round 12
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear none, 8
        .pointer p = c4 by table 64 round 0
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear many, 8                 ; Eight registers go round tables.
        .pointer p[9] = c4 by table 64 round 64
        .rept 9, i
        ldq x[i], [p[i]]
        stq x[i], [p[i] + 64]
        .endr
        .endlinear
        stop
