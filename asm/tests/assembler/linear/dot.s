; x . y in four sums: two accesses a quad.
.equ SUMS, 4
.program
    .linear dot, c0
      .pointer x = c4 by 16*SUMS
      .pointer y = c6 by 16*SUMS
      .rept SUMS, i
      .before s[i]@1 = q{16 + i}
      .after  q{16 + i} = s[i]
      ldq  x[i], [x + 16*i]
      ldq  y[i], [y + 16*i]
      madd s[i], x[i], y[i], s[i]@1
      .endr
    .endlinear
    stop
