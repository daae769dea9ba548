; FFTs of N = 2 .. 1024 complex binary64 numbers: LINES lines side by side in a page (extension `double`).
;
; The including program defines
;   N, LINES        length of a line; lines of a section's page: 1, 2, 4, 8 or 16 (see `body8`, `body4`)
;   INVERSE         1: the inverse transform, without a scale
;   R1 .. R4        radices of the passes, 8, 4 or 2, with the product N; 1: there is no such pass
;   WEIGHED         1: number n of line c is multiplied by z[n] y x[c] before the transform
; and a file factors.s with the twiddle factors of each pass behind the labels factors1 .. factors4.
;
; A complex number is a quad: 16 bytes, the granule of the DMA. Number n of line c is at (n LINES + c) 16 of the page,
; which the DMA makes of lines along any axis of an array.
;
; Ring of buffers (docs/abi.md): an entry has page, result, weights, other. Stockham's passes alternate between two
; buffers. An odd number of them ends in the result. An even number ends in the page, by way of `other`.
;
; A pass of radix r. L is the product of the radices before it, T = N/(r L). For k = L-1 .. 0, t = 0 .. T-1 and each
; line it reads the rows t L + k + m N/r and writes the rows t r L + k + p L:
;   X[p] = sum over m of x[m] (W^k W_r^p)^m,  W = exp(-2 pi i/(r L))
; With k going down, both pointers step by a constant modulo a length, and all t of a k share their factors.
;
; A frame of radix 8 is a line in 24 cycles, the interval of 12 `dbfly`; three lines overlap. Even words are
; butterflies, each level 16 cycles or more behind the one before, so neither machine stalls:
;
;   words     arithmetic                                  memory
;   0 .. 7    level 1 of line n: (0,4) (2,6) (1,5) (3,7)    results of line n - 2
;   8 .. 14   level 3 of line n - 1
;   15 .. 23  level 2 of line n: (0,2) (1,3) (4,6) (5,7)    numbers of line n + 1
;
; A frame of radix 4 is two lines in 16 cycles, all of whose memory slots are taken:
;
;   words     arithmetic                                  memory
;   0 .. 7    level 1 of pair n                           last numbers of pair n, results of pair n - 2
;   8 .. 15   level 2 of pair n - 1                       results of pair n - 2, numbers of pair n + 1
;
; Factors that change take 3 words and the latency of a load more (radix 4: 2 words).
;
; Registers: q0.. and q8.. numbers of lines that take turns, q16.. results, q24.. factors (radix 8: w^4, w^2, w, w W8;
; radix 4: w^2, w); a0 loads row r - 1 of the last line, a1 stores it, a2 walks the factors, a8 page, a9 other buffer.

.equ ROW, 16*LINES
.equ PASSES, 1 + (R2 > 1) + (R3 > 1) + (R4 > 1)
.equ L1, 1
.equ L2, R1
.equ L3, R1*R2
.equ L4, R1*R2*R3

; A word: a butterfly if `on`, with the memory operation `mn a, b` if `with`.
.macro word on, op, d, e, x, y, w, with, mn, a, b
    .if (\on) && (\with)
    \op q{\d}, q{\e}, q{\x}, q{\y}, q{\w} || \mn \a, \b
    .elif \on
    \op q{\d}, q{\e}, q{\x}, q{\y}, q{\w}
    .elif \with
    \mn \a, \b
    .endif
.endm

; A memory operation, if `with`.
.macro only with, mn, a, b
    .if \with
    \mn \a, \b
    .endif
.endm

; The last load or store of a line: behind the last line the pointer steps.
.macro last with, mn, q, a, s, line
    .if (\with) && (\line) == LINES - 1
    \mn \q, [\a]+\s%
    .elif \with
    \mn \q, [\a + 16*((\line) - LINES + 1)]
    .endif
.endm

