; Radix-4 butterflies, four columns at a time, software-pipelined.
;
; Shape. One iteration transforms the columns 0..3 of four rows x0..x3:
;   level 1  x0 +- w^2 x2, x1 +- w^2 x3   2 butterflies a column
;   level 2  m' = 0,2: w   1,3: -i w      2
; The twiddle factors stay in registers: radix 4 does the passes whose columns
; see the same few factors again and again:
;   the first pass (L = 1), where w = 1, and
;   the second (L = 4) after a radix-4 one, where column k has w = W16^k.
;
; Registers.
;   q0..q7    row m of column j is r{4m + j}
;   q8..q15   level 1
;   q16..q23  results: 16 consecutive numbers, quad j goes to [a1 + 16 j]
;   r48..r51  1, W16, W16^2, W16^3 (the first pass needs only r48)
;   a0 reads, a1 writes; c1 iterations less one
;
; Order. The transforms of the page innermost, so that both pointers follow one
; rule without a free slot to compute in: a step of 8 N modulo (8 N P - 32)
; comes round to the next four columns after P transforms (a1: 8 N P - 128).
;
; Schedule: 16 cycles, every slot of both kinds taken.
;   cycle  arithmetic   memory
;   0..7   level 1      0: the last row quad; from 1: results of the iteration before
;   8..15  level 2      8: the last result; from 9: seven row quads of the next iteration
; Level 2 overwrites the first results from cycle 8 on: they have just been stored.

; A butterfly on computed register numbers with a store of result quad j, when `st` is not 0.
.macro bf4_st op, d, e, x, y, w, st, j
    .if \st
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || stq q{16+(\j)}, [a1 + 16*(\j)]
    .else
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
    .endif
.endm

; ... with the store of result quad 0, the last one, and the step of a1.
.macro bf4_su op, d, e, x, y, w, st
    .if \st
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || stq q16, [a1]+s1%
    .else
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
    .endif
.endm

; ... with a load of row quad j = 2m + half, relative to quad 7.
.macro bf4_ld op, d, e, x, y, w, j
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || ldq q{\j}, [a0 + ((\j)/2 - 3)*2*N + ((\j)%2 - 1)*16]
.endm

; One iteration.
;   op, opn   the butterfly with +w and with -i w (conjugated in the inverse)
;   op2       level 1 of columns 2 and 3: op where w = 1, opn where w^2 = -i W16^(2k-4)
;   st        0 in the first iteration of a pass
;   k         1: the factors of column j are those of W16^j; 0: all 1
;   zc, zm    result m' of column j is r{32 + zc j + zm m'}
; Level 2 completes result quads in the order 0, 1, 2, .. (k = 0) or 0, 4, 2, 6, .. (k = 1);
; they are stored in that order, 0 at the end with the step.
.macro iteration4 op, opn, op2, st, k, zc, zm
    ; level 1
    \op r16, r20, r0, r8, r48 || ldq q7, [a0]+s0%
    bf4_st \op, 17, 21, 1, 9, 48+2*\k, \st, \k ? 4 : 1
    bf4_st \op, 24, 28, 4, 12, 48, \st, 2
    bf4_st \op, 25, 29, 5, 13, 48+2*\k, \st, \k ? 6 : 3
    bf4_st \op2, 18, 22, 2, 10, 48, \st, \k ? 1 : 4
    bf4_st \op2, 19, 23, 3, 11, 48+2*\k, \st, 5
    bf4_st \op2, 26, 30, 6, 14, 48, \st, \k ? 3 : 6
    bf4_st \op2, 27, 31, 7, 15, 48+2*\k, \st, 7
    ; level 2
    bf4_su \op, 32, 32+2*\zm, 16, 24, 48, \st
    .if \k
    bf4_ld \op, 32+\zc, 32+\zc+2*\zm, 17, 25, 49, 0
    bf4_ld \opn, 32+\zm, 32+3*\zm, 20, 28, 48, 4
    .else
    bf4_ld \opn, 32+\zm, 32+3*\zm, 20, 28, 48, 0
    bf4_ld \op, 32+\zc, 32+\zc+2*\zm, 17, 25, 48, 4
    .endif
    bf4_ld \opn, 32+\zc+\zm, 32+\zc+3*\zm, 21, 29, 48+\k, 2
    bf4_ld \op, 32+2*\zc, 32+2*\zc+2*\zm, 18, 26, 48+2*\k, 6
    .if \k
    bf4_ld \op, 32+3*\zc, 32+3*\zc+2*\zm, 19, 27, 51, 1
    bf4_ld \opn, 32+2*\zc+\zm, 32+2*\zc+3*\zm, 22, 30, 50, 5
    .else
    bf4_ld \opn, 32+2*\zc+\zm, 32+2*\zc+3*\zm, 22, 30, 48, 1
    bf4_ld \op, 32+3*\zc, 32+3*\zc+2*\zm, 19, 27, 48, 5
    .endif
    bf4_ld \opn, 32+3*\zc+\zm, 32+3*\zc+3*\zm, 23, 31, 48+3*\k, 3
.endm

; The load of row quad j before the first iteration.
.macro row4 j
    ldq q{\j}, [a0 + ((\j)/2 - 3)*2*N + ((\j)%2 - 1)*16]
.endm

; A pass from a{src} to a{dst}: c1 + 1 iterations. s3 and c4 are step and
; length of a0, c3 is the bytes of the page, 8 N P (fft.s sets them).
.macro pass4 op, opn, op2, k, zc, zm, src, dst
    movi s0, 6*N + 16
    add a0, a{\src}, s0
    mov b0, a0
    mov l0, c4
    mov s0, s3
    mov a1, a{\dst}
    mov b1, a1
    addi l1, c3, -128
    movi s1, 8*N
    row4 0
    row4 4
    row4 2
    row4 6
    row4 1
    row4 5
    row4 3
    iteration4 \op, \opn, \op2, 0, \k, \zc, \zm
    loop c1 {
    iteration4 \op, \opn, \op2, 1, \k, \zc, \zm
    }
    ; The pointer has come round: the last results belong at the end of the page.
    add a1, b1, l1
    .rept 8, i
    stq q{16 + (\k ? bitrev(i, 3) : i)}, [a1 + 16*(\k ? bitrev(i, 3) : i)]
    .endr
.endm
