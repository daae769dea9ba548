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
; w^2, w^4, w, w W8, each for k and k+1: 64 bytes; w^4 of k is that of the next
; pair, as the pipeline wants it.
; Step tables: how far the read and the write pointer go after each of the N/16
; iterations of a transform; entry j holds the read step of iteration j + 2 and the
; write step of iteration j, as the pipeline wants them.
;
; Passes of radix 8 run into each other: while the last iterations of one are
; computed and stored, the first ones of the next are loaded. What they read was
; stored before, but for N = 64 with P = 1: there each pass ends before the next.
;
; DMEM: 48 + 32 L + 24 (radix-8 passes but the first) + N/2 (radix-8 passes) bytes of tables.

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

.include "page.s"
.include "frame8.s"
.include "frame4.s"

.equ PASSES, 1 + (R2 != 0) + (R3 != 0) + (R4 != 0)
.equ L1, 1
.equ L2, R1
.equ L3, L2*R2
.equ L4, L3*max(R3, 1)
; a8 is the input page; the passes alternate between it and a{OTHER}.
.equ OTHER, 9 + 2*(PASSES % 2 == 0)
; The first pass of radix 8.
.equ FIRST8, 1 + (R1 == 4) + (R2 == 4)
; Whether the passes of radix 8 run into each other.
.equ FUSED, N > 64

; The constants that frame8.s expects of pass t. Registers: a{set} reads,
; a{set + 1} writes, a{set + 2} walks the factors, a{set + 3} the steps.
.macro pass t, L
    .equ set{\t}, 4*(\t % 2)
    .equ row1_{\t}, N
    .equ row2_{\t}, 2*N
    .equ row4_{\t}, 4*N
    .equ out1_{\t}, \L == 1 ? 16 : 8*\L
    .equ out2_{\t}, 2*(\L == 1 ? 16 : 8*\L)
    .equ out4_{\t}, 4*(\L == 1 ? 16 : 8*\L)
    .equ zs{\t}, \L == 1 ? 1 : 2
    .equ tw{\t}, \L > 1
    ; Bytes from the start of a page to row 7 and to result 7.
    .equ xat{\t}, 7*N
    .equ yat{\t}, 7*(\L == 1 ? 16 : 8*\L)
    ; Address registers: the page it reads (12, 13: row 7 of 8, OTHER), and the one it writes.
    .equ src{\t}, 13 - \t % 2
    .equ dst{\t}, \t % 2 ? OTHER : 8
.endm
    pass 1, L1
    pass 2, L2
    pass 3, L3
    pass 4, L4

; The pass that runs into pass t, the pass that it runs into; 0: there is none.
.macro neighbours t
    .equ after{\t}, (FUSED && \t < PASSES) ? \t + 1 : 0
.endm
    neighbours 1
    neighbours 2
    neighbours 3
    neighbours 4

; Pointers of pass t where no pass before it has the time.
.macro pointers8 t
    ldx2 a{set{\t} + 2}, [a14 + 24*(\t - FIRST8)]
    ldx2 b{set{\t} + 2}, [a14 + 24*(\t - FIRST8)]
    ldx2 l{set{\t} + 2}, [a14 + 24*(\t - FIRST8) + 8]
    mov a{set{\t}}, a{src{\t}}
    movi a{set{\t} + 1}, yat{\t}
    add a{set{\t} + 1}, a{set{\t} + 1}, a{dst{\t}}
.endm

; The hooks of frame8: factors and steps of the passes in the frame, and the
; pointers of the pass after them, piece by piece:
;   first frame of n     factors and steps of the next pass; where n writes
;   second frame         where the next pass reads, how far it writes; the loop
.macro hook8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12 && \c && tw{\c}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q27, [a{set{\c} + 2}]+s8%
    .elif \slot == 17 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a{set{\n} + 2} - 48]
    .elif \slot == 18 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q24, [a{set{\n} + 2} - 32]
    .elif \slot == 21 && \n && tw{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldq, q26, [a{set{\n} + 2} - 16]
    .elif \slot == 19 && \n && \n != \c && after{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldx2, a{set{\n + 1} + 2}, [a14 + 24*(\n + 1 - FIRST8)]
    .elif \slot == 20 && \n && \n != \c && after{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldx2, b{set{\n + 1} + 2}, [a14 + 24*(\n + 1 - FIRST8)]
    .elif \slot == 22 && \n && \n != \c && after{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldx2, l{set{\n + 1} + 2}, [a14 + 24*(\n + 1 - FIRST8) + 8]
    .elif \slot == 23 && \n && \c && \n != \c
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || add a{set{\n} + 1}, a{set{\n} + 1}, a{dst{\n}}
    .elif \slot == 19 && \n && \n == \c && \c != \p && after{\n}
    word \on, \op, \d, \e, \x, \y, \w, mov, a{set{\n + 1}}, a{src{\n + 1}}
    .elif \slot == 20 && \n && \n == \c && \c != \p && after{\n}
    word \on, \op, \d, \e, \x, \y, \w, movi, a{set{\n + 1} + 1}, yat{\n + 1}
    .elif \slot == 22 && \n && \n == \c
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s{set{\n}}, [a{set{\n} + 3}]+s9%
    .elif \slot == 23 && \n && \n == \c && \c != \p
    ; The frames of the loop follow.
    word \on, \op, \d, \e, \x, \y, \w, loop, c1, . + 24
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; Pass t, its first frame apart, which `before` it has in common with the pass
; before; and the first frame of the pass `after`.
.macro body8 op, opn, t, before
    ; The second column pair of a transform of 32 is its last.
    frame8 \op, \opn, \t, \t, \before, [a{set{\t}}]+(N == 32 ? 16 + 7*N : 16), [a{set{\before} + 1}], hook8
    frame8 \op, \opn, \t, \t, \t, [a{set{\t}}]+s{set{\t}}, [a{set{\t} + 1}]+s{set{\t} + 1}, hook8
    frame8 \op, \opn, after{\t}, \t, \t, [a{set{\t + 1}}]+16, [a{set{\t} + 1}]+s{set{\t} + 1}, hook8
    .if after{\t} == 0
    tail8 \op, \opn, \t
    .endif
.endm

; Pass t when none runs into it.
.macro alone8 op, opn, t
    pointers8 \t
    frame8 \op, \opn, \t, 0, 0, [a{set{\t}}]+16, [a0], hook8
    body8 \op, \opn, \t, 0
.endm

; All passes.
.macro transform op, opn
    .if R1 == 4
.equ apart0, 2*N
.equ beside0, 16
.equ apart1, 2*N
.equ beside1, 16
pass1:
    pass4 \op, \opn, 0, 8, OTHER
    .endif
    .if R2 == 4
pass2:
    pass4 \op, \opn, 1, OTHER, 8
    .endif
    .rept PASSES, i
    .if i + 1 == FIRST8 || (i + 1 > FIRST8 && FUSED == 0)
pass{i + 1}:
    alone8 \op, \opn, i + 1
    .elif i + 1 > FIRST8
pass{i + 1}:
    body8 \op, \opn, i + 1, i
    .endif
    .endr
.endm

.program
.entry start
start:
    movi a14, passes
    ldq q30, [a14 + (constants - passes)]
    movi s8, 64
    movi s9, 8
    page_begin
    ldx2 a8, [a15]
    ldx2 a10, [a15 + 8]
    movi s3, 8*N
    movi s0, 7*N
    nop
    .if R1 == 4
    ldq q24, [a14 + (constants - passes) + 16]
    ldq q25, [a14 + (constants - passes) + 32]
    .else
    nop
    nop
    .endif
    shl c3, a10, log2(8*N)          ; bytes of the page
    shl c1, a10, log2(N) - 4        ; iterations of a pass but two
    addi c1, c1, -2
    addi c4, c3, -32
    addi c5, c3, -128
    addi c2, a10, -1
    bnz c2, .passes
    movi s3, 32                     ; P = 1: the radix-4 read pointer walks
    movi c4, 2*N                    ; the columns, then starts again
    .if N == 16
    addi c1, c1, 1                  ; two iterations, the second a repetition
    .endif
.passes:
    add a12, a8, s0
    add a13, a{OTHER}, s0
    .if INVERSE
    transform bflyc, bflyci
    .else
    transform bfly, bflyn
    .endif
    page_end
    stop

; Twiddle and step tables of a radix-8 pass after L.
.macro tables8 pass, L
steps{\pass}:
    .rept N/16, j
    .int 16 + 7*N*((j + 2) % (N/16) == N/16 - 1), (\L == 1 ? 128 : 16 + 56*\L*(j % (\L/2) == \L/2 - 1))
    .endr
    .align 16
twiddles{\pass}:
    .rept \L/2, i
    .cis -2*(2*i), 8*\L
    .cis -2*(2*i + 1), 8*\L
    .cis -4*((2*i + 2) % \L), 8*\L
    .cis -4*(2*i + 1), 8*\L
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
    .if R1 == 4
    .rept 4, j
    .cis -j, 16
    .endr
    .endif
; Factors (w' of the first pair) and steps of a radix-8 pass, where they begin and how long they are.
passes:
    .rept PASSES, i
    .if i + 1 >= FIRST8
    .int twiddles{i + 1} + 48, steps{i + 1}, 32*L{i + 1}, N/2, 0, 0
    .endif
    .endr
    .align 16
    .rept PASSES, i
    .if i + 1 >= FIRST8
    tables8 i + 1, L{i + 1}
    .endif
    .endr
