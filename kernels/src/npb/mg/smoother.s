; Rows of u + S r: S has no weight for corners. Twelve operations a quad:
;     u + c0 r + c2 (corners + (c1/c2) beside + K(x-1) + K(x+1)),  K = beside + (c1/c2) r
; A row of q quads has 12 q + 16 operations, 11 q + 18 loads and stores: the quads at its ends are summed twice.
;
; r is the window of planes in c10, c11, c12, which point at the block's first row. If there is a u, it is in c8,
; where the result takes its place; without one (ADD is 0) the result goes to c5. C0, C1, C2: the weights of the
; centre, the faces and the edges.

.macro smoother_make g, i, x, p, row
    around \i, \x, \p, \row
    number_madd \g, centre[\i], RATIO, beside[\i]
.endm

.macro smoother_finish x
    number_madd inner[\x], beside[\x + 1], RATIO, corners[\x + 1]
    .if ADD
    number_load u[\x], u, NUMBER_BYTES*(\x)
    number_madd own[\x], centre[\x + 1], CENTRE, u[\x]
    .else
    number_mul  own[\x], centre[\x + 1], CENTRE
    .endif
    number_add  west[\x], inner[\x], g[\x]
    number_add  all[\x], west[\x], g[\x + 2]
    number_madd s[\x], all[\x], EDGES, own[\x]
    number_store s[\x], out, NUMBER_BYTES*(\x)
.endm

; The rows of a block, each of q quads.
.macro smoother_rows rows, q
    .linear smoother, \rows
    number_constant CENTRE, C0
    number_constant EDGES, C2
    number_constant RATIO, C1/C2
    .pointer near[3] = c10 - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .pointer mid[3] = c11 - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .pointer far[3] = c12 - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .if ADD
    .pointer u = c8 by NUMBER_BYTES*(\q)
    .pointer out = c8 by NUMBER_BYTES*(\q)
    .else
    .pointer out = c5 by NUMBER_BYTES*(\q)
    .endif
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    row_of_quads \q, smoother_make, number_permute, smoother_finish
    .endlinear
.endm
