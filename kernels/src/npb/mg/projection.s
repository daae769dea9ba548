; Rows of a coarser level from three rows of three planes: t = centre + beside/2 + corners/4 across x, then half of a
; quad and a quarter of those beside it along x. A row of q quads has 19 q + 1 operations, 19 q loads and stores.
;
; The planes of the window are in c11, c12, c13, which point at the block's first row: the neighbourhood of row 2 Y + 1
; begins at row 2 Y. The result goes to c5.

.macro projection_across t, x, row
    around \x, \x, 0, \row
    number_madd inner[\x], beside[\x], HALF, centre[\x]
    number_madd \t, corners[\x], QUARTER, inner[\x]
.endm

.macro projection_finish j
    number_store c[\j], out, NUMBER_BYTES*(\j)
.endm

; Rows of two points, each stored twice in a quad, from rows of four, a quad each.
.macro projection_of_four
    projection_across t[0], 0, NUMBER_BYTES
    number_permute west, t[0], 0b10_00_10_00
    number_permute own, t[0], 0b11_01_11_01
    number_permute east, t[0], 0b00_10_00_10
    coarse_quad c[0], west, own, east
    projection_finish 0
.endm

; The rows of a block, each of q quads. With `two` they have two points.
.macro projection_rows rows, q, two
    .linear projection, \rows
    number_constant HALF, 0.5
    number_constant QUARTER, 0.25
    .pointer near[1] = c11 by (\two ? 2 : 4)*NUMBER_BYTES*(\q)
    .pointer mid[1] = c12 by (\two ? 2 : 4)*NUMBER_BYTES*(\q)
    .pointer far[1] = c13 by (\two ? 2 : 4)*NUMBER_BYTES*(\q)
    .pointer out = c5 by NUMBER_BYTES*(\q)
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    .if \two
    projection_of_four
    .else
    row_of_coarse_quads \q, projection_across, projection_finish
    .endif
    .endlinear
.endm
