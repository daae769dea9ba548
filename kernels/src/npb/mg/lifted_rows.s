; Rows of a level in the lifted layout: quad x of a row of n points holds the points x, x + n/L, .., as many as a quad
; has numbers (L). Neighbours along x are in the adjacent quads; only at the ends of a row the lanes turn by one,
; which closes the periodic ring.
;
; A macro's `i` names the values of a quad, `x` is its place in the row, `p` which set of pointers loads it: the quads
; at both ends are loaded a second time for the row's other end, almost an interval away from the others, through
; pointers of their own. `q` is the number of quads of a row, and `row` its bytes.
.include "numbers.s"
.include "squares.s"

; Registers that the words around a loop name hold nothing there, except those that the loop names too.
.macro free_registers
    .rept 32, n
    .free q{n}
    .endr
    .rept 13, n
    .free a{n}
    .endr
.endm

; Sums over the 3 x 3 neighbourhood across x: centre[i], beside[i] of the four adjacent, corners[i] of the four at the
; corners. The planes `near`, `mid`, `far` point at the first row of the neighbourhood.
.macro around i, x, p, row
    number_load nn[\i], near[\p], NUMBER_BYTES*(\x)
    number_load ns[\i], near[\p], 2*(\row) + NUMBER_BYTES*(\x)
    number_add  below[\i], nn[\i], ns[\i]
    number_load fn[\i], far[\p], NUMBER_BYTES*(\x)
    number_load fs[\i], far[\p], 2*(\row) + NUMBER_BYTES*(\x)
    number_add  above[\i], fn[\i], fs[\i]
    number_load nm[\i], near[\p], \row + NUMBER_BYTES*(\x)
    number_load fm[\i], far[\p], \row + NUMBER_BYTES*(\x)
    number_add  ahead[\i], nm[\i], fm[\i]
    number_load mn[\i], mid[\p], NUMBER_BYTES*(\x)
    number_load ms[\i], mid[\p], 2*(\row) + NUMBER_BYTES*(\x)
    number_add  aside[\i], mn[\i], ms[\i]
    number_load centre[\i], mid[\p], \row + NUMBER_BYTES*(\x)
    number_add  corners[\i], below[\i], above[\i]
    number_add  beside[\i], ahead[\i], aside[\i]
.endm

; The quads of a row in turn. `make g, i, x, p, row` computes what neighbours need, as g; `turn d, s, lanes` turns the
; lanes of that; `finish x` computes the rest of quad x from g[x] (west), g[x + 1] (its own), g[x + 2] (east) and the
; other values of i = x + 1.
.macro row_of_quads q, make, turn, finish
    .phase 0, \q + 1
    \make  wrap[0], 0, \q - 1, 1, NUMBER_BYTES*(\q)
    \turn  g[0], wrap[0], LAST_TO_FIRST
    \make  g[1], 1, 0, 0, NUMBER_BYTES*(\q)
    .rept \q, x
    .phase x + 1, \q + 1
    .if x < \q - 1
    \make  g[x + 2], x + 2, x + 1, 0, NUMBER_BYTES*(\q)
    .else
    \make  wrap[1], \q + 1, 0, 2, NUMBER_BYTES*(\q)
    \turn  g[\q + 1], wrap[1], FIRST_TO_LAST
    .endif
    \finish x
    .endr
.endm

; The q quads of a row of the coarser level in turn, from a row of 2 q quads t of the finer level that `across t, x,
; row` computes: c = own/2 + (west + east)/4, where the own quad of j is 2 j + 1. `finish j` takes c[j].
.macro row_of_coarse_quads q, across, finish
    \across t[0], 0, 2*NUMBER_BYTES*(\q)
    .rept \q, j
    .phase 2*j, 2*(\q) + 1
    \across t[2*j + 1], 2*j + 1, 2*NUMBER_BYTES*(\q)
    .if j < \q - 1
    \across t[2*j + 2], 2*j + 2, 2*NUMBER_BYTES*(\q)
    .else
    number_permute t[2*j + 2], t[0], FIRST_TO_LAST
    .endif
    coarse_quad c[j], t[2*j], t[2*j + 1], t[2*j + 2]
    \finish j
    .endr
.endm

.macro coarse_quad c, west, own, east
    number_mul  \c.own, \own, HALF
    number_add  \c.sides, \west, \east
    number_madd \c, \c.sides, QUARTER, \c.own
.endm
