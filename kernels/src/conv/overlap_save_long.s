; Overlap-save with blocks beyond local memory, N = 8^C R, as 8^C rows of R.
; Three phases over system memory: forward columns; forward rows, product and inverse rows; inverse columns.
; CP2 works on pages of all three phases in turn, each of another block, so that the transfers of the
; columns are hidden behind the arithmetic of the rows.
;
; The caller defines (overlap_save_long.rs does):
;   R        length of a row, 8^A M
;   A        passes of radix 8 on each side of a row, 1 or 2
;   M        4, 8 or 16: length of the sub-transforms that the middle pass does
;   C        passes of radix 8 down the columns, 2 or 3: 64 or 512 rows
;
; A page is 1024 numbers of a section, transformed in place:
;   columns  16 columns of 64 rows, number n of column c at 16 n + c; or 2 of 512, at 2 n + c
;   rows     1024/R rows; at the page's factor address records of the forward passes and factors
;            of the middle pass; the page's tap address: taps in the digit-reversed order in which the
;            forward passes leave a spectrum (overlap_save.s)
;   back     the columns again; factors: records of the first pass, of the second and so on
; A record is 64 bytes: w^2, w^4, w, w W8, each for the columns A and B of an iteration.
;
; Each entry stands for a set of pages that take turns. At launch a15 is the address of
;   word 0 pages, word 1 bytes of the ring, then from byte 16 the ring: for each page
;   in turn 16 bytes: page, the page once more, its factors, and for rows its taps.
; For each page the kernel waits for event 0, which the DMA posts when the page has been
; loaded, and signals event 1 when it can be stored.
;
; Forward transform: natural order in, digit-reversed order out. There is one record per sub-transform, which
; depends on its frequency so far: a row continues the columns. Inverse transform: digit-reversed order in,
; natural order out, one record per pair of columns; the columns' records depend on their place in the row.
;
; Consecutive passes of a page overlap (`joint`): the first iterations of one load while the other ends.
;
; DMEM: 64 bytes and 544 + 32 (M + 8 M (A == 2)) of records, 4 KiB more with C = 3, steps of
; at most 1.4 KiB.

; Defaults, which definitions by the caller replace.
.equ R, 1024
.equ A, 2
.equ M, 16
.equ C, 2

.if M << (3*A) != R || (M != 4 && M != 8 && M != 16) || A > 2
.error "R must be 8^A M with M = 4, 8 or 16 and A at most 2"
.endif
.if C != 2 && C != 3
.error "C must be 2 or 3"
.endif

.equ INVERSE, 0
.include "../fft/radix8_iteration.s"
.include "../fft/radix8_pass.s"
.equ MID_RING, 0
.include "spectrum_product.s"

.equ PAGE, 8192
.equ LOADED, 0
.equ DONE, 1

; Defines the constants of pass t (radix8_pass.s), in place, and
;   sub{t}   iterations of a sub-transform, whose rows are 16 sub{t} bytes apart
;   own{t}   1: every iteration has a record; 0: every sub-transform has one
;   walk{t}  1: steps come from a table; 0: they are constant
;   on{t}    bytes from an iteration to the next
;   at{t}    address of its records, relative to a10 if `far{t}` is 1; `bytes{t}` is their length
.macro pass t, n, factors, each, at, far, length
    distances8 \t, 16*\n, 16*\n, \factors, 0, \n == 1 ? 128 : 16
    .equ sub{\t}, \n
    .equ own{\t}, \each
    .equ walk{\t}, \n > 1 && \n < 64
    .equ far{\t}, \far
    .equ bytes{\t}, \length
    .equ at{\t}, \at
.endm
    ; Forward columns.
    pass 1, 64, 0, 0, 0, 0, 0
    pass 2, 8, 1, 0, records2, 0, 512
    pass 9, 1, 1, 1, records9, 0, 4096
    ; Forward rows, then inverse rows.
    pass 3, R/16, 4, 0, 0, 1, 64*(1024/R)
    pass 4, R/128, 4, 0, 64*(1024/R), 1, 512*(1024/R)
    pass 5, M/2, 1, 1, records5, 0, 32*M
    pass 6, 4*M, 1, 1, records6, 0, 256*M
    ; Inverse columns.
    pass 10, 1, 4, 1, 0, 1, 64
    pass 7, 8, 4, 1, 64*(C == 3), 1, 512
    pass 8, 64, 4, 1, 512 + 64*(C == 3), 1, 4096

