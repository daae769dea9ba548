; machine: small
; Features that a small machine lacks.
.require double
        add r60, r61, r62
        add q15, q16, q17
        wait 7
        ldp r0, [a0 + r5.h1]
        stop
        nop
        stop
.dmem 0x2000
        .float 1
