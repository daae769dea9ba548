; FFT of N = 8 N1 complex numbers, divided among four sections: columns in each, then radix 8 across them.
;
; The caller defines (program.rs does):
;   INVERSE       0: exp(-2 pi i jk/N), 1: exp(+2 pi i jk/N); neither is scaled
;   N1            length of the columns, a power of two
;   P1 .. P3      radices of the column passes except the last, which has radix 8 (four_step.s)
;   SCRATCH       address of a page besides those of the ring, 16 N1 bytes
;   FACTORS       address of the section's own factors, 8 N1 bytes (below)
;   TABLES        address of the tables that all sections share
;   FACTORS_EVENT event that the DMA posts when the factors have been loaded
; The machine has the extension `exchange` and four sections.
;
; Pages and their ring are as in four_step.s; a page is a section's quarter of a transform, in place. Quad g of a
; transform is quad g / 4 of section g mod 4, as a dealt transfer puts it. So section s has the numbers 8 m + 2 s + c,
; which are number m of column c, for c = 0, 1, and the result likewise.
;
; Columns. Y_r[k], r = 2 s + c, is the transform of the numbers 8 m + r over m. Number k of column c goes to
; 2 k + c of the scratch page.
;
; Across sections. X[k + N1 j] = sum over r of (w W8^j)^r Y_r[k], w = exp(-2 pi i k/N), W8 = exp(-2 pi i/8), radix 8 as
; in radix8_iteration.s. An iteration has eight k: section s computes k = 8 b + 2 s and k + 1, columns A and B. Its rows
; 8 b .. 8 b + 7 are quads of c = 0, 1. Four exchanges transpose those of even k over the sections, four those of odd k;
; quad i then holds Y_{2i} and Y_{2i + 1} of the section's own k.
;
; Schedule: 28 words for 24 butterflies. Loads, exchanges and level 1 are those of iteration n; levels 2 and 3 and
; the stores those of the iteration p before it, of which the last store is in the next frame.
;
;   word     arithmetic              memory          word     arithmetic              memory
;   0        level 2 of A (p)        last store      17..19   level 1 of A (n)        w^2, w, w' (n)
;   1        level 2 of A (p)        row (n)         20       level 1 of A (n)        store (p)
;   2..5     level 2 of B (p)        rows (n)        21..24   level 1 of B (n)        stores (p)
;   6, 7                             rows (n)        25                               w^4 of the next
;   8        level 3 of A (p)        row (n)         26, 27   level 2 of A (n)        stores (p)
;   9..11    level 3 of A (p)        exchanges (n)
;   12..15   level 3 of B (p)        exchanges (n)
;   16                               exchange (n)
;
; A butterfly's result is read at least 8 words later, a load's 4, an exchange's 3, so that neither machine stalls.
;
; Registers: q0..q3 rows of A, q4..q7 of B, level 1 in place; r16..r23 level 2 of A, r24..r31 of B; q16..q23
; results j of (A, B); q24..q27 w^4, w^2, w, w' = w W8 of (A, B).
; Factors: for each iteration w^2, w, w^4 of the next one, w', each for A and B. Those after the last are the first.

; Defaults, which definitions by the caller replace.
.equ INVERSE, 0
.equ N1, 1024
.equ P1, 4
.equ P2, 4
.equ P3, 8
.equ SCRATCH, 32*N1
.equ FACTORS, 48*N1
.equ TABLES, 56*N1
.equ FACTORS_EVENT, 2

.equ LAST1, 8
.equ P4, 1
.equ COLUMNS, 2
.equ SHIFTED, 0
.equ WEIGHED, 0
.equ AXES, 1
; Bytes from result j to result j + 1, and of the factors of an iteration.
.equ APART, 2*N1
.equ RECORD, 64

.if P1*P2*P3*LAST1 != N1
.error "the product of the radices P1 .. P3 and 8 is not N1"
.endif

.include "radix8_iteration.s"
.include "radix8_pass.s"
.include "radix4_iteration.s"
.include "in_place_passes.s"
.include "column_passes.s"

; A butterfly, if `on`, in a word with the memory operation `mn a, b`, if `has`.
.macro with_access on, op, d, e, x, y, w, has, mn, a, b
    .if \has
    word \on, \op, \d, \e, \x, \y, \w, \mn, \a, \b
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; Likewise with the exchange of quads `a` and `b` at a distance.
.macro with_exchange on, op, d, e, x, y, w, has, a, b, distance
    .if \has
    word3 \on, \op, \d, \e, \x, \y, \w, xchg, \a, \b, \distance
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; Level 1 of column c (A: 0, B: 1): Y_m and Y_{m + 4} become their sum and difference.
.macro level1 on, op, c, m, has, mn, a, b
    with_access \on, \op, 8*\c + \m, 8*\c + 4 + \m, 8*\c + \m, 8*\c + 4 + \m, 48 + \c, \has, \mn, \a, \b
.endm

