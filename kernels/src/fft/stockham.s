; Stockham's algorithm in DMEM: passes of radix 4 and 8 as linear blocks.
;
; The rows of a page have N = 16 .. 2048 numbers.
;
; The including file defines N, INVERSE and R1 .. R4 (see fft.s), and
;   LEAST     the iterations of a pass are a multiple of this
;   OTHER     a8 is the input page; the passes alternate between it and a{OTHER}
;   stockham_registers   a macro of the registers that the passes may use besides those that no word before names
; and writes `stockham_passes` into a chain, where
;   c0        iterations of a pass: N/16 for each transform
;   c3        bytes of all transforms, which lie one behind the other
;   s2        8 N, the bytes of a transform
; and `stockham_tables` into its DMEM section.
;
; Layout. Before a pass, L is the product of the radices done; number t L + k of
; a transform is output k of sub-transform t. A pass of radix r reads column
; c = t L + k, the numbers c + m N/r for m = 0 .. r-1, with the twiddle factors
; W^(k m), W = exp(-2 pi i/(r L)), and writes the numbers t r L + m' L + k.
; Columns k and k + 1 are neighbours, a quad. After the last pass L = N.
;
; Bounds. Radix 8 takes 24 butterflies and 22 loads and stores for two columns, radix 4 takes 16 and 16 for four: no
; pass takes fewer cycles than its butterflies.
;
; The first pass loads by macro `take` and the last one stores by macro `give`: `take x, place, row` makes the quad x of
; a row from what is at a place, `give y, place, row` stores a quad of results. So a weight, or a product with a
; spectrum, joins a pass: the macro may declare pointers of its own.

.equ PASSES, 1 + (R2 != 0) + (R3 != 0) + (R4 != 0)

; Butterflies d = x + y w, e = x - y w, and the same with -i w; i w for the inverse.
.macro fly d, e, x, y, w
    .if INVERSE
    bflyc \d, \e, \x, \y, \w
    .else
    bfly \d, \e, \x, \y, \w
    .endif
.endm
.macro flyn d, e, x, y, w
    .if INVERSE
    bflyci \d, \e, \x, \y, \w
    .else
    bflyn \d, \e, \x, \y, \w
    .endif
.endm

; Radix 8: level 1 x(m), x(m + 4); level 2 even and odd halves. Level 3 gives the results m', m' + 4.
.macro levels
    .rept 4, m
    fly  a[m], b[m], x[m], x[m + 4], w[4]
    .endr
    .rept 2, m
    fly  p[m], p[m + 2], a[m], a[m + 2], w[2]
    flyn r[m], r[m + 2], b[m], b[m + 2], w[2]
    .endr
.endm

; A pass of radix 8 after L > 1 from a{from} to a{to}. The pointers jump at the end of a transform and after L columns.
; An iteration loads nothing that is stored within N/128 - 1 iterations of the end of the pass before.
.macro radix8 from, to, L, take, give
    .linear pass8_{\L}, c0 at least LEAST multiple of LEAST
    .pointer in  = a{\from} by table reads round N/2
    .pointer out = a{\to} by table writes{\L} round N/2
    .pointer tw  = twiddles{\L} by 64 round 32*\L
    .apart
    .behind max(N/128, 1) - 1
    stockham_registers
    .rept 8, m
    \take x[m], [in + m*N], m
    .endr
    ldq  w[4], [tw]                 ; w^4, w^2, w, w W8, of both columns each
    ldq  w[2], [tw + 16]
    ldq  w[1], [tw + 32]
    ldq  w[8], [tw + 48]
    levels
    fly  y[0], y[4], p[0], p[1], w[1]
    flyn y[2], y[6], p[2], p[3], w[1]
    fly  y[1], y[5], r[0], r[1], w[8]
    flyn y[3], y[7], r[2], r[3], w[8]
    .rept 8, m
    \give y[m], [out + 8*\L*m], m
    .endr
    .endlinear
.endm

; The first pass of radix 8: no factors, and the results of a column are four quads.
.macro radix8_first from, to, take, give
    .linear pass8_1, c0 at least LEAST multiple of LEAST
    .const w[4] = complex(1.0, 0.0), w[2] = complex(1.0, 0.0), ONE = complex(1.0, 0.0), EIGHTH = cis(-1, 8)
    .pointer in  = a{\from} by table reads round N/2
    .pointer out = a{\to} by 128
    .apart
    stockham_registers
    .rept 8, m
    \take x[m], [in + m*N], m
    .endr
    levels
    .rept 2, j
    fly  y[4*j].lo, y[4*j + 2].lo, p[0].{j}, p[1].{j}, ONE.{j}
    flyn y[4*j + 1].lo, y[4*j + 3].lo, p[2].{j}, p[3].{j}, ONE.{j}
    fly  y[4*j].hi, y[4*j + 2].hi, r[0].{j}, r[1].{j}, EIGHTH.{j}
    flyn y[4*j + 1].hi, y[4*j + 3].hi, r[2].{j}, r[3].{j}, EIGHTH.{j}
    .endr
    .rept 8, q
    \give y[q], [out + 16*q], q
    .endr
    .endlinear
