; Pairs of operations that one word may not hold.
        add r0, r1, r2 || sub r3, r4, r5
        ldp r0, [a0] || stp r1, [a1] || add r2, r3, r4
        add r0, r1, r2 || ldp r0, [a0]
        addsub r0, r0, r1, r2
        mov q1, q2 || ldp r3, [a0]
        ldx a0, [a0]+8
        ldx2 a0, [a1]+8
        stop
