; Blocks of `strip` columns of a band of `band` complex numbers, both even, become as many rows: two rows and two columns
; in an iteration, down the columns. Two loads and two stores for four numbers, two operations: bound 4 cycles.
;
; Registers: c4, c5 point at the numbers of the two columns and at their rows; c6 counts blocks.
.include "page.s"

.macro transpose_quads band, strip
    .program
    .entry start
start:
    movi s0, 2*8*(\band)                                ; from a pair of rows of the result to the next
    movi s1, 8*(\strip)*(\band - 1)                     ; from the end of a block's first row to its end
    page_begin
    ldx2 c4, [a15]
    ldx2 c6, [a15 + 8]
    loop c6 {
    loop \strip/2 {
    .linear columns, \band/2
    .pointer upper = c4 by 2*8*(\strip)
    .pointer lower = c4 + 8*(\strip) by 2*8*(\strip)
    .pointer even = c5 by 16
    .pointer odd = c5 + 8*(\band) by 16
    .apart                                              ; arrays in and out are pages of their own
    ldq  upper, [upper]
    ldq  lower, [lower]
    trnlo even, upper, lower
    trnhi odd, upper, lower
    stq  even, [even]
    stq  odd, [odd]
    .endlinear
    addi c4, c4, 16
    add  c5, c5, s0
    }
    add  c4, c4, s1
    nop                                                 ; two loops do not end with one word
    }
    page_end
    stop
.endm