; A frame of radix 8 of pass t. s, o: registers of its line and of the lines beside it. load: line `ll` is loaded; now,
; before, store: these lines exist, and `sl` is stored; fresh: the factors change.
.macro frame8 op, opn, t, s, o, load, ll, now, before, store, sl, fresh
    only \fresh, ldq, q24, [a2]+16
    word \now, \op, \s, \s + 4, \s, \s + 4, 24, \store, stq, q16, [a1 - 7*out{\t} + at{\sl}]
    only \store, stq, q20, [a1 - 3*out{\t} + at{\sl}]
    word \now, \op, \s + 2, \s + 6, \s + 2, \s + 6, 24, \store, stq, q18, [a1 - 5*out{\t} + at{\sl}]
    only \store, stq, q22, [a1 - out{\t} + at{\sl}]
    word \now, \op, \s + 1, \s + 5, \s + 1, \s + 5, 24, \store, stq, q17, [a1 - 6*out{\t} + at{\sl}]
    only \store, stq, q21, [a1 - 2*out{\t} + at{\sl}]
    word \now, \op, \s + 3, \s + 7, \s + 3, \s + 7, 24, \store, stq, q19, [a1 - 4*out{\t} + at{\sl}]
    last \store, stq, q23, a1, s1, \sl
    word \before, \op, 16, 20, \o, \o + 1, 26, \fresh, ldq, q25, [a2]+16
    word \before, \opn, 18, 22, \o + 2, \o + 3, 26, 0, nop, 0, 0
    word \before, \op, 17, 21, \o + 4, \o + 5, 27, 0, nop, 0, 0
    word \before, \opn, 19, 23, \o + 6, \o + 7, 27, 0, nop, 0, 0
    only \load, ldq, q{\o}, [a0 - 7*in{\t} + at{\ll}]
    word \now, \op, \s, \s + 2, \s, \s + 2, 25, \load, ldq, q{\o + 4}, [a0 - 3*in{\t} + at{\ll}]
    only \load, ldq, q{\o + 2}, [a0 - 5*in{\t} + at{\ll}]
    word \now, \op, \s + 1, \s + 3, \s + 1, \s + 3, 25, \load, ldq, q{\o + 6}, [a0 - in{\t} + at{\ll}]
    only \load, ldq, q{\o + 1}, [a0 - 6*in{\t} + at{\ll}]
    word \now, \opn, \s + 4, \s + 6, \s + 4, \s + 6, 25, \load, ldq, q{\o + 5}, [a0 - 2*in{\t} + at{\ll}]
    only \load, ldq, q{\o + 3}, [a0 - 4*in{\t} + at{\ll}]
    word \now, \opn, \s + 5, \s + 7, \s + 5, \s + 7, 25, 0, nop, 0, 0
    last \load, ldq, q{\o + 7}, a0, s0, \ll
    only \fresh, ldq, q26, [a2]+16
    only \fresh, ldq, q27, [a2]+16
.endm

; A frame of radix 4 of pass t, lines A and B: as `frame8`. rest: the last numbers of line B are to be loaded.
.macro frame4 op, opn, t, s, o, rest, load, la, lb, now, before, store, sa, sb, fresh
    only \fresh, ldq, q24, [a2]+16
    word \now, \op, \s, \s + 2, \s, \s + 2, 24, \rest, ldq, q{\s + 6}, [a0 - in{\t} + at{\lb}]
    only \rest, ldq, q{\s + 5}, [a0 - 2*in{\t} + at{\lb}]
    .if (\rest) && (\lb) == LINES - 1
    word \now, \op, \s + 1, \s + 3, \s + 1, \s + 3, 24, \rest, ldq, q{\s + 7}, [a0]+s0%
    .else
    word \now, \op, \s + 1, \s + 3, \s + 1, \s + 3, 24, \rest, ldq, q{\s + 7}, [a0 + at{\lb}]
    .endif
    only \store, stq, q16, [a1 - 3*out{\t} + at{\sa}]
    word \now, \op, \s + 4, \s + 6, \s + 4, \s + 6, 24, \store, stq, q17, [a1 - 2*out{\t} + at{\sa}]
    only \store, stq, q18, [a1 - out{\t} + at{\sa}]
    .if (\sa) == LINES - 1
    word \now, \op, \s + 5, \s + 7, \s + 5, \s + 7, 24, \store, stq, q19, [a1]+s1%
    .else
    word \now, \op, \s + 5, \s + 7, \s + 5, \s + 7, 24, \store, stq, q19, [a1 + at{\sa}]
    .endif
    only \store, stq, q20, [a1 - 3*out{\t} + at{\sb}]
    word \before, \op, 16, 18, \o, \o + 1, 25, \store, stq, q21, [a1 - 2*out{\t} + at{\sb}]
    only \store, stq, q22, [a1 - out{\t} + at{\sb}]
    .if (\sb) == LINES - 1
    word \before, \opn, 17, 19, \o + 2, \o + 3, 25, \store, stq, q23, [a1]+s1%
    .else
    word \before, \opn, 17, 19, \o + 2, \o + 3, 25, \store, stq, q23, [a1 + at{\sb}]
    .endif
    only \load, ldq, q{\o}, [a0 - 3*in{\t} + at{\la}]
    word \before, \op, 20, 22, \o + 4, \o + 5, 25, \load, ldq, q{\o + 2}, [a0 - in{\t} + at{\la}]
    only \load, ldq, q{\o + 1}, [a0 - 2*in{\t} + at{\la}]
    .if (\la) == LINES - 1
    word \before, \opn, 21, 23, \o + 6, \o + 7, 25, \load, ldq, q{\o + 3}, [a0]+s0%
    .else
    word \before, \opn, 21, 23, \o + 6, \o + 7, 25, \load, ldq, q{\o + 3}, [a0 + at{\la}]
    .endif
    only \load, ldq, q{\o + 4}, [a0 - 3*in{\t} + at{(\lb + 2)%LINES}]
    only \fresh, ldq, q25, [a2]+16
