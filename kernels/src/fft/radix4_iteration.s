; Radix-4 butterflies, four columns at a time: a modulo schedule of 16 cycles.
;
; Dataflow. An iteration transforms the columns 0..3 of four rows x0..x3:
;   level 1  a: x0 +- w^2 x2   b: x1 +- w^2 x3     of each column
;   level 2  0: m' = 0, 2 with w   1: m' = 1, 3 with -i w
; The twiddle factors stay in registers. Radix 4 does the passes whose columns
; use a few factors again and again; these passes k are
;   0       the first pass (L = 1), where w = 1,
;   1       the second (L = 4) after a radix-4 one, where column k has w = W16^k,
;   2 ..    passes in place over blocks whose columns share w^2 and w (in_place_passes.s).
; Rows of pass k are apart{k} bytes apart, columns 2, 3 are beside{k} bytes from columns 0, 1. In place,
; own{k} = 1 gives columns 0, 1 and columns 2, 3 factors of their own.
;
; Schedule. Every slot of both kinds is taken. Three iterations overlap: n is
; the one whose rows are being loaded, c the one before n, p the one before c.
; Columns 2 and 3 run 8 cycles behind columns 0 and 1.
;
;   cycle   arithmetic                 memory
;   0..3    level 2, columns 2, 3 (p)  rows of columns 0, 1 (n)
;   4..7    level 1, columns 2, 3 (c)  results of columns 0, 1 (p)
;   8..11   level 2, columns 0, 1 (c)  rows of columns 2, 3 (n); the last one steps
;   12..15  level 1, columns 0, 1 (n)  results of columns 2, 3 (p); the last one steps
;
; A butterfly's result is read at least 9 cycles later, a load's at least 4, so that
; neither machine stalls.
;
; Registers:
;   q0..q7    row m of column j is r{4m + j}
;   q8..q15   level 1: column j has r{16 + 4j} ..
;   q16..q23  results: 16 consecutive numbers, quad j goes to [a1 + 16 (j - 7)]
;   r48..r51  1, W16, W16^2, W16^3 (the first pass needs only r48); in place w^2, w and, where blocks
;             alternate, those of every second block, or with own{k} w^2 of columns 0, 1, of 2, 3, then w
;   a0 loads (row 3, columns 2, 3), a1 stores (quad 7)
;
; Order of passes 0 and 1: the transforms of the page are the innermost loop, so that both pointers follow one
; rule without a slot for address arithmetic. A step of 8 N modulo (8 N P - 32)
; returns to the next four columns after P transforms (a1: 8 N P - 128).

; A butterfly, if `on`, with the load of the rows of columns 2h, 2h + 1, if `n`:
; row m; the last load of an iteration is from `last` and steps.
.macro row4 on, op, d, e, x, y, w, k, n, m, h, last
    .if (\n) && \m == 3 && \h
    word \on, \op, \d, \e, \x, \y, \w, ldq, q7, \last
    .elif \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q{2*\m + \h}, [a0 + (\m - 3)*apart{\k} + (\h - 1)*beside{\k}]
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; A butterfly, if `on`, with the store of result quad j, if `p`; quad 7 goes to `last`, which steps.
.macro result4 on, op, d, e, x, y, w, k, p, j, unused, last
    .if (\p) && (\j) == 7
    word \on, \op, \d, \e, \x, \y, \w, stq, q23, \last
    .elif (\p) && \k < 2
    word \on, \op, \d, \e, \x, \y, \w, stq, q{16 + (\j)}, [a1 + 16*((\j) - 7)]
    .elif \p
    word \on, \op, \d, \e, \x, \y, \w, stq, q{16 + (\j)}, [a1 + ((\j)/2 - 3)*apart{\k} + ((\j)%2 - 1)*beside{\k}]
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; Butterfly b of level 1 of column j (b = 0, 1: a, b) in the word that macro `then` builds around
; it; in pass 1 the factors are powers of W16^j: w^2 = -i w^2 of column j - 2.
.macro first4 on, op, opn, k, j, b, then, t, u, v, last
    .if \k == 1 && \j >= 2
    \then \on, \opn, 16 + 4*\j + 2*\b, 17 + 4*\j + 2*\b, 4*\b + \j, 8 + 4*\b + \j, 48 + 2*(\j % 2), \k, \t, \u, \v, \last
    .else
    \then \on, \op, 16 + 4*\j + 2*\b, 17 + 4*\j + 2*\b, 4*\b + \j, 8 + 4*\b + \j, \k < 2 ? 48 + 2*(\j % 2)*\k : 48 + own{\k}*(\j/2) + 2*((\on) == 2), \k, \t, \u, \v, \last
    .endif
.endm

