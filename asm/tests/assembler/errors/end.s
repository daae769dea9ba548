; Errors at the end of a program.
.entry last
        loop 2, last
        nop
last:   add r0, r1, r2
        bz c0, last
