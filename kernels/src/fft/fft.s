; FFT of N complex numbers, N = 16 .. 2048: Stockham's algorithm in DMEM.
;
; The caller defines (program.rs does):
;   N         length, a power of two
;   INVERSE   0: exp(-2 pi i jk/N), 1: exp(+2 pi i jk/N); neither is scaled
;   R1 .. R4  radices of the passes, 4 or 8, 0 where there is no such pass;
;             radix 4 only in the first pass, or in the second after a first one
;
; Page kernel (docs/abi.md), a block is one transform of 8 N bytes:
;   word 0 input page, word 1 output page, word 2 transforms P, word 3 scratch page.
;   An even number of passes works in place (words 0 and 1 agree) with a scratch
;   page; an odd one leaves the result in the output page and destroys the input.
;
; Layout. Before a pass, L is the product of the radices done; number t L + k of
; a transform is output k of sub-transform t. A pass of radix r reads column
; c = t L + k, the numbers c + m N/r for m = 0 .. r-1, with the twiddle factors
; W^(k m), W = exp(-2 pi i/(r L)), and writes the numbers t r L + m' L + k.
; Columns k and k + 1 are neighbours: a quad. After the last pass L = N.
;
; Twiddle factors: tables of the forward transform; the inverse uses butterflies
; that conjugate them. For every pair of columns k, k+1 of a radix-8 pass,
; in the order of use: w^4, w^2, w, w W8, each for k and k+1: 64 bytes.
; Step tables: how far the read and the write pointer go after each of the N/16
; iterations of a transform; entry j holds the read step of iteration j and the
; write step of iteration j - 2, as the pipeline wants them.
;
; DMEM: 48 + 32 L (radix-8 passes but the first) + N/2 (radix-8 passes) bytes of tables.
; Cycles on vm7: P N/2 log2 N, all of them butterflies, and 16 + 30 or 34 (first pass of
; radix 4 or 8) + 31 or 37 for each later one.

; Defaults, which a definition by the caller replaces.
.equ N, 256
.equ INVERSE, 0
.equ R1, 4
.equ R2, 8
.equ R3, 8
.equ R4, 0

.if R1*max(R2, 1)*max(R3, 1)*max(R4, 1) != N
.error "the product of the radices R1 .. R4 is not N"
.endif
.if (R1 != 4 && R1 != 8) || (R2 != 8 && (R2 != 4 || R1 != 4)) || R3 % 8 != 0 || R4 % 8 != 0
.error "the radices are 8, but for one or two of 4 at the start"
.endif

.include "radix4.s"
.include "radix8.s"

.equ PASSES, 1 + (R2 != 0) + (R3 != 0) + (R4 != 0)
.equ L2, R1
.equ L3, L2*R2
.equ L4, L3*R3
; a8 is the input page; the passes alternate between it and a{OTHER}.
.equ OTHER, 9 + 2*(PASSES % 2 == 0)

; Step table of a pass of radix 8, a circular read pointer over the page, a write pointer.
.macro pointers8 pass, src, dst
    movi a5, steps{\pass}
    mov b5, a5
    movi l5, N/2
    movi s5, 8
    mov a0, a{\src}
    mov b0, a0
    mov l0, c3
    mov a1, a{\dst}
.endm

; The first pass when it is of radix 8: no twiddle factors, and the results of
; one column are eight consecutive numbers.
.macro first8 op, opn, src, dst
    movi a2, constants
    ldq q24, [a2]
    pointers8 1, \src, \dst
    pass8 \op, \opn, 0, 1, 1, 2, 8, 1, N, 4*N, 16, 0, 48, 48, 49
.endm

; A later pass of radix 8: after L.
.macro later8 op, opn, pass, L, src, dst
    movi a2, twiddles{\pass}
    mov b2, a2
    movi l2, 32*\L
    movi s2, 16
    pointers8 \pass, \src, \dst
    pass8 \op, \opn, 1, 1, 1, 2, 1, 2, N, 4*N, 8*\L, 1, 50, 52, 54
.endm

; All passes.
.macro transform op, opn
    .if R1 == 4
pass1:
    movi a2, constants
    ldq q24, [a2]
    pass4 \op, \opn, \op, 0, 4, 1, 8, OTHER
    .else
pass1:
    first8 \op, \opn, 8, OTHER
    .endif
pass2:
    .if R2 == 4
    movi a2, sixteenth
    ldq q24, [a2]
    ldq q25, [a2 + 16]
    pass4 \op, \opn, \opn, 1, 1, 4, OTHER, 8
    .else
    later8 \op, \opn, 2, L2, OTHER, 8
    .endif
    .if PASSES > 2
pass3:
    later8 \op, \opn, 3, L3, 8, OTHER
    .endif
    .if PASSES > 3
pass4:
    later8 \op, \opn, 4, L4, OTHER, 8
    .endif
.endm

.program
.entry start
start:
    ldx2 a8, [a15]
    ldx2 a10, [a15 + 8]
    movi s3, 8*N
    nop
    nop
    nop
    shl c3, a10, log2(8*N)          ; bytes of the page
    shl c1, a10, log2(N) - 4        ; iterations of a pass,
    addi c1, c1, -1                 ; the first apart
    addi c4, c3, -32
    addi c2, a10, -1
    bnz c2, .passes
    movi s3, 32                     ; P = 1: the radix-4 read pointer walks
    movi c4, 2*N                    ; the columns, then starts again
.passes:
    .if INVERSE
    transform bflyc, bflyci
    .else
    transform bfly, bflyn
    .endif
    stop

; Twiddle and step tables of a radix-8 pass after L.
.macro tables8 pass, L
steps{\pass}:
    .rept N/16, j
    .int 16 + 7*N*(j == N/16 - 1), 16 + 56*\L*((j + \L - 2) % (\L/2) == \L/2 - 1)
    .endr
    .align 16
twiddles{\pass}:
    .rept \L/2, i
    .cis -4*(2*i), 8*\L
    .cis -4*(2*i + 1), 8*\L
    .cis -2*(2*i), 8*\L
    .cis -2*(2*i + 1), 8*\L
    .cis -(2*i), 8*\L
    .cis -(2*i + 1), 8*\L
    .cis -(2*i + \L), 8*\L
    .cis -(2*i + 1 + \L), 8*\L
    .endr
.endm

.dmem 0
constants:
    .cis 0, 8
    .cis -1, 8
    .if R2 == 4
sixteenth:
    .cis 0, 16
    .cis -1, 16
    .cis -2, 16
    .cis -3, 16
    .endif
    .if R1 == 8
steps1:
    .rept N/16, j
    .int 16 + 7*N*(j == N/16 - 1), 128
    .endr
    .align 16
    .endif
    .if R2 == 8
    tables8 2, L2
    .endif
    .if R3 == 8
    tables8 3, L3
    .endif
    .if R4 == 8
    tables8 4, L4
    .endif
