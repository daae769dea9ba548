; Errors in macro expansions: a message shows the chain of calls.
.macro inner reg, offset
        ldp r{\reg}, [a0 + \offset]
.endm
.macro outer reg
        inner \reg, 4
        inner \rge, 8
.endm
.macro add x
.endm
.macro inner y
.endm
        outer 3
        inner 1
        inner 1, 2, 3
.rept 2, i
        inner 60 + 2 * i, 8
        inner 62 + 2 * i, 8
.endr
.macro sees
        movi c0, i
.endm
.rept 2, i
        sees
label:  nop
.endr
        stop
