; Sums of the products of seven complex channels, of which four sums are squares: 32 operations.
.program
    .linear covariance, c0
      .pointer x = c4 by 64
      .rept 4, i
      ldq  x[i], [x + 16*i]
      .endr
      .rept 7, i
      .rept 7 - i, k
      .before c[i*(15 - i)/2 + k]@1 = r{i*(15 - i)/2 + k}
      .after  r{i*(15 - i)/2 + k} = c[i*(15 - i)/2 + k]
      cmaddc c[i*(15 - i)/2 + k], x[i/2].{i % 2}, x[(i + k + 1)/2].{(i + k + 1) % 2}, c[i*(15 - i)/2 + k]@1
      .endr
      .endr
      .rept 4, i
      .before s[i]@1 = q{14 + i}
      .after  q{14 + i} = s[i]
      madd s[i], x[i], x[i], s[i]@1
      .endr
    .endlinear
    stop
