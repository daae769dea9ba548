; Transforms of N numbers by the passes of kernels/src/fft/stockham.s, without a page: a10 has the number of transforms,
; one behind the other at a8. An odd number of passes leaves their results at a9, an even number at a8, and a11 is the
; place of results between passes. WEIGHED, where the first pass has radix 8: number n of a transform is multiplied by
; weight n before, result k by factor k behind; the tables of both are at a12 and a13.
.equ N, 256
.equ R1, 4
.equ R2, 8
.equ R3, 8
.equ R4, 0
.equ INVERSE, 0
.equ WEIGHED, 0
.equ OTHER, ((R2 != 0) + (R3 != 0) + (R4 != 0)) % 2 ? 11 : 9
.equ LEAST, min(N/16, 4)
.include "stockham.s"

; All that no word before names will do.
.macro stockham_registers
.endm

; Loads a quad of a row and multiplies it by its weights. The rows of the weights are those of a transform.
.macro take_weighed x, place, row
    .if \row == 0
    .pointer weights = a12 by 16 round N
    .endif
    ldq  given[\row], \place
    ldq  weight[\row], [weights + (\row)*N]
    cmul \x, given[\row], weight[\row]
.endm

; Stores a quad of results times its factors.
.macro give_weighed y, place, row
    .if \row == 0
    .pointer factors = a13 by 16 round N
    .endif
    ldq  factor[\row], [factors + (\row)*N]
    cmul product[\row], \y, factor[\row]
    stq  product[\row], \place
.endm

.dmem
    stockham_tables
.program
    movi s2, 8*N
    shl  c3, a10, log2(8*N)         ; bytes of all transforms
    shl  c0, a10, log2(N) - 4       ; iterations of a pass
    .chain
    .if WEIGHED
    stockham_passes take_weighed, give_weighed
    .else
    stockham_passes
    .endif
    .endchain
last:
    stop
