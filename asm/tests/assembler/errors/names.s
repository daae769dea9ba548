; Unknown names, and names that are nearly right.
.equ COUNT, 8
.alias left, r4
start:  bfyl r0, r1, r2, r3, r4
        movi c0, CUONT
        jmp strat
        add r0, lfet, r2
        add r0, r1, r64
        .dmme
        movi c0, bitrve(1, 2)
        .require section-adressing
        jmp nowhere
        add r0, r1, r2 ldp
        movi a0, .missing
        stop
