; Lines with syntax errors; the brace of a faulty loop still counts.
        add r0 r1, r2
        loop 8, {
          ldp r0, [a0 8]
        }
        }
        ldp r1, [r2]
        ldp r1, [a9]+s1%
        ldp r1, [a0]+c1
        movi a0, (1 + 2
        movi a0,
        nop ||
        add r0, r1, r2 .allow stalls
        .if 1
        .else
        .elif 2
        .else
        .endif
        .if 1
        stop
