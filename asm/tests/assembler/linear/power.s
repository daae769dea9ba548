; The squared moduli of four complex numbers: four operations that part them, and two.
.program
    .linear power, c0
      .pointer z = c4 by 32
      .pointer p = c5 by 16
      .apart
      ldq   a, [z]
      ldq   b, [z + 16]
      trnlo re.lo, a.lo, a.hi
      trnhi im.lo, a.lo, a.hi
      trnlo re.hi, b.lo, b.hi
      trnhi im.hi, b.lo, b.hi
      mul   squares, re, re
      madd  p, im, im, squares
      stq   p, [p]
    .endlinear
    stop
