; Gather format: the words of the kernel that stay in program memory.
;
; A launch begins at `start`: constants, then the wait for the first page, which brings masks, the vector and words.
; Words of pages are placed after `code`, in three places in turn, and continue from one to the next by themselves.
;
; symbols: BASES        address registers that point into the middle of stretches of 32 KiB of local memory
;          MASKS        pairs of masks, from DMEM address 0 on, into registers FIRST_MASK ...
;          ZERO         quad that holds zeros
;          SHIFTED      where the shifted segment lies; UNROLL quads of it are made at a time (0: no segment is shifted)
;          ALIGN        words of a granule of the DMA
.equ REACH, 16384
.program
.entry start

.if UNROLL
; Copies a segment of the vector, shifted by one number, so that any two neighbours are a pair: from a9, c9 times
; UNROLL quads, then c10 quads, then the last quad, which nothing follows.
; Takes 2 cycles a quad: a load and a store. Quads 0 to 2 UNROLL are free where a segment begins.
shift:
        movi a10, SHIFTED
        ldq q0, [a9]+16
        loop c9 {
        .rept UNROLL, i
          ldq q{1 + i}, [a9]+16
        .endr
        .rept UNROLL, i
          ext q{1 + UNROLL + i}, q{i}, q{i + 1}, 1
        .endr
        .rept UNROLL, i
          stq q{1 + UNROLL + i}, [a10]+16
        .endr
          mov q0, q{UNROLL}
        }
        loop c10 {
          ldq q1, [a9]+16
          ext q2, q0, q1, 1
          stq q2, [a10]+16
          mov q0, q1
        }
        ext q2, q0, q0, 1
        stq q2, [a10]
        ret
.endif

start:
.rept BASES, i
        movi a{i}, 2 * REACH * i + REACH
.endr
        lii r{2 * ZERO}, 0
        lii r{2 * ZERO + 1}, 0
        movi a9, 0
        wait 0
.rept MASKS, i
        ldp r{FIRST_MASK + i}, [a9]+8
.endr
.rept (ALIGN - (. + 0) % ALIGN) % ALIGN
        nop
.endr
code:   stop
