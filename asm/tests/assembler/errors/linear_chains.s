; machine: vm7
; Chains: what may not stand between blocks, values of other blocks, what is not closed.
.program
        .endchain
        .linear alone
        .behind 2
        .pointer p = a4 by 16
        ldq x, [p]
        stq x, [p + 64]
        .endlinear
        .chain
        .chain
        movi a4, 0
label:
        loop 4 {
        wait 0
        signal 1
        bnz c0, 0
        .linear first
        .chain
        .pointer p = a4 by 16
        ldq x, [p]
        stq x, [p + 64]
        .endlinear
        .linear second, 4
        .behind -1
        .pointer p = a4 by 16
        .before y@1 = first.z
        .before y@2 = first.x.lo
        .before y@3 = second.y
        .before y@4 = first.x
        ldq y, [p]
        add z, y@4, y
        stq z, [p + 64]
        .endlinear
        .endchain
        .chain
        movi a5, 0
        .endchain
        .linear outside, 4              ; No chain hands this on.
        .pointer p = a4 by 16
        .before y@1 = first.x
        ldq y, [p]
        add z, y@1, y
        stq z, [p + 64]
        .endlinear
        .chain
        stop
