; Fast convolution by overlap-save, N = 32 .. 2048 complex numbers: forward transform,
; product with the transformed taps and inverse transform of every block, in place.
;
; The caller defines (program.rs does):
;   N        length of a block, 8^A M
;   A        passes of radix 8 on each side, 1 .. 3
;   M        4, 8 or 16: the levels of each transform that the middle pass does
; and replaces the data at `taps` by the transformed taps, divided by N, in the order
; in which the forward passes leave a spectrum: with octal digits p, number
;   p{0} N/8 + p{1} N/64 + .. + g   holds frequency   p{0} + 8 p{1} + .. + 8^A bitrev(g).
;
; Page kernel (docs/abi.md), a block is 8 N bytes:
;   word 0 = word 1 the page, word 2 blocks P.
;
; PART  1, 2 and 3 are the three passes of blocks beyond local memory (long.rs): 64 rows of
;   columns, one page a block, factors and taps streamed with it.
;   1  only forward: M columns of 8^A rows
;   2  a row: word 4 its taps; word 5 its factors: of pass 0, of pass 1, .., of the middle
;   3  only back: M columns; word 4 their factors, of the first pass back, of the next
;
; Forward: natural order in, digit-reversed order out, one factor per sub-transform:
;   pass j cuts each of 8^j sub-transforms into eight: out[m'] = sum of x[m] (w W8^m')^m,
;   w = exp(-2 pi i k/8^(j+1)), k the digits p{0} .. p{j-1} done, least significant first;
;   rows are N/8^j bytes apart.
; Inverse: digit-reversed in, natural out, one factor per column k of a sub-transform of L:
;   w = exp(2 pi i k/(8 L)), rows 8 L bytes apart.
; The middle pass (middle.s) ends the one and begins the other.
;
; DMEM: 12 N of taps and factors of the middle pass, about 10 N of factors and steps.
; Cycles on vm7: P N (log2 N + 1/2), all of them butterflies and products, and for every
; page 9 + 34 A + 34 + 8 log2 M + 37 A and the page loop's 4.

; Defaults, which a definition by the caller replaces.
.equ N, 128
.equ A, 1
.equ M, 16
.equ PART, 0

.if M << (3*A) != N || (M != 4 && M != 8 && M != 16)
.error "N must be 8^A M with M = 4, 8 or 16"
.endif

.include "page.s"
.include "../fft/radix8.s"
.include "middle.s"

; Pointers of a pass of radix 8 in place; rows are D bytes apart.
.macro in_place8 steps, length
    movi a5, \steps
    mov b5, a5
    movi l5, \length
    movi s5, 8
    mov a0, a8
    mov b0, a8
    mov l0, c3
    mov a1, a8
.endm

.macro forward j
    .if \j == 0 && PART != 2
    movi a2, constants
    ldq q24, [a2]
    in_place8 forward_steps0, N/2
    pass8 bfly, bflyn, 0, 1, 1, 2, 1, 2, N, 4*N, N, 0, 48, 48, 49
    .else
    .if PART == 2
    addi a2, a11, 32*((1 << (3*\j)) - 1)/7 + 16
    .else
    movi a2, forward_factors{\j} + 16
    .endif
    in_place8 forward_steps{\j}, N
    pass8 bfly, bflyn, 2, 1, 1, 2, 1, 2, N >> (3*\j), 4*(N >> (3*\j)), N >> (3*\j), 0, 49, 52, 53
    .endif
.endm

.macro inverse j, L
    .if PART == 3
    addi a2, a10, 32*M*((1 << (3*\j)) - 1)/7
    .else
    movi a2, inverse_factors{\j}
    .endif
    mov b2, a2
    movi l2, 32*\L
    movi s2, 16
    in_place8 inverse_steps{\j}, 4*\L
    pass8 bflyc, bflyci, 1, 1, 1, 2, 1, 2, 8*\L, 32*\L, 8*\L, 1, 50, 52, 54
.endm

