; Last pass of half-spectrum rows in eighths of a page: row pairs alternate.

; Arithmetic words with a memory operation, and without one. Words that need fewer registers ignore the other operands.
.macro fly op, d, e, x, y, w, mn, a, b
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || \mn \a, \b
.endm
.macro fly_alone op, d, e, x, y, w
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
.endm
.macro product op, d, e, x, y, w, mn, a, b
    \op r{\d}, r{\x}, r{\y} || \mn \a, \b
.endm
.macro product_alone op, d, e, x, y, w
    \op r{\d}, r{\x}, r{\y}
.endm
.macro conjugate op, d, e, x, y, w, mn, a, b
    \op q{\d}, q{\d} || \mn \a, \b
.endm
.macro conjugate_alone op, d, e, x, y, w
    \op q{\d}, q{\d}
.endm

; Offsets of a0: the last number of the last pair, row B; and of a1: number 3 of row A of the last pair's results.
.equ READ, (2*COUPLES - 1)*APART + 56
.equ WRITTEN, (COUPLES - 1)*COUPLE + 48

; Offset of a1 for a page of which only the first row counts: number 3 of its conjugates.
.equ READ1, APART + 56
.equ WRITTEN1, APART + 48

; Word `slot` of iteration s, built by macro `then` or `bare`; st: results are stored, ld: numbers are loaded. s = -1:
; only a page's first pair, whose row factors stay, and of which only the conjugates of row A are stored.
.macro beside_slot then, bare, op, d, e, x, y, w, slot, s, st, ld
    .if \slot == 0 && (\s == COUPLES - 2 || \s < 0)
    \then \op, \d, \e, \x, \y, \w, ldq, q31, [a2]+s2%
    .elif \slot == 0
    \then \op, \d, \e, \x, \y, \w, ldq, q31, [a2]
    .elif \slot == 16
    \then \op, \d, \e, \x, \y, \w, ldq, q31, [a2 - 16]
    .elif \s < 0 && \slot == 20 && COUPLES == 2
    \then \op, \d, \e, \x, \y, \w, ldx2, s0, [a5]+s5%
    .elif \s < 0 && \slot > 33
    \bare \op, \d, \e, \x, \y, \w
    .elif \slot == 35
    \then \op, \d, \e, \x, \y, \w, ldq, q30, [a3 + 48*((\s + 2)%COUPLES) + 32]
    .elif \s > 0 && \slot < 3
    \then \op, \d, \e, \x, \y, \w, ldq, q{27 + \slot}, [a3 + 48*((\s + 2)%COUPLES) + 16*(\slot - 1)]
    .elif \slot == 3 && \s > 0 && COUPLES == 2
    \then \op, \d, \e, \x, \y, \w, ldx2, s0, [a5]+s5%
    .elif \s == COUPLES - 1 && \slot > 32
    \then \op, \d, \e, \x, \y, \w, ldq, q{\slot - 5}, [a3 + 48*(2%COUPLES) + 16*(\slot - 33)]
    .elif \s <= 0 && \slot < 4
    beside_number \then, \bare, \op, \d, \e, \x, \y, \w, \slot - 1, \s, \ld
    .elif \s <= 0 && \slot > 20 && \slot < 34
    beside_number \then, \bare, \op, \d, \e, \x, \y, \w, \slot - 18, \s, \ld
    .elif \s > 0 && \slot > 16 && \slot < 33
    beside_number \then, \bare, \op, \d, \e, \x, \y, \w, \slot - 17, \s, \ld
    .elif \st && \s < 0 && \slot > 7 && \slot < 20
    beside_alone \then, \bare, \op, \d, \e, \x, \y, \w, \slot
    .elif \st && \s == 0 && \slot > 6 && \slot < 21
    beside_first \then, \op, \d, \e, \x, \y, \w, \slot
    .elif \st && \s >= 0 && \slot > 3 && \slot < 16
    beside_result \then, \op, \d, \e, \x, \y, \w, \slot, \s
    .else
    \bare \op, \d, \e, \x, \y, \w
    .endif
