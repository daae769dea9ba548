; FFTs of two-axis arrays in DMEM: all rows, then all columns of an array.
; Each section transforms an array of its own. With rows of three passes the columns come first.
;
; The caller defines (program.rs does):
;   INVERSE         0: exp(-2 pi i jk/N), 1: exp(+2 pi i jk/N); neither is scaled
;   N1, COLUMNS     length of the columns, and their number
;   GROUPS          rows of each n1, the index of a row in its column, which lie side by side: 1, unless
;                   the array is a part of one; the length of a row, COLUMNS/GROUPS, is 16 to 1024
;   PIECES          number of equal pieces in which an array is loaded and its result stored; piece g has the
;                   rows k with k modulo N1/8 from g N1/8/PIECES on
;   P1 .. P3, LAST1 radices of the column passes (four_step.s); LAST1 = 2: columns of two numbers, halves of an array
;   R1 .. R4        radices of the row passes (fft.s); unused ones, R3 and R4 or only R4, are 0. Three passes end in
;                   another page than they begin in; then LAST1 is 1 and PIECES is 1
;
; Pages and their ring are as in four_step.s. A page is an array: number n of row r of n1 is at
; n1 COLUMNS + r COLUMNS/GROUPS + n, and so is its result.
; Each piece has an entry in the ring, those of a page one after the other. Event 0 is posted and event 1
; signalled for every piece, and rows are transformed as soon as their piece has been loaded.
;
; The rows are transformed in place; the output page holds intermediate results of two or four passes (stockham.s).
; The columns are transformed in place, but their last pass stores in order to the output page (column_passes.s). Where
; results stay in place, the second address of the page in the ring serves the row passes. Before rows of three passes
; the columns are transformed in place, and the rows end in the output page.

; Defaults, which definitions by the caller replace.
.equ INVERSE, 0
.equ N1, 32
.equ COLUMNS, 32
.equ GROUPS, 1
.equ PIECES, 1
.equ LAST1, 8
.equ P1, 4
.equ P2, 1
.equ P3, 1
.equ R1, 4
.equ R2, 8
.equ R3, 0
.equ R4, 0

.if LAST1*P1*P2*P3 != N1 || R1*R2*max(R3, 1)*max(R4, 1)*GROUPS != COLUMNS
.error "the product of the radices P1 .. P3 and LAST1 is not N1, or that of R1 .. R4 is not COLUMNS/GROUPS"
.endif

.if R3 && !R4 && (LAST1 != 1 || PIECES > 1)
.error "before rows of three passes columns stay in place, in one piece: LAST1 and PIECES must be 1"
.endif

.if N1/8 % PIECES && PIECES > 1
.error "PIECES does not divide N1/8"
.endif

.equ N, COLUMNS/GROUPS
; Numbers of a piece.
.equ PIECE, N1*COLUMNS/PIECES
.equ P4, 1
.equ SHIFTED, 0
.equ WEIGHED, 0
.equ AXES, 1
.equ OTHER, 9
.equ LEAST, min(PIECE/16, 4)

.include "radix8_iteration.s"
.include "radix8_pass.s"
.include "radix4_iteration.s"
.include "in_place_passes.s"
.include "stockham.s"
.include "column_passes.s"

; Registers of the columns, which are of no use to the rows.
.macro stockham_registers
    .rept 32, i
    .free q{i}
    .endr
    .rept 7, i
    .free a{i}, b{i}, l{i}
    .endr
    .rept 5, i
    .free s{i}
    .endr
.endm

.macro all_rows op, opn
    .if LAST1 == 1 && R3 == 0
    mov a9, a11
    .endif
    movi s2, 8*N
    movi c3, 8*PIECE
    movi c0, PIECE/16
    .chain
    stockham_passes
    .endchain
.endm

.macro rows_and_columns op, opn
    all_rows \op, \opn
    .if LAST1 == 2
    halves \op
    .else
    column_passes \op, \opn
    .endif
.endm

; Columns of two numbers, from a8 to a9. Every four cycles load a quad of each row, store two results and compute two
; butterflies without factors. Step j of four loads quads q{j}, q{4 + j}, computes those of step j - 1 into q{8 + .} and
; q{12 + .}, and stores results of four steps ago. No word waits for an operand; the pass takes 2 COLUMNS + 20 cycles.
.equ ROW2, 8*COLUMNS
.macro halves op
    movi a0, ones
    ldq q30, [a0]
    movi s0, ROW2
    add a0, a8, s0
    add a1, a9, s0
    movi s0, 16
    movi s1, 16
    .rept 4, j
    ldq q{j}, [a0 - ROW2]
    half2 word, j > 0, \op, 0, j, ldq, q{4 + j}, [a0]+s0
    half2 alone, j > 0, \op, 1, j, 1
    nop
    .endr
    loop COLUMNS/8 - 1 {
    .rept 4, j
    ldq q{j}, [a0 - ROW2]
    half2 word, 1, \op, 0, j, ldq, q{4 + j}, [a0]+s0
    half2 word, 1, \op, 1, j, stq, q{8 + j}, [a1 - ROW2]
    stq q{12 + j}, [a1]+s1
    .endr
    }
    stq q8, [a1 - ROW2]
    half2 word, 1, \op, 0, 0, stq, q12, [a1]+s1
    half2 word, 1, \op, 1, 0, stq, q9, [a1 - ROW2]
    stq q13, [a1]+s1
    stq q10, [a1 - ROW2]
    stq q14, [a1]+s1
    .rept 4
    nop
    .endr
    stq q11, [a1 - ROW2]
    stq q15, [a1]
.endm

; Butterfly e of step j - 1, if `on`, in the word that macro `then` builds around it.
.macro half2 then, on, op, e, j, a, b=0, c=0
    \then \on, \op, 16 + 2*((\j + 3)%4) + \e, 24 + 2*((\j + 3)%4) + \e, 2*((\j + 3)%4) + \e, 8 + 2*((\j + 3)%4) + \e, 60, \a, \b, \c
.endm

.macro columns_and_rows op, opn
    early_columns \op, \opn
    all_rows \op, \opn
.endm

; The page loop for arrays that come in pieces.
.macro pages_in_pieces op, opn
    pages_begin
.page:
    movi c12, PIECES
.piece:
    page all_rows, \op, \opn
    addi c12, c12, -1
    addi c14, c14, -1
    bnz c12, .piece
    movi s0, 8*PIECE*(1 - PIECES)
    add a8, a8, s0
    add a9, a9, s0
    early_columns \op, \opn
    last_begins
    movi c12, PIECES
.result:
    movi c1, PIECE/16 - 2
    frames8 \op, \opn, 15
    addi a1, a1, 16
    addi c12, c12, -1
    signal 1
    bnz c12, .result
    bnz c14, .page
    stop
.endm

.macro arrays_of op, opn
    .if PIECES > 1
    pages_in_pieces \op, \opn
    .elif R3 && !R4
    pages columns_and_rows, \op, \opn
    .else
    pages rows_and_columns, \op, \opn
    .endif
.endm

.dmem 0
    stockham_tables
    .align 16
    column_tables
    .if LAST1 == 2
    .align 16
ones:
    .cis 0, 1
    .cis 0, 1
    .endif

.program
arrays:
    .if INVERSE
    arrays_of bflyc, bflyci
    .else
    arrays_of bfly, bflyn
    .endif
