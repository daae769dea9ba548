; Last radix-8 pass of four-step rows: twiddle product and transposition.
;
; Row r of a transform of N1 N2 numbers is transformed at the frequencies k + r/N1:
; This is the twiddle product of the four-step algorithm. Here L = N2/8 and
;   w = exp(-2 pi i (k + r/N1)/N2) = base(k) row(r),
; where base is a table for all rows and row a few factors for each row: eight complex
; products an iteration instead of a table as large as half the data.
;
; One iteration transforms column k of rows A and B = A + 1: 24 butterflies and 8
; products in 32 cycles. The rows follow each other; a result is a quad
; (A, B), so that pairs of rows are stored side by side.
;
; The caller defines REAL, 1 for rows of half a spectrum (half_spectrum_rows.s), and WOVEN, 1 as in four_step_ring.s.
;
; Registers:
;   q0..q7    number m of A is r{2m}, of B r{2m + 1}
;   q8..q15   levels 1 and 2
;   q16..q23  results p, stored at [a1 + p * ws]
;   q24..q27  w^4, w^2, w, w W8 of A and B
;   q28..q30  row factors to the powers 4, 2, 1 of A and B
;   q31       base factors, two of the four w^4, w^2, w, w W8
;   a0 loads, a1 stores, a2 goes round the base factors, a3 walks the row factors,
;   a5 goes round the step table; s0 step of a0, s1 step of a1
;
; Schedule:
;   cycle   arithmetic               memory
;   0..7    level 1: A, B            0: w, w W8 of base; from 4: results of the iteration before
;   8..11   w, w W8 of A and B       results
;   12..19  level 2: A, B            12: w^4, w^2 of base for the next; from 13: its numbers
;   20..23  w^4, w^2 of the next     numbers
;   24..31  level 3: A, B            numbers up to 28; 29: steps
; Cycles 1, 2 and 31 have room for row factors.
; No word waits for an operand, on vm7 or vm9.

; A butterfly alone.
.macro sf op, d, e, x, y, w
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
.endm

; A butterfly, with the store of result j if `st`.
.macro sf_st op, d, e, x, y, w, st, j, ws
    .if \st
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || stq q{16 + (\j)}, [a1 + (\j)*(\ws)]
    .else
    sf \op, \d, \e, \x, \y, \w
    .endif
.endm

; Offset of number i/2 of A or B: with REAL even numbers come first, with WOVEN quads of A and B alternate.
.macro number_at i
.equ number_{\i}, WOVEN ? (\i)/4*32 + (\i)/2%2*8 : 8*(REAL ? (\i)/2%2*4 + (\i)/4 : (\i)/2)
.endm
.rept 16, i
    number_at i
.endr

; A butterfly, with the load of number i/2 of A or B if `ld`.
.macro sf_ld op, d, e, x, y, w, ld, i, pitch
    .if \ld
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || ldp r{\i}, [a0 + number_{\i} + (\i)%2*(\pitch)]
    .else
    sf \op, \d, \e, \x, \y, \w
    .endif
.endm

; A butterfly, with the load of the next row factors q{i} if `fresh`.
.macro sf_row op, d, e, x, y, w, fresh, i, unused=0
    .if \fresh
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || ldq q{\i}, [a3]+s3%
    .else
    sf \op, \d, \e, \x, \y, \w
    .endif
.endm

; A product, with the load of number i/2 of A or B if `ld`.
.macro sp_ld d, x, y, ld, i, pitch
    .if \ld
    cmul r{\d}, r{\x}, r{\y} || ldp r{\i}, [a0 + number_{\i} + (\i)%2*(\pitch)]
    .else
    cmul r{\d}, r{\x}, r{\y}
    .endif
.endm

; A butterfly with the step of a0; sf_walk: with the load of the next step if `walk`.
.macro sf_add op, d, e, x, y, w, unused=0, spare=0, more=0
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || add a0, a0, s0
.endm
.macro sf_walk op, d, e, x, y, w, walk, spare=0, more=0
    .if \walk
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || ldx2 s0, [a5]+s5%
    .else
    sf \op, \d, \e, \x, \y, \w
    .endif
.endm

; Butterfly m of level 3, results m and m + 4 of row A or B (row 0 or 1), in the word that macro `then` builds around
; it. With REAL odd numbers have a factor -i.
.macro third8 op, opn, row, m, then, a=0, b=0, c=0
    .if REAL && (\m) >= 2
    third8_as \op, \row, \m, 1, \then, \a, \b, \c
    .elif REAL || (\m) >= 2
    third8_as \opn, \row, \m, 0, \then, \a, \b, \c
    .else
    third8_as \op, \row, \m, 0, \then, \a, \b, \c
    .endif
.endm

; Butterfly m of level 3, with its results exchanged if `swap`.
.macro third8_as op, row, m, swap, then, a, b, c
    \then \op, 32 + 2*(\m) + 8*(\swap) + \row, 40 + 2*(\m) - 8*(\swap) + \row, 16 + 8*\row + (\m), 20 + 8*\row + (\m), 52 + 2*((\m)%2) + \row, \a, \b, \c
.endm

