; A pass of radix 8 of a Fourier transform of 256 points, for transforms one behind the other: two columns at a time. The
; pointers jump at the ends of transforms and of groups of columns, and the factors come over and over.
.equ N, 256
.equ L, 4
.dmem
reads:
    .rept N/16, j
    .int 16 + 7*N*(j == N/16 - 1), 0
    .endr
writes:
    .rept N/16, j
    .int 16 + 56*L*(j % (L/2) == L/2 - 1), 0
    .endr
    .align 16
twiddles:
    .space 32*L
.program
    .linear pass, c0
      .pointer in  = a8 by table reads round N/2
      .pointer out = a9 by table writes round N/2
      .pointer tw  = twiddles by 64 round 32*L
      .apart in, out
      .apart tw
      .rept 8, m
      ldq  x[m], [in + m*N]
      .endr
      ldq  w[4], [tw]
      ldq  w[2], [tw + 16]
      ldq  w[1], [tw + 32]
      ldq  w[8], [tw + 48]
      .rept 4, m
      bfly a[m], b[m], x[m], x[m + 4], w[4]
      .endr
      .rept 2, m
      bfly p[m], p[m + 2], a[m], a[m + 2], w[2]
      bflyn r[m], r[m + 2], b[m], b[m + 2], w[2]
      .endr
      bfly  y[0], y[4], p[0], p[1], w[1]
      bflyn y[2], y[6], p[2], p[3], w[1]
      bfly  y[1], y[5], r[0], r[1], w[8]
      bflyn y[3], y[7], r[2], r[3], w[8]
      .rept 8, m
      stq  y[m], [out + 8*L*m]
      .endr
    .endlinear
    stop
