; FFT of N complex numbers, N = 128 .. 2048, forward or inverse without scale: passes of radix R1 .. R4 in a chain.
;
; Stockham's order, columns c = t L + k side by side in a quad: a pass after L results reads x(m) in rows of N/8 or N/4
; columns and leaves row m' of a column L columns further. Radix 8 takes 24 butterflies and 22 loads and stores for two
; columns, radix 4 takes 16 and 16 for four: each pass is at its bound on vm7 and vm9.
;
; Registers: a10 has the number P of transforms, one behind the other at a8. Three passes leave their results at a9; four
; leave them at a8, and a11 is the place of results between passes.
.equ N, 256
.equ R1, 4
.equ R2, 8
.equ R3, 8
.equ R4, 0
.equ INVERSE, 0
.equ PASSES, 1 + (R2 != 0) + (R3 != 0) + (R4 != 0)
.equ OTHER, PASSES % 2 ? 9 : 11

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

; A pass of radix 8 after L > 1 from a{from} to a{to}. The pointers jump at the end of a transform and after L columns. An
; iteration loads nothing that is stored within N/128 - 1 iterations of the end of the pass before.
.macro radix8 from, to, L
    .linear pass8_{\L}, c0 at least 4 multiple of 4
    .pointer in  = a{\from} by table reads round N/2
    .pointer out = a{\to} by table writes{\L} round N/2
    .pointer tw  = twiddles{\L} by 64 round 32*\L
    .apart
    .behind N/128 - 1
    .rept 8, m
    ldq  x[m], [in + m*N]
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
    stq  y[m], [out + 8*\L*m]
    .endr
    .endlinear
.endm

; The first pass of radix 8: no factors, and the results of a column are four quads.
.macro radix8_first from, to
    .linear pass8_1, c0 at least 4 multiple of 4
    .const w[4] = complex(1.0, 0.0), w[2] = complex(1.0, 0.0), ONE = complex(1.0, 0.0), EIGHTH = cis(-1, 8)
    .pointer in  = a{\from} by table reads round N/2
    .pointer out = a{\to} by 128
    .apart
    .rept 8, m
    ldq  x[m], [in + m*N]
    .endr
    levels
    .rept 2, j
    fly  y[4*j].lo, y[4*j + 2].lo, p[0].{j}, p[1].{j}, ONE.{j}
    flyn y[4*j + 1].lo, y[4*j + 3].lo, p[2].{j}, p[3].{j}, ONE.{j}
    fly  y[4*j].hi, y[4*j + 2].hi, r[0].{j}, r[1].{j}, EIGHTH.{j}
    flyn y[4*j + 1].hi, y[4*j + 3].hi, r[2].{j}, r[3].{j}, EIGHTH.{j}
    .endr
    .rept 8, q
    stq  y[q], [out + 16*q]
    .endr
    .endlinear
.endm

; Radix 4: two quads h of four columns; transforms are innermost, so that one step modulo visits all of them. Pointers
; begin 16 bytes below their range: the last place would be its end.
.macro radix4_first from, to
    .linear pass4_1, c0 at least 4 multiple of 4
    .const ONE = complex(1.0, 0.0)
    .pointer in  = a{\from} - 16 by s2 round c3 - 32
    .pointer out = a{\to} - 16 by s2 round c3 - 128
    .apart
    .rept 2, h
    .rept 4, m
    ldq  x[h][m], [in + 2*N*m + 16*h + 16]
    .endr
    fly  a[h], b[h], x[h][0], x[h][2], ONE
    fly  c[h], d[h], x[h][1], x[h][3], ONE
    .rept 2, j                      ; of each column the results 0, 1 and 2, 3 are quads
    fly  y[h][j][0].lo, y[h][j][1].lo, a[h].{j}, c[h].{j}, ONE.{j}
    flyn y[h][j][0].hi, y[h][j][1].hi, b[h].{j}, d[h].{j}, ONE.{j}
    stq  y[h][j][0], [out + 64*h + 32*j + 16]
    stq  y[h][j][1], [out + 64*h + 32*j + 32]
    .endr
    .endr
    .endlinear
.endm

; After L = 4: column k has w = W16^k, and w^2 of columns 2, 3 is -i that of 0, 1.
.macro radix4_second from, to
    .linear pass4_4, c0 at least 4 multiple of 4
    .const W[0] = cis(-0, 16) cis(-1, 16), W[1] = cis(-2, 16) cis(-3, 16), V = cis(-0, 16) cis(-2, 16)
    .pointer in  = a{\from} - 16 by s2 round c3 - 32
    .pointer out = a{\to} - 16 by s2 round c3 - 128
    .apart
    .rept 2, h
    .rept 4, m
    ldq  x[h][m], [in + 2*N*m + 16*h + 16]
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
    stq  y[h][m], [out + 32*m + 16*h + 16]
    .endr
    .endr
    .endlinear
.endm

; Pass t of radix r after L results.
.macro pass t, r, L
    .if \r == 4 && \L == 1
    radix4_first \t % 2 ? 8 : OTHER, \t % 2 ? OTHER : 8
    .elif \r == 4
    radix4_second \t % 2 ? 8 : OTHER, \t % 2 ? OTHER : 8
    .elif \r == 8 && \L == 1
    radix8_first \t % 2 ? 8 : OTHER, \t % 2 ? OTHER : 8
    .elif \r == 8
    radix8 \t % 2 ? 8 : OTHER, \t % 2 ? OTHER : 8, \L
    .endif
.endm

.dmem
reads:
    .rept N/16, j
    .int 16 + 7*N*(j == N/16 - 1), 0
    .endr
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
    tables_of R2, R1
    tables_of R3, R1*R2
    tables_of R4, R1*R2*R3

.program
    movi s2, 8*N
    shl  c3, a10, log2(8*N)         ; bytes of all transforms
    shl  c0, a10, log2(N) - 4       ; iterations of a pass
    .chain
    pass 1, R1, 1
    pass 2, R2, R1
    pass 3, R3, R1*R2
    pass 4, R4, R1*R2*R3
    .endchain
    stop
