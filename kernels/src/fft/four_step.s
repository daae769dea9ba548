; Four-step FFT: transforms larger than DMEM, in two or three passes.
; The passes go over system memory: columns of a matrix, then rows at shifted frequencies.
;
; The caller defines (program.rs does):
;   INVERSE         0: exp(-2 pi i jk/N), 1: exp(+2 pi i jk/N); neither is scaled
;   N1, COLUMNS     length of the columns, and their number in a section's page; N1 = 0: no such kernel
;   P1 .. P3        radices of the column passes except the last, 4 or 8; 1 for none
;   P4              1, or 4 if P1 .. P3 are 4 and LAST1 is 1, for shifted columns
;   LAST1           radix of the last, 8, with BACK 4; 1: no such pass, results stay where the others leave them: value
;                   p0 N1/P1 + p1 N1/P1/P2 + .. of a column is result p0 + P1 p1 + ..
;   SHIFTED         1: the columns of a page are at a shifted frequency as well, given by its
;                   factors: the sets of all passes, the last one's by frequency
;   AXES            2: a column is an array of two axes, of N1/8 and of 8 numbers, and so is its result
;   N2, ROWS        length of the rows, and their number in a section's page; N2 = 0: no such kernel
;   Q1 .. Q3        radices of the row passes except the last
;   REAL            1: columns are pairs of real ones, rows those of half a spectrum (half_spectrum_rows.s);
;                   COLUMNS is 2, 4 or 8, ROWS an even number
;   FULL, LAST2     pages of ROWS real rows before one of LAST2, from 2 to ROWS + 2
;   BACK            0, or rows in a page: columns of half a spectrum, rows to real numbers (inverse_real_pages.s);
;                   INVERSE is 1, P1 and Q1 are 8, the last pass of columns has radix 4; FULL pages of rows a matrix
;   SECTIONS        of the machine, with BACK
;   TOGETHER        1: with BACK, the differences of all columns of a section's page are contiguous, then their sums
;   ENDS            1: with BACK, only the pages of the last columns; COLUMNS is 2
;   TABLES          address of its tables in DMEM
;   WEIGHED         1: columns are first multiplied (weighted_columns.s) by weights in factors and a table; 2: in their
;                   first pass, P1 is 4 and COLUMNS 4, 8 or 16
;   RESIDENT        1: with REAL or BACK, the factors of all pages of rows stay where those of the first page are
; The last pass of rows has radix 8.
;
; Two kernels, with the entries `columns` and `rows`. Each works on page after page until all
; are done. At launch a15 is the address of
;   word 0 pages, word 1 bytes of the ring, words 2 and 3 (columns with BACK) pages of COLUMNS columns and then pages
;   of two, then from byte 16 the ring: for each page in turn
;   16 bytes: input page, output page, factors (rows and shifted columns only).
; For each page the kernel waits for event 0, which the DMA posts when the page has
; been loaded, and signals event 1 when its result can be stored.
;
; Columns: number n of column c is at n COLUMNS + c of the page, result k likewise.
; Rows: number n of row r is at r N2 + n, result k at k ROWS + r. The frequencies of
; a row are shifted by its number in the matrix divided by N1. Its factors are,
; for each pass except the last, the sets of all rows, then for each pair of rows
; (A, B) the row factors of the last: to the power 4 of A, of B, 2 of A, of B, 1 of A, of B.
;
; Both kernels do all passes except the last in place (in_place_passes.s); the last, if there is one, stores
; the result in order to the output page, whose contents it never reads.
;
; Cycles: columns 24 for 24 butterflies; rows likewise, but 32 in the last pass.