; One iteration. st: there are results to store; pitch: bytes from a row to the next;
; ws: bytes from a result to the next; ld: there is a next iteration; walk: steps come
; from the table; fresh: the next iteration is of another pair, whose row factors a3 walks in steps of s3.
.macro shifted8 op, opn, st, pitch, ws, ld=1, walk=1, fresh=0
    ; level 1
    \op r16, r17, r0, r8, r48 || ldq q31, [a2]+s2%
    sf_row \op, 18, 19, 4, 12, 48, \fresh, 28
    sf_row \op, 20, 21, 2, 10, 48, \fresh, 29
    sf \op, 22, 23, 6, 14, 48
    sf_st \op, 24, 25, 1, 9, 49, \st, 4, \ws
    sf_st \op, 26, 27, 5, 13, 49, \st, 2, \ws
    sf_st \op, 28, 29, 3, 11, 49, \st, 6, \ws
    sf_st \op, 30, 31, 7, 15, 49, \st, 1, \ws
    ; Twiddle factors w and w W8.
    .if \st
    cmul r52, r62, r60 || stq q21, [a1 + 5*(\ws)]
    cmul r53, r62, r61 || stq q19, [a1 + 3*(\ws)]
    cmul r54, r63, r60 || stq q23, [a1 + 7*(\ws)]
    cmul r55, r63, r61 || stq q16, [a1]+s1
    .else
    cmul r52, r62, r60
    cmul r53, r62, r61
    cmul r54, r63, r60
    cmul r55, r63, r61
    .endif
    shifted8_high \op, \opn, \pitch, \ld, \walk, \fresh
.endm

; Levels 2 and 3 of an iteration, cycles 12 to 31.
.macro shifted8_high op, opn, pitch, ld, walk, fresh
    ; level 2
    \op r16, r18, r16, r18, r50 || ldq q31, [a2]+s2%
    sf_ld \opn, 17, 19, 17, 19, 50, \ld, 0, \pitch
    sf_ld \op, 20, 22, 20, 22, 50, \ld, 8, \pitch
    sf_ld \opn, 21, 23, 21, 23, 50, \ld, 4, \pitch
    sf_ld \op, 24, 26, 24, 26, 51, \ld, 12, \pitch
    sf_ld \opn, 25, 27, 25, 27, 51, \ld, 2, \pitch
    sf_ld \op, 28, 30, 28, 30, 51, \ld, 10, \pitch
    sf_ld \opn, 29, 31, 29, 31, 51, \ld, 6, \pitch
    ; w^4 and w^2 of the next iteration.
    sp_ld 48, 62, 56, \ld, 14, \pitch
    sp_ld 49, 62, 57, \ld, 1, \pitch
    sp_ld 50, 63, 58, \ld, 9, \pitch
    sp_ld 51, 63, 59, \ld, 5, \pitch
    ; level 3
    third8 \op, \opn, 0, 0, sf_ld, \ld, 13, \pitch
    third8 \op, \opn, 0, 2, sf_ld, \ld, 3, \pitch
    third8 \op, \opn, 0, 1, sf_ld, \ld, 11, \pitch
    third8 \op, \opn, 0, 3, sf_ld, \ld, 7, \pitch
    third8 \op, \opn, 1, 0, sf_ld, \ld, 15, \pitch
    third8 \op, \opn, 1, 2, sf_add
    third8 \op, \opn, 1, 1, sf_walk, \walk
    third8 \op, \opn, 1, 3, sf_row, \fresh, 30
.endm

; Loads the row factors of the next pair, and computes its first w^4, w^2.
.macro couple
    ldq q28, [a3]+16
    ldq q29, [a3]+16
    ldq q30, [a3]+16
    cmul r48, r62, r56
    cmul r49, r62, r57
    cmul r50, r63, r58
    cmul r51, r63, r59
.endm

; The stores after the last iteration.
.macro last8 ws
    nop
    nop
    nop
    nop
    .rept 8, i
    stq q{16 + bitrev(i, 3)}, [a1 + bitrev(i, 3)*(\ws)]
    .endr
.endm

; The pass over `rows` rows of 8 L numbers from a8 to a9. Result k of row r goes
; to number k wide + r. a3: row factors; steps, base: addresses of the tables.
.macro shifted8_pass op, opn, L, rows, steps, base, wide
    movi a5, \steps
    mov b5, a5
    movi l5, 4*\L*\rows
    movi s5, 8
    ldx2 s0, [a5]+s5%
    movi a2, \base
    mov b2, a2
    movi l2, 32*\L
    movi s2, 16
    ldq q31, [a2]+s2%
    mov a0, a8
    mov a1, a9
    .rept 16, i
    ldp r{i}, [a0 + number_{i} + i%2*64*\L]
    .endr
    add a0, a0, s0
    ldx2 s0, [a5]+s5%
    couple
    shifted8 \op, \opn, 0, 64*\L, 8*\L*\wide
    loop \L - 1 {
    shifted8 \op, \opn, 1, 64*\L, 8*\L*\wide
    }
    .if \rows > 2
    movi c1, \rows/2 - 1
    loop c1 {
    couple
    loop \L {
    shifted8 \op, \opn, 1, 64*\L, 8*\L*\wide
    }
    nop
    }
    .endif
    last8 8*\L*\wide
.endm