.macro middle
    .if PART == 2
    addi a2, a11, 32*((1 << (3*A)) - 1)/7
    mov a3, a10
    .else
    movi a2, middle_factors
    movi a3, taps
    .endif
    mov b2, a2
    movi l2, 4*N
    movi s2, 16
    mov b3, a3
    movi l3, 8*N
    movi a4, constants
    ldq q28, [a4 + 16]
    ldq q29, [a4 + 32]
    addi a0, a8, 112
    mov b0, a0
    mov l0, c3
    movi s0, 128
    mov a1, a0
    addi c1, c1, 1
    mid_pass
    addi c1, c1, -1
.endm

; A page.
.macro body
    ldx2 a8, [a15]
    ldx c8, [a15 + 8]
    .if PART >= 2
    ldx2 a10, [a15 + 16]
    .else
    nop
    .endif
    nop
    nop
    nop
    shl c3, c8, log2(8*N)           ; bytes of the page
    shl c1, c8, log2(N) - 4         ; iterations of a pass,
    addi c1, c1, -1                 ; the first apart
    .if PART != 3
    .rept A, j
pass{j}:
    forward j
    .endr
    .endif
    .if PART == 0 || PART == 2
middle:
    middle
    .endif
    .if PART != 1
    .rept A, j
back{j}:
    inverse j, M << (3*j)
    .endr
    .endif
.endm

.program
.entry start
start:
    page_begin
    body
    page_end
    stop

; How far the read and the write pointer go after each iteration, entry j for
; the read of iteration j and the write of iteration j - 2, as the pipeline wants
; them: through a sub-transform whose rows are D bytes apart, then to the next one.
.macro step j, D
    .int 16 + 7*(\D)*((\j) % ((\D)/16) == (\D)/16 - 1), 16 + 7*(\D)*(((\j) + (\D)/16 - 2) % ((\D)/16) == (\D)/16 - 1)
.endm

; Factors of a sub-transform: digits i of its place, n octal ones, reversed: k.
.macro reversed8 macro_name, i, n, den
    .if \n == 1
    \macro_name \i, \den
    .elif \n == 2
    \macro_name (\i)/8 + (\i)%8*8, \den
    .else
    \macro_name (\i)/64 + (\i)/8%8*8 + (\i)%8*64, \den
    .endif
.endm
.macro shared k, den
    .cis -4*(\k), \den
    .cis -2*(\k), \den
    .cis -(\k), \den
    .cis -(\k) - \den/8, \den
.endm
.macro middle_group k, den
    .rept LM, l
    .rept max(1, (1 << l)/2), b
    .cis -(\k) - \den*bitrev(2*b, l), \den*(2 << l)
    .endr
    .endr
.endm

.dmem 0
constants:
    .cis 0, 8
    .cis -1, 8
    .rept 4, j
    .cis -j, 16
    .endr
    .if PART == 0
taps:
    .space 8*N
middle_factors:
    .rept N/M, g
    reversed8 middle_group, g, A, 1 << (3*A)
    .endr
    .endif
    .if PART != 3
    .rept A, j
forward_steps{j}:
    .if j == 0 && PART != 2
    .rept N/16, i
    step i, N
    .endr
    .else
    .rept N/16, i
    step i, N >> (3*j)
    .int i % (N >> (3*j + 4)) != (N >> (3*j + 4)) - 1 ? 0 : i == N/16 - 1 ? 32 - (32 << (3*j)) : 32, 0
    .endr
    .if PART != 2
forward_factors{j}:
    .rept 1 << (3*j), i
    reversed8 shared, i, j, 8 << (3*j)
    .endr
    .endif
    .endif
    .endr
    .endif
    .if PART != 1
    .rept A, j
inverse_steps{j}:
    .rept (M << (3*j))/2, i
    step i, 8*(M << (3*j))
    .endr
    .align 16
    .if PART != 3
inverse_factors{j}:
    .rept (M << (3*j))/2, i
    .cis -4*(2*i), 8*(M << (3*j))
    .cis -4*(2*i + 1), 8*(M << (3*j))
    .cis -2*(2*i), 8*(M << (3*j))
    .cis -2*(2*i + 1), 8*(M << (3*j))
    .cis -(2*i), 8*(M << (3*j))
    .cis -(2*i + 1), 8*(M << (3*j))
    .cis -(2*i + (M << (3*j))), 8*(M << (3*j))
    .cis -(2*i + 1 + (M << (3*j))), 8*(M << (3*j))
    .endr
    .endif
    .endr
    .endif
