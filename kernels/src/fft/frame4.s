; Radix-4 butterflies, four columns at a time, as a modulo schedule of 16 cycles.
;
; Shape. An iteration transforms the columns 0..3 of four rows x0..x3:
;   level 1  a: x0 +- w^2 x2   b: x1 +- w^2 x3     of each column
;   level 2  0: m' = 0, 2 with w   1: m' = 1, 3 with -i w
; The twiddle factors stay in registers: radix 4 does the passes whose columns
; see the same few factors again and again:
;   the first pass (L = 1), where w = 1, and
;   the second (L = 4) after a radix-4 one, where column k has w = W16^k.
;
; Schedule. Every slot of both kinds is taken, by three iterations at once: n is
; the one whose rows are being loaded, c the one before, p the one before that.
; Columns 2 and 3 run 8 cycles behind columns 0 and 1.
;
;   cycle   arithmetic                 memory
;   0..3    level 2, columns 2, 3 (p)  rows of columns 0, 1 (n)
;   4..7    level 1, columns 2, 3 (c)  results of columns 0, 1 (p)
;   8..11   level 2, columns 0, 1 (c)  rows of columns 2, 3 (n); the last one steps
;   12..15  level 1, columns 0, 1 (n)  results of columns 2, 3 (p); the last one steps
;
; A butterfly's result is read 9 cycles later or more, a load's 4 or more: no
; stall on either machine.
;
; Registers.
;   q0..q7    row m of column j is r{4m + j}
;   q8..q15   level 1: column j has r{16 + 4j} ..
;   q16..q23  results: 16 consecutive numbers, quad j goes to [a1 + 16 (j - 7)]
;   r48..r51  1, W16, W16^2, W16^3 (the first pass needs only r48)
;   a0 reads (row 3, columns 2, 3), a1 writes (quad 7); c1 iterations less two
;
; Order. The transforms of the page innermost, so that both pointers follow one
; rule without a free slot to compute in: a step of 8 N modulo (8 N P - 32)
; comes round to the next four columns after P transforms (a1: 8 N P - 128).

; A butterfly, if `on`, beside the load of the rows of columns 2h, 2h + 1, if `n`:
; row m, the last one of an iteration with the step.
.macro row4 on, op, d, e, x, y, w, n, m, h=0
    .if (\n) && \m == 3 && \h
    word \on, \op, \d, \e, \x, \y, \w, ldq, q7, [a0]+s0%
    .elif \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q{2*\m + \h}, [a0 + (\m - 3)*2*N + (\h - 1)*16]
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; ... the store of result quad j, if `p`; quad 7 with the step.
.macro result4 on, op, d, e, x, y, w, p, j, unused=0
    .if (\p) && (\j) == 7
    word \on, \op, \d, \e, \x, \y, \w, stq, q23, [a1]+s1%
    .elif \p
    word \on, \op, \d, \e, \x, \y, \w, stq, q{16 + (\j)}, [a1 + 16*((\j) - 7)]
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; Butterfly b of column j, of level 1 (b = 0, 1: a, b) in the word that macro `then`
; makes of it; with k = 1 the factors are those of W16^j: w^2 = -i w^2 of column j - 2.
.macro first4 on, op, opn, k, j, b, then, t, u, v
    .if \k && \j >= 2
    \then \on, \opn, 16 + 4*\j + 2*\b, 17 + 4*\j + 2*\b, 4*\b + \j, 8 + 4*\b + \j, 48 + 2*(\j % 2), \t, \u, \v
    .else
    \then \on, \op, 16 + 4*\j + 2*\b, 17 + 4*\j + 2*\b, 4*\b + \j, 8 + 4*\b + \j, 48 + 2*(\j % 2)*\k, \t, \u, \v
    .endif
.endm

; ... of level 2 (b = 0, 1: m' = 0, 2 or 1, 3): result m' is r{32 + 4j + m'}, with k = 1 r{32 + 4m' + j}.
.macro second4 on, op, opn, k, j, b, then, t, u, v
    .if \b
    \then \on, \opn, 32 + (\k ? 4 + \j : 4*\j + 1), 32 + (\k ? 12 + \j : 4*\j + 3), 17 + 4*\j, 19 + 4*\j, 48 + \j*\k, \t, \u, \v
    .else
    \then \on, \op, 32 + (\k ? \j : 4*\j), 32 + (\k ? 8 + \j : 4*\j + 2), 16 + 4*\j, 18 + 4*\j, 48 + \j*\k, \t, \u, \v
    .endif
.endm

; ... the move of a1 to the end of the page.
.macro turn4 on, op, d, e, x, y, w, a, b, c
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || add a1, b1, l1
.endm

; A frame of 16 cycles. n, c, p: whether there is such an iteration. Without c
; (the first loads) or n (the last butterflies) no empty words; after a frame
; without n comes tail4.
.macro frame4 op, opn, k, n, c, p
    .rept 4, i
    second4 \p, \op, \opn, \k, 2 + i/2, i % 2, row4, \n, i, 0
    .endr
    .rept 4, i
    first4 \c, \op, \opn, \k, 2 + i/2, i % 2, result4, \p, (\k ? 2*i : i), 0
    .endr
    .rept 4, i
    second4 \c, \op, \opn, \k, i/2, i % 2, row4, \n, i, 1
    .endr
    .rept 4, i
    first4 \n, \op, \opn, \k, i/2, i % 2, result4, \p, (\k ? 2*i + 1 : 4 + i), 0
    .endr
.endm

; After the last frame: the last four butterflies and eight results.
; a1 has come round: the last results belong at the end of the page.
.macro tail4 op, opn, k
    second4 1, \op, \opn, \k, 2, 0, turn4, 0, 0, 0
    second4 1, \op, \opn, \k, 2, 1, result4, 0, 0, 0
    second4 1, \op, \opn, \k, 3, 0, result4, 1, 0, 0
    second4 1, \op, \opn, \k, 3, 1, result4, 1, (\k ? 2 : 1), 0
    .rept 2, i
    result4 0, \op, 0, 0, 0, 0, 0, 1, (\k ? 2*i + 4 : i + 2)
    .endr
    .rept 4
    nop
    .endr
    .rept 3, i
    result4 0, \op, 0, 0, 0, 0, 0, 1, (\k ? 2*i + 1 : 4 + i)
    .endr
    stq q23, [a1]
.endm

; A pass from a{src} to a{dst}: c1 + 2 iterations. s3 and c4 are step and
; length of a0, c5 is the length of a1 (fft.s sets them).
.macro pass4 op, opn, k, src, dst
    movi s0, 6*N + 16
    add a0, a{\src}, s0
    mov b0, a0
    mov l0, c4
    mov s0, s3
    addi a1, a{\dst}, 112
    mov b1, a1
    mov l1, c5
    movi s1, 8*N
    frame4 \op, \opn, \k, 1, 0, 0
    frame4 \op, \opn, \k, 1, 1, 0
    loop c1 {
    frame4 \op, \opn, \k, 1, 1, 1
    }
    frame4 \op, \opn, \k, 0, 1, 1
    tail4 \op, \opn, \k
.endm
