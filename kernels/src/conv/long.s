; Overlap-save with blocks beyond local memory, N = 64 R complex numbers as 64 rows of R:
; columns forward, rows forward, product and back, columns back. The three follow each other
; over system memory; CP2 works on pages of all three in turn, each of another block, so that
; the transfers of the columns are hidden behind the arithmetic of the rows.
;
; The caller defines (long/mod.rs does):
;   R        length of a row, 8^A M
;   A        passes of radix 8 on each side of a row, 1 or 2
;   M        4, 8 or 16: the levels of each transform that the middle pass does
;
; A page is 1024 numbers of a section, in place:
;   columns  16 columns of 64 rows, number n of column c at 16 n + c
;   rows     1024/R rows; at the page's factor address records of the forward passes, factors
;            of the middle pass, and taps in the order in which the forward passes leave a
;            spectrum (overlap.s)
;   back     16 columns again; factors: records of the first pass, of the second
; A record is 64 bytes: w^2, w^4, w, w W8, each for the columns A and B of an iteration.
;
; Entries, by the pages that take turns. At launch a15 is the address of
;   word 0 pages, word 1 bytes of the ring, then from byte 16 the ring: for each page
;   in turn 16 bytes: page, the same again, factors, 0.
; For each page the kernel waits for event 0, which the DMA posts when the page has been
; loaded, and signals event 1 when it can be stored.
;
; Forward: natural order in, digit-reversed order out, one record per sub-transform, which
; depends on its frequency so far: a row goes on where the columns end. Back it is the other
; way round, one record per pair of columns, and the columns' depend on their place in the row.
;
; DMEM: 64 bytes and 544 + 32 (M + 8 M (A == 2)) of records, steps of at most 1.3 KiB.

; Defaults, which a definition by the caller replaces.
.equ R, 1024
.equ A, 2
.equ M, 16

.if M << (3*A) != R || (M != 4 && M != 8 && M != 16) || A > 2
.error "R must be 8^A M with M = 4, 8 or 16 and A at most 2"
.endif

.equ INVERSE, 0
.include "../fft/frame8.s"
.include "../fft/pass8.s"
.include "middle.s"

.equ PAGE, 8192
.equ LOADED, 0
.equ DONE, 1

; The constants of pass t (pass8.s), in place, and
;   sub{t}   iterations of a sub-transform; its rows are 16 sub{t} bytes apart
;   own{t}   1: every iteration has a record; 0: a sub-transform has
.macro pass t, n, factors, each
    distances8 \t, 16*\n, 16*\n, \factors, 0
    .equ sub{\t}, \n
    .equ own{\t}, \each
.endm
    ; Columns forward.
    pass 1, 64, 0, 0
    pass 2, 8, 1, 0
    ; Rows forward; back.
    pass 3, R/16, 4, 0
    pass 4, R/128, 4, 0
    pass 5, M/2, 1, 1
    pass 6, 4*M, 1, 1
    ; Columns back.
    pass 7, 8, 4, 1
    pass 8, 64, 4, 1

; Where the records of pass 4, the factors of the middle pass and the taps are in the factors
; of a page of rows.
.equ RECORDS4, 64*(1024/R)
.equ FACTORS, RECORDS4 + 512*(1024/R)*(A == 2)
.equ TAPS, FACTORS + PAGE/2

; Registers.
;   a0, a1   a pass reads, writes     s0, s1   their steps
;   a2, a3   w of a record, w W8      s2, s3   their steps
;   a4       steps of the pass        s4       16
;   a7       the ring                 s7       8
;   a8, a10  the page, its factors    c14      pages left

; The hooks of frame8: the records, w^4 of A for the next iteration, and the next steps.
.macro hook on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12 && \c && tw{\c}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q27, [a3]+s3%
    .elif \slot == 17 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a2 - 32]
    .elif \slot == 18 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldp, r49, [a2 - 8]
    .elif \slot == 20 && \n && \n == \c && sub{\n} < 64
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s0, [a4 - 8]
    .elif \slot == 21 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q26, [a2]+s2%
    .elif \slot == 22 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldp, r48, [a2 - 16]
    .elif \slot == 23 && \n && \n == \c && sub{\n} < 64
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s2, [a4]+s4%
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; Pass t over a page; a2 is its first record, `length` bytes of records follow.
.macro page8 op, opn, t, length
    movi a0, xat{\t}
    add a0, a0, a8
    mov a1, a0
    movi s0, 16
    movi s1, 16
    .if tw{\t}
    addi a2, a2, 32
    mov b2, a2
    movi l2, \length
    addi a3, a2, 16
    mov b3, a3
    movi l3, \length
    movi s2, 64*own{\t}
    movi s3, 64*own{\t}
    ldp r48, [a2 - 16]
    .endif
    .if sub{\t} < 64
    movi a4, steps{\t} + 8
    mov b4, a4
    movi l4, 16*sub{\t}
    .endif
    frame8 \op, \opn, \t, 0, 0, [a0]+s0, [a1]+s1, hook
    frame8 \op, \opn, \t, \t, 0, [a0]+s0, [a1]+s1, hook
    loop 62 {
    frame8 \op, \opn, \t, \t, \t, [a0]+s0, [a1]+s1, hook
    }
    frame8 \op, \opn, 0, \t, \t, [a0]+s0, [a1]+s1, hook
    tail8 \op, \opn, \t
