; machine: vm7
; Pointers that do not go round.
.program
        .linear words, 8                ; Lines that are wrong.
        .pointer p = c4 by 16
        ldq x, [p]
        stq x, [p]
        .pointer a = c4 by 16 round
        .pointer b = c4 by 16 round q3
        .pointer c = c4 by 16 round 0.5
        .pointer d = c4 by 16 round c5 + 0.5
        .pointer e = c4 by 16 round 64 128
        .endlinear
        .linear extents, 8
        .pointer p = c4 by 16 round 0
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear long, 8
        .pointer p = c4 by 16 round 0x20000
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear steps, 8                ; A step goes round once at most.
        .pointer p = c4 by 80 round 64
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear places, 8
        .pointer p = c4 + 64 by 16 round 64
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear aligned, 8
        .pointer p = c4 by 16 round 72
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear stepped, 8
        .pointer p = c4 by 8 round 64
        ldq x, [p]
        stq x, [p]
        .endlinear
        .linear many, 8                 ; Eight registers go round.
        .pointer p[9] = c4 by 16 round 64
        .rept 9, i
        ldq x[i], [p[i]]
        stq x[i], [p[i] + 64]
        .endr
        .endlinear
        .rept 12, i
        movi s{i}, 1
        .endr
        .linear different, 8            ; Each step takes a register.
        .rept 7, i
        .pointer p{i} = c4 by 16*i + 16 round 512
        ldq x[i], [p{i}]
        stq x[i], [p{i} + 64]
        .endr
        .endlinear
        movi b3, 1
        movi l4, 1
        .linear taken, 8                ; Words before the block name some of them.
        .pointer p[7] = c4 by s1 round 64
        .rept 7, i
        ldq x[i], [p[i]]
        stq x[i], [p[i] + 64]
        .endr
        .endlinear
        stop
