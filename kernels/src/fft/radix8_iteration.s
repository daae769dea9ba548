; Radix-8 butterflies, two columns at a time: a modulo schedule of 24 cycles.
;
; Dataflow. An iteration transforms the columns A and B of eight rows x0..x7:
;   out[m'] = sum over m of x[m] (w W8^m')^m,  W8 = exp(-i pi/4),
; The twiddle factors of the pass are part of the butterflies, level by level
; (P(z) = E(z^2) + z O(z^2), three times):
;   level 1  a, b, c, d: x(m) +- w^4 x(m+4), m = 0, 2, 1, 3
;   level 2  p = a, b sums   r = a, b differences, -i w^2
;            q = c, d sums   s = c, d differences, -i w^2     else w^2
;   level 3  04: p, q with w    26: p, q with -i w
;            15: r, s with w'   37: r, s with -i w'           w' = w W8
; A column therefore needs four factors: w^4, w^2, w, w'.
;
; Schedule. Every arithmetic slot is a butterfly. Three iterations overlap:
; n is the iteration whose rows are being loaded, c the one before n, p the one
; before c. Column B runs 12 cycles behind column A.
;
;   cycle   arithmetic          memory         cycle   arithmetic          memory
;   0..2    Ba Bb Bc       (c)  rows 0 4 2     12      Aa             (n)  hook
;   3       Bd             (c)  store (p)      13..15  Ab Ac Ad       (n)  stores (p)
;   4       As             (c)  store (p)      16      Bs             (c)  store, step (p)
;   5, 6    B15 B37        (p)  stores (p)     17, 18  A15 A37        (c)  hook
;   7, 8    A04 A26        (c)  rows 6 1       19, 20  B04 B26        (c)  hook
;   9..11   Bp Br Bq       (c)  rows 5 3 7     21..23  Ap Ar Aq       (n)  hook
;
; A butterfly's result is read at least 8 cycles later, a load's at least 4, so that neither
; machine stalls. The rotation leaves the last memory slot to a hook, which may hold
; the `loop` of the following frames.
;
; Hooks. The caller's macro `hook` writes the words 12 and 17 .. 23, in which
; it loads the factors, the steps and the pointers of other passes as needed:
;   hook on, op, d, e, x, y, w, slot, n, c, p
; Its arguments are the butterfly to issue if `on` (see `word`), and the cycle as `slot`.
; The factors of n are due as follows: w^4 of A in 15 .. 32 of the frame before; w^4 of B and
; w^2 by 17 (from 17 on, after the old ones are used); w in 21 .. 27; w' in 12 (as c).
;
; Registers:
;   q0..q7    rows of (A, B); level 1 of A in place
;   r16..r23  level 2 of A           r24..r31  levels 1 and 2 of B
;   q16..q23  results, m' of (A, B),    r56..r59  r, s of B
;             or A's quads at even and B's at odd numbers
;   q24..q27  w^4, w^2, w, w' of (A, B)
;   r60, r61  1, W8                  r62, r63  free, or r62 1/2
;
; A pass is a number t > 0 with these constants; 0 stands for no iteration:
;   set{t}             a{set} loads and a{set + 1} stores
;   row1_{t}, row2_{t}, row4_{t}   bytes from row m to row m + 1, 2, 4
;   out1_{t}, out2_{t}, out4_{t}   likewise for result quads
;   xat{t}, yat{t}     bytes from row 0, result 0 to the address in these registers (mostly row 7)
;   zs{t}              2: result quad m' is (A, B); 1: quad j of A is its results
;                      2j, 2j + 1, and B's is quad 4 + j
;   tw{t}              0: all factors are 1
;                      1: they are in q24..q27; the first iteration takes w^4 of A as 1
;                      2: like 1, but r54 and r55 hold factors v from which w' = -i conj(v)
;                      3: A and B share factors: w^4 of A in r48, of B in r49, w^2, w, w' in r50, r52, r54
;                      4: like 1, but r48 is also loaded before the first iteration
;                      5: like 3, but the rows are those of two columns of radix 4, row m of column e as 2m + e,
;                         and level 3 is X_p +- (-i w) Y_p of the results p of both, for m' = p, p + 4: w^2 of both
;                         columns in r48, r49 for A and in r54, r55 for B, their w in r50, r51, w of level 3 in r52, r53
;                      6: like 0, but the results are halved: the frame takes one cycle more to multiply
;                         row 0 by q24, 1/2 in every number; r61 is W8/2, r62 is 1/2
; INVERSE is 0 or 1: `op` conjugates its factor if it is 1.

; A butterfly, if `on`, in a word with the memory operation `mn a, b`.
.macro word on, op, d, e, x, y, w, mn, a, b
    .if \on
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || \mn \a, \b
    .else
    \mn \a, \b
    .endif
.endm

