; Rows of u + P e: means of one, two, four rows of the coarser e for the rows of the finer level. Along x the sums
; themselves are at 2 J + 1, the means of two adjacent ones at 2 J. Sums are named by k = 2 z + y, plane and row of
; the finer level: s[3][j] is a quad of e, s[1][j] and s[2][j] are sums of two, s[0][j] of four. ADD: whether there is
; a u. Without it the results have no addend and nothing is loaded for them.

; Quad x of row k: the mean of 2^w quads, to which u is added. `row` is the bytes of a row of u.
.macro interpolation_put sum, w, k, x, row
    .if \k < 2
    interpolation_store u0, v0, (\k)*(\row) + NUMBER_BYTES*(\x), \sum, \w, u[\k][\x], v[\k][\x]
    .else
    interpolation_store u1, v1, (\k - 2)*(\row) + NUMBER_BYTES*(\x), \sum, \w, u[\k][\x], v[\k][\x]
    .endif
.endm

.macro interpolation_store from, to, at, sum, w, u, v
    .if ADD
    number_load \u, \from, \at
    .if \w == 0
    number_add  \v, \u, \sum
    .else
    number_madd \v, \sum, PART[\w], \u
    .endif
    number_store \v, \to, \at
    .elif \w == 0
    number_store_loaded \sum, \to, \at
    .else
    number_mul  \v, \sum, PART[\w]
    number_store \v, \to, \at
    .endif
.endm

; The quads of the rows from k on, of which each number is the mean of 2^(2 - z - y) rows of e. `sums j, row` computes
; the sums of quad j of e.
.macro interpolation_quads q, from, sums
    \sums \q - 1, NUMBER_BYTES*(\q)
    .rept 4 - \from, k
    number_permute left[k + \from][0], s[k + \from][\q - 1], LAST_TO_FIRST
    .endr
    .rept \q, j
    .phase j, \q + 1
    .if j < \q - 1
    \sums j, NUMBER_BYTES*(\q)
    .endif
    .rept 4 - \from, k
    .if j == 0
    interpolation_pair left[k + \from][0], k + \from, j, 2*NUMBER_BYTES*(\q)
    .else
    interpolation_pair s[k + \from][j - 1], k + \from, j, 2*NUMBER_BYTES*(\q)
    .endif
    .endr
    .endr
.endm

; Quads 2 j and 2 j + 1 of row k.
.macro interpolation_pair west, k, j, row
    number_add both[\k][\j], \west, s[\k][\j]
    interpolation_put both[\k][\j], 3 - (\k)/2 - (\k) % 2, \k, 2*(\j), \row
    interpolation_put s[\k][\j], 2 - (\k)/2 - (\k) % 2, \k, 2*(\j) + 1, \row
.endm

; Sums of quad j of two rows of two planes.
.macro interpolation_sums j, row
    number_load a[\j], upper, NUMBER_BYTES*(\j)
    number_load s[3][\j], upper, \row + NUMBER_BYTES*(\j)
    number_load c[\j], lower, NUMBER_BYTES*(\j)
    number_load d[\j], lower, \row + NUMBER_BYTES*(\j)
    number_add  s[2][\j], a[\j], s[3][\j]
    number_add  before[\j], c[\j], d[\j]
    number_add  s[1][\j], s[3][\j], d[\j]
    number_add  s[0][\j], s[2][\j], before[\j]
.endm

; Rows of four points, a quad each, from rows of two, each stored twice in a quad.
.macro interpolation_of_two
    interpolation_sums 0, NUMBER_BYTES
    .rept 4, k
    number_permute left[k], s[k][0], 0b01_00_00_00
    number_permute right[k], s[k][0], 0b01_01_00_01
    number_add  both[k][0], left[k], right[k]
    interpolation_put both[k][0], 3 - k/2 - k % 2, k, 0, NUMBER_BYTES
    .endr
.endm

; Two rows of two planes for each of the rows of e, which have q quads; with `two` they have two points. The planes of
; e are in c10 and c11, which point at the block's first row. If there is a u, it is in c8, where the result takes its
; place; otherwise the result goes to c5. Its second plane is behind the rows of the first.
; A row of q quads of e has 16 q + 4 operations, 20 q loads and stores; without u 15 q + 4 and 12 q.
.macro interpolation_rows rows, q, two
    .linear interpolation, \rows
    number_constant PART[1], 0.5
    number_constant PART[2], 0.25
    number_constant PART[3], 0.125
    .pointer lower = c10 - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    .pointer upper = c11 - NUMBER_BYTES*(\q) by NUMBER_BYTES*(\q)
    interpolation_pointers \rows, (\two ? 1 : 2)*NUMBER_BYTES*(\q)
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    .if \two
    interpolation_of_two
    .else
    interpolation_quads \q, 0, interpolation_sums
    .endif
    .endlinear
.endm

; Pointers to two planes of a block's rows of the finer level, of `row` bytes.
.macro interpolation_pointers rows, row
    .if ADD
    .pointer u0 = c8 by 2*(\row)
    .pointer u1 = c8 + 2*(\rows)*(\row) by 2*(\row)
    .pointer v0 = c8 by 2*(\row)
    .pointer v1 = c8 + 2*(\rows)*(\row) by 2*(\row)
    .else
    .pointer v0 = c5 by 2*(\row)
    .pointer v1 = c5 + 2*(\rows)*(\row) by 2*(\row)
    .endif
.endm

; Sums of quad j of two rows of a plane that lies between two planes of e already.
.macro correction_sums j, row
    number_load a[\j], e, NUMBER_BYTES*(\j)
    number_load s[3][\j], e, \row + NUMBER_BYTES*(\j)
    number_add  s[2][\j], a[\j], s[3][\j]
.endm

; Two rows of a plane for each of the rows of e, which have q quads: e is already interpolated along z, and `e` is the
; place of the row before the first. The result takes the place `u`. A row of q quads of e has 7 q + 2 operations, 10 q
; loads and stores; without u 6 q + 2 and 6 q.
.macro correction_rows rows, q, e, e_at, u, u_at
    .linear correction, \rows
    number_constant PART[1], 0.5
    number_constant PART[2], 0.25
    .pointer e = \e + \e_at by NUMBER_BYTES*(\q)
    .if ADD
    .pointer u1 = \u + \u_at by 4*NUMBER_BYTES*(\q)
    .endif
    .pointer v1 = \u + \u_at by 4*NUMBER_BYTES*(\q)
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    interpolation_quads \q, 2, correction_sums
    .endlinear
.endm

; Rows between two planes of a level: the mean of those in c10 and c11. The result goes to c5. Two operations
; a quad, three loads and stores.
.macro expansion_rows rows, q
    .linear expansion, \rows
    number_constant HALF, 0.5
    .pointer before = c10 by NUMBER_BYTES*(\q)
    .pointer own = c11 by NUMBER_BYTES*(\q)
    .pointer out = c5 by NUMBER_BYTES*(\q)
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    .rept \q, x
    .phase x, \q + 1
    number_load before[x], before, NUMBER_BYTES*x
    number_load own[x], own, NUMBER_BYTES*x
    number_add  sum[x], before[x], own[x]
    number_mul  mean[x], sum[x], HALF
    number_store mean[x], out, NUMBER_BYTES*x
    .endr
    .endlinear
.endm
