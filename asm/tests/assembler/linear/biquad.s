; A biquad of 16 channels, transposed direct form II, in place: five operations a quad. The state goes from iteration to
; iteration in 8 or 12 cycles.
.program
    .linear biquad, c2
      .pointer out = c5 by s2
      .rept 4, i
      .before s1[i]@1 = q{i}, s2[i]@1 = q{4 + i}
      .after  q{i} = s1[i], q{4 + i} = s2[i]
      ldq    x[i], [out + 16*i]
      madd   y[i], x[i], q24, s1[i]@1
      madd   t[i], x[i], q25, s2[i]@1
      nmsub  s1[i], y[i], q27, t[i]
      mul    u[i], x[i], q26
      nmsub  s2[i], y[i], q28, u[i]
      stq    y[i], [out + 16*i]
      .endr
    .endlinear
    stop
