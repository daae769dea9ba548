; machine: vm7
; Linear blocks whose lines can be read, but that are wrong as a whole.
.program
        .linear never, 8                ; One half is computed, the other is not.
        .pointer p = c4 by 16
        ldp x.lo, [p]
        stq x, [p]
        .endlinear
        .linear uncomputed, 8
        .pointer p = c4 by 16
        .before x@1 = 0.0
        stq x@1, [p]
        .endlinear
        .linear once                    ; There is no iteration before.
        .pointer p = c4 by 16
        .before x@1 = 0.0
        ldq x, [p]
        stq x@1, [p]
        .endlinear
        .linear first, 8
        .pointer p = c4 by 16
        .before x@2 = 0.0
        ldq x, [p]
        stq x@2, [p]
        .endlinear
        .linear widths, 8               ; Operands that no row takes.
        .pointer p = c4 by 16
        .const C = 1.0 2.0 3.0 4.0
        ldp x, [p]
        ldq y, [p + 16]
        add z, x, y
        .endlinear
        .linear halves, 8
        .pointer p = c4 by 16
        ldp x, [p]
        add z, x.lo, x.hi
        .endlinear
        .linear declared, 8
        .pointer p = c4 by 16
        .pair x
        ldq x, [p]
        .endlinear
        .linear stored, 8
        .pointer p = c4 by 16
        ldq x, [p]
        stp x, [p]
        .endlinear
        .linear narrow, 8
        .pointer p = c4 by 16
        .const C = 1.0 2.0 3.0 4.0
        ldp x, [p]
        add z, x, C
        .endlinear
        .linear widened, 8
        .pointer p = c4 by 16
        .before x@1 = r20
        ldq x, [p]
        stq x@1, [p]
        .endlinear
        .linear ranges, 8               ; Numbers that no word holds.
        .pointer p = c4 by 16
        ldq x, [p + 8]
        perm y, x, 256
        stq y, [p]
        .endlinear
        .linear steps, 8
        .pointer p = c4 by 8
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear far, 8
        .pointer p = c4 by 0x10000
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear apart, 8
        .pointer p = c4 by 16
        ldq x, [p]
        stq x, [p + 0x10000]
        .endlinear
        .linear rows, 8                 ; What the machine has not.
        .pointer p = c4 by 16
        ldw x, [p]
        stw x, [p]
        .endlinear
        .linear registers, 8
        .pointer p = c4 by 16
        .rept 33, i
        .const C[i] = 1.0*i
        ldq x[i], [p + 16*i]
        mul y[i], x[i], C[i]
        stq y[i], [p + 16*i]
        .endr
        .endlinear
        .linear addresses, 8
        .pointer p[20] = c4 by 16
        .rept 20, i
        ldq x[i], [p[i]]
        stq x[i], [p[i]]
        .endr
        .endlinear
        .linear live, 8                 ; All are needed at once, twice.
        .pointer p = c4 by 16
        .rept 40, i
        ldq x[i], [p + 16*i]
        .endr
        mov s[0], x[0]
        .rept 39, i
        add s[i + 1], s[i], x[i + 1]
        .endr
        mov t[0], s[39]
        .rept 39, i
        sub t[i + 1], t[i], x[39 - i]
        .endr
        stq t[39], [p]
        .endlinear
        .linear many, 4294967295
        .pointer p = c4 by 16
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear idle, 8                 ; Nothing is stored.
        .pointer p = c4 by 16
        ldq x, [p]
        add y, x, x
        .endlinear
        .linear empty, 8
        .endlinear
        .linear open, 8
        stop
