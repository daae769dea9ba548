; An error function by a rational approximation: twelve operations on quads and four elementary functions of pairs, which
; take their unit every other cycle.
.program
    .linear erf, c0
      .pointer x = c4 by 16
      .pointer y = c5 by 16
      .apart
      ldq   x, [x]
      abs   size, x
      madd  one, size, q22, q23
      rcp   t, one
      mul   scaled, x, q29
      nmsub power, scaled, x, q30
      exp2  e, power
      madd  p4, t, q28, q27
      madd  p3, p4, t, q26
      madd  p2, p3, t, q25
      madd  p1, p2, t, q24
      mul   p, p1, t
      nmsub r, p, e, q23
      and   sign, x, q31
      or    y, r, sign
      stq   y, [y]
    .endlinear
    stop