.endm

; The middle pass over a page.
.macro middle
    addi a2, a10, FACTORS
    mov b2, a2
    movi l2, PAGE/2
    movi s2, 16
    movi a3, TAPS
    add a3, a3, a10
    mov b3, a3
    movi l3, PAGE
    movi a4, constants
    ldq q28, [a4 + 16]
    ldq q29, [a4 + 32]
    addi a0, a8, 112
    mov b0, a0
    movi l0, PAGE
    movi s0, 128
    mov a1, a0
    movi c1, 64
    mid_pass
.endm

; A page of a kind, as a subroutine.
.macro page_of work
    ldx2 a8, [a7]+s7%
    ldx2 a10, [a7]+s7%
    wait LOADED
    \work
    signal DONE
    ret
.endm

.macro columns_forward
    page8 bfly, bflyn, 1, 0
    movi a2, records2
    page8 bfly, bflyn, 2, 512
.endm

.macro whole_rows
    mov a2, a10
    page8 bfly, bflyn, 3, 64*(1024/R)
    .if A == 2
    addi a2, a10, RECORDS4
    page8 bfly, bflyn, 4, 512*(1024/R)
    .endif
    middle
    movi a2, records5
    page8 bflyc, bflyci, 5, 32*M
    .if A == 2
    movi a2, records6
    page8 bflyc, bflyci, 6, 256*M
    .endif
.endm

.macro columns_back
    mov a2, a10
    page8 bflyc, bflyci, 7, 512
    addi a2, a10, 512
    page8 bflyc, bflyci, 8, 4096
.endm

; An entry: pages of these kinds take turns until all are done.
.macro turns columns, rows, back
    ldx2 c14, [a15]
    addi a7, a15, 16
    mov b7, a7
    movi s7, 8
    movi s4, 16
    movi a4, constants
    ldq q30, [a4]
    mov l7, c15
.turn:
    .if \columns
    call columns_page
    .endif
    .if \rows
    call rows_page
    .endif
    .if \back
    call back_page
    .endif
    addi c14, c14, -\columns - \rows - \back
    bnz c14, .turn
    stop
.endm

.program
columns:
    turns 1, 0, 0
columns_and_rows:
    turns 1, 1, 0
all:
    turns 1, 1, 1
rows:
    turns 0, 1, 0
rows_and_back:
    turns 0, 1, 1
back:
    turns 0, 0, 1

columns_page:
    page_of columns_forward
rows_page:
    page_of whole_rows
back_page:
    page_of columns_back

; A record of W^k, or of W^k and W^(k + 1), W = exp(-2 pi i/den).
.macro record k, m, den
    .cis -2*(\k), \den
    .cis -2*(\m), \den
    .cis -4*(\k), \den
    .cis -4*(\m), \den
    .cis -(\k), \den
    .cis -(\m), \den
    .cis -(\k) - \den/8, \den
    .cis -(\m) - \den/8, \den
.endm
; The steps of sub-transforms of n iterations, entry j: read after iteration j + 2, write after
; iteration j, w after j + 2, w W8 after j + 1. Entry j is loaded in the frame of iteration j + 1.
.macro steps n, own
    .rept \n, j
    .int 16 + 112*\n*((j + 2) % \n == \n - 1), 16 + 112*\n*(j == \n - 1)
    .int \own || (j + 2) % \n == \n - 1 ? 64 : 0, \own || (j + 1) % \n == \n - 1 ? 64 : 0
    .endr
.endm

.dmem 0
constants:
    .cis 0, 8
    .cis -1, 8
    .rept 4, j
    .cis -j, 16
    .endr
    .align 16
records2:
    .rept 8, i
    record i, i, 64
    .endr
records5:
    .rept M/2, i
    record 2*i, 2*i + 1, 8*M
    .endr
    .if A == 2
records6:
    .rept 4*M, i
    record 2*i, 2*i + 1, 64*M
    .endr
    .endif
    .rept 7, i
    .if sub{i + 1} < 64 && (A == 2 || (i + 1 != 4 && i + 1 != 6))
steps{i + 1}:
    steps sub{i + 1}, own{i + 1}
    .endif
    .endr
