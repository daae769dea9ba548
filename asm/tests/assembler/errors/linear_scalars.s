; machine: vm7
; Scalar values in linear blocks.
.program
        .linear words, 8                ; Lines that are wrong.
        .pointer p = c4 by 8
        ldx a, [p]
        ldx b.lo, [p]
        ldx2 c, [p]
        ldx2 d, d, [p]
        add e, a, 3
        shl f, a
        movhi g, 1
        ldq h, [unknown]
        ldq h, [a.lo]
        ldq h, [later]
        addi later, a, 8
        ldq h, [a@0.5]
        .endlinear
        .linear address, 8              ; A quad is no address.
        .pointer p = c4 by 16
        ldq x, [p]
        ldq y, [x]
        stq y, [p]
        .endlinear
        .linear quad, 8
        .pointer p = c4 by 16
        ldx x, [p]
        ldq y, [p + 16]
        add z, x, y
        stq z, [p]
        .endlinear
        .linear half, 8
        .pointer p = c4 by 16
        ldx x, [p]
        ldp y, [p]
        add z, y, x.lo
        stp z, [p]
        .endlinear
        .linear name, 8                 ; A register is no name of a scalar.
        .pointer p = c4 by 16
        ldx c0, [p]
        addi c1, c0, 1
        ldq x, [c1]
        stq x, [p]
        .endlinear
        .linear before, 8
        .pointer p = c4 by 16
        .before n@1 = q20
        addi n, n@1, 8
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear number, 8
        .pointer p = c4 by 16
        .before n@1 = 0.5
        addi n, n@1, 8
        ldq x, [n]
        stq x, [p]
        .endlinear
        .linear after, 8
        .pointer p = c4 by 16
        .after c9 = x
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear first, 8
        .pointer p = c4 by 16
        addi n, n@1, 8
        ldq x, [n]
        stq x, [p]
        .endlinear
        .linear many, 8                 ; All are addresses at once.
        .pointer p = c4 by 256
        .rept 20, i
        ldx a[i], [p + 8*i]
        .endr
        .rept 20, i
        ldq x[i], [a[i]]
        .endr
        .rept 20, i
        ldq y[i], [a[19 - i]]
        add z[i], x[i], y[i]
        stq z[i], [a[i] + 16]
        .endr
        .endlinear
        stop