; Defaults, which definitions by the caller replace.
.equ INVERSE, 0
.equ N1, 64
.equ COLUMNS, 4
.equ P1, 8
.equ P2, 1
.equ P3, 1
.equ P4, 1
.equ SHIFTED, 0
.equ AXES, 1
.equ LAST1, 8
.equ N2, 64
.equ ROWS, 4
.equ Q1, 8
.equ Q2, 1
.equ Q3, 1
.equ REAL, 0
.equ FULL, 1
.equ LAST2, 2
.equ BACK, 0
.equ SECTIONS, 4
.equ TOGETHER, 0
.equ ENDS, 0
.equ RESIDENT, 0
.equ TABLES, 0
.equ WEIGHED, 0
.equ WOVEN, 0

.if N1 != 0 && LAST1*P1*P2*P3*P4 != N1
.error "the product of the radices P1 .. P4 and LAST1 is not N1"
.endif
.if P4 != 1 && (P4 != 4 || P3 != 4 || P2 != 4 || P1 != 4 || !SHIFTED || LAST1 != 1 || 8*N1*COLUMNS < 1536)
.error "a fourth pass in place follows three of radix 4 of shifted columns and is the last"
.endif
.if N2 != 0 && 8*Q1*Q2*Q3 != N2
.error "the product of the radices Q1 .. Q3 and 8 is not N2"
.endif

.include "radix8_iteration.s"
.include "radix8_pass.s"
.include "radix4_iteration.s"
.include "in_place_passes.s"
.include "radix8_twiddle_transpose.s"
.include "column_passes.s"
.include "weighted_columns.s"

; Addresses of the numbers and results of the last pass of real column pairs (real_columns.s).
.equ PARTED, 0
.alias numbers, a8
.alias results, a9
.alias beyond, a6
; Bytes of a row, of L rows, and distance between results that go down and that go up with k.
.equ ROW, 8*COLUMNS
.equ SPAN, N1/8*ROW
.equ TURN, ROW
; Offset of number 0 of column L/2 from a0, which is at number 6 of column 0.
.equ OTHER, ROW*at1_{N1/16} - 6*ROW
; Offset of the frames' Y from a4.
.equ BELOW, -ROW
; Offsets of the frames' first X and Y, and of their results.
.equ X_FIRST, ROW*at1_{N1 > 8} + 6*ROW
.equ Y_FIRST, ROW*at1_{N1 > 8 ? N1/8 - 1 : 0} + ROW
.equ UP_FIRST, 3*SPAN + ROW
.equ DOWN_FIRST, N1*ROW - 3*SPAN
; Offsets of results D of column 0 from those of S, and of those of column L/2.
.equ DOWN, N1*ROW + ROW
.equ END_S, 4*SPAN
.equ END_D, DOWN
.equ MID_S, SPAN/2
.equ MID_D, DOWN - SPAN/2
.include "real_columns.s"
.include "half_spectrum_rows.s"
.include "inverse_real_pages.s"

.macro columns_of op, opn
    .if REAL
    early_columns \op, \opn
    separate_pass
    .else
    .if WEIGHED == 1
    weigh
    .endif
    column_passes \op, \opn
    .endif
.endm

; The passes t, u, v over the rows of a page.
.macro row_passes op, opn, rows=ROWS, t=16, u=17, v=18
    .if RESIDENT
    add a10, a10, c11
    .if \t == 16
    addi c11, c11, COUPLES*ROWS + 24*ROWS
    .else
    movi c11, 0
    .endif
    .endif
    .if REAL && \rows > 2 && \rows < MOST
    add a8, a8, c12
    .endif
    .if BACK
    back_rows_first \op, \opn, \t
    .else
    mov a2, a10
    .endif
    .if Q1 == 4 && Q2 == 4
    blocks44 \op, \opn, \t, \u, 8*N2, 8*N2*\rows
    .elif !BACK
    blocks \op, \opn, \t, Q1, 8*N2, 8*N2*\rows, steps21
    .endif
    .if Q2 == 4 && Q3 == 4
    addi a2, a10, SETS2*\rows
    blocks44 \op, \opn, \u, \v, 8*N2/Q1, 8*N2*\rows
    .else
    .if Q1*Q2 != 16
    addi a2, a10, SETS2*\rows
    blocks \op, \opn, \u, Q2, 8*N2/Q1, 8*N2*\rows, steps22
    .endif
    addi a2, a10, SETS3*\rows
    blocks \op, \opn, \v, Q3, 8*N2/Q1/Q2, 8*N2*\rows, steps23
    .endif
    addi a3, a10, COUPLES*\rows
    .if REAL && \t == 16
    half8_pass \op, \opn, \rows, steps2 + RING2, steps2 + RING2
    .elif REAL
    half8_pass \op, \opn, \rows, steps_last, steps_last + (LAST2 > 2)*BLOCK
    .else
    shifted8_pass \op, \opn, N2/8, \rows, steps2, base2, ROWS
    .endif
