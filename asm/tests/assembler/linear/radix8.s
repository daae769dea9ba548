; A pass of radix 8 over two columns: 24 butterflies of pairs and 20 accesses.
.equ N, 256
.program
    .linear pass, c0 multiple of 2
      .pointer in = c4 by 16
      .pointer out = c5 by 16
      .pointer tw = c6 by 64
      .apart
      .rept 8, m
      ldq  x[m], [in + m*N]
      .endr
      ldq  w[4], [tw]
      ldq  w[2], [tw + 16]
      ldq  w[1], [tw + 32]
      ldq  w[8], [tw + 48]
      .rept 4, m
      bfly  a[m], b[m], x[m], x[m + 4], w[4]
      .endr
      .rept 2, m
      bfly  p[m], p[m + 2], a[m], a[m + 2], w[2]
      bflyn r[m], r[m + 2], b[m], b[m + 2], w[2]
      .endr
      bfly  y[0], y[4], p[0], p[1], w[1]
      bflyn y[2], y[6], p[2], p[3], w[1]
      bfly  y[1], y[5], r[0], r[1], w[8]
      bflyn y[3], y[7], r[2], r[3], w[8]
      .rept 8, m
      stq  y[m], [out + 32*m]
      .endr
    .endlinear
    stop