.endm

; Offset of a line from the last one.
    .rept LINES, c
.equ at{c}, 16*(c - LINES + 1)
    .endr

; The lines of a body of radix 8, two at least, since registers take turns; of radix 4, four at least. A body has the
; same factors throughout, unless T is 1: then a body of radix 8 may have a line of each of two k.
.macro body8 op, opn, t, first, final
    .rept body{\t}, f
    frame8 \op, \opn, \t, f%2*8, 8 - f%2*8, !(\final && f == body{\t} - 1), (f + 1)%LINES, 1, !(\first && f == 0), !(\first && f < 2), (f + 2*LINES - 2)%LINES, turns{\t} == 1 ? f%LINES == 0 : f == 0
    .endr
.endm
.macro body4 op, opn, t, first, final
    .rept body{\t}/2, f
    frame4 \op, \opn, \t, f%2*8, 8 - f%2*8, 1, !(\final && f == body{\t}/2 - 1), (2*f + 2)%LINES, (2*f + 1)%LINES, 1, !(\first && f == 0), !(\first && f < 2), (2*f + 4*LINES - 4)%LINES, (2*f + 4*LINES - 3)%LINES, f == 0
    .endr
.endm

.macro body op, opn, t, first, final
    .if radix{\t} == 8
    body8 \op, \opn, \t, \first, \final
    .else
    body4 \op, \opn, \t, \first, \final
    .endif
.endm

; `count` bodies whose factors the body behind them has too.
.macro again op, opn, t, count
    .if \count > 0
    loop \count {
    body \op, \opn, \t, 0, 0
    addi a2, a2, -8*radix{\t}
    }
    .endif
.endm

; Pass t from the buffer at `from` to that at `to`.
.macro pass op, opn, t, from, to
    movi s0, ROW*length{\t}
    movi l0, ROW*(N/radix{\t} + 1)
    movi a0, (radix{\t} - 1)*in{\t} + 16*(LINES - 1)
    add a0, a0, \from
    mov b0, a0
    movi s1, ROW*length{\t}*radix{\t}
    movi l1, ROW*(N + 1)
    movi a1, (radix{\t} - 1)*out{\t} + 16*(LINES - 1)
    add a1, a1, \to
    mov b1, a1
    .if length{\t} > 1
    movi c0, ROW*(length{\t} - 1)
    add a0, a0, c0
    add a1, a1, c0
    .endif
    movi a2, factors{\t}
    .if radix{\t} == 8
    .rept 7, m
    ldq q{m}, [a0 + (m - 7)*in{\t} + at0]
    .endr
    last 1, ldq, q7, a0, s0, 0
    .else
    ldq q0, [a0 - 3*in{\t} + at0]
    ldq q2, [a0 - in{\t} + at0]
    ldq q1, [a0 - 2*in{\t} + at0]
    last 1, ldq, q3, a0, s0, 0
    ldq q4, [a0 - 3*in{\t} + at{1%LINES}]
    .endif
    .if turns{\t} == 1
    body \op, \opn, \t, 1, bodies{\t} == 1
    .if bodies{\t} > 2
    loop bodies{\t} - 2 {
    body \op, \opn, \t, 0, 0
    }
    .endif
    .if bodies{\t} > 1
    body \op, \opn, \t, 0, 1
    .endif
    .else
    body \op, \opn, \t, 1, length{\t} == 1 && each{\t} == 1
    .if each{\t} > 1
    addi a2, a2, -8*radix{\t}
    again \op, \opn, \t, each{\t} - 2
    body \op, \opn, \t, 0, length{\t} == 1
    .endif
    .if length{\t} > 2
    loop length{\t} - 2 {
    again \op, \opn, \t, each{\t} - 1
    body \op, \opn, \t, 0, 0
    }
    .endif
    .if length{\t} > 1
    again \op, \opn, \t, each{\t} - 1
    body \op, \opn, \t, 0, 1
    .endif
    .endif
    .if radix{\t} == 8
    frame8 \op, \opn, \t, 0, 8, 0, 0, 0, 1, 1, (2*LINES - 2)%LINES, 0
    frame8 \op, \opn, \t, 8, 0, 0, 0, 0, 0, 1, LINES - 1, 0
    .else
    frame4 \op, \opn, \t, 0, 8, 0, 0, 0, 0, 0, 1, 1, (4*LINES - 4)%LINES, (4*LINES - 3)%LINES, 0
    frame4 \op, \opn, \t, 8, 0, 0, 0, 0, 0, 0, 0, 1, (4*LINES - 2)%LINES, LINES - 1, 0
    .endif
