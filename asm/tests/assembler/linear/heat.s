; u + k (north + south + west + east - 4 u), where k is in q30: seven operations of arithmetic a quad.
.program
    .linear heat, c2
      .const   MINUS_FOUR = -4.0
      .pointer north = c4 by 16
      .pointer own = c5 by 16
      .pointer south = c6 by 16
      .pointer out = c7 by 16
      .apart
      ldq  n, [north]
      ldq  s, [south]
      ldq  w, [own - 16]
      ldq  u, [own]
      ldq  e, [own + 16]
      ext  west, w, u, 3
      ext  east, u, e, 1
      add  vertical, n, s
      add  horizontal, west, east
      add  around, vertical, horizontal
      madd change, u, MINUS_FOUR, around
      madd next, change, q30, u
      stq  next, [out]
    .endlinear
    stop
