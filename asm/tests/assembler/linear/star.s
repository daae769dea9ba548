; The sum of the six neighbours of each number, less six times itself, for four quads: eight operations a quad.
.equ QUADS, 4
.program
    .linear star, c2
      .const   MINUS_SIX = -6.0
      .pointer above = c4 by 16*QUADS
      .pointer own = c5 by 16*QUADS
      .pointer below = c6 by 16*QUADS
      .pointer before = c7 by 16*QUADS
      .pointer behind = c8 by 16*QUADS
      .pointer out = c9 by 16*QUADS
      .apart
      .rept QUADS + 2, i
      ldq  u[i], [own + 16*(i - 1)]
      .endr
      .rept QUADS, i
      ldq  p[i], [before + 16*i]
      ldq  q[i], [behind + 16*i]
      ldq  a[i], [above + 16*i]
      ldq  b[i], [below + 16*i]
      ext  west[i], u[i], u[i + 1], 3
      ext  east[i], u[i + 1], u[i + 2], 1
      add  row[i], west[i], east[i]
      add  planes[i], p[i], q[i]
      add  column[i], a[i], b[i]
      add  two[i], row[i], planes[i]
      add  six[i], two[i], column[i]
      madd star[i], u[i + 1], MINUS_SIX, six[i]
      stq  star[i], [out + 16*i]
      .endr
    .endlinear
    stop