; A butterfly, if `on`, in a word with an operation of three operands.
.macro word3 on, op, d, e, x, y, w, mn, a, b, c
    .if \on
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || \mn \a, \b, \c
    .else
    \mn \a, \b, \c
    .endif
.endm

; A butterfly, if `on`, without a second operation; with `gap` a cycle passes in any case.
.macro alone on, op, d, e, x, y, w, gap, unused=0, spare=0, more=0
    .if \on
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
    .elif \gap
    nop
    .endif
.endm

; A butterfly, if `on`, with the load of row j, if there is an n; the last load of an iteration is from `rd` and steps.
.macro with_row on, op, d, e, x, y, w, n, j, rd, spare=0
    .if (\n) && (\j) == 7
    word \on, \op, \d, \e, \x, \y, \w, ldq, q7, \rd
    .elif \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q{\j}, [a{set{\n}} + ((\j) % 2)*row1_{\n} + ((\j)/2 % 2)*row2_{\n} + ((\j)/4)*row4_{\n} - xat{\n}]
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; A butterfly, if `on`, with the store of result j, if there is a p.
.macro with_result on, op, d, e, x, y, w, p, j
    .if \p
    word \on, \op, \d, \e, \x, \y, \w, stq, q{16 + (zs{\p} == 1 ? 2*((\j) % 4) + (\j)/4 : \j)}, [a{set{\p} + 1} + ((\j) % 2)*out1_{\p} + ((\j)/2 % 2)*out2_{\p} + ((\j)/4)*out4_{\p} - yat{\p}]
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; Butterfly m of level 3 (see below) as `op`; swap = 4 exchanges its results m' and m' + 4.
.macro third_as op, t, col, m, swap, then, a, b, c, d
    \then 1, \op, zs{\t} == 1 ? 32 + \m + \m/2*2 + 2*\col + 2*\swap : 32 + 2*\m + \col + 2*\swap, zs{\t} == 1 ? 40 + \m + \m/2*2 + 2*\col - 2*\swap : 40 + 2*\m + \col - 2*\swap, \col ? (\m % 2 ? 56 + \m/2 : 24 + \m) : 16 + \m, \col ? (\m % 2 ? 58 + \m/2 : 28 + \m) : 20 + \m, tw{\t} % 6 ? 52 + 2*(\m % 2)*(tw{\t} != 5) + \col*(tw{\t} != 3) : tw{\t} && \m % 2 == 0 ? 62 : 60 + \m % 2, \a, \b, \c, \d
.endm

; Butterfly m of level 3 (0: m' = 0, 4; 2: 2, 6; 1: 1, 5; 3: 3, 7) of column A or B (col 0
; or 1) of pass t, in the word that macro `then` builds around it.
.macro third on, op, opn, t, col, m, then, a, b=0, c=0, d=0
    .if !(\on)
    \then 0, \op, 0, 0, 0, 0, 0, \a, \b, \c, \d
    .elif tw{\t} == 5
    third_as \opn, \t, \col, \m, 0, \then, \a, \b, \c, \d
    .elif tw{\t} == 2 && \m == 1 && INVERSE
    third_as bflyi, \t, \col, 1, 0, \then, \a, \b, \c, \d
    .elif tw{\t} == 2 && \m == 1
    third_as bflycn, \t, \col, 1, 0, \then, \a, \b, \c, \d
    .elif tw{\t} == 2 && \m == 3 && INVERSE
    third_as bfly, \t, \col, 3, 4, \then, \a, \b, \c, \d
    .elif tw{\t} == 2 && \m == 3
    third_as bflyc, \t, \col, 3, 4, \then, \a, \b, \c, \d
    .elif \m < 2
    third_as \op, \t, \col, \m, 0, \then, \a, \b, \c, \d
    .else
    third_as \opn, \t, \col, \m, 0, \then, \a, \b, \c, \d
    .endif
.endm

; The last store of an iteration, which steps the address.
.macro with_last on, op, d, e, x, y, w, present, mn, q, address
    .if \present
    word \on, \op, \d, \e, \x, \y, \w, \mn, q{\q}, \address
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; The result quads in the order in which level 3 completes them: the i-th of eight of pass t.
.macro result8 on, op, d, e, x, y, w, p, i, gap=0, unused=0
    .if (\p) == 0
    alone \on, \op, \d, \e, \x, \y, \w, \gap
    .elif zs{\p} == 1
    with_result \on, \op, \d, \e, \x, \y, \w, \p, \i
    .else
    with_result \on, \op, \d, \e, \x, \y, \w, \p, bitrev(\i, 3)
    .endif
.endm

; Halves row 0 of pass n, if its results are halved.
.macro half_row n
    .if \n && tw{\n} == 6
    mul q0, q0, q24
    .endif
.endm

; A frame of 24 cycles; each of n, c, p is a pass or 0.
;   rd, wr   addresses of the last load and of the last store, which step
; Without c, words that would be empty are omitted as far as the
; latencies allow. A frame without n is followed by tail8.
.macro frame8 op, opn, n, c, p, rd, wr, hook
    frame8_of \op, \op, \opn, with_row, \n, \c, \p, \rd, \wr, \hook