; Offset of the middle pass's factors among the factors of a page of rows.
.equ FACTORS, 64*(1024/R) + 512*(1024/R)*(A == 2)

; Registers:
;   a0, a1   loads and stores of a pass   s0, s1   their steps
;   a2, a3   w of a record, w W8      s2, s3   their steps
;   a4       steps of the pass        s4       16
;   a7       the ring                 s7       8
;   a8, a10  the page, its factors    c14      pages left
;   a11      taps of rows

; Hook of radix8_iteration.s: loads the records, w^4 of A for the next iteration, and the next steps.
.macro hook on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12 && \c && tw{\c}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q27, [a3]+s3%
    .elif \slot == 17 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a2 - 32]
    .elif \slot == 18 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldp, r49, [a2 - 8]
    .elif \slot == 20 && \n && \n == \c && walk{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s0, [a4 - 8]
    .elif \slot == 21 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q26, [a2]+s2%
    .elif \slot == 22 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldp, r48, [a2 - 16]
    .elif \slot == 23 && \n && \n == \c && walk{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s2, [a4]+s4%
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; Lets a{x} walk the records of pass t from their element q on, which is 16 q bytes from the start of a record.
.macro walks x, t, q
    .if far{\t}
    addi a{\x}, a10, at{\t} + 16*\q
    .else
    movi a{\x}, at{\t} + 16*\q
    .endif
    mov b{\x}, a{\x}
    movi l{\x}, bytes{\t}
    movi s{\x}, 64*own{\t}
.endm

; Prepares the loads of pass t: their first address and step, and w^4 of the first column.
.macro reads t
    movi a0, xat{\t}
    add a0, a0, a8
    movi s0, on{\t}
    .if tw{\t}
    walks 2, \t, 2
    ldp r48, [a2 - 16]
    .endif
.endm

; Prepares the first iteration of pass t while the second is loaded: w W8, and the table of steps.
.macro computes t
    .if tw{\t}
    walks 3, \t, 3
    .endif
    .if walk{\t} && sub{\t} == 2
    ; The second iteration ends a sub-transform before the first table entry has been loaded.
    movi s0, 16 + 112*2
    movi s2, 64
    .endif
    .if walk{\t}
    movi a4, steps{\t} + 8
    mov b4, a4
    movi l4, 16*sub{\t}
    .endif
.endm

; Prepares the stores of pass t; a step from the table has been loaded already.
.macro writes t
    movi a1, xat{\t}
    add a1, a1, a8
    .if walk{\t} == 0
    movi s1, on{\t}
    .endif
.endm

; One frame of iterations: n is loaded, c computed, p stored (radix8_iteration.s).
.macro frame op, opn, n, c, p
    frame8 \op, \opn, \n, \c, \p, [a0]+s0, [a1]+s1, hook
.endm

; Starts pass t alone, up to its last load.
.macro begin op, opn, t
    reads \t
    frame \op, \opn, \t, 0, 0
    computes \t
    frame \op, \opn, \t, \t, 0
    writes \t
    loop 62 {
    frame \op, \opn, \t, \t, \t
    }
.endm

; Starts pass u while pass t ends, up to the last load of u. The last iterations of t store to rows
; other than those which the first iterations of u load.
.macro joint op, opn, t, u
    reads \u
    frame \op, \opn, \u, \t, \t
    computes \u
    frame \op, \opn, \u, \u, \t
    writes \u
    loop 62 {
    frame \op, \opn, \u, \u, \u
    }
.endm

; Ends pass t.
.macro end op, opn, t
    frame \op, \opn, 0, \t, \t
    tail8 \op, \opn, \t
.endm

; Runs the middle pass over a page.
.macro middle
    addi a2, a10, FACTORS > 2047 ? 2047 : FACTORS
    .if FACTORS > 2047
    addi a2, a2, FACTORS - 2047
    .endif
    mov a3, a11
    mid_ready PAGE/2, PAGE
    movi l0, PAGE
    movi c1, 64
    mid_pass
.endm

; Handles a page of one kind, as a subroutine.
.macro page_of work
    ldx2 a8, [a7]+s7%
    ldx2 a10, [a7]+s7%
    wait LOADED
    \work
    signal DONE
    ret
.endm

.macro columns_forward
    begin bfly, bflyn, 1
    joint bfly, bflyn, 1, 2
    .if C == 3
    joint bfly, bflyn, 2, 9
    end bfly, bflyn, 9
    .else
    end bfly, bflyn, 2
    .endif
.endm

.macro whole_rows
    begin bfly, bflyn, 3
    .if A == 2
    joint bfly, bflyn, 3, 4
    end bfly, bflyn, 4
    .else
    end bfly, bflyn, 3
    .endif
    middle
    begin bflyc, bflyci, 5
    .if A == 2
    joint bflyc, bflyci, 5, 6
    end bflyc, bflyci, 6
    .else
    end bflyc, bflyci, 5
    .endif
.endm

.macro columns_back
    .if C == 3
    begin bflyc, bflyci, 10
    joint bflyc, bflyci, 10, 7
    .else
    begin bflyc, bflyci, 7
    .endif
    joint bflyc, bflyci, 7, 8
    end bflyc, bflyci, 8
.endm

; Handles the given numbers of pages of each kind.
.macro pages columns, rows, back
    .rept \columns
    call columns_page
    .endr
    .rept \rows
    call rows_page
    .endr
    .rept \back
    call back_page
    .endr
.endm

; An entry: groups of pages of each kind take turns, optionally followed by a second group, until all pages are done.
.macro turns columns, rows, back, columns2=0, rows2=0, back2=0
    ldx2 c14, [a15]
    addi a7, a15, 16
    mov b7, a7
    movi s7, 8
    movi s4, 16
    movi a4, constants
    ldq q30, [a4]
    mov l7, c15
.turn:
    pages \columns, \rows, \back
    pages \columns2, \rows2, \back2
    addi c14, c14, -\columns - \rows - \back - \columns2 - \rows2 - \back2
    bnz c14, .turn
    stop
.endm

.program
columns:
    turns 1, 0, 0
columns_and_rows:
    turns 1, 1, 0
more_columns_and_rows:
    turns 2, 1, 0
more_columns_and_all:
    turns 1, 1, 0, 1, 1, 1
all:
    turns 1, 1, 1
all_and_more_back:
    turns 1, 1, 1, 0, 1, 1
rows:
    turns 0, 1, 0
rows_and_back:
    turns 0, 1, 1
rows_and_more_back:
    turns 0, 1, 2
back:
    turns 0, 0, 1

columns_page:
    page_of columns_forward
rows_page:
    page_of whole_rows
back_page:
    page_of columns_back

; A record of the twiddle factors W^k and W^m, W = exp(-2 pi i/den).
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
; Steps of sub-transforms of n iterations. Entry j: read step after iteration j + 2, write step after
; iteration j, step of w after j + 2, of w W8 after j + 1. It is loaded in the frame of iteration j + 1.
.macro steps n, own
    .rept \n, j
    .int 16 + 112*\n*((j + 2) % \n == \n - 1), 16 + 112*\n*(j == \n - 1)
    .int \own || (j + 2) % \n == \n - 1 ? 64 : 0, \own || (j + 1) % \n == \n - 1 ? 64 : 0
    .endr
.endm

.dmem 0
    mid_constants
    .align 16
records2:
    .rept 8, i
    record i, i, 64
    .endr
records9:
    .if C == 3
    .rept 64, i
    record i/8 + i%8*8, i/8 + i%8*8, 512
    .endr
    .endif
records5:
    .rept M/2, i
    record 2*i, 2*i + 1, 8*M
    .endr
records6:
    .if A == 2
    .rept 4*M, i
    record 2*i, 2*i + 1, 64*M
    .endr
    .endif
    .rept 7, i
    .if walk{i + 1} && (A == 2 || (i + 1 != 4 && i + 1 != 6))
steps{i + 1}:
    steps sub{i + 1}, own{i + 1}
    .endif
    .endr
