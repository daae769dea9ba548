; Operands that fit no form of an instruction.
        add r0, r1, q2
        add r0, a1, a2
        ldp q0, [a0]
        ldq q0, a0
        bfly r0, r1, r2, r3
        loop r0, 5
        stop 1
        ldx2 c1, [a0]
        movi a0, r1
        lif r0, 0.1
        shli r0, r1, 2.5
        wait
        stq q0, [a0 + r5.h1]
        ldp r0, [a0 + r5]
        ldp r0, [a0 + r5.h4]
        ldp r0, [a0 + q5.h1]
        ldp r0, [a0 + r5.h1]+8
        ldp r0, [a0 - r5.h1]
        stop
