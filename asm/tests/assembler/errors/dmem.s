; machine: vm7
; Errors of data directives and of their addresses.
        .float 1
.dmem 0x100
        add r0, r1, r2
        .float 1, 2, 3, 4
.dmem 0x108
twice:  .float 1
        .align 3
        .complex 1, 2, 3
        .cis 1, 0
        .space -1
        .space 6
.dmem 0x202
        .float 1
.dmem 0xfffc
        .float 1, 2
.program
        movi a0, twice
        stop