.endm

; A word with the load of number `bitrev(j, 4)` of pair s + 2, or of the next column.
.macro beside_number then, bare, op, d, e, x, y, w, j, s, ld
    .if !(\ld)
    \bare \op, \d, \e, \x, \y, \w
    .elif \s < 0 && (\j) == 15
    \then \op, \d, \e, \x, \y, \w, ldp, r15, [a0]+s0%
    .elif \s < 0
    \then \op, \d, \e, \x, \y, \w, ldp, r{bitrev(\j, 4)}, [a0 + number_{bitrev(\j, 4)} + bitrev(\j, 4)%2*APART - READ1]
    .elif (\j) == 15 && (\s + 2)%COUPLES == COUPLES - 1
    \then \op, \d, \e, \x, \y, \w, ldp, r15, [a0]+s0%
    .else
    \then \op, \d, \e, \x, \y, \w, ldp, r{bitrev(\j, 4)}, [a0 + number_{bitrev(\j, 4)} + bitrev(\j, 4)%2*APART + (\s + 2)%COUPLES*COUPLE - READ]
    .endif
.endm

; A word with results of pair 0: quads of conjugates are complete when those of the row before have come from the area.
.macro beside_first then, op, d, e, x, y, w, slot
    .if \slot == 15
    \then \op, \d, \e, \x, \y, \w, stq, q20, [a1 + APART - WRITTEN]
    .elif \slot == 17
    \then \op, \d, \e, \x, \y, \w, stq, q22, [a1 + APART + 32 - WRITTEN]
    .elif \slot == 18
    \then \op, \d, \e, \x, \y, \w, stq, q21, [a1 + APART + 16 - WRITTEN]
    .elif \slot == 19
    \then \op, \d, \e, \x, \y, \w, stq, q23, [a1 + APART + 48 - WRITTEN]
    .elif \slot == 20
    \then \op, \d, \e, \x, \y, \w, stq, q19, [a1 + 48 - WRITTEN]
    .elif \slot%2
    \then \op, \d, \e, \x, \y, \w, stp, r{41 + 2*bitrev((\slot - 7)/2, 2)}, [a1 + COUPLE + APART + 8 + 16*bitrev((\slot - 7)/2, 2) - WRITTEN]
    .else
    \then \op, \d, \e, \x, \y, \w, ldp, r{41 + 2*bitrev((\slot - 8)/2, 2)}, [a4 + 8*bitrev((\slot - 8)/2, 2) - 24]
    .endif
.endm

; A word with results of the first row alone.
.macro beside_alone then, bare, op, d, e, x, y, w, slot
    .if \slot == 14
    \then \op, \d, \e, \x, \y, \w, ldp, r47, [a4]+s4%
    .elif \slot < 14 && \slot%2 == 0
    \then \op, \d, \e, \x, \y, \w, ldp, r{41 + 2*bitrev((\slot - 8)/2, 2)}, [a4 + 8*bitrev((\slot - 8)/2, 2) - 24]
    .elif \slot == 15
    \then \op, \d, \e, \x, \y, \w, stq, q20, [a1 - 48]
    .elif \slot == 17
    \then \op, \d, \e, \x, \y, \w, stq, q22, [a1 - 16]
    .elif \slot == 18
    \then \op, \d, \e, \x, \y, \w, stq, q21, [a1 - 32]
    .elif \slot == 19
    \then \op, \d, \e, \x, \y, \w, stq, q23, [a1]+s1%
    .else
    \bare \op, \d, \e, \x, \y, \w
    .endif
.endm

