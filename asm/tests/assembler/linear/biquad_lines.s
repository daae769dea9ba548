; A biquad of 16 channels, transposed direct form II: the address of a row is the next of a table of lines.
.program
    .linear biquad, c2
      .pointer lines = a15 + 512 by -8
      .pointer out = c5 by s2
      .apart
      ldx    base, [lines]
      add    line, base, c7
      .rept 4, i
      .before s1[i]@1 = q{i}, s2[i]@1 = q{4 + i}
      .after  q{i} = s1[i], q{4 + i} = s2[i]
      ldq    x[i], [line + 16*i]
      madd   y[i], x[i], q24, s1[i]@1
      madd   t[i], x[i], q25, s2[i]@1
      nmsub  s1[i], y[i], q27, t[i]
      mul    u[i], x[i], q26
      nmsub  s2[i], y[i], q28, u[i]
      stq    y[i], [out + 16*i]
      .endr
    .endlinear
    stop
