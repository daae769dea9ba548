; y = a x + y, where a is in q31: three accesses a quad.
.program
    .linear axpy, c0
      .pointer x = c4 by 16
      .pointer y = c5 by 16
      .pointer z = c5 by 16
      .apart
      ldq  x, [x]
      ldq  y, [y]
      madd z, x, q31, y
      stq  z, [z]
    .endlinear
    stop
