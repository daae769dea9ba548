; Rows of the smoothed u from plane to plane. With F = r(x-1) + r(x+1) + r(y-1) + r(y+1), D the sum of the four
; diagonal neighbours in the plane and G = F + (c1/c2) r, plane z - 1 of the residual r, when it comes, begins and
; completes
;     begun(z)      = u(z) + c2 G
;     smoothed(z-1) = begun(z-1) + c0 r + c2 (D + (c1/c2) F)
;     u(z-2)        = smoothed(z-2) + c2 G
; A row of q quads has 10 q + 6 operations, 9 q + 6 loads and stores: sums of two rows of the quads at its ends come
; twice.
;
; `begun` and `smoothed` are in the page's scratch. C0, C1, C2: the weights of the centre, the faces and the edges.

.macro plane_smoother_make g, i, x, p, row
    number_load above[\i], r[\p], NUMBER_BYTES*(\x)
    number_load \g.own, r[\p], \row + NUMBER_BYTES*(\x)
    number_load below[\i], r[\p], 2*(\row) + NUMBER_BYTES*(\x)
    number_add  \g.beside, above[\i], below[\i]
.endm

.macro plane_smoother_turn d, s, lanes
    number_permute \d.own, \s.own, \lanes
    number_permute \d.beside, \s.beside, \lanes
.endm

.macro plane_smoother_finish x
    number_add  sides[\x], g[\x].own, g[\x + 2].own
    number_add  faces[\x], sides[\x], g[\x + 1].beside
    number_madd gives[\x], g[\x + 1].own, RATIO, faces[\x]
    number_load smoothed[\x], smoothed[0], NUMBER_BYTES*(\x)
    number_load u[\x], u, NUMBER_BYTES*(\x)
    number_madd start[\x], gives[\x], EDGES, u[\x]
    number_madd s[\x], gives[\x], EDGES, smoothed[\x]
    number_store s[\x], out, NUMBER_BYTES*(\x)
    number_load begun[\x], begun[0], NUMBER_BYTES*(\x)
    number_madd rest[\x], g[\x + 1].own, CENTRE, begun[\x]
    number_add  diagonal[\x], g[\x].beside, g[\x + 2].beside
    number_madd all[\x], faces[\x], RATIO, diagonal[\x]
    number_madd next[\x], all[\x], EDGES, rest[\x]
    number_store next[\x], smoothed[1], NUMBER_BYTES*(\x)
    number_store start[\x], begun[1], NUMBER_BYTES*(\x)
.endm

; Rows of q quads, from places of the first row of u, the result, r, `smoothed` and `begun` on:
; a register and the bytes from there.
.macro plane_smoother_rows rows, q, u, u_at, out, out_at, r, r_at, smoothed, smoothed_at, begun, begun_at
    .linear plane_smoother, \rows
    number_constant CENTRE, C0
    number_constant EDGES, C2
    number_constant RATIO, C1/C2
    .pointer u = \u + \u_at by NUMBER_BYTES*(\q)
    .pointer out = \out + \out_at by NUMBER_BYTES*(\q)
    .pointer r[3] = \r + \r_at - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .pointer smoothed[2] = \smoothed + \smoothed_at by NUMBER_BYTES*(\q)
    .pointer begun[2] = \begun + \begun_at by NUMBER_BYTES*(\q)
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    row_of_quads \q, plane_smoother_make, plane_smoother_turn, plane_smoother_finish
    .endlinear
.endm
