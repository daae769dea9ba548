; Rows of r = v - A u: A has no weight for faces. Eleven operations a quad:
;     v - a0 u - a2 (corners + G(x-1) + G(x+1)),  G = beside + (a3/a2) corners
; A row of q quads has 11 q + 16 operations, 11 q + 18 loads and stores: the quads at its ends are summed twice.
;
; u is the window of planes in c10, c11, c12, which point at the block's first row; v is in c8, where r takes its
; place. A0, A2, A3: the weights of the centre, the edges and the corners.

.macro residual_make g, i, x, p, row
    around \i, \x, \p, \row
    number_madd \g, corners[\i], RATIO, beside[\i]
.endm

.macro residual_finish x
    number_load v[\x], v, NUMBER_BYTES*(\x)
    number_madd own[\x], centre[\x + 1], CENTRE, v[\x]
    number_add  west[\x], corners[\x + 1], g[\x]
    number_add  all[\x], west[\x], g[\x + 2]
    number_madd r[\x], all[\x], EDGES, own[\x]
    number_store r[\x], r, NUMBER_BYTES*(\x)
.endm

; The rows of a block, each of q quads.
.macro residual_rows rows, q
    .linear residual, \rows
    number_constant CENTRE, -A0
    number_constant EDGES, -A2
    number_constant RATIO, A3/A2
    .pointer near[3] = c10 - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .pointer mid[3] = c11 - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .pointer far[3] = c12 - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .pointer v = c8 by NUMBER_BYTES*(\q)
    .pointer r = c8 by NUMBER_BYTES*(\q)
    .apart                              ; The window and the page of v are two arrays.
    .spread                             ; Long chains of operations: loads and stores come as they fall due.
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    row_of_quads \q, residual_make, number_permute, residual_finish
    .endlinear
.endm
