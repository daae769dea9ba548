; Rows in natural order to lifted rows, or the reverse, by transposes of as many quads as a quad has numbers (LANES):
; quads that are 1/LANES of a row apart become adjacent quads. In natural order upper and lower parts of double-single
; numbers take turns, which the transposes part too. With `measured` the numbers are also squared and added up.
; A row of q quads of memory has 2 q loads and stores; 2 q operations, in double precision q; with `measured` q and 4
; more, in double precision q and 2 more.

; Transposes the quads `a` of numbers: number i of t has the numbers i of each.
.macro transpose t, a
    .if LANES == 2
    trnlo \t[0], \a[0], \a[1]
    trnhi \t[1], \a[0], \a[1]
    .else
    transpose_halves \t[0], \t[1], \a, 0
    transpose_halves \t[2], \t[3], \a, 1
    .endif
.endm

.macro transpose_halves even, odd, a, half
    trnlo \even.lo, \a[0].{\half}, \a[1].{\half}
    trnlo \even.hi, \a[2].{\half}, \a[3].{\half}
    trnhi \odd.lo, \a[0].{\half}, \a[1].{\half}
    trnhi \odd.hi, \a[2].{\half}, \a[3].{\half}
.endm

; The squares of the numbers k: of quads as they are loaded, of double-single numbers when their parts are quads.
.macro lifted_turn_squares k
    .if PARTS == 1
    .rept LANES, l
    square_loaded LANES*\k + l, n[\k][l], LANES
    .endr
    .else
    .rept 2, i
    square_parts 2*\k + i, t[\k][2*i], t[\k][2*i + 1], 1
    .endr
    .endif
.endm

; Rows of q quads of memory.
.macro lifted_turn_rows rows, q, lift, measured, from, from_at, to, to_at
    .linear lifted_turn, \rows
    .pointer from = \from + \from_at by 16*(\q)
    .pointer to = \to + \to_at by 16*(\q)
    .apart
    .spread
    .if \q <= 8                         ; Few quads: filling and draining weigh.
    .turns 16
    .endif
    free_registers
    .rept \q/LANES, k
    .phase LANES*k, \q + 1
    .rept LANES, l
    ldq  n[k][l], [from + 16*(\lift ? l*(\q/LANES) + k : LANES*k + l)]
    .endr
    .if \measured && PARTS == 1
    lifted_turn_squares k
    .endif
    transpose t[k], n[k]
    .if \measured && PARTS == 2
    lifted_turn_squares k
    .endif
    .rept LANES, l
    stq  t[k][l], [to + 16*(\lift ? LANES*k + l : l*(\q/LANES) + k)]
    .endr
    .endr
    .if \measured
    end_squares \q/PARTS, PARTS == 2 ? 1 : LANES
    .endif
    .endlinear
.endm
