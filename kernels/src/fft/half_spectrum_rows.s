; Last pass of half-spectrum rows, forward real FFT (four_step.s with REAL).
;
; Columns come in the order E O, four of each, where E is the even and O the odd columns of eight; the factor -i of O
; belongs to the last level of butterflies (radix8_twiddle_transpose.s). Row r of the transform of N numbers has
;   k = 0 .. N2/2 - 1      numbers r + N1 k of the spectrum,
;   k = N2/2 .. N2 - 1     the conjugates of numbers N1 - r + N1 (N2 - 1 - k).
; In the spectrum, number k of rows A and B = A + 1 of a pair lie side by side, and so do the conjugates of A and
; of the row before. A result page is blocks (P, c) of L = N2/8 quads: P = 0 .. 7 is the eighth of k, c the row pair.
;   P = 0 .. 3    conjugates of eighth 4 + P: (A, the row before A)
;   P = 4 .. 7    eighth P - 4: (A, B)
; Block c of P is block P MOST/2 + c. The conjugates of a page's last row go to blocks c = 0 of the next page's result,
; where the first rows of this page were: rows lie at the end of their buffer, which has room for the MOST rows of
; the largest page. So a4, which writes the conjugates of B, goes round the ring of pages from launch to stop, one
; block before a1, which writes all others.
;
; An iteration is that of radix8_twiddle_transpose.s plus four conjugates: 36 cycles with all slots taken.
;   0        factors                    7..14    conjugates of the iteration before
;   1, 2     row factors                16       factors
;   3        steps                      17..32   numbers
;   4..6, 15 lower results              33..35   steps, row factor
; No word waits for an operand, on vm7 or vm9.
;
; a3 walks the row factors in steps of s3; s0, s1, s2 = 16 and s3 come from the table.

; A page of one row pair, ROWS = 2, stores all its conjugates with those of the page before. Results for the next page
; would overwrite rows that are still read. So conjugate P of number k goes where column k of row A was: quad P of
; the 64 bytes from 8 at2_k on. a4 and a6, which writes conjugates of A, then go in that order.

; Bytes of a block, of an eighth, of a page, and from a conjugate to that of the next eighth.
.equ MOST, LAST2 > ROWS ? LAST2 : ROWS
.equ BLOCK, 2*N2
.equ EIGHTH, MOST*N2
.equ PAGE2, 8*MOST*N2
.equ CONJ, ROWS > 2 ? EIGHTH : 16

; A conjugate, if there are results to store, with a store.
.macro conj_st st, q, mn, a, b
    .if \st
    conj q{\q}, q{\q} || \mn \a, \b
    .endif
.endm

.macro half8 op, opn, st
    ; level 1
    \op r16, r17, r0, r8, r48 || ldq q31, [a2]+s2%
    \op r18, r19, r4, r12, r48 || ldq q28, [a3 - 32]
    \op r20, r21, r2, r10, r48 || ldq q29, [a3 - 16]
    \op r22, r23, r6, r14, r48 || ldx2 s2, [a5]+s5%
    beside 1, \op, 24, 25, 1, 9, 49, \st, stq, q16, [a1 - 3*EIGHTH]
    beside 1, \op, 26, 27, 5, 13, 49, \st, stq, q18, [a1 - EIGHTH]
    conj_st \st, 20, stq, q17, [a1 - 2*EIGHTH]
    beside 1, \op, 28, 29, 3, 11, 49, \st, stp, r40, [a6 - 3*CONJ]
    conj_st \st, 22, stp, r41, [a4 - 3*CONJ]
    beside 1, \op, 30, 31, 7, 15, 49, \st, stp, r44, [a6 - CONJ]
    conj_st \st, 21, stp, r45, [a4 - CONJ]
    conj_st \st, 23, stp, r42, [a6 - 2*CONJ]
    ; Twiddle factors w and w W8.
    product_st 52, 62, 60, \st, r43, [a4 - 2*CONJ]
    .if ROWS > 2
    product_st 53, 62, 61, \st, r46, [a6]+16
    .else
    product_st 53, 62, 61, \st, r46, [a6]+s1
    .endif
    product_st 54, 63, 60, \st, r47, [a4]+s1%
    .if \st
    cmul r55, r63, r61 || stq q19, [a1]+16
    .else
    cmul r55, r63, r61
    .endif
    shifted8_high \op, \opn, 8*N2, 1, 1, 1
