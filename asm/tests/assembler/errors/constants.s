; Errors of constant expressions.
.equ A, 1 / 0
.equ B, 1 << 70
.equ C, 0x7fffffffffffffff * 2
.equ D, 1.5 & 3
.equ E, sqrt(-1)
.equ F, bitrev(9, 3)
.equ G, min()
.equ H, G1
.equ I, J
.equ J, I
.equ K, 3
.equ K, 4
.equ a0, 4
.equ left, 1
.alias left, r0
.rept LATER
        nop
.endr
.if 1.5
.error "this is the user's own message"
.endif
        movi c0, 1.5
        jmp data
        stop
.equ LATER, 3
.dmem
data:   .int 0.5, 4294967296
