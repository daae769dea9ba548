; Hooks of the frames of fft4096.s: loads and pointers besides the butterflies.
; Each is a hook of frame8 (radix8_iteration.s) for one task. Registers and constants: fft4096.s.

; A frame without further tasks.
.macro plain on, op, d, e, x, y, w, slot, n, c, p
    alone \on, \op, \d, \e, \x, \y, \w, 1
.endm

; Pass 1, before the first rows of a block.
.macro await on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 19
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || wait LOADED
    .else
    plain \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; End of pass 1: the transform begins 8 blocks further on in the ring,
; c5 = c5 - 16 KiB, plus 48 KiB if that is negative.
.macro begin on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 19
    word3 \on, \op, \d, \e, \x, \y, \w, sub, c5, c5, s5
    .elif \slot == 20
    word3 \on, \op, \d, \e, \x, \y, \w, sar, c6, c5, 31
    .elif \slot == 21
    word3 \on, \op, \d, \e, \x, \y, \w, and, c6, c6, c7
    .elif \slot == 22
    word3 \on, \op, \d, \e, \x, \y, \w, add, c5, c5, c6
    .else
    plain \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; The frame after that: sets the pointers of pass 2, and chooses between its two forms.
.macro choose on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 19
    word3 \on, \op, \d, \e, \x, \y, \w, add, a8, c5, s6
    .elif \slot == 20
    word3 \on, \op, \d, \e, \x, \y, \w, add, a13, c5, s7
    .elif \slot == 21
    word \on, \op, \d, \e, \x, \y, \w, mov, a9, a8
    .elif \slot == 22
    word \on, \op, \d, \e, \x, \y, \w, mov, a14, a13
    .elif \slot == 23
    word \on, \op, \d, \e, \x, \y, \w, bnz, c6, round
    .else
    plain \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; Passes 2, 3, 5 with unchanged factors. The pointers of pass 5 step here.
.macro hold on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 19 && \p == 5
    word3 \on, \op, \d, \e, \x, \y, \w, addi, a14, a14, 16
    .elif \slot == 20 && \n == 5
    word3 \on, \op, \d, \e, \x, \y, \w, addi, a13, a13, 16
    .else
    plain \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; Passes 2, 3, 5 two frames before a new row, one frame before, and in its first frame.
.macro due2 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 18
    word \on, \op, \d, \e, \x, \y, \w, ldp, r48, [a{fac{\n}} - 32]
    .else
    hold \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

.macro due1 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 17
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a{fac{\n}} - 48]
    .elif \slot == 18 && \n != \c
    word \on, \op, \d, \e, \x, \y, \w, ldq, q24, [a{fac{\n}} - 32]
    .elif \slot == 18
    word \on, \op, \d, \e, \x, \y, \w, ldp, r49, [a{fac{\n}} - 24]
    .elif \slot == 21
    word \on, \op, \d, \e, \x, \y, \w, ldq, q26, [a{fac{\n}} - 16]
    .else
    hold \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

.macro due0 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12
    word \on, \op, \d, \e, \x, \y, \w, ldq, q27, [a{fac{\c}}]+s4%
    .else
    hold \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; Pass 4: loads the factors of column pair n and w' of pair c; the pointer of w steps by
; `up`, that of w' by `down`.
.macro turn on, op, d, e, x, y, w, slot, n, c, p, up, down
    .if \slot == 12 && \c == 4
    word \on, \op, \d, \e, \x, \y, \w, ldp, r54, [a12 + 8]
    .elif \slot == 17 && \n == 4
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a10]+16
    .elif \slot == 18 && \n == 4
    word \on, \op, \d, \e, \x, \y, \w, ldq, q24, [a10]+16
    .elif \slot == 19 && \c == 4
    word \on, \op, \d, \e, \x, \y, \w, ldp, r55, [a12]-\down
    .elif \slot == 21 && \n == 4
    word \on, \op, \d, \e, \x, \y, \w, ldq, q26, [a11]+\up
    .else
    plain \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; Steps from one pair of a row of four to the next; its last pair is n, or c.
.macro along on, op, d, e, x, y, w, slot, n, c, p
    turn \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p, 16, 16
.endm
.macro row_n on, op, d, e, x, y, w, slot, n, c, p
    turn \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p, 464, 16
.endm
.macro row_c on, op, d, e, x, y, w, slot, n, c, p
    turn \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p, 16, 464
.endm
; The last pair of a block is n, c, p.
.macro block_n on, op, d, e, x, y, w, slot, n, c, p
    turn \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p, (-3568), 16
.endm
.macro block_c on, op, d, e, x, y, w, slot, n, c, p
    turn \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p, 16, (-3568)
.endm
.macro block_p on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 20
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || signal COMPLETE
    .else
    along \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm
; The last pair of all is n: returns to the first pair, and leaves the loop if there is no further transform.
.macro last_n on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 18
    word \on, \op, \d, \e, \x, \y, \w, ldq, q24, [a10]-8176
    .elif \slot == 20
    word3 \on, \op, \d, \e, \x, \y, \w, addi, c1, c1, -1
    .elif \slot == 23
    word \on, \op, \d, \e, \x, \y, \w, bz, c1, out
    .else
    turn \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p, (-4080), 16
    .endif
.endm
; The last pair of all is c.
.macro last_c on, op, d, e, x, y, w, slot, n, c, p
    turn \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p, 16, (-4080)
.endm
; The last pair of all is p, and the next transform has begun.
.macro last_p on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 20
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || signal COMPLETE
    .elif \slot == 23
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || jmp next
    .else
    plain \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm
