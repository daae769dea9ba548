; Stockham's algorithm in DMEM: passes over rows of N numbers, N = 16 .. 2048, one behind the other.
;
; Whoever includes it defines N, INVERSE and R1 .. R4 (fft.s says how), includes frame8.s
; and frame4.s, and
;   OTHER     a8 is the input page; the passes alternate between it and a{OTHER}
; and has a14 at `passes`, a12 and a13 7 N bytes behind a8 and a{OTHER}, s8 = 64, s9 = 8, c1 two less than
; the iterations of a pass, 1 and W8 in r60 and r61, and where R1 is 4 W16^0 .. 3 in r48 .. r51, s3, c4 and
; c5 for frame4.s.
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

.equ PASSES, 1 + (R2 != 0) + (R3 != 0) + (R4 != 0)
.equ L1, 1
.equ L2, R1
.equ L3, L2*R2
.equ L4, L3*max(R3, 1)
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

; What the passes find in DMEM.
.macro stockham_tables
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
.endm
