; A pass of radix 4 over four columns: sixteen butterflies of pairs, sixteen accesses.
.program
    .linear pass, c0
      .const   W[0] = cis(0, 16) cis(-1, 16), W[1] = cis(-2, 16) cis(-3, 16), V = cis(0, 16) cis(-2, 16)
      .pointer in = c4 by 128
      .pointer out = c5 by 128
      .apart
      .rept 2, h
      .rept 4, m
      ldq   x[h][m], [in + 32*m + 16*h]
      .endr
      .if h == 0
      bfly  a[h], b[h], x[h][0], x[h][2], V
      bfly  c[h], d[h], x[h][1], x[h][3], V
      .else
      bflyn a[h], b[h], x[h][0], x[h][2], V
      bflyn c[h], d[h], x[h][1], x[h][3], V
      .endif
      bfly  y[h][0], y[h][2], a[h], c[h], W[h]
      bflyn y[h][1], y[h][3], b[h], d[h], W[h]
      .rept 4, m
      stq   y[h][m], [out + 32*m + 16*h]
      .endr
      .endr
    .endlinear
    stop
