; Reductions of rows of N floats to a number: sums, dot products, norms.
;
; OPERATION  SUM          x0 + x1 + ..
;            DOT          x0 y0 + x1 y1 + ..
;            COMPLEX_DOT  x0 conj(y0) + x1 conj(y1) + .. of complex numbers, which are two floats each
;            NORM         sqrt(x0 x0 + x1 x1 + ..)
; ITERATIONS iterations of a block
;
; A quad of a row has a load for each input and an operation, or two of complex numbers.
.equ SUM, 0
.equ DOT, 1
.equ COMPLEX_DOT, 2
.equ NORM, 3
.equ INPUTS, OPERATION == DOT || OPERATION == COMPLEX_DOT ? 2 : 1
.include "rows.s"

; d = s + a b; of a sum s + a.
.macro add_term d, s, a, b
    .if OPERATION == SUM
    add  \d, \s, \a
    .elif OPERATION == COMPLEX_DOT
    cmaddc \d, \a, \b, \s
    .else
    madd \d, \a, \b, \s
    .endif
.endm

; d = a b.
.macro first_term d, a, b
    .if OPERATION == COMPLEX_DOT
    cmulc \d, \a, \b
    .else
    mul  \d, \a, \b
    .endif
.endm

; Loads a quad of each input by the macro `load` and adds it to the sum s, if that has begun.
.macro accumulate d, s, begun, load, i, j
    .if OPERATION == SUM && !(\begun)
    \load \d, x, \i, \j
    .elif INPUTS == 1
    \load \d.x, x, \i, \j
    accumulate_loaded \d, \s, \begun, \d.x, \d.x
    .else
    \load \d.x, x, \i, \j
    \load \d.y, y, \i, \j
    accumulate_loaded \d, \s, \begun, \d.x, \d.y
    .endif
.endm

.macro accumulate_loaded d, s, begun, a, b
    .if \begun
    add_term \d, \s, \a, \b
    .else
    first_term \d, \a, \b
    .endif
.endm

; Registers that are set before the first page: the least and the largest finite number above 0.
.alias LEAST, q31
.alias MOST, q30

.macro set_limits
    .if OPERATION == NORM
    .dmem 0
limits:
    .int 1, 1, 1, 1
    .int 0x7f7fffff, 0x7f7fffff, 0x7f7fffff, 0x7f7fffff
    .program
    movi a0, limits
    ldq  LEAST, [a0]
    ldq  MOST, [a0 + 16]
    .endif
.endm

; Square roots as p rsqrt(p): 0 and infinity stay as they are.
.macro square_root d, p
    max  above, \p, LEAST
    min  inside, above, MOST
    rsqrt inverse, inside
    mul  \d, \p, inverse
.endm

; Short rows: an iteration reduces the four rows of a group, with their trees, to results that are adjacent. Besides the
; rows' quads a group has 13 operations, of complex numbers 4; roots have 5 more.

; The sums of a row that take turns: products need two to hide their latency.
.equ CHAINS, UNITS > 1 && (OPERATION == DOT || OPERATION == NORM) ? 2 : 1
; Index of the sum of a row's units.
.equ WHOLE, CHAINS == 2 ? UNITS : UNITS - 1
; Quads of results of a group.
.equ RESULTS, OPERATION == COMPLEX_DOT ? 2 : 1
; Units from which on an iteration may wait for its tree: blocks have many shorter rows, of which the last alone ends
; late.
.equ LONG, UNITS >= 12

.macro short_rows
    begin_program
    set_limits
    begin_blocks 16*N*ITERATIONS, 16*RESULTS*ITERATIONS
    .linear rows, ITERATIONS
    .pointer x[3] = c4 by 16*N
    .if INPUTS == 2
    .pointer y[3] = c8 by 16*N
    .endif
    .pointer to = c5 by 16*RESULTS
    .apart                              ; arrays in and out are pages of their own
    .if OPERATION == DOT && UNITS > 0 || N % 4 != 0 && LONG
    .order                              ; with more loads than operations, these wait for them in order
    .endif
    .if OPERATION == NORM && LONG
    .interval + 48                      ; about the latencies of the tree: it ends before the next iteration
    .endif
    group_sums
    .if OPERATION == COMPLEX_DOT
    stq  half[0][EXTRA], [to]
    stq  half[1][EXTRA], [to + 16]
    .else
    group_results
    .endif
    .endlinear
    end_blocks
