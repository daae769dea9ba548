; machine: vm7
; Chains: values that are handed to values of another width.
.program
        .chain
        .linear start
        .pointer p = a4 by 0
        ldq x, [p]
        stq x, [p + 32]
        .endlinear
        .linear pairs, 4
        .pointer p = a4 by 16
        .before y@1 = start.x
        ldp y, [p]
        add z, y@1, y
        stp z, [p + 64]
        .endlinear
        .endchain
        stop
