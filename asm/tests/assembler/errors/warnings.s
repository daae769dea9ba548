; machine: vm7
; Stalls, which are warnings.
        ldp r0, [a0]
        add r1, r0, r0
        add r2, r0, r0 || stp r1, [a0] .allow stall
.macro product d, a
        cmul \d, \a, \a
.endm
        product r5, r6
        product r7, r5
        rcp r8, r9
        rcp r10, r11
        loop 4 {
          bfly r20, r21, r22, r23, r24
          add r22, r20, r21
        }
        stop
