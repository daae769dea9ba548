; machine: vm7
; Loops are nested more deeply than the machine allows.
.rept 12, i
        loop 2 {
.endr
        nop
.rept 12, i
        nop
        }
.endr
        stop