.endm

; A product with the store of a pair.
.macro product_st d, x, y, st, r, at
    .if \st
    cmul r{\d}, r{\x}, r{\y} || stp \r, \at
    .else
    cmul r{\d}, r{\x}, r{\y}
    .endif
.endm

; The results of the last iteration.
.macro half8_last
    .rept 4
    nop
    .endr
    stq q16, [a1 - 3*EIGHTH]
    stq q18, [a1 - EIGHTH]
    conj q20, q20 || stq q17, [a1 - 2*EIGHTH]
    conj q22, q22 || stp r40, [a6 - 3*CONJ]
    conj q21, q21 || stp r41, [a4 - 3*CONJ]
    conj q23, q23 || stp r44, [a6 - CONJ]
    stp r45, [a4 - CONJ]
    stp r42, [a6 - 2*CONJ]
    stp r43, [a4 - 2*CONJ]
    stp r46, [a6]
    stp r47, [a4]+s1%
    stq q19, [a1]
.endm

; The pass over `rows` rows from a8 to a9, with row factors from a3 on; the ring of its steps is at `ring`, and its
; first entry at `steps`.
.macro half8_pass op, opn, rows, ring, steps
    movi a5, \steps
    movi l5, \rows*N2
    movi b5, \ring
    ldx2 s0, [a5]+s5%
    movi a2, base2
    movi l2, 4*N2
    mov b2, a2
    ldx2 s2, [a5]+s5%
    ldq q28, [a3]
    ldq q29, [a3 + 16]
    addi a3, a3, 32
    mov b3, a3
    movi l3, 24*\rows
    ldq q30, [a3]
    mov a0, a8
    ldq q31, [a2]+s2%
    movi a1, 7*EIGHTH
    movi a6, 3*CONJ
    .rept 12, i
    ldp r{i}, [a0 + number_{i} + i%2*8*N2]
    .endr
    .rept 4, i
    cmul r{48 + i}, r{62 + i/2}, r{56 + i} || ldp r{12 + i}, [a0 + number_{12 + i} + i%2*8*N2]
    .endr
    add a0, a0, s0
    add a1, a1, a9
    add a6, a6, a9
    ldx2 s0, [a5]+s5%
    half8 \op, \opn, 0
    loop \rows*N2/16 - 1 {
    half8 \op, \opn, 1
    }
    half8_last
.endm

; At launch: sets the address for the conjugates of the first page's first row B, and the ring that a4 goes round.
.macro half8_begin
    ldx2 a8, [a7]
    .if RESIDENT
    movi c11, 0
    .endif
    movi c12, PAGE2/16
    mul l4, c15, c12
    ; Start address of the rows of smaller pages.
    movi c12, 8*N2*(2*MOST - ROWS - LAST2)
    movi b4, 3*CONJ
    add b4, b4, a8
    .if ROWS > 2
    movi a4, 3*CONJ + BLOCK + 8
    add a4, a4, a9
    .else
    addi a4, b4, 8
    .endif
    ; The number beside the first row goes with number N/2.
    mov a0, a9
    lif r0, 0
    stp r0, [a0 + 8]
.endm

; Entry j: step of a0 after iteration j, of a4 after iteration j - 2; 16; 1 if iteration j + 1 is of another pair.
; The last pair of a page of `rows` rows has entries of its own, BLOCK bytes like those of others. In the ring, those of
; a matrix' last page come after it and are the first entries; those of a full page come before it.
.macro half8_steps
steps_last:
    half8_couple LAST2, 1
steps2:
    .rept MOST/2 - 1
    half8_couple ROWS, 0
    .endr
    half8_couple ROWS, 1
.endm
.equ RING2, (MOST - ROWS)/2*BLOCK
.macro half8_couple rows, ends
    .rept N2/8, k
    .int 8*(at2_{k + 1} - at2_{k}) + (k == N2/8 - 1)*(16*N2 - \ends*8*N2*\rows)
    .if ROWS > 2
    .int 16 + (\ends && k == 1)*(PAGE2 - \rows/2*BLOCK)
    .elif k == 1
    .int PAGE2 - 8*at2_{N2/8 - 1}
    .else
    .int 8*(at2_{(k + N2/8 - 1)%(N2/8)} - at2_{(k + N2/8 - 2)%(N2/8)})
    .endif
    .int 16, 48*(k == N2/8 - 1)
    .endr
.endm
