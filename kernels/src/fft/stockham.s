; Stockham's algorithm in DMEM: passes over rows of N = 16 .. 2048 numbers.
;
; The including file defines N, INVERSE and R1 .. R4 (see fft.s), includes radix8_iteration.s
; and radix4_iteration.s, and defines
;   OTHER     a8 is the input page; the passes alternate between it and a{OTHER}.
; At `passes`, a14 is set, a12 and a13 are 7 N bytes behind a8 and a{OTHER}, s8 = 64, s9 = 8, c1 is two less than
; the iterations of a pass, r60 and r61 are 1 and W8; where R1 is 4, r48 .. r51 are W16^0 .. 3 and s3, c4 and
; c5 are set for radix4_iteration.s.
;
; Layout. Before a pass, L is the product of the radices done; number t L + k of
; a transform is output k of sub-transform t. A pass of radix r reads column
; c = t L + k, the numbers c + m N/r for m = 0 .. r-1, with the twiddle factors
; W^(k m), W = exp(-2 pi i/(r L)), and writes the numbers t r L + m' L + k.
; Columns k and k + 1 are neighbours, a quad. After the last pass L = N.
;
; Twiddle factors. The tables are those of the forward transform; the inverse uses butterflies
; that conjugate them. Each pair of columns k, k+1 of a radix-8 pass has
; w^2, w^4, w, w W8, each for k and k+1: 64 bytes. w^4 of k is that of the next
; pair, because the software pipeline loads it early.
; Step tables: the steps of the read and the write pointer after each of the N/16
; iterations of a transform. Entry j holds the read step of iteration j + 2 and the
; write step of iteration j, because of the software pipeline.
;
; Passes of radix 8 overlap: while the last iterations of one are
; computed and stored, the first ones of the next are loaded. Their numbers have been stored
; before, except for N = 64 with P = 1, where each pass ends before the next begins.

.equ PASSES, 1 + (R2 != 0) + (R3 != 0) + (R4 != 0)
.equ L1, 1
.equ L2, R1
.equ L3, L2*R2
.equ L4, L3*max(R3, 1)
; The first pass of radix 8.
.equ FIRST8, 1 + (R1 == 4) + (R2 == 4)
; FUSED is 1 if passes of radix 8 overlap.
.equ FUSED, N > 64

; Constants that radix8_iteration.s expects of pass t. Registers: a{set} loads,
; a{set + 1} stores, a{set + 2} walks the factors, a{set + 3} the steps.
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
    ; Address registers of the page that is read (12, 13: row 7 of 8, OTHER) and of the page that is written.
    .equ src{\t}, 13 - \t % 2
    .equ dst{\t}, \t % 2 ? OTHER : 8
.endm
    pass 1, L1
    pass 2, L2
    pass 3, L3
    pass 4, L4

; The pass that begins while pass t ends; 0: there is none.
.macro neighbours t
    .equ after{\t}, (FUSED && \t < PASSES) ? \t + 1 : 0
.endm
    neighbours 1
    neighbours 2
    neighbours 3
    neighbours 4

; Sets the pointers of pass t when no pass before it does.
.macro pointers8 t
    ldx2 a{set{\t} + 2}, [a14 + 24*(\t - FIRST8)]
    ldx2 b{set{\t} + 2}, [a14 + 24*(\t - FIRST8)]
    ldx2 l{set{\t} + 2}, [a14 + 24*(\t - FIRST8) + 8]
    mov a{set{\t}}, a{src{\t}}
    movi a{set{\t} + 1}, yat{\t}
    add a{set{\t} + 1}, a{set{\t} + 1}, a{dst{\t}}
.endm

; The hooks of radix8_iteration.s: factors and steps of the passes in the frame, and the
; pointers of the pass after them, one at a time:
;   first frame of n     factors and steps of the next pass; write address of n
;   second frame         read address of the next pass, length of its writes; the loop
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

; Pass t after its first frame, which it shares with the pass `before`;
; then the first frame of the pass `after`.
.macro body8 op, opn, t, before
    ; The second column pair of a transform of 32 is its last.
    frame8 \op, \opn, \t, \t, \before, [a{set{\t}}]+(N == 32 ? 16 + 7*N : 16), [a{set{\before} + 1}], hook8
    frame8 \op, \opn, \t, \t, \t, [a{set{\t}}]+s{set{\t}}, [a{set{\t} + 1}]+s{set{\t} + 1}, hook8
    frame8 \op, \opn, after{\t}, \t, \t, [a{set{\t + 1}}]+16, [a{set{\t} + 1}]+s{set{\t} + 1}, hook8
    .if after{\t} == 0
    tail8 \op, \opn, \t
    .endif
.endm

; Pass t when no pass overlaps it from before.
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

; Twiddle and step tables of a radix-8 pass after length L.
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

; Data that the passes expect in DMEM.
.macro stockham_tables
constants:
    .cis 0, 8
    .cis -1, 8
    .if R1 == 4
    .rept 4, j
    .cis -j, 16
    .endr
    .endif
; For each radix-8 pass: addresses of its factors (w' of the first pair) and of its steps, and the lengths of both.
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
