; Immediates, offsets and targets that exceed their fields.
        movi a0, 131072
        addi a0, a0, -2049
        shli r0, r1, 32
        loop 0, 6
        loop 4096, 7
        ext q0, q1, q2, 0
        ldp r0, [a0 + 12]
        ldp r0, [a0 + 16384]
        ldq q0, [a0]-8
        ldq q0, [a0]+32768
        movhi a0, -1
        jmp 70000
        jmp 500
        wait 32
        stop
