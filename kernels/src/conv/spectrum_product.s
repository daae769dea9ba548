; Middle pass of overlap-save: last forward levels, product, first inverse levels.
; The pass is software-pipelined: it takes 16 consecutive numbers in registers through the last levels of the
; forward transform, the product with the transformed taps and the first levels of the inverse.
;
; M = 4, 8 or 16 is the length of the sub-transforms done here; an iteration does 16/M of them.
; With LM = log2 M an iteration is 16 LM + 8 butterflies and products:
;   A1 .. A{LM}  forward levels of the next 16 numbers, spans M/2 .. 1
;   C            products of the even numbers with their taps
;   I1           x + y h, x - y h: the butterfly contains the product of the odd number
;   I2 .. I{LM}  inverse levels, spans 2 .. M/2
; Half of the products cost no slot: N (log2 N + 1/2) issues for a block, not N (log2 N + 1).
;
; Registers:
;   q0..q7    the next 16 numbers, levels A in place
;   q8..q15   the 16 numbers before, levels I in place
;   q16..q23  transformed taps
;   q24..q27  factors of the levels A: M/2 for each sub-transform
;   q28, q29  1, W16, W16^2, W16^3 for the levels I
;   a0 reads, a1 writes, a2 walks the factors, a3 the taps;
;   c1 iterations; s0 = 128, s2 = 16
;
; The includer defines MID_RING. 1: the numbers lie in a ring, and a1 goes round it too; the factors of each
; iteration are followed by its taps, so that a2 walks both.
;
; Schedule of 16 LM + 8 cycles; every arithmetic slot is taken.
;   cycle                arithmetic                       memory
;   0..7                 C                                0: last result; 1..4: factors of the next
;   8..15                I1                               numbers of the next
;   16 k .. 16 k + 15    A{k} and I{k+1} alternate, k < LM 16..23: taps of the next
;   16 LM .. 16 LM + 7   A{LM}                            from 1: results
; A level and the next one of the same numbers are 8 to 16 cycles apart, so that neither machine
; stalls. The order within the levels ensures this: C, I1 and A{LM} go
; through the even numbers by their bits (2 3 1); the other levels go through the
; numbers whose bit of the level is 0, in bit-reversed order.
; The loop begins at cycle 1, so that its first iteration stores nothing.

.equ LM, log2(M)
.equ mid_taps, MID_RING ? 2 : 3

; A butterfly, with a load of taps in cycles 16 .. 23.
.macro mid_bf op, d, e, w, cycle
    .if \cycle >= 16 && \cycle < 24
    \op r{\d}, r{\e}, r{\d}, r{\e}, r{\w} || ldq q{\cycle}, [a{mid_taps}]+s2%
    .else
    \op r{\d}, r{\e}, r{\d}, r{\e}, r{\w}
    .endif
.endm

; A butterfly, with the store of result quad j in cycle c = 1 .. 7 of A{LM}; c = 0: without a store.
.macro mid_bf_st op, d, e, w, j, c
    .if \c
    \op r{\d}, r{\e}, r{\d}, r{\e}, r{\w} || stq q{8 + (\j)}, [a1 + 16*((\j) - 7)]
    .else
    \op r{\d}, r{\e}, r{\d}, r{\e}, r{\w}
    .endif
.endm

; A butterfly of forward level k: sub-transform e / M, and block b = (e % M) / (2 span) in it.
; Blocks b and b + 1 share a factor, up to -i.
.equ mid_half, M/2
.macro mid_a k, e, cycle
    .if (\e)%M*(1 << \k)/(2*M)%2 == 0
    mid_bf bfly, \e, (\e)+(M >> \k), 48 + (\e)/M*mid_half + (\k > 1)*((1 << \k)/4 + (\e)%M*(1 << \k)/(4*M)), \cycle
    .else
    mid_bf bflyn, \e, (\e)+(M >> \k), 48 + (\e)/M*mid_half + (\k > 1)*((1 << \k)/4 + (\e)%M*(1 << \k)/(4*M)), \cycle
    .endif
.endm

; A butterfly of the last forward level, span 1, with a store.
.macro mid_last e, j, c
    .if (\e)%M/2%2 == 0
    mid_bf_st bfly, \e, (\e)+1, 48 + (\e)/M*mid_half + M/4 + (\e)%M/4, \j, \c
    .else
    mid_bf_st bflyn, \e, (\e)+1, 48 + (\e)/M*mid_half + M/4 + (\e)%M/4, \j, \c
    .endif
.endm

