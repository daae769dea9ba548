; machine: vm7
; more nested loops than the machine has
.rept 12, i
        loop 2 {
.endr
        nop
.rept 12, i
        nop
        }
.endr
        stop
