; A matrix of diagonal cells times a vector: an iteration multiplies a quad of values of four groups by four neighbours of
; the vector, whose addresses come from a list. Places without an entry hold +0 and count as nothing.
.equ GROUPS, 4
.program
    .linear unit, c0
      .const   ZERO = int(0)
      .pointer values = a8 by 16*GROUPS
      .pointer list = a9 by 8*(GROUPS/2)
      .rept GROUPS/2, i
      ldx2 from[2*i], from[2*i + 1], [list + 8*i]
      .endr
      .rept GROUPS, g
      .before s[g]@1 = q{12 + g}
      .after  q{12 + g} = s[g]
      ldq    v[g], [values + 16*g]
      ldp    x[g].lo, [from[g]]
      ldp    x[g].hi, [from[g] + 8]
      icmpeq none[g], v[g], ZERO
      andn   y[g], x[g], none[g]
      madd   s[g], v[g], y[g], s[g]@1
      .endr
    .endlinear
    stop
