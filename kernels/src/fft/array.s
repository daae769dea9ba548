; FFTs of arrays of two axes in DMEM: all rows, then all columns, each section an array of its own.
;
; The caller defines (program.rs does):
;   INVERSE         0: exp(-2 pi i jk/N), 1: exp(+2 pi i jk/N); neither is scaled
;   N1, COLUMNS     length of the columns, and how many there are
;   GROUPS          rows of each n1, the number of a row in its column, which lie side by side: 1, but for N1 = 8,
;                   of which a page may hold several; their length, COLUMNS/GROUPS, is 16, 32 or 64
;   P1 .. P3        radices of the column passes but the last (large.s)
;   R1, R2          radices of the row passes (fft.s)
;
; Pages and their ring as in large.s: a page is an array, number n of row r of n1 at n1 COLUMNS + r COLUMNS/GROUPS + n,
; result likewise.
; The rows are transformed in place, with the output page for what is between their two passes (stockham.s); the
; columns in place but for the last pass, which puts their results in order in the output page (lines.s).

; Defaults, which a definition by the caller replaces.
.equ INVERSE, 0
.equ N1, 32
.equ COLUMNS, 32
.equ GROUPS, 1
.equ P1, 4
.equ P2, 1
.equ P3, 1
.equ R1, 4
.equ R2, 8

.if 8*P1*P2*P3 != N1 || R1*R2*GROUPS != COLUMNS
.error "the product of the radices P1 .. P3 and 8 is not N1, or that of R1 and R2 is not COLUMNS/GROUPS"
.endif

.equ N, COLUMNS/GROUPS
.equ R3, 0
.equ R4, 0
.equ SHIFTED, 0
.equ AXES, 1
.equ OTHER, 9

.include "frame8.s"
.include "pass8.s"
.include "frame4.s"
.include "blocks.s"
.include "stockham.s"
.include "lines.s"

.macro rows_and_columns op, opn
    ; The rows' passes use the registers of the ring, and s5 if both have radix 8.
    mov c10, a7
    movi s0, 7*N
    movi s3, 8*N
    movi c1, N1*COLUMNS/16 - 2
    movi c4, 8*N1*COLUMNS - 32
    movi c5, 8*N1*COLUMNS - 128
    add a12, a8, s0
    add a13, a9, s0
    ldq q30, [a14 + (constants - passes)]
    .if R1 == 4
    ldq q24, [a14 + (constants - passes) + 16]
    ldq q25, [a14 + (constants - passes) + 32]
    .endif
    transform \op, \opn
    mov a7, c10
    addi b7, a15, 16
    mov l7, c15
    .if R1 == 8
    movi s5, 8
    .endif
    column_passes \op, \opn
.endm

.program
arrays:
    movi a14, passes
    movi s8, 64
    movi s9, 8
    .if INVERSE
    pages rows_and_columns, bflyc, bflyci
    .else
    pages rows_and_columns, bfly, bflyn
    .endif

.dmem 0
    stockham_tables
    .align 16
    column_tables