; Level I{k}, k > 1, span h: number j = e % h of a sub-transform has exp(2 pi i j/(2 h)).
.macro mid_i k, e, cycle
    .if (\e)%(1 << (\k - 1)) < (1 << \k)/4
    mid_bf bflyc, 16 + (\e), 16 + (\e) + (1 << (\k - 1)), 56 + (\e)%(1 << (\k - 1))*(16 >> \k), \cycle
    .else
    mid_bf bflyci, 16 + (\e), 16 + (\e) + (1 << (\k - 1)), 56 + ((\e)%(1 << (\k - 1)) - (1 << \k)/4)*(16 >> \k), \cycle
    .endif
.endm

; The product of the even number e, and the butterfly with its odd neighbour.
.macro mid_c e, c
    .if \c > 0 && \c <= 4
    cmul r{16 + (\e)}, r{\e}, r{32 + (\e)} || ldq q{23 + \c}, [a2]+s2%
    .else
    cmul r{16 + (\e)}, r{\e}, r{32 + (\e)}
    .endif
.endm
.macro mid_i1 e, c
    .if \c < 7
    bfly r{16 + (\e)}, r{17 + (\e)}, r{16 + (\e)}, r{1 + (\e)}, r{33 + (\e)} || ldq q{(\e)/2}, [a0 + 16*((\e)/2 - 7)]
    .else
    bfly r{16 + (\e)}, r{17 + (\e)}, r{16 + (\e)}, r{1 + (\e)}, r{33 + (\e)} || ldq q7, [a0]+s0%
    .endif
.endm

; Macro `name` for the p-th number, in bit-reversed order, of those whose bit b is 0; r = 3 - b.
.macro mid_at name, k, p, r, cycle
    \name \k, bitrev((\p >> (\r) << ((\r) + 1)) + \p%(1 << (\r)), 4), \cycle
.endm

; One iteration, from cycle 1 on.
.macro mid_iteration
    .rept 7, p
    mid_c ((p + 1) >> 2)*4 + ((p + 1) >> 1)%2*8 + (p + 1)%2*2, p + 1
    .endr
    .rept 8, p
    mid_i1 (p >> 2)*4 + (p >> 1)%2*8 + p%2*2, p
    .endr
    .rept LM - 1, k
    .rept 8, p
    mid_at mid_a, k + 1, p, 4 - LM + k, 16*(k + 1) + 2*p
    mid_at mid_i, k + 2, p, 2 - k, 16*(k + 1) + 2*p + 1
    .endr
    .endr
    ; Quads of results are stored in the order in which level I{LM}, whose bit is LM - 1, completes them.
    mid_last 0, 0, 0
    .rept 7, p
    mid_last ((p + 1) >> 2)*4 + ((p + 1) >> 1)%2*8 + (p + 1)%2*2, bitrev(((4 + p/2) >> (4 - LM) << (5 - LM)) + (4 + p/2)%(1 << (4 - LM)), 4)/2 + p%2*M/4, p + 1
    .endr
    .if MID_RING
    cmul r16, r0, r32 || stq q15, [a1]+s0%
    .else
    cmul r16, r0, r32 || stq q15, [a1]+128
    .endif
.endm

; Prepares the pass over the page at a8, of l0 bytes: factors from a2 on, taps from a3 on, with the lengths
; of both in bytes; `constants` as `mid_constants` defines them.
.macro mid_ready factors, taps
    mov b2, a2
    movi l2, \factors
    mov b3, a3
    movi l3, \taps
    mid_steps
    mov b0, a0
.endm

; Prepares the parts of the pass that do not depend on a ring.
.macro mid_steps
    movi s2, 16
    movi a4, constants
    ldq q28, [a4 + 16]
    ldq q29, [a4 + 32]
    addi a0, a8, 112
    movi s0, 128
    mov a1, a0
.endm

; Constants: 1 and W8 for radix8_iteration.s, and powers of W16 for the levels I.
.macro mid_constants
constants:
    .cis 0, 8
    .cis -1, 8
    .rept 4, j
    .cis -j, 16
    .endr
.endm

; The pass of c1 iterations, with pointers at the first 16 numbers. The
; loads of the last iteration wrap to the first numbers, whose values are not used.
.macro mid_pass
    mid_first
    loop c1 {
    mid_iteration
    }
.endm

; The prologue before the first iteration.
.macro mid_first
    .rept 7, i
    ldq q{i}, [a0 + 16*(i - 7)]
    .endr
    ldq q7, [a0]+s0%
    .rept 4, i
    ldq q{24 + i}, [a2]+s2%
    .endr
    .rept LM - 1, k
    .rept 8, p
    mid_at mid_a, k + 1, p, 4 - LM + k, k == 0 ? 16 + p : 99
    .endr
    .endr
    nop                             ; A{LM} reads the last butterflies of the level before
    nop
    .rept 8, p
    mid_last (p >> 2)*4 + (p >> 1)%2*8 + p%2*2, 0, 0
    .endr
    mid_c 0, 0
.endm