; Butterfly b of level 2 (b = 0, 1: m' = 0, 2 or 1, 3): result m' is r{32 + 4j + m'} in pass 0, else r{32 + 4m' + j}.
.macro second4 on, op, opn, k, j, b, then, t, u, v, last
    .if \b
    \then \on, \opn, 32 + (\k ? 4 + \j : 4*\j + 1), 32 + (\k ? 12 + \j : 4*\j + 3), 17 + 4*\j, 19 + 4*\j, \k < 2 ? 48 + \j*\k : 49 + own{\k}*(1 + \j/2) + 2*((\on) == 2), \k, \t, \u, \v, \last
    .else
    \then \on, \op, 32 + (\k ? \j : 4*\j), 32 + (\k ? 8 + \j : 4*\j + 2), 16 + 4*\j, 18 + 4*\j, \k < 2 ? 48 + \j*\k : 49 + own{\k}*(1 + \j/2) + 2*((\on) == 2), \k, \t, \u, \v, \last
    .endif
.endm

; A butterfly with the move of a1 to the end of the page, after it has come round.
.macro turn4 on, op, d, e, x, y, w, k, a, b, c, last
    .if \k < 2
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || add a1, b1, l1
    .else
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
    .endif
.endm

; Factors of pass k >= 2; which = 1: w^2, 2: w.
.macro factor4 k, which, from
    .if own{\k}
    ldq q{23 + \which}, \from
    .else
    ldp r{47 + \which}, \from
    .endif
.endm

; A frame of 16 cycles of pass k. n, c, p: 0 if there is no such iteration, 2 if its block has its factors in r50,
; r51, else 1. Empty words are omitted without c (the first loads) and without n (the last butterflies). A frame
; without n is followed by tail4. rd, wr: addresses of the last load and the last store, which step.
; fresh: a block begins, and a word loads its factors from `from`. 1: w^2 of n, 2: w of c, 3: both factors
; of n, which uses the registers that c does not use.
.macro frame4 op, opn, k, n, c, p, rd, wr, fresh=0, from=0
    frame4_of \op, \opn, \k, \k, \n, \c, \p, \rd, \wr, \fresh, \from
.endm

; A frame in which c and p are iterations of pass o; k and o are at least 2.
.macro frame4_of op, opn, k, o, n, c, p, rd, wr, fresh=0, from=0
    frame4_by \op, row4, \op, \opn, \k, \o, \n, \c, \p, \rd, \wr, \fresh, \from
.endm

; A frame whose level 1 is macro `first`, and whose rows macro `row` loads.
.macro frame4_by first, row, op, opn, k, o, n, c, p, rd, wr, fresh=0, from=0
    .rept 4, i
    second4 \p, \op, \opn, \k, 2 + i/2, i % 2, \row, \n, i, 0, \rd
    .endr
    .if \fresh == 2
    factor4 \k, 2, \from
    .endif
    .rept 4, i
    first4 \c, \first, \opn, \o, 2 + i/2, i % 2, result4, \p, (\k ? 2*i : i), 0, \wr
    .endr
    .if \fresh == 1
    factor4 \k, 1, \from
    .elif \fresh == 3
    ldq q{23 + \n}, \from
    .endif
    .rept 4, i
    second4 \c, \op, \opn, \k, i/2, i % 2, \row, \n, i, 1, \rd
    .endr
    .rept 4, i
    first4 \n, \first, \opn, \o, i/2, i % 2, result4, \p, (\k ? 2*i + 1 : 4 + i), 0, \wr
    .endr
.endm

; The epilogue after the last frame: the last four butterflies and eight results.
.macro tail4 op, opn, k, p=1
    second4 \p, \op, \opn, \k, 2, 0, turn4, 0, 0, 0, 0
    second4 \p, \op, \opn, \k, 2, 1, result4, 0, 0, 0, 0
    second4 \p, \op, \opn, \k, 3, 0, result4, 1, 0, 0, 0
    second4 \p, \op, \opn, \k, 3, 1, result4, 1, (\k ? 2 : 1), 0, 0
    .rept 2, i
    result4 0, \op, 0, 0, 0, 0, 0, \k, 1, (\k ? 2*i + 4 : i + 2), 0, 0
    .endr
    .rept 4
    nop
    .endr
    .rept 3, i
    result4 0, \op, 0, 0, 0, 0, 0, \k, 1, (\k ? 2*i + 1 : 4 + i), 0, 0
    .endr
    stq q23, [a1]
.endm

; A pass k < 2 from a{src} to a{dst}, of c1 + 2 iterations. s3 and c4 are step and
; length of a0, c5 is the length of a1 (set by fft.s).
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
    frame4 \op, \opn, \k, 1, 0, 0, [a0]+s0%, [a1]+s1%
    frame4 \op, \opn, \k, 1, 1, 0, [a0]+s0%, [a1]+s1%
    loop c1 {
    frame4 \op, \opn, \k, 1, 1, 1, [a0]+s0%, [a1]+s1%
    }
    frame4 \op, \opn, \k, 0, 1, 1, [a0]+s0%, [a1]+s1%
    tail4 \op, \opn, \k
.endm