; A word with results of pair s; of pair 0 there are three.
.macro beside_result then, op, d, e, x, y, w, slot, s
    .if \slot < 7
    \then \op, \d, \e, \x, \y, \w, stq, q{16 + bitrev(\slot - 4, 2)}, [a1 + \s*COUPLE + 16*(bitrev(\slot - 4, 2)) - WRITTEN]
    .elif \slot == 15 && \s == COUPLES - 1
    \then \op, \d, \e, \x, \y, \w, stq, q19, [a1]+s1%
    .elif \slot == 15
    \then \op, \d, \e, \x, \y, \w, stq, q19, [a1 + \s*COUPLE + 48 - WRITTEN]
    .elif \slot%2
    \then \op, \d, \e, \x, \y, \w, stp, r{40 + 2*bitrev((\slot - 7)/2, 2)}, [a1 + \s*COUPLE + APART + 16*bitrev((\slot - 7)/2, 2) - WRITTEN]
    .elif \s < COUPLES - 1
    \then \op, \d, \e, \x, \y, \w, stp, r{41 + 2*bitrev((\slot - 8)/2, 2)}, [a1 + (\s + 1)*COUPLE + APART + 8 + 16*bitrev((\slot - 8)/2, 2) - WRITTEN]
    .elif \slot == 14
    \then \op, \d, \e, \x, \y, \w, stp, r47, [a4]+s4%
    .else
    \then \op, \d, \e, \x, \y, \w, stp, r{41 + 2*bitrev((\slot - 8)/2, 2)}, [a4 + 8*bitrev((\slot - 8)/2, 2) - 24]
    .endif
.endm

.macro fly_slot op, d, e, x, y, w, slot, s, ld, st=1
    beside_slot fly, fly_alone, \op, \d, \e, \x, \y, \w, \slot, \s, \st, \ld
.endm
.macro product_slot d, x, y, slot, s, ld, st=1
    beside_slot product, product_alone, cmul, \d, 0, \x, \y, 0, \slot, \s, \st, \ld
.endm
.macro conj_slot q, slot, s, st
    .if \st
    beside_slot conjugate, conjugate_alone, conj, \q, 0, 0, 0, 0, \slot, \s, 1, 0
    .endif
.endm

; Iteration s (schedule in half_spectrum_row_ring.s).
.macro couple_frame op, opn, s, st=1, ld=1
    fly_slot \op, 16, 17, 0, 8, 48, 0, \s, \ld
    fly_slot \op, 18, 19, 4, 12, 48, 1, \s, \ld
    fly_slot \op, 20, 21, 2, 10, 48, 2, \s, \ld
    fly_slot \op, 22, 23, 6, 14, 48, 3, \s, \ld
    fly_slot \op, 24, 25, 1, 9, 49, 4, \s, \ld, \st
    fly_slot \op, 26, 27, 5, 13, 49, 5, \s, \ld, \st
    conj_slot 20, 6, \s, \st
    fly_slot \op, 28, 29, 3, 11, 49, 7, \s, \ld, \st
    conj_slot 22, 8, \s, \st
    fly_slot \op, 30, 31, 7, 15, 49, 9, \s, \ld, \st
    conj_slot 21, 10, \s, \st
    conj_slot 23, 11, \s, \st
    ; Twiddle factors w and w W8.
    .rept 4, i
    product_slot 52 + i, 62 + i/2, 60 + i%2, 12 + i, \s, \ld, \st
    .endr
    ; level 2
    .rept 4, i
    fly_slot \op, 16 + 4*i, 18 + 4*i, 16 + 4*i, 18 + 4*i, 50 + i/2, 16 + 2*i, \s, \ld, \st
    fly_slot \opn, 17 + 4*i, 19 + 4*i, 17 + 4*i, 19 + 4*i, 50 + i/2, 17 + 2*i, \s, \ld, \st
    .endr
    ; w^4 and w^2 of the next iteration.
    .rept 4, i
    product_slot 48 + i, 62 + i/2, 56 + i, 24 + i, \s, \ld
    .endr
    ; level 3
    .rept 8, i
    third8 \op, \opn, i/4, bitrev(i%4, 2), fly_slot, 28 + i, \s, \ld
    .endr
