; Overlap-save in local memory: filters blocks of N = 32 .. 2048 complex numbers.
; Every block is transformed, multiplied by the transformed taps and transformed back, in place.
;
; The caller defines (program.rs does):
;   N        length of a block, 8^A M
;   A        passes of radix 8 on each side, 1 .. 3
;   M        4, 8 or 16: length of the sub-transforms that the middle pass does
; It replaces the data at `taps` by the transformed taps, divided by N, in the order
; in which the forward passes leave a spectrum. With octal digits p, number
;   p{0} N/8 + p{1} N/64 + .. + g   holds frequency   p{0} + 8 p{1} + .. + 8^A bitrev(g).
;
; A page kernel (docs/abi.md); a block is 8 N bytes:
;   words 0 and 1 are the address of the page, word 2 the number of blocks P.
; With RING = 1 the entry is `blocks`, and every page is one block. At launch a15 is the address of
;   word 0 pages, word 1 bytes of the ring, then from byte 16 the ring: 16 bytes for each page, its address first.
; The kernel waits for event 0 for each page, which the DMA posts when the page has been loaded, and signals event 1
; when the page can be stored. Its data begin at DMEM address AT.
;
; Forward transform: natural order in, digit-reversed order out, one factor per sub-transform:
;   pass j cuts each of 8^j sub-transforms into eight: out[m'] = sum of x[m] (w W8^m')^m,
;   w = exp(-2 pi i k/8^(j+1)), k the digits p{0} .. p{j-1} done, least significant first;
;   rows are N/8^j bytes apart.
; Inverse transform: digit-reversed in, natural out, one factor per column k of a sub-transform of length L:
;   w = exp(2 pi i k/(8 L)), rows 8 L bytes apart.
; The middle pass (spectrum_product.s) ends the forward transform and begins the inverse.
;
; DMEM: 12 N of taps and factors of the middle pass, about 10 N of factors and steps.
; Cycles: P N (log2 N + 1/2), all of them butterflies and products, plus, on vm7, for every
; page 13 + 41 + 50 (A - 1) + 35 + 8 log2 M + 47 A.

; Defaults, which definitions by the caller replace.
.equ N, 128
.equ A, 1
.equ M, 16
.equ RING, 0
.equ AT, 0

.if M << (3*A) != N || (M != 4 && M != 8 && M != 16)
.error "N must be 8^A M with M = 4, 8 or 16"
.endif

.equ LOADED, 0
.equ DONE, 1

.include "page.s"
.include "../fft/radix8_iteration.s"
.include "../fft/radix8_pass.s"
.equ MID_RING, 0
.include "spectrum_product.s"

; Constants of the passes: forward pass j is pass j + 1, inverse pass j is pass j + 5.
.rept A, j
    distances8 j + 1, N >> (3*j), N >> (3*j), j ? 3 : 0, 1
    distances8 j + 5, 8*(M << (3*j)), 8*(M << (3*j)), 4, 1
.endr

.macro forward j
    .if \j == 0
    steps_at forward_steps0, N/2
    .else
    movi a2, forward_factors{\j}
    shared_at \j + 1, forward_steps{\j}, N, 32 << (3*\j), N >> (3*\j + 4)
    .endif
    pass8 bfly, bflyn, \j + 1, a8
.endm

.macro back j, L
    movi a2, back_factors{\j}
    records_at back_steps{\j}, 4*\L, 32*\L
    pass8 bflyc, bflyci, \j + 5, a8
.endm

.macro middle
    movi a2, middle_factors
    movi a3, taps
    mid_ready 4*N, 8*N
    mov l0, c3
    addi c1, c1, 2
    mid_pass
    addi c1, c1, -2
.endm

; A page of P blocks.
.macro body
    ldx c8, [a15 + 8]
    ldx2 a8, [a15]
    nop
    nop
    nop
    nop
    shl c3, c8, log2(8*N)           ; bytes of the page
    shl c1, c8, log2(N) - 4         ; iterations of a pass
    addi c1, c1, -2                 ; but two
    passes
.endm

; All passes over c3 bytes from a8 on, with c1 = iterations - 2.
.macro passes
    .rept A, j
pass{j}:
    forward j
    .endr
middle:
    middle
    .rept A, j
back{j}:
    back j, M << (3*j)
    .endr
.endm

.program
    .if RING
.entry blocks
blocks:
    ldx2 c14, [a15]                 ; pages, bytes of the ring
    movi s5, 8
    movi a7, constants
    ldq q30, [a7]
    addi a7, a15, 16
    mov b7, a7
    movi s7, 8
    mov l7, c15
turn:
    ldx2 a8, [a7]+s7%
    ldx2 a10, [a7]+s7%
    movi c3, 8*N
    movi c1, N/16 - 2
    wait LOADED
    passes
    signal DONE
    addi c14, c14, -1
    bnz c14, turn
    stop
    .else
.entry start
start:
    movi s5, 8
    movi a7, constants
    ldq q30, [a7]
    page_begin
    body
    page_end
    stop
    .endif

; Steps of the read and the write pointer (radix8_pass.s): through a sub-transform
; whose rows are D bytes apart, then on to the next sub-transform.
.macro step j, D
    .int 16 + 7*(\D)*((\j) % ((\D)/16) == (\D)/16 - 1), 16 + 7*(\D)*(((\j) + (\D)/16 - 2) % ((\D)/16) == (\D)/16 - 1)
.endm

; Calls a macro with k, the n octal digits of i reversed: the factors of sub-transform i.
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

.dmem AT
    mid_constants
taps:
    .space 8*N
middle_factors:
    .rept N/M, g
    reversed8 middle_group, g, A, 1 << (3*A)
    .endr
    .rept A, j
forward_steps{j}:
    .if j == 0
    .rept N/16, i
    step i, N
    .endr
    .else
    .rept N/16, i
    .int 32*(i % (N >> (3*j + 4)) == 0), 32*((i + 2) % (N >> (3*j + 4)) == 0)
    step i, N >> (3*j)
    .endr
forward_factors{j}:
    .rept 1 << (3*j), i
    reversed8 shared, i, j, 8 << (3*j)
    .endr
    .endif
    .endr
    .rept A, j
back_steps{j}:
    .rept (M << (3*j))/2, i
    step i, 8*(M << (3*j))
    .endr
    .align 16
back_factors{j}:
    .rept (M << (3*j))/2, i
    .cis -2*(2*i), 8*(M << (3*j))
    .cis -2*(2*i + 1), 8*(M << (3*j))
    .cis -4*((2*i + 2) % (M << (3*j))), 8*(M << (3*j))
    .cis -4*(2*i + 1), 8*(M << (3*j))
    .cis -(2*i), 8*(M << (3*j))
    .cis -(2*i + 1), 8*(M << (3*j))
    .cis -(2*i + (M << (3*j))), 8*(M << (3*j))
    .cis -(2*i + 1 + (M << (3*j))), 8*(M << (3*j))
    .endr
    .endr