.endm

; half[h][EXTRA]: the sums of the pairs of rows 2 h and 2 h + 1.
.macro group_sums
    .rept UNITS, u
    .rept 4, r
    accumulate sum[r][u], sum[r][u - CHAINS], u >= CHAINS, group_unit, r, u
    .endr
    .endr
    .if CHAINS == 2
    .rept 4, r
    add  sum[r][UNITS], sum[r][UNITS - 2 + UNITS % 2], sum[r][UNITS - 1 - UNITS % 2]
    .endr
    .endif
    .if UNITS > 0
    .rept 2, h
    add  half[h][0].lo, sum[2*h][WHOLE].lo, sum[2*h][WHOLE].hi
    add  half[h][0].hi, sum[2*h + 1][WHOLE].lo, sum[2*h + 1][WHOLE].hi
    .endr
    .endif
    .if EXTRA
    .rept 2, h
    accumulate half[h][1], half[h][0], UNITS > 0, group_extra, h, 0
    .endr
    .endif
.endm

.macro group_results
    .if N > 1
    split even, odd, half[0][EXTRA], half[1][EXTRA]
    add  total[0], even, odd
    .endif
    .if ODD
    accumulate total[1], total[0], N > 1, group_odd, 0, 0
    .endif
    .if OPERATION == NORM
    square_root root, total[ODD]
    stq  root, [to]
    .else
    stq  total[ODD], [to]
    .endif
.endm

; Long rows: a block is a row. An iteration adds a quad to each of SUMS sums, as many as hide the latency. Behind the
; loop these are added, then the pairs of their sum, then its floats: few words, which wait for each other.
.macro long_rows
    begin_program
    set_limits
    lif  r58, 0.0
    lif  r59, 0.0
    begin_blocks 16*SUMS*ITERATIONS, 16
    .linear row, ITERATIONS
    .pointer x = c4 by 16*SUMS
    .if INPUTS == 2
    .pointer y = c8 by 16*SUMS
    .endif
    .rept SUMS, i
    .before sum[i]@1 = q29
    accumulate sum[i], sum[i]@1, 1, quad_of_row, i, 0
    .after q{i} = sum[i]
    .endr
    .endlinear
    add_halves SUMS
    mov  a14, c5
    trnhi q1, q0, q0
    add  q0, q1, q0
    .if OPERATION != COMPLEX_DOT
    swap q1, q0
    add  q0, q0, q1
    .endif
    .if OPERATION == NORM               ; as square_root, of the result alone
    max  r2, r0, r62
    min  r2, r2, r60
    rsqrt r2, r2
    mul  r0, r0, r2
    .endif
    stq  q0, [a14]
    end_blocks
.endm

.macro quad_of_row v, input, i, none
    ldq  \v, [\input + 16*\i]
.endm

; q0 = q0 + .. + q{n - 1}: the second half is added to the first again and again.
.macro add_halves n
    .if \n > 1
    .rept \n/2, i
    add  q{i}, q{i}, q{i + (\n + 1)/2}
    .endr
    add_halves (\n + 1)/2
    .endif
.endm

; The sums of PARTS parts of each row: PARTS loads and a store, an operation less.
.macro join_parts
    begin_program
    begin_blocks 16*PARTS*ITERATIONS, 16*ITERATIONS
    .linear join, ITERATIONS
    .pointer from = c4 by 16*PARTS
    .pointer to = c5 by 16
    .apart
    ldq  sum[0], [from]
    .rept PARTS - 1, p
    ldq  part[p], [from + 16*p + 16]
    .endr
    .rept PARTS - 1, p
    add  sum[p + 1], sum[p], part[p]
    .endr
    stq  sum[PARTS - 1], [to]
    .endlinear
    end_blocks
.endm