.endm

; All iterations of a column.
.macro column_frames op, opn
    .rept COUPLES, s
    couple_frame \op, \opn, s
    .endr
.endm

; Stores the results of the last pair of the last column.
.macro last_results
    .rept 4
    nop
    .endr
    beside_result memory, 0, 0, 0, 0, 0, 0, 4, COUPLES - 1
    beside_result memory, 0, 0, 0, 0, 0, 0, 5, COUPLES - 1
    .rept 4, i
    beside_result conjugate, conj, 20 + bitrev(i, 2), 0, 0, 0, 0, 6 + i, COUPLES - 1
    .endr
    .rept 6, i
    beside_result memory, 0, 0, 0, 0, 0, 0, 10 + i, COUPLES - 1
    .endr
.endm
.macro memory op, d, e, x, y, w, mn, a, b
    \mn \a, \b
.endm

; Stores the results of the first row alone.
.macro last_alone
    .rept 4
    nop
    .endr
    conj q20, q20
    .rept 3, i
    beside_alone conjugate, conjugate_alone, conj, 20 + bitrev(i + 1, 2), 0, 0, 0, 0, 8 + 2*i
    .endr
    ldp r47, [a4]+s4%
    .rept 4, i
    beside_alone memory, 0, 0, 0, 0, 0, 0, 0, 15 + (i > 0) + i
    .endr
.endm

; Starts pass 4 at `at`, with its base factors `base` bytes on: pointers, factors and numbers of the first pair.
; A column has steps of LENGTH 512 or from the table.
.macro pass4_begins at, base, read, written
    pointers \read, \written, \at
    movi b2, base4 + 16
    movi l2, BASE
    movi a2, base4 + 16 + \base
    movi s2, 32
    movi a3, SETS4
    add a3, a3, a10
    .if COUPLES == 2
    movi a5, steps4
    mov b5, a5
    movi l5, 32
    .else
    movi s0, 512
    movi s1, 512
    .endif
    ldq q31, [a2 - 16]
    .rept 3, i
    ldq q{28 + i}, [a3 + 16*i]
    .endr
    .rept 10, i
    ldp r{i}, [a0 + number_{i} + i%2*APART - \read]
    .endr
    .rept 4, i
    cmul r{48 + i}, r{62 + i/2}, r{56 + i} || ldp r{10 + i}, [a0 + number_{10 + i} + i%2*APART - \read]
    .endr
    .rept 2, i
    ldp r{14 + i}, [a0 + number_{14 + i} + i%2*APART - \read]
    .endr
.endm

; Pass 4 over four pieces.
.macro pass4_all op, opn, at, base
    pass4_begins \at, \base, READ, WRITTEN
    couple_frame \op, \opn, COUPLES - 1, 0
    loop 3 {
    loop 16 {
    column_frames \op, \opn
    }
    signal COMPLETE
    }
    loop 15 {
    column_frames \op, \opn
    }
    .rept COUPLES - 1, s
    couple_frame \op, \opn, s, 1, s < COUPLES - 2
    .endr
    last_results
    signal COMPLETE
.endm

; Pass 4 of the first row alone.
.macro pass4_alone op, opn, at, base
    pass4_begins \at, \base, READ1, WRITTEN1
    .if COUPLES == 2
    addi a0, a0, 64
    addi a5, a5, 8
    .else
    addi a0, a0, 512
    .endif
    couple_frame \op, \opn, -1, 0
    loop 3 {
    loop 16 {
    couple_frame \op, \opn, -1
    }
    signal COMPLETE
    }
    loop 14 {
    couple_frame \op, \opn, -1
    }
    couple_frame \op, \opn, -1, 1, 0
    last_alone
    signal COMPLETE
.endm