.endm

; A frame whose level 1 is macro `first`, and whose rows macro `row` loads.
.macro frame8_of first, op, opn, row, n, c, p, rd, wr, hook
    \row \c, \first, 24, 25, 1, 9, (\c && tw{\c} % 6) ? 49 + 5*(tw{\c} == 5) : 60 + 2*(\c && tw{\c} == 6), \n, 0, \rd
    \row \c, \first, 26, 27, 5, 13, (\c && tw{\c} % 6) ? 49 + 5*(tw{\c} == 5) : 60, \n, 4, \rd
    \row \c, \first, 28, 29, 3, 11, (\c && tw{\c} % 6) ? 49 + 6*(tw{\c} == 5) : 60, \n, 2, \rd
    result8 \c, \first, 30, 31, 7, 15, (\c && tw{\c} % 6) ? 49 + 6*(tw{\c} == 5) : 60, \p, 0
    result8 \c, \opn, 21, 23, 10, 14, (\c && tw{\c} % 6) ? 50 + (tw{\c} == 5) : 60, \p, 1
    third \p, \op, \opn, \p, 1, 1, result8, \p, 2, \c
    third \p, \op, \opn, \p, 1, 3, result8, \p, 3, \c
    third \c, \op, \opn, \c, 0, 0, \row, \n, 6, \rd
    half_row \n
    third \c, \op, \opn, \c, 0, 2, \row, \n, 1, \rd
    \row \c, \op, 24, 26, 24, 26, tw{\c} % 6 ? 51 - (tw{\c} == 3 || tw{\c} == 5) : 60 + 2*(tw{\c} == 6), \n, 5, \rd
    \row \c, \opn, 56, 57, 25, 27, tw{\c} % 6 ? 51 - (tw{\c} == 3 || tw{\c} == 5) : 60 + 2*(tw{\c} == 6), \n, 3, \rd
    \row \c, \op, 28, 30, 28, 30, tw{\c} % 6 ? 51 - (tw{\c} == 3) : 60, \n, 7, \rd
    \hook \n, \first, 0, 8, 0, 8, \n && tw{\n} % 6 && (tw{\n} > 2 || \n == \c) ? 48 : 60 + 2*(\n && tw{\n} == 6), 12, \n, \c, \p
    result8 \n, \first, 4, 12, 4, 12, \n && tw{\n} % 6 && (tw{\n} > 2 || \n == \c) ? 48 : 60, \p, 4
    result8 \n, \first, 2, 10, 2, 10, \n && tw{\n} % 6 && (tw{\n} > 2 || \n == \c) ? 48 + (tw{\n} == 5) : 60, \p, 5
    result8 \n, \first, 6, 14, 6, 14, \n && tw{\n} % 6 && (tw{\n} > 2 || \n == \c) ? 48 + (tw{\n} == 5) : 60, \p, 6
    .if \p
    with_last \c, \opn, 58, 59, 29, 31, tw{\c} % 6 ? 51 - (tw{\c} == 3) : 60, \p, stq, 23, \wr
    .else
    alone \c, \opn, 58, 59, 29, 31, tw{\c} % 6 ? 51 - (tw{\c} == 3) : 60, 1
    .endif
    third \c, \op, \opn, \c, 0, 1, \hook, 17, \n, \c, \p
    third \c, \op, \opn, \c, 0, 3, \hook, 18, \n, \c, \p
    third \c, \op, \opn, \c, 1, 0, \hook, 19, \n, \c, \p
    third \c, \op, \opn, \c, 1, 2, \hook, 20, \n, \c, \p
    \hook \n, \op, 16, 18, 0, 4, \n && tw{\n} % 6 ? 50 : 60 + 2*(\n && tw{\n} == 6), 21, \n, \c, \p
    \hook \n, \opn, 17, 19, 8, 12, \n && tw{\n} % 6 ? 50 : 60 + 2*(\n && tw{\n} == 6), 22, \n, \c, \p
    \hook \n, \op, 20, 22, 2, 6, \n && tw{\n} % 6 ? 50 + (tw{\n} == 5) : 60, 23, \n, \c, \p
.endm

; The epilogue after the last frame of pass p: its last two butterflies and eight stores.
.macro tail8 op, opn, p
    third 1, \op, \opn, \p, 1, 1, alone, 0
    third 1, \op, \opn, \p, 1, 3, alone, 0
    nop
    .rept 4, i
    result8 0, \op, 0, 0, 0, 0, 0, \p, i
    .endr
    nop
    .rept 3, i
    result8 0, \op, 0, 0, 0, 0, 0, \p, 4 + i
    .endr
    result8 0, \op, 0, 0, 0, 0, 0, \p, 7
.endm