.endm

; The page loop of real rows; the last page of a matrix has another size.
.macro real_rows op, opn
    pages_begin
    half8_begin
.matrix:
    .if FULL
    movi c13, FULL
.full:
    page row_passes, \op, \opn
    addi c13, c13, -1
    signal 1
    bnz c13, .full
    .endif
    page row_last, \op, \opn
    addi c14, c14, -1 - FULL
    signal 1
    bnz c14, .matrix
    stop
.endm
.macro row_last op, opn
    row_passes \op, \opn, LAST2, 20, 21, 22
.endm

; The page loop of inverse real rows, whose factors stay from matrix to matrix.
.macro back_rows op, opn
    pages_begin
.matrix:
    movi c11, 0
    movi c13, FULL
.full:
    page row_passes, \op, \opn
    addi c13, c13, -1
    signal 1
    bnz c13, .full
    addi c14, c14, -FULL
    bnz c14, .matrix
    stop
.endm
; Offsets of the sets of the passes among the factors of a page of one row.
.equ SETS2, 4*Q1
.equ SETS3, SETS2 + Q1*4*Q2*(Q2 > 1)
.equ COUPLES, SETS3 + Q1*Q2*4*Q3*(Q3 > 1)

.program
    .if N1
    .if ENDS
ends:
    .else
columns:
    .endif
    .if BACK
    back_columns bflyc, bflyci
    .elif INVERSE
    pages columns_of, bflyc, bflyci
    .else
    pages columns_of, bfly, bflyn
    .endif
    .endif
    .if N2
rows:
    .if REAL
    real_rows bfly, bflyn
    .elif BACK && RESIDENT
    back_rows bflyc, bflyci
    .elif INVERSE
    pages row_passes, bflyc, bflyci
    .else
    pages row_passes, bfly, bflyn
    .endif
    .endif

.dmem TABLES
    .if N1 && REAL
    early_tables
    .align 16
    separate_tables
    .elif N1 && BACK
    back_tables
    .elif N1
    column_tables
    .endif
    .if WEIGHED
    weights
    .endif
    .if N2
    .if N2 != N1 || SHIFTED || REAL || BACK
base2:
    .rept N2/8, k
    set 8, k, N2
    .endr
    .else
.equ base2, base1
    .endif
    .if Q1 == 8 && !BACK
steps21:
    steps8 8*N2
    .endif
    .if Q2 == 8
steps22:
    steps8 8*N2/Q1
    .endif
    .if Q3 == 8
steps23:
    steps8 8*N2/Q1/Q2
    .endif
    .rept N2/8 + 1, k
.equ at2_{k}, k%Q1*(N2/Q1) + k/Q1%Q2*(N2/Q1/Q2) + k/Q1/Q2%Q3*(N2/Q1/Q2/Q3)
    .endr
    .if REAL
    half8_steps
    .else
; Entry j: read step of iteration j, write step of iteration j - 2.
steps2:
    .rept ROWS/2, r
    .rept N2/8, k
    .int 8*(at2_{k + 1} - at2_{k}) + (k == N2/8 - 1)*(16*N2 - (r == ROWS/2 - 1)*8*N2*ROWS), 8*ROWS + (k == 1)*(16 - ROWS*N2)
    .endr
    .endr
    .endif
    .endif
