; Cell-averaging CFAR along rows: 8 training and 2 guard cells on each side; 1 where x > q31 times their sum. Iteration t
; loads quad t and decides quad t - 4: eleven operations a quad.
.program
    .linear cells, c2
      .const   ONE = 1.0
      .pointer x = c4 + 64 by 16
      .pointer at = c4 by 16
      .pointer y = c5 by 16
      .apart
      .before x@1 = q0, s2@1 = q1, s4@1 = q2
      .before s8@1 = q3, s8@2 = q4, s8@3 = q5, s8@4 = q6
      ldq  x, [x]
      ext  h, x@1, x, 1
      add  s2, x@1, h
      ext  k, s2@1, s2, 2
      add  s4, s2@1, k
      add  s8, s4@1, s4
      ext  ahead, s8@1, s8, 3
      ext  back, s8@4, s8@3, 2
      add  both, ahead, back
      mul  level, both, q31
      ldq  own, [at]
      cmplt more, level, own
      and  y, more, ONE
      stq  y, [y]
    .endlinear
    stop
