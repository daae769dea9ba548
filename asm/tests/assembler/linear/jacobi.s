; The mean of the four neighbours of each number: twelve operations a quad, six of them loads and stores.
.program
    .linear jacobi, c2
      .const   QUARTER = 0.25
      .pointer north = c4 by 16
      .pointer own = c5 by 16
      .pointer south = c6 by 16
      .pointer out = c7 by 16
      .apart
      ldq  n, [north]
      ldq  s, [south]
      ldq  w, [own - 16]
      ldq  x, [own]
      ldq  e, [own + 16]
      ext  west, w, x, 3
      ext  east, x, e, 1
      add  vertical, n, s
      add  horizontal, west, east
      add  sum, vertical, horizontal
      mul  mean, sum, QUARTER
      stq  mean, [out]
    .endlinear
    stop
