; The length of the gradient of a quad: x * rsqrt(x) of the sum x of three squared differences.
.program
    .linear gradient, c0
      .pointer own = c4 by 16
      .pointer above = c5 by 16
      .pointer below = c6 by 16
      .pointer before = c7 by 16
      .pointer behind = c8 by 16
      .pointer out = c9 by 16
      .apart
      ldq   w, [own - 16]
      ldq   u, [own]
      ldq   e, [own + 16]
      ldq   a, [above]
      ldq   b, [below]
      ldq   p, [before]
      ldq   q, [behind]
      ext   west, w, u, 3
      ext   east, u, e, 1
      sub   dx, east, west
      sub   dy, b, a
      sub   dz, q, p
      mul   xx, dx, dx
      madd  yy, dy, dy, xx
      madd  zz, dz, dz, yy
      madd  safe, zz, q30, q31
      rsqrt root, safe
      mul   length, zz, root
      stq   length, [out]
    .endlinear
    stop
