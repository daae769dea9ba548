; The first pass of radix 4 of a Fourier transform of 256 points: four columns at a time, the transforms of the page
; innermost, so that one step goes round all of them. The last results lie at the extent: the pointer begins below.
.equ N, 256
.program
    .linear pass, c0
      .const   ONE = complex(1.0, 0.0)
      .pointer in  = a8 by s2 round c3 - 32
      .pointer out = a9 - 16 by s2 round c3 - 128
      .apart in, out
      .rept 2, h
      .rept 4, m
      ldq  x[h][m], [in + 2*N*m + 16*h]
      .endr
      bfly a[h], b[h], x[h][0], x[h][2], ONE
      bfly c[h], d[h], x[h][1], x[h][3], ONE
      .rept 2, j
      bfly  y[h][j][0].lo, y[h][j][1].lo, a[h].{j}, c[h].{j}, ONE.{j}
      bflyn y[h][j][0].hi, y[h][j][1].hi, b[h].{j}, d[h].{j}, ONE.{j}
      stq  y[h][j][0], [out + 64*h + 32*j + 16]
      stq  y[h][j][1], [out + 64*h + 32*j + 32]
      .endr
      .endr
    .endlinear
    stop
