; Rows of a coarser level, from plane to plane: with t a row of the plane projected along x and y,
;     out = sum + t/2,   sum = (sum and mask) + factor t
; where `sum` is a row of the coarser plane in the page's scratch. Pages of odd planes keep all of the sum and add t,
; those of even planes begin with t/2: the page loads mask and factor before the loop. A row of q quads has 10 q + 1
; operations, 9 q loads and stores.
.alias MASK, q29
.alias FACTOR, q28

.macro plane_projection_across t, x, row
    number_load above[\x], rows, NUMBER_BYTES*(\x)
    number_load here[\x], rows, \row + NUMBER_BYTES*(\x)
    number_load below[\x], rows, 2*(\row) + NUMBER_BYTES*(\x)
    number_add  beside[\x], above[\x], below[\x]
    number_madd \t, beside[\x], HALF, here[\x]
.endm

.macro plane_projection_finish j
    number_load before[\j], sum[0], NUMBER_BYTES*(\j)
    number_madd out[\j], c[\j], HALF, before[\j]
    number_store out[\j], out, NUMBER_BYTES*(\j)
    number_and  kept[\j], before[\j], MASK
    number_madd_exact next[\j], c[\j], FACTOR, kept[\j]
    number_store next[\j], sum[1], NUMBER_BYTES*(\j)
.endm

; Rows of q quads, from the places of the first rows of the plane and of the sum on. The result goes to c5.
.macro plane_projection_rows rows, q, from, from_at, sum, sum_at
    .linear plane_projection, \rows
    number_constant HALF, 0.5
    number_constant QUARTER, 0.25
    .pointer rows = \from + \from_at by 4*NUMBER_BYTES*(\q)
    .pointer sum[2] = \sum + \sum_at by NUMBER_BYTES*(\q)
    .pointer out = c5 by NUMBER_BYTES*(\q)
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    row_of_coarse_quads \q, plane_projection_across, plane_projection_finish
    .endlinear
.endm
