; machine: vm7
; Errors of loop ends.
        loop 4 {
          bnz c0, done
        }
        loop 4 {
          nop
          loop 4 {
            nop
          }
        }
        loop 4 {
        }
        loop 4, inside
        loop 4, beyond
inside: nop
beyond: nop
        loop 4, start
start:  loop 4, start
        loop 4, 500
        loop c0 {
          nop
done:   nop
