; Radix-8 butterflies, two columns at a time, software-pipelined.
;
; Shape. One iteration transforms the columns A and B of eight rows x0..x7:
;   out[m'] = sum over m of x[m] (w W8^m')^m,  W8 = exp(-i pi/4),
; with the twiddle factors of the pass inside the butterflies. Level by level
; (P(z) = E(z^2) + z O(z^2), three times):
;   level 1  x(m) +- w^4 x(m+4)                       4 butterflies a column
;   level 2  even, odd halves with +-w^2 and -+i w^2  4
;   level 3  m' = 0,4: w   2,6: -i w   1,5: w'   3,7: -i w'    w' = w W8   4
; so that a column needs four factors: w^4, w^2, w, w'.
;
; Registers.
;   q0..q7    rows of the two columns (level 1 reads them)
;   q8..q15   levels 1 and 2
;   q16..q23  results, quad j goes to [a1 + j * ws]
;   q24..q27  twiddle factors
;   a0 reads, a1 writes, a2 walks the twiddles, a5 the step table;
;   s0 step of a0, s1 step of a1, s2 step of a2, s5 step of a5
;   c1 iterations less one
;
; Schedule: 24 cycles, every arithmetic slot a butterfly.
;   cycle  arithmetic            memory
;   0..7   level 1: A, B         w, w' of this iteration; from 4: results of the one before
;   8..15  level 2: A, B         ..11: results; from 12: rows of the next iteration
;   16..23 level 3: A, B         ..19: rows; 20,21: w^4, w^2 of the next; 22: its steps
; A level reads results at least 6 cycles old, a load is at least 3 old: no
; stall on vm7. Cycle 23 has a free memory slot, 2 and 3 too.

; One butterfly with nothing in the memory slot; registers by number.
.macro bf op, d, e, x, y, w
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
.endm

; ... with a store of result quad j, when `st` is not 0.
.macro bf_st op, d, e, x, y, w, st, j, ws
    .if \st
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || stq q{16+(\j)}, [a1 + (\j)*(\ws)]
    .else
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
    .endif
.endm

; ... with a load of row quad j: rows 0..3 are `lo` bytes apart, 4..7 follow at `hi`.
.macro bf_ld op, d, e, x, y, w, j, lo, hi
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || ldq q{\j}, [a0 + ((\j)%4)*(\lo) + ((\j)/4)*(\hi)]
.endm

