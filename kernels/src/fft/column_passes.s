; Column passes of four-step and two-axis FFTs, and their page loop.
;
; The including file (four_step.s, array.s) defines N1, COLUMNS, P1 .. P4, LAST1, SHIFTED and AXES (see four_step.s) and
; includes radix8_iteration.s, radix8_pass.s, radix4_iteration.s and in_place_passes.s.

; The prologue before the first page, and one page for macro `body`, which finds it in a8, a9 and a10.
.macro pages_begin
    ldx2 c14, [a15]
    addi a7, a15, 16
    mov b7, a7
    movi s7, 8
    movi s5, 8
    mov l7, c15
.endm

.macro page body, op, opn
    ldx2 a8, [a7]+s7%
    ldx2 a10, [a7]+s7%
    wait 0
    \body \op, \opn
.endm

; The page loop.
.macro pages body, op, opn
    pages_begin
.page:
    page \body, \op, \opn
    addi c14, c14, -1
    signal 1
    bnz c14, .page
    stop
.endm

; Pass t in place over blocks of D bytes in a page of B. Column passes are 12 to 15, row passes 16 to 18 or 20 to 22.
.macro blocks op, opn, t, radix, D, B, steps
    .if \radix == 8
    blocks8 \op, \opn, \t, \D, \B, \steps
    .elif \radix == 4
    blocks4 \op, \opn, \t, \D, \B
    .endif
.endm

.equ PAGE1, 8*N1*COLUMNS
; With two axes result p of the last pass lies where number p was, else N1/8 rows from that of p - 1.
.equ APART1, AXES == 2 ? 8*COLUMNS : PAGE1/8
; Bytes of the sets for each of its rows or, on the second of two axes, for one of 1; twice for the reads ahead.
.equ SETS1, AXES == 2 ? 64 : 4*N1
; Start of column k of the last pass, in numbers of one column.
    .rept N1/8 + 1, k
.equ at1_{k}, k%P1*(N1/P1) + k/P1%P2*(N1/P1/P2) + k/P1/P2%P3*(N1/P1/P2/P3)
    .endr

    .if LAST1 == 8
    distances8 15, 8*COLUMNS, APART1, 3, 1
    .endif
.macro column_passes op, opn
    early_columns \op, \opn
    .if LAST1 == 8
    last_begins
    movi c1, N1*COLUMNS/16 - 2
    frames8 \op, \opn, 15
    .endif
.endm

; Prepares the last pass.
.macro last_begins
    .if SHIFTED
    addi a2, a10, BASE1
    .else
    movi a2, base1
    .endif
    shared_at 15, steps14, N1*COLUMNS, SETS1, COLUMNS/2
    between8 15, a8, a9
.endm

; All passes except the last.
.macro early_columns op, opn
    .if SHIFTED
    mov a2, a10
    .else
    movi a2, factors1
    .endif
    .if WEIGHED == 2
    weigh4 \op, \opn
    sets_at SETS12, factors1 + 16
    blocks \op, \opn, 13, P2, PAGE1/P1, PAGE1, steps12
    .elif P1 == 4 && P2 == 4 && PAGE1 >= 1536
    blocks44 \op, \opn, 12, 13, PAGE1, PAGE1
    .else
    .if P1 == 8 && !SHIFTED
    whole8 \op, \opn, 12, PAGE1
    .else
    blocks \op, \opn, 12, P1, PAGE1, PAGE1, steps11
    .endif
    sets_at SETS12, factors1 + 16
    .if P2 == 4 && P3 == 4
    blocks44 \op, \opn, 13, 14, PAGE1/P1, PAGE1
    .else
    blocks \op, \opn, 13, P2, PAGE1/P1, PAGE1, steps12
    .endif
    .endif
    .if (P1 == 4 && PAGE1 >= 1536) || P2 != 4 || P3 != 4
    sets_at SETS13, factors13
    .if P3 == 4 && P4 == 4
    blocks44 \op, \opn, 14, 15, PAGE1/P1/P2, PAGE1
    .else
    blocks \op, \opn, 14, P3, PAGE1/P1/P2, PAGE1, steps13
    .endif
    .endif
.endm

; Sets a2 to the sets of a pass: in the factors of the page, or in a table.
.macro sets_at own, table
    .if SHIFTED
    addi a2, a10, \own
    .else
    movi a2, \table
    .endif
.endm

; Offsets of the sets of the passes among the factors of a page of shifted columns.
.equ SETS12, 4*P1
.equ SETS13, SETS12 + P1*4*P2*(P2 > 1)
.equ SETS14, SETS13 + P1*P2*4*P3*(P3 > 1)
.equ BASE1, SETS14 + P1*P2*P3*4*P4*(P4 > 1)

; Factors of W^k, W = exp(-2 pi i/den).
.macro set radix, k, den
    .if \radix == 8
    .cis -4*(\k), \den
    .cis -2*(\k), \den
    .cis -(\k), \den
    .cis -(\k) - \den/8, \den
    .elif \radix == 4
    .cis -2*(\k), \den
    .cis -(\k), \den
    .endif
.endm

; Data that the column passes except the last expect in DMEM.
.macro early_tables
    .if SHIFTED
    .if P1 == 8
steps11:
    steps8 PAGE1
    .endif
    .else
factors1:
    .if P1 == 8
    .cis 0, 8
    .cis -1, 8
    .else
    .cis 0, 4
    .cis 0, 4
    .endif
    .rept P1, b
    set P2, b, P1*P2
    .endr
factors13:
    .rept P1*P2, b
    set P3, b/P2 + P1*(b % P2), P1*P2*P3
    .endr
    .endif
    .if P2 == 8
steps12:
    steps8 PAGE1/P1
    .endif
    .if P3 == 8
steps13:
    steps8 PAGE1/P1/P2
    .endif
.endm

; Data that all column passes expect in DMEM.
.macro column_tables
    early_tables
    .if LAST1 == 8
    .if SHIFTED == 0
base1:
    .rept SETS1/32, k
    set 8, AXES == 2 ? 0 : k, N1
    .endr
    .endif
steps14:
    .rept N1/8, k
    .rept COLUMNS/2, c
    .int 32*(c == 0), 32*((c + 2) % (COLUMNS/2) == 0)
    .int 16 + (c == COLUMNS/2 - 1)*8*COLUMNS*(at1_{k + 1} - at1_{k} - 1), 16 + (AXES == 2 && (c + COLUMNS - 2) % (COLUMNS/2) == COLUMNS/2 - 1)*56*COLUMNS
    .endr
    .endr
    .endif
.endm
