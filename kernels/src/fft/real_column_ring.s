; Forward real FFT: the last pass of 2048-point columns, in eighths of a page.
; Columns are pairs of real ones (four_step_ring.s with SEPARATE); the pass separates them in place (real_columns.s).
;
; Columns k = 0 .. 255 of the last pass are taken with their partners 256 - k. Partners should lie in one half page, so
; that its blocks leave while the other half is computed. So pass 1 is at frequency 1, pass 2 at -8 more: p0 = e + 1 for
; row e = 0 .. 3 of a block, p1 = b - 2 for block b, and column p2 has k = 32 p2 + f, f = e + 4 b - 7 modulo 32.
; Partners of (e, b, p2): (2 - e, 3 - b, 7 - p2), e < 3; (3, 2 - b, 7 - p2); for b = 1 (3, 1, 8 - p2), k = 0, 128 alone,
; with b modulo 8. All lie in the same half except eight pairs of blocks 3 and 7, the first ones of the second half.
; X goes up by 128 bytes from pair to pair, round the ring, and Y goes down by 128; only over column 0 X steps by 256.
;
; Blocks are complete after these pairs of 66 cycles. First half: block 0 after 32, 1 and 2 after 59. Second half:
; block 3 after 8, 4 after 40, 5 to 7 after all 68.
;
; The numbers of column k become S[k + 256 m], m = 0 .. 3, and D[1024 - k - 256 m]; S[1024], D[0] lie beside the ring.
.equ N1, 2048
.equ COLUMNS, 2
.equ PARTED, 1
; Offset from a half page to column 0, to which a11 points.
.equ OWN, BLOCK + 3*1024
.alias numbers, a11
.alias results, a11
.alias beyond, a12
.equ ROW, 16
.equ SPAN, 16
.equ TURN, 0
.equ OTHER, 512 - 6*ROW
.equ BELOW, -ROW
; The first Y of the first pair of a half page.
.equ Y_LEAST, 3*BLOCK + 2*1024 + 7*128
.equ X_FIRST, 6*ROW - OWN
.equ Y_FIRST, Y_LEAST + ROW - OWN
.equ UP_FIRST, 3*SPAN - OWN
.equ DOWN_FIRST, Y_LEAST + 4*SPAN - OWN
.equ DOWN, 8*SPAN
.equ END_S, 0
.equ END_D, 16
.equ MID_S, 512
.equ MID_D, 512 + 7*SPAN
.include "real_columns.s"

; The pointers go round the ring, whose length pass 1 has left in l0 and l1.
.macro round_ring
    movi s0, 128
    movi s1, -128
    movi b0, 6*ROW
    movi b1, 3*SPAN
    movi b3, 4*SPAN
    movi b4, ROW
    mov l3, c7
    mov l4, c7
.endm

.macro parted_frame n, done=0, x=s0, up=s0
    separate_frame \n, \done, [a0]+\x%, [a4]+s1%, [a1]+\up%, [a3]+s1%, [a2]+48
.endm

; Half h of a page whose first half is at a8.
.macro parted_half half, h
    .if \h
    parted_second \half, a8
    .else
    parted_first \half
    .endif
.endm

.macro parted_first half
    round_ring
    movi s2, 256
    movi a12, RING
    movi a11, OWN
    add a11, a11, \half
    own_begin
    own_first
    own_high 1, [a0]+s0%, a4, BELOW
    own_next 1, 1, a4, BELOW, [a4]+s1%
    separate_high 1, 0, [a2]+48
    loop 31 {
    parted_frame 1
    }
    parted_frame 1, 1
    loop 22 {
    parted_frame 1
    }
    parted_frame 1, 0, s2, s0
    parted_frame 1, 0, s0, s2
    parted_frame 1
    parted_frame 0
    separate_end
    signal COMPLETE
    signal COMPLETE
.endm

; The second half; `first` is the other half.
.macro parted_second half, first
    round_ring
    movi a6, halved
    movi a2, halved_second + 32
    movi a0, 3*BLOCK + 3*1024 + 6*ROW
    add a0, a0, \first
    movi a4, Y_LEAST + 1024 + ROW
    add a4, a4, \half
    ldq q24, [a2 - 32]
    ldq q0, [a0 - 6*ROW]
    ldq q27, [a6 + 96]
    ldq q1, [a0 - 5*ROW]
    ldq q5, [a0 - ROW]
    ldq q31, [a6 + 112]
    ldq q4, [a0 - 2*ROW]
    half 1, 0, 1, ldq, q25, [a2 - 16]
    level1 1, 0, 1, 0, 1, ldq, q14, [a4 + 5*ROW]
    level1 1, 0, 1, 1, 1, ldq, q10, [a4 + ROW]
    ldq q15, [a4 + 6*ROW]
    ldq q11, [a4 + 2*ROW]
    ldq q2, [a0 - 4*ROW]
    ldq q3, [a0 - 3*ROW]
    addi a1, a0, 3*SPAN - 6*ROW
    addi a3, a4, 4*SPAN - ROW
    level1 1, 0, 0, 0
    level1 1, 0, 0, 1
    separate_low 0, 1, [a0]+s0%, [a4]+s1%, 0, 0
    separate_high 1, 0, [a2]+48
    loop 7 {
    parted_frame 1
    }
    parted_frame 1, 1
    loop 31 {
    parted_frame 1
    }
    parted_frame 1, 1
    loop 26 {
    parted_frame 1
    }
    parted_frame 0
    separate_end
    .rept 3
    signal COMPLETE
    .endr
    movi a6, constants
.endm

; Sets of pairs, by the position of X in 128 bytes.
.macro set_of i
    set_halved ((\i)/8%4 + (\i)/32*4 + 25)%32 + (\i)%8*32
.endm
.macro parted_tables
halved:
    set_halved 0
    set_halved N1/16
    .complex 0.5, 0.5, 0.5, 0.5
    .complex 1, 0, 0, 0
    .rept 59, i
    set_of i + (i > 55)
    .endr
halved_second:
    .rept 68, i
    set_of i + 120
    .endr
.endm