.endm

; Pages of radix 4: transforms are innermost, so that one step modulo visits all of them. Pointers begin 16 bytes below
; their range: the last place would be its end.
.macro radix4_pages from, to
    .pointer in  = a{\from} - 16 by s2 round c3 - 32
    .pointer out = a{\to} - 16 by s2 round c3 - 128
    .apart
    stockham_registers
.endm

; The first pass of radix 4: two quads h of four columns.
.macro radix4_first from, to, take, give
    .linear pass4_1, c0 at least LEAST multiple of LEAST
    .const ONE = complex(1.0, 0.0)
    radix4_pages \from, \to
    .rept 2, h
    .rept 4, m
    \take x[h][m], [in + 2*N*m + 16*h + 16], m
    .endr
    fly  a[h], b[h], x[h][0], x[h][2], ONE
    fly  c[h], d[h], x[h][1], x[h][3], ONE
    .rept 2, j                      ; of each column the results 0, 1 and 2, 3 are quads
    fly  y[h][j][0].lo, y[h][j][1].lo, a[h].{j}, c[h].{j}, ONE.{j}
    flyn y[h][j][0].hi, y[h][j][1].hi, b[h].{j}, d[h].{j}, ONE.{j}
    \give y[h][j][0], [out + 64*h + 32*j + 16], 2*j
    \give y[h][j][1], [out + 64*h + 32*j + 32], 2*j + 1
    .endr
    .endr
    .endlinear
.endm

; After L = 4: column k has w = W16^k, and w^2 of columns 2, 3 is -i that of 0, 1.
.macro radix4_second from, to, take, give
    .linear pass4_4, c0 at least LEAST multiple of LEAST
    .const W[0] = cis(-0, 16) cis(-1, 16), W[1] = cis(-2, 16) cis(-3, 16), V = cis(-0, 16) cis(-2, 16)
    radix4_pages \from, \to
    .rept 2, h
    .rept 4, m
    \take x[h][m], [in + 2*N*m + 16*h + 16], m
    .endr
    .if h == 0
    fly  a[h], b[h], x[h][0], x[h][2], V
    fly  c[h], d[h], x[h][1], x[h][3], V
    .else
    flyn a[h], b[h], x[h][0], x[h][2], V
    flyn c[h], d[h], x[h][1], x[h][3], V
    .endif
    fly  y[h][0], y[h][2], a[h], c[h], W[h]
    flyn y[h][1], y[h][3], b[h], d[h], W[h]
    .rept 4, m
    \give y[h][m], [out + 32*m + 16*h + 16], m
    .endr
    .endr
    .endlinear
.endm

; Pass t of radix r after L results.
.macro pass_from t, r, L, from, to, take, give
    .if \r == 4 && \L == 1
    radix4_first \from, \to, \take, \give
    .elif \r == 4
    radix4_second \from, \to, \take, \give
    .elif \L == 1
    radix8_first \from, \to, \take, \give
    .else
    radix8 \from, \to, \L, \take, \give
    .endif
.endm

; The macros by which pass t loads and stores, where it is the first or the last.
.macro pass_by t, r, L, take, give
    .if \t == 1 && PASSES == 1
    pass_from \t, \r, \L, 8, OTHER, \take, \give
    .elif \t == 1
    pass_from \t, \r, \L, 8, OTHER, \take, give_quad
    .elif \t < PASSES
    pass_from \t, \r, \L, \t % 2 ? 8 : OTHER, \t % 2 ? OTHER : 8, take_quad, give_quad
    .elif \t == PASSES
    pass_from \t, \r, \L, \t % 2 ? 8 : OTHER, \t % 2 ? OTHER : 8, take_quad, \give
    .endif
.endm

.macro take_quad x, place, row
    ldq \x, \place
.endm

.macro give_quad y, place, row
    stq \y, \place
.endm

; All passes.
.macro stockham_passes take=take_quad, give=give_quad
    pass_by 1, R1, 1, \take, \give
    pass_by 2, R2, R1, \take, \give
    pass_by 3, R3, R1*R2, \take, \give
    pass_by 4, R4, R1*R2*R3, \take, \give
.endm

; Steps of the read pointer after each iteration of a transform, and of the write pointer of a radix-8 pass after L
; results, with its twiddle factors: w^4, w^2, w, w W8, each of both columns of a pair.
.macro tables L
writes{\L}:
    .rept N/16, j
    .int 16 + 56*\L*(j % (\L/2) == \L/2 - 1), 0
    .endr
    .align 16
twiddles{\L}:
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
.macro tables_of r, L
    .if \r == 8 && \L > 1
    tables \L
    .endif
.endm

; Data that the passes expect in DMEM.
.macro stockham_tables
reads:
    .rept N/16, j
    .int 16 + 7*N*(j == N/16 - 1), 0
    .endr
    .align 16
    tables_of R2, R1
    tables_of R3, R1*R2
    tables_of R4, R1*R2*R3
.endm
