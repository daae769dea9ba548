; machine: vm7
; A linear block that writes what later words need.
.program
        movi c4, 0
        lif r0, 1.0
        lif r1, 2.0
        .linear needed, 8
        .pointer p = c4 by 16
        .free q0
        ldq x, [p]
        stq x, [p]
        .endlinear
        stq q0, [a14]
        stop
