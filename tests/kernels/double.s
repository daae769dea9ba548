.include "page.s"               ; doubles every float of blocks of 16 bytes: tests of several crates run it
.program
    page_begin
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    loop c0 {
        ldq q0, [a0]+16
        add q1, q0, q0
        stq q1, [a1]+16
    }
    page_end
    stop
