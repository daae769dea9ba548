; A linear block without a machine.
.program
        .linear block, 8
        .pointer p = c4 by 16
        ldq x, [p]
        stq x, [p]
        .endlinear
        stop
.dmem
        .linear other, 8
        .endlinear
