; The program around loops that reduce rows of N floats, and loads of short rows.
;
; Registers: c4, c8, c5 point at a block of the inputs x and y and at its results; c6 has the number of blocks; s0, s1
; are the bytes of a block and of its results.
.include "page.s"

.macro begin_program
    .program
    .entry start
start:
.endm

; From here to `end_blocks` are the words of a block.
.macro begin_blocks bytes, result_bytes
    movi s0, \bytes
    movi s1, \result_bytes
    page_begin
    ldx2 c6, [a15 + 8]
    ldx2 c4, [a15]
    .if INPUTS == 2
    ldx  c8, [a15 + 16]
    .endif
    loop c6 {
.endm

.macro end_blocks
    add  c4, c4, s0
    add  c5, c5, s1
    .if INPUTS == 2
    add  c8, c8, s0
    .endif
    }
    page_end
    stop
.endm

; Four contiguous rows of N floats, a group, are N quads for every N. Registers are loaded by quads at multiples of 16
; bytes and by pairs at multiples of 8. Even rows begin at a multiple of 8. If N is odd, the last float of an even row
; and the first float of the odd row behind it share a pair: rows 0 and 1 share one, rows 2 and 3 another. So the floats
; of a row are
;
; * UNITS of four, each a quad, or two pairs where rows do not begin at multiples of 16 bytes;
; * an EXTRA pair, if there are two or three more: the pairs of two rows are loaded as a quad;
; * an ODD float: those of all rows are in the two shared pairs, in the rows' order.
;
; An input has three pointers, since the loads through one lie within an interval: to quads, to the pairs of units, and
; to the floats behind the units.
.equ UNITS, N/4
.equ EXTRA, N % 4/2
.equ ODD, N % 2

; Loads unit u of row r.
.macro group_unit v, input, r, u
    group_four \v, \input, (\r)*N + ODD*((\r) % 2) + 4*(\u)
.endm

.macro group_four v, input, at
    .if (\at) % 4 == 0
    ldq  \v, [\input[0] + 4*(\at)]
    .else
    group_pairs \v, \input[1], \at, (\at) + 2
    .endif
.endm

; Loads the extra pairs of rows 2 h and 2 h + 1.
.macro group_extra v, input, h, none
    group_pairs \v, \input[2], 2*(\h)*N + 4*UNITS, (2*(\h) + 1)*N + ODD + 4*UNITS
.endm

; Loads the odd float of every row.
.macro group_odd v, input, none, nor
    group_pairs \v, \input[2], N - 1, 3*N - 1
.endm

; Loads the pairs at two floats as a quad.
.macro group_pairs v, pointer, low, high
    ldp  \v.lo, [\pointer + 4*(\low)]
    ldp  \v.hi, [\pointer + 4*(\high)]
.endm

; Separates the pairs of two quads into a quad of their first and one of their second floats.
.macro split even, odd, a, b
    trnlo \even.lo, \a.lo, \a.hi
    trnlo \even.hi, \b.lo, \b.hi
    trnhi \odd.lo, \a.lo, \a.hi
    trnhi \odd.hi, \b.lo, \b.hi
.endm
