; Largest elements of rows of N floats, and their first places.
;
; ITERATIONS iterations of a block
;
; Of equal elements the earlier one is kept. Places are compared as floats where that is quicker: they are positive, so
; that their order is that of integers.
.equ INPUTS, 1
.include "rows.s"

; d, d_place: the larger one of `a` and of the later `b`, lane by lane.
.macro larger d, d_place, a, a_place, b, b_place
    cmplt \d.later, \a, \b
    sel  \d, \b, \a, \d.later
    sel  \d_place, \b_place, \a_place, \d.later
.endm

; Rows of up to 14 floats: a group's rows are transposed, so that a comparison has one place of four rows, in the order
; 0, 2, 1, 3: rows an even number apart have their floats in the same halves of pairs. A group has 5 N - 3 operations,
; N + 2 loads and stores. The candidates are pairs of adjacent places, the last one may be a place alone;
; best[i][j] and place[i][j] are the larger one of candidates i to j.
.equ CANDIDATES, (N + 1)/2

.macro shortest_rows
    begin_program
    .rept CANDIDATES, i
    lii  r{62 - 2*i}, 2*i
    lii  r{63 - 2*i}, 2*i               ; q{31 - i} is 2 i
    .endr
    begin_blocks 16*N*ITERATIONS, 32*ITERATIONS
    .linear rows, ITERATIONS
    .pointer x = c4 by 16*N
    .pointer to = c5 by 32
    .apart                              ; arrays in and out are pages of their own
    .rept N, k
    ldq  x[k], [x + 16*k]
    .endr
    .rept N/2, i
    column even[i], 2*i
    column odd[i], 2*i + 1
    cmplt later[i], even[i], odd[i]
    sel  best[i][i], odd[i], even[i], later[i]
    isub place[i][i], q{31 - i}, later[i]   ; a comparison that holds is -1
    .endr
    .if ODD
    column best[N/2][N/2], N - 1
    .endif
    .rept 3, level
    largest_of_neighbours 1 << level
    .endr
    stq  best[0][CANDIDATES - 1], [to]
    .if N == 1
    stq  q31, [to + 16]
    .else
    stq  place[0][CANDIDATES - 1], [to + 16]
    .endif
    .endlinear
    end_blocks
.endm

; Element `at` of four rows.
.macro column d, at
    .if (\at) % 2 == 0
    trnlo \d.lo, x[(\at)/4].{(\at)/2 % 2}, x[(2*N + \at)/4].{(2*N + \at)/2 % 2}
    .else
    trnhi \d.lo, x[(\at)/4].{(\at)/2 % 2}, x[(2*N + \at)/4].{(2*N + \at)/2 % 2}
    .endif
    .if (N + \at) % 2 == 0
    trnlo \d.hi, x[(N + \at)/4].{(N + \at)/2 % 2}, x[(3*N + \at)/4].{(3*N + \at)/2 % 2}
    .else
    trnhi \d.hi, x[(N + \at)/4].{(N + \at)/2 % 2}, x[(3*N + \at)/4].{(3*N + \at)/2 % 2}
    .endif
.endm

; Compares neighbours, each the largest of `n` candidates, the last one perhaps of fewer.
.macro largest_of_neighbours n
    .rept (CANDIDATES + \n - 1)/(2*\n), i
    neighbours 2*\n*i, 2*\n*i + \n, min(2*\n*i + 2*\n, CANDIDATES) - 1
    .endr
.endm

.macro neighbours first, second, last
    .if ODD && \second == CANDIDATES - 1 ; a place alone
    larger_neighbour \first, \second, \last, q{31 - N/2}
    .else
    larger_neighbour \first, \second, \last, place[\second][\last]
    .endif
.endm

.macro larger_neighbour i, second, j, place
    larger best[\i][\j], place[\i][\j], best[\i][\second - 1], place[\i][\second - 1], best[\second][\j], \place
.endm

; Short rows: the quads of a row are scanned, three operations each; then the lanes of a group are transposed, the
; largest value is found, and the least place at which it is: 8 operations, 3 for each of 4 to 7 candidates.
.alias BEYOND, q31                      ; larger than any place, and as a float a finite number
.alias FIRST_EXTRA, q30                 ; places of the floats of the extra pair
.alias SECOND_EXTRA, q29

.macro short_rows
    .dmem 0
places:
    .rept UNITS, u
    .int 4*u, 4*u + 1, 4*u + 2, 4*u + 3
    .endr
