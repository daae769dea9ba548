; Rows of the residual from plane to plane. The operator is taken apart, so that what a plane gives its neighbours is
; computed once, when the plane comes: with C = u(y-1) + u(y+1), H = u + C/2 and Q = C + H(x-1) + H(x+1), plane z
; begins
;     P(z) = v - a0 u - a2 (C(x-1) + C(x+1) + Q(z-1))
; and completes r(z-1) = P(z-1) - a2 Q(z). Nine operations a quad; a3/a2 is the 1/2 of H.
; A row of q quads has 9 q + 8 operations, 9 q + 6 loads and stores: C and H of the quads at its ends come twice.
;
; P and Q of the plane before are in the page's scratch; those of this plane take their places. The residual takes the
; place of v, or with SQUARES is only squared and added up. A0, A2, A3: the weights of the centre, the edges and the
; corners.

.macro plane_residual_make g, i, x, p, row
    number_load above[\i], u[\p], NUMBER_BYTES*(\x)
    number_load own[\i], u[\p], \row + NUMBER_BYTES*(\x)
    number_load below[\i], u[\p], 2*(\row) + NUMBER_BYTES*(\x)
    number_add  \g.beside, above[\i], below[\i]
    number_madd \g.side, \g.beside, RATIO, own[\i]
.endm

.macro plane_residual_turn d, s, lanes
    number_permute \d.beside, \s.beside, \lanes
    number_permute \d.side, \s.side, \lanes
.endm

.macro plane_residual_finish x
    number_load v[\x], v, NUMBER_BYTES*(\x)
    number_madd rest[\x], own[\x + 1], CENTRE, v[\x]
    number_add  west[\x], g[\x + 1].beside, g[\x].side
    number_add  gives[\x], west[\x], g[\x + 2].side
    number_load before[\x], partial[0], NUMBER_BYTES*(\x)
    number_madd r[\x], gives[\x], EDGES, before[\x]
    .if SQUARES
    square \x, r[\x], CHAINS
    .else
    number_store r[\x], r, NUMBER_BYTES*(\x)
    .endif
    number_load given[\x], given[0], NUMBER_BYTES*(\x)
    number_add  diagonal[\x], g[\x].beside, g[\x + 2].beside
    number_add  all[\x], diagonal[\x], given[\x]
    number_madd next[\x], all[\x], EDGES, rest[\x]
    number_store next[\x], partial[1], NUMBER_BYTES*(\x)
    number_store gives[\x], given[1], NUMBER_BYTES*(\x)
.endm

; Rows of q quads, from the places of the first row of u, v, P and Q on: a register and the bytes from there.
.macro plane_residual_rows rows, q, u, u_at, v, v_at, partial, partial_at, given, given_at
    .linear plane_residual, \rows
    number_constant CENTRE, -A0
    number_constant EDGES, -A2
    number_constant RATIO, A3/A2
    .pointer u[3] = \u + \u_at - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .pointer v = \v + \v_at by NUMBER_BYTES*(\q)
    .if !SQUARES
    .pointer r = \v + \v_at by NUMBER_BYTES*(\q)
    .endif
    .pointer partial[2] = \partial + \partial_at by NUMBER_BYTES*(\q)
    .pointer given[2] = \given + \given_at by NUMBER_BYTES*(\q)
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    row_of_quads \q, plane_residual_make, plane_residual_turn, plane_residual_finish
    .if SQUARES
    end_squares \q, CHAINS
    .endif
    .endlinear
.endm
