; The largest number and its first place, four quads side by side: three operations a quad and one an iteration.
.equ CANDIDATES, 4
.program
    .linear argmax, c0
      .const   STEP = int(4*CANDIDATES)
      .pointer x = c4 by 16*CANDIDATES
      .before at@1 = q20
      .after  q20 = at
      iadd  at, at@1, STEP
      .rept CANDIDATES, i
      .before best[i]@1 = q{12 + 2*i}, place[i]@1 = q{13 + 2*i}
      .after  q{12 + 2*i} = best[i], q{13 + 2*i} = place[i]
      ldq   x[i], [x + 16*i]
      cmplt m[i], best[i]@1, x[i]
      max   best[i], best[i]@1, x[i]
      sel   place[i], at@1, place[i]@1, m[i]
      .endr
    .endlinear
    stop