places_odd:
    .int 0, 1, 0, 1                     ; rows 1 and 3 begin with their odd float: places behind it are one higher
    .int N - 1, 0, N - 1, 0             ; places of the odd floats
    begin_program
    lif  r62, bits(0x7f000000)
    lif  r63, bits(0x7f000000)
    lii  r60, 4*UNITS
    lii  r61, 4*UNITS
    lii  r58, 4*UNITS + 1
    lii  r59, 4*UNITS + 1
    begin_blocks 16*N*ITERATIONS, 32*ITERATIONS
    .linear rows, ITERATIONS
    .pointer x[3] = c4 by 16*N
    .pointer places = places by 0
    .pointer places_odd = places_odd by 0
    .pointer to = c5 by 32
    .apart
    .if UNITS >= 24
    .spread                             ; hundreds of operations: searching for an order takes seconds and saves nothing
    .endif
    .if UNITS >= 12
    .interval + 16                      ; about the latencies of the tree: it ends before the next iteration
    .endif
    .rept UNITS, u
    ldq  place[u], [places + 16*u]
    .rept 4, r
    group_unit x[r][u], x, r, u
    .if u == 1
    larger best[r][1], at[r][1], x[r][0], place[0], x[r][1], place[1]
    .elif u > 1
    larger best[r][u], at[r][u], best[r][u - 1], at[r][u - 1], x[r][u], place[u]
    .endif
    .endr
    .endr
    transpose best, value
    transpose at, found
    .if EXTRA
    group_extra extra[0], x, 0, 0
    group_extra extra[1], x, 1, 0
    split value[4][4], value[5][5], extra[0], extra[1]
    .endif
    .if ODD
    group_odd value[4 + 2*EXTRA][4 + 2*EXTRA], x, 0, 0
    ldq  behind_odd, [places_odd]
    ldq  place_odd, [places_odd + 16]
    .endif
    tournament max, value, 0, 3 + 2*EXTRA + ODD
    .rept 4, i
    place_of_largest i, found[i][i]
    .endr
    .if EXTRA
    place_of_largest 4, FIRST_EXTRA
    place_of_largest 5, SECOND_EXTRA
    .endif
    tournament min, least, 0, 3 + 2*EXTRA
    .if ODD
    iadd least_behind, least[0][3 + 2*EXTRA], behind_odd
    place_of_largest 4 + 2*EXTRA, place_odd
    min  first, least_behind, least[4 + 2*EXTRA][4 + 2*EXTRA]
    stq  value[0][LAST], [to]
    stq  first, [to + 16]
    .else
    stq  value[0][LAST], [to]
    stq  least[0][LAST], [to + 16]
    .endif
    .endlinear
    end_blocks
.endm

; Index of the last candidate.
.equ LAST, 3 + 2*EXTRA + ODD

; t[i][i]: lane i of the four rows' last quads s[r].
.macro transpose s, t
    transpose_half \s, \t, 0
    transpose_half \s, \t, 1
.endm

.macro transpose_half s, t, h
    trnlo \t[2*\h][2*\h].lo, \s[0][UNITS - 1].{\h}, \s[1][UNITS - 1].{\h}
    trnlo \t[2*\h][2*\h].hi, \s[2][UNITS - 1].{\h}, \s[3][UNITS - 1].{\h}
    trnhi \t[2*\h + 1][2*\h + 1].lo, \s[0][UNITS - 1].{\h}, \s[1][UNITS - 1].{\h}
    trnhi \t[2*\h + 1][2*\h + 1].hi, \s[2][UNITS - 1].{\h}, \s[3][UNITS - 1].{\h}
.endm

; t[i][j]: the result of t[i][i] to t[j][j], as a binary tree.
.macro tournament operation, t, i, j
    .if \i < \j
    tournament \operation, \t, \i, (\i + \j - 1)/2
    tournament \operation, \t, (\i + \j + 1)/2, \j
    \operation \t[\i][\j], \t[\i][(\i + \j - 1)/2], \t[(\i + \j + 1)/2][\j]
    .endif
.endm

; least[i][i]: the places `at` where candidate i is the largest value.
.macro place_of_largest i, at
    cmpeq here[\i], value[\i][\i], value[0][LAST]
    sel  least[\i][\i], \at, BEYOND, here[\i]
.endm

; Long rows: a block is a row. An iteration compares four quads with the largest so far, each lane on its own: 12
; operations, 5 loads. A straight line finds the largest of these, and of equal ones the one with the lower place.
.alias LOWEST, q31                      ; minus infinity
.alias ZERO, q30

.macro long_rows
    .dmem 0
lanes:
    .rept 4, i
    .int 4*i, 4*i + 1, 4*i + 2, 4*i + 3
    .endr
iterations:
    .rept ITERATIONS, i
    .int 16*i, 16*i, 16*i, 16*i
    .endr
    begin_program
    lif  r62, bits(0xff800000)
    lif  r63, bits(0xff800000)
    lif  r60, 0.0
    lif  r61, 0.0
    movi a0, lanes
    .rept 4, i
    ldq  q{26 + i}, [a0 + 16*i]
    .endr
    begin_blocks 64*ITERATIONS, 16
    .linear row, ITERATIONS
    .pointer x = c4 by 64
    .pointer iterations = iterations by 16
    ldq  place, [iterations]
    .rept 4, i
    .before best[i]@1 = LOWEST, at[i]@1 = ZERO
    ldq  x[i], [x + 16*i]
    larger best[i], at[i], best[i]@1, at[i]@1, x[i], place
    .after q{i} = best[i], q{4 + i} = at[i]
    .endr
    .endlinear
    .linear tree
    .pointer to = c5 by 0
    .rept 4, i
    iadd at[i], q{4 + i}, q{26 + i}
    .endr
    choose best[0], place[0], q0, at[0], q1, at[1]
    choose best[1], place[1], q2, at[2], q3, at[3]
    choose best[2], place[2], best[0], place[0], best[1], place[1]
    trnhi high, best[2], best[2]
    trnhi high_place, place[2], place[2]
    choose best[3], place[3], best[2], place[2], high, high_place
    swap other, best[3]
    swap other_place, place[3]
    choose best[4], place[4], best[3], place[3], other, other_place
    trnlo result, best[4], place[4]
    stq  result, [to]
    .endlinear
    end_blocks
.endm

; d, d_place: the larger one of a and b, of equal ones the one with the lower place.
.macro choose d, d_place, a, a_place, b, b_place
    cmplt \d.less, \a, \b
    cmpeq \d.equal, \a, \b
    icmplt \d.lower, \b_place, \a_place
    and  \d.both, \d.equal, \d.lower
    or   \d.other, \d.less, \d.both
    sel  \d, \b, \a, \d.other
    sel  \d_place, \b_place, \a_place, \d.other
.endm