.endm

; Constants of pass t: distance of the rows that it reads and writes, lines of a body, bodies of a k and of the pass.
.macro shape t, r, L
    .equ radix{\t}, \r
    .equ length{\t}, \L
    .equ turns{\t}, N/(\r*\L)
    .equ in{\t}, ROW*N/\r
    .equ out{\t}, ROW*\L
    .equ body{\t}, max(LINES, \r == 8 ? 2 : 4)
    .equ each{\t}, max(1, N/(\r*\L)*LINES/body{\t})
    .equ bodies{\t}, N/\r*LINES/body{\t}
.endm
    shape 1, R1, L1
    shape 2, R2, L2
    shape 3, R3, L3
    shape 4, R4, L4

; The transform of two numbers.
.macro pairs op
    movi a2, factors1
    ldq q31, [a2]
    .rept LINES, c
    ldq q{2*c}, [a8 + 16*c]
    ldq q{2*c + 1}, [a8 + ROW + 16*c]
    .endr
    .rept LINES, c
    \op q{2*c}, q{2*c + 1}, q{2*c}, q{2*c + 1}, q31
    .endr
    .rept LINES, c
    stq q{2*c}, [a9 + 16*c]
    stq q{2*c + 1}, [a9 + ROW + 16*c]
    .endr
.endm

; The products with the weights: 2 LINES + 1 cycles a row. Registers: q0.. row, q8.. y x[c], q16.. weights of a row and
; then its products, q24 z[n]. The page's weights are x[c] of each line, then y, all of them twice in a quad.
.macro weigh
    movi a2, weights
    mov a0, a8
    mov a1, a8
    ldq q24, [a10 + ROW]
    .rept LINES, c
    ldq q{8 + c}, [a10 + 16*c]
    ldq q{c}, [a0]+16
    .endr
    .rept LINES, c
    dmul q{8 + c}, q{8 + c}, q24
    .endr
    ldq q24, [a2]+16
    weigh_row 0, 1
    .if N > 2
    loop N - 2 {
    weigh_row 1, 1
    }
    .endif
    weigh_row 1, 0
    .rept LINES, c
    stq q{16 + c}, [a1]+16
    .endr
.endm
.macro weigh_row before, next
    .rept LINES, c
    .if \before
    dmul q{16 + c}, q24, q{8 + c} || stq q{16 + c}, [a1]+16
    .else
    dmul q{16 + c}, q24, q{8 + c}
    .endif
    .endr
    only \next, ldq, q24, [a2]+16
    .rept LINES, c
    .if \next
    dmul q{16 + c}, q{c}, q{16 + c} || ldq q{c}, [a0]+16
    .else
    dmul q{16 + c}, q{c}, q{16 + c}
    .endif
    .endr
.endm

.macro transform op, opn
    .if WEIGHED
    weigh
    .endif
    .if N == 2
    pairs \op
    .else
    pass \op, \opn, 1, a8, a9
    .if PASSES > 1
    pass \op, \opn, 2, a9, a8
    .endif
    .if PASSES > 2
    pass \op, \opn, 3, a8, a9
    .endif
    .if PASSES > 3
    pass \op, \opn, 4, a9, a8
    .endif
    .endif
.endm

.include "page.s"
.program
lines:
    ring_begin
.page:
    ring_page a8, a10
    .if PASSES%2 == 0
    mov a9, a11
    .endif
    .if INVERSE
    transform dbflyc, dbflyci
    .else
    transform dbfly, dbflyn
    .endif
    ring_end .page
    stop

.dmem
    .include "factors.s"
    .if WEIGHED
    .align 16
weights:
    .space 16*N
    .endif