; One iteration.
;   op, opn   the butterfly with +w and with -i w (conjugated in the inverse)
;   st        0 in the first iteration of a pass: there are no results to store
;   tw        0: factors 1 and W8 stay in r48, r49
;             1: four quads an iteration, factors of A and B
;             2: two quads an iteration, the columns share (w^4, w^2), (w, w')
;   step      0: steps stay; 1: s0, s1 from the table; 2: s2 too
;   xb, xs    row m of A is r{xs m}, of B r{xb + xs m}
;   zb, zs    result m' of A is r{32 + zs m'}, of B r{32 + zb + zs m'}
;   lo, hi    offsets of the rows; ws: bytes between result quads
;   vb, v2, v1, vp   twiddle registers: w^4 of A is r48, of B r{48 + vb}; w^2 r{v2}, w r{v1}, w' r{vp}
.macro iteration8 op, opn, st, tw, step, xb, xs, zb, zs, lo, hi, ws, vb, v2, v1, vp
    ; level 1, column A
    .if \tw == 1
    \op r16, r17, r0, r{4*\xs}, r48 || ldq q26, [a2]+s2%
    \op r18, r19, r{2*\xs}, r{6*\xs}, r48 || ldq q27, [a2]+s2%
    .else
    bf \op, 16, 17, 0, 4*\xs, 48
    bf \op, 18, 19, 2*\xs, 6*\xs, 48
    .endif
    bf \op, 20, 21, \xs, 5*\xs, 48
    .if \tw == 2
    \op r22, r23, r{3*\xs}, r{7*\xs}, r48 || ldq q26, [a2]+s2
    .else
    bf \op, 22, 23, 3*\xs, 7*\xs, 48
    .endif
    ; level 1, column B
    bf_st \op, 24, 25, \xb, \xb+4*\xs, 48+\vb, \st, 4, \ws
    bf_st \op, 26, 27, \xb+2*\xs, \xb+6*\xs, 48+\vb, \st, 2, \ws
    bf_st \op, 28, 29, \xb+\xs, \xb+5*\xs, 48+\vb, \st, 6, \ws
    bf_st \op, 30, 31, \xb+3*\xs, \xb+7*\xs, 48+\vb, \st, 1, \ws
    ; level 2, column A
    bf_st \op, 16, 18, 16, 18, \v2, \st, 5, \ws
    bf_st \opn, 17, 19, 17, 19, \v2, \st, 3, \ws
    bf_st \op, 20, 22, 20, 22, \v2, \st, 7, \ws
    .if \st
    \opn r21, r23, r21, r23, r{\v2} || stq q16, [a1]+s1
    .else
    \opn r21, r23, r21, r23, r{\v2}
    .endif
    ; level 2, column B
    bf_ld \op, 24, 26, 24, 26, \v2+\vb, 4, \lo, \hi
    bf_ld \opn, 25, 27, 25, 27, \v2+\vb, 2, \lo, \hi
    bf_ld \op, 28, 30, 28, 30, \v2+\vb, 6, \lo, \hi
    bf_ld \opn, 29, 31, 29, 31, \v2+\vb, 1, \lo, \hi
    ; level 3, column A
    bf_ld \op, 32, 32+4*\zs, 16, 20, \v1, 5, \lo, \hi
    bf_ld \opn, 32+2*\zs, 32+6*\zs, 18, 22, \v1, 3, \lo, \hi
    bf_ld \op, 32+\zs, 32+5*\zs, 17, 21, \vp, 7, \lo, \hi
    \opn r{32+3*\zs}, r{32+7*\zs}, r19, r23, r{\vp} || ldq q0, [a0]+s0%
    ; level 3, column B
    .if \tw == 1
    \op r{32+\zb}, r{32+\zb+4*\zs}, r24, r28, r{\v1+\vb} || ldq q24, [a2]+s2%
    \opn r{32+\zb+2*\zs}, r{32+\zb+6*\zs}, r26, r30, r{\v1+\vb} || ldq q25, [a2]+s2%
    .elif \tw == 2
    \op r{32+\zb}, r{32+\zb+4*\zs}, r24, r28, r{\v1+\vb} || ldq q24, [a2 - 16]
    \opn r{32+\zb+2*\zs}, r{32+\zb+6*\zs}, r26, r30, r{\v1+\vb} || ldx2 s2, [a5]+s5%
    .else
    bf \op, 32+\zb, 32+\zb+4*\zs, 24, 28, \v1+\vb
    bf \opn, 32+\zb+2*\zs, 32+\zb+6*\zs, 26, 30, \v1+\vb
    .endif
    .if \step
    \op r{32+\zb+\zs}, r{32+\zb+5*\zs}, r25, r29, r{\vp+\vb} || ldx2 s0, [a5]+s5%
    .else
    bf \op, 32+\zb+\zs, 32+\zb+5*\zs, 25, 29, \vp+\vb
    .endif
    bf \opn, 32+\zb+3*\zs, 32+\zb+7*\zs, 27, 31, \vp+\vb
.endm

; The loads before the first iteration. The pointers are set.
.macro prologue8 tw, step, lo, hi
    .if \step
    ldx2 s0, [a5]+s5%
    .endif
    .rept 7, i
    ldq q{i+1}, [a0 + ((i+1)%4)*(\lo) + ((i+1)/4)*(\hi)]
    .endr
    ldq q0, [a0]+s0%
    .if \tw == 1
    ldq q24, [a2]+s2%
    ldq q25, [a2]+s2%
    .elif \tw == 2
    ldq q24, [a2 - 16]
    ldx2 s2, [a5]+s5%
    .else
    nop                             ; q0 is not there yet
    .endif
    .if \step
    ldx2 s0, [a5]+s5%
    .else
    nop
    .endif
.endm

; The stores after the last iteration, in the order in which level 3 completes
; them: by column where a result quad is of one column (zs = 1).
.macro epilogue8 zs, ws
    nop
    nop
    .rept 8, i
    stq q{16 + (\zs == 1 ? i : bitrev(i, 3))}, [a1 + (\zs == 1 ? i : bitrev(i, 3))*(\ws)]
    .endr
.endm

; A pass: c1 + 1 iterations. The pointers and steps are set.
.macro pass8 op, opn, tw, step, xb, xs, zb, zs, lo, hi, ws, vb, v2, v1, vp
    prologue8 \tw, \step, \lo, \hi
    iteration8 \op, \opn, 0, \tw, \step, \xb, \xs, \zb, \zs, \lo, \hi, \ws, \vb, \v2, \v1, \vp
    loop c1 {
    iteration8 \op, \opn, 1, \tw, \step, \xb, \xs, \zb, \zs, \lo, \hi, \ws, \vb, \v2, \v1, \vp
    }
    epilogue8 \zs, \ws
.endm