; Level 2, v = 0: sums of m = 0, 2; 1: their differences; 2: sums of m = 1, 3; 3: their differences.
.macro level2 on, op, opn, c, v, has, mn, a, b
    .if \v % 2
    with_access \on, \opn, 16 + 8*\c + 2*\v, 17 + 8*\c + 2*\v, 8*\c + 4 + \v/2, 8*\c + 6 + \v/2, 50 + \c, \has, \mn, \a, \b
    .else
    with_access \on, \op, 16 + 8*\c + 2*\v, 17 + 8*\c + 2*\v, 8*\c + \v/2, 8*\c + 2 + \v/2, 50 + \c, \has, \mn, \a, \b
    .endif
.endm

; Level 3, v = 0: results 0, 4; 1: 2, 6; 2: 1, 5; 3: 3, 7; `then` builds the word around it.
.macro level3 then, on, op, opn, c, v, has, a, b, d=0
    .if \v % 2
    \then \on, \opn, 36 + \c + \v/2*2, 44 + \c + \v/2*2, 16 + 8*\c + \v, 20 + 8*\c + \v, 52 + \c + \v/2*2, \has, \a, \b, \d
    .else
    \then \on, \op, 32 + \c + \v/2*2, 40 + \c + \v/2*2, 16 + 8*\c + \v, 20 + 8*\c + \v, 52 + \c + \v/2*2, \has, \a, \b, \d
    .endif
.endm

; A frame: n and p are 1 if there is such an iteration, l if there is one before p.
.macro cross_frame op, opn, n, p, l
    level2 \p, \op, \opn, 0, 2, \l, stq, q23, [a1]+16
    level2 \p, \op, \opn, 0, 3, \n, ldq, q0, [a0 - 112]
    level2 \p, \op, \opn, 1, 0, \n, ldq, q1, [a0 - 80]
    level2 \p, \op, \opn, 1, 1, \n, ldq, q2, [a0 - 48]
    level2 \p, \op, \opn, 1, 2, \n, ldq, q3, [a0 - 16]
    level2 \p, \op, \opn, 1, 3, \n, ldq, q4, [a0 - 96]
    with_access 0, \op, 0, 0, 0, 0, 0, \n, ldq, q5, [a0 - 64]
    with_access 0, \op, 0, 0, 0, 0, 0, \n, ldq, q6, [a0 - 32]
    level3 with_access, \p, \op, \opn, 0, 0, \n, ldq, q7, [a0]+128
    level3 with_exchange, \p, \op, \opn, 0, 1, \n, q0, q1, 1
    level3 with_exchange, \p, \op, \opn, 0, 2, \n, q2, q3, 1
    level3 with_exchange, \p, \op, \opn, 0, 3, \n, q4, q5, 1
    level3 with_exchange, \p, \op, \opn, 1, 0, \n, q6, q7, 1
    level3 with_exchange, \p, \op, \opn, 1, 1, \n, q0, q2, 2
    level3 with_exchange, \p, \op, \opn, 1, 2, \n, q1, q3, 2
    level3 with_exchange, \p, \op, \opn, 1, 3, \n, q4, q6, 2
    with_exchange 0, \op, 0, 0, 0, 0, 0, \n, q5, q7, 2
    level1 \n, \op, 0, 0, \n, ldq, q25, [a2 - 48]
    level1 \n, \op, 0, 2, \n, ldq, q26, [a2 - 32]
    level1 \n, \op, 0, 1, \n, ldq, q27, [a2]+RECORD
    level1 \n, \op, 0, 3, \p, stq, q16, [a1 - 7*APART]
    level1 \n, \op, 1, 0, \p, stq, q20, [a1 - 3*APART]
    level1 \n, \op, 1, 2, \p, stq, q18, [a1 - 5*APART]
    level1 \n, \op, 1, 1, \p, stq, q22, [a1 - APART]
    level1 \n, \op, 1, 3, \p, stq, q17, [a1 - 6*APART]
    with_access 0, \op, 0, 0, 0, 0, 0, \n, ldq, q24, [a2 - 16 - RECORD]
    level2 \n, \op, \opn, 0, 0, \p, stq, q21, [a1 - 2*APART]
    level2 \n, \op, \opn, 0, 1, \p, stq, q19, [a1 - 4*APART]
.endm

; Radix 8 across the sections, from the scratch page to the page at a8.
.macro across op, opn
    movi a2, FACTORS + 48
    movi a0, SCRATCH + 112
    movi a1, 7*APART
    add a1, a1, a8
    ldq q24, [a2 + N1/8*RECORD - RECORD - 16]
    cross_frame \op, \opn, 1, 0, 0
    cross_frame \op, \opn, 1, 1, 0
    loop N1/8 - 2 {
    cross_frame \op, \opn, 1, 1, 1
    }
    cross_frame \op, \opn, 0, 1, 1
    stq q23, [a1]
.endm

; The factors come once, while the first page is in its columns.
.macro transform op, opn
    movi a9, SCRATCH
    column_passes \op, \opn
    bz c10, .factors_are_here
    wait FACTORS_EVENT
    movi c10, 0
.factors_are_here:
    across \op, \opn
.endm

.program
start:
    movi c10, 1
    .if INVERSE
    pages transform, bflyc, bflyci
    .else
    pages transform, bfly, bflyn
    .endif

.dmem TABLES
    column_tables
