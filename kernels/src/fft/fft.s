; FFT of N complex numbers, N = 16 .. 2048, by Stockham's algorithm in DMEM.
;
; The caller defines (program.rs does):
;   N         length, a power of two
;   INVERSE   0: exp(-2 pi i jk/N), 1: exp(+2 pi i jk/N); neither is scaled
;   R1 .. R4  radices of the passes, 4 or 8, 0 where there is no such pass;
;             radix 4 only in the first pass, or in the first two
;
; A page kernel (docs/abi.md); a block is one transform of 8 N bytes:
;   word 0 input page, word 1 output page, word 2 transforms P, word 3 scratch page.
;   An even number of passes works in place (words 0 and 1 agree) with a scratch
;   page; an odd one leaves the result in the output page and destroys the input.
;
; Layout, factors and steps are described in stockham.s.
;
; DMEM: 48 + 32 L + 24 (radix-8 passes but the first) + N/2 (radix-8 passes) bytes of tables.

; Defaults, which definitions by the caller replace.
.equ N, 256
.equ INVERSE, 0
.equ R1, 4
.equ R2, 8
.equ R3, 8
.equ R4, 0

.if R1*max(R2, 1)*max(R3, 1)*max(R4, 1) != N
.error "the product of the radices R1 .. R4 is not N"
.endif
.if (R1 != 4 && R1 != 8) || (R2 != 8 && (R2 != 4 || R1 != 4)) || R3 % 8 != 0 || R4 % 8 != 0
.error "the radices are 8, but for one or two of 4 at the start"
.endif

.include "page.s"
.include "radix8_iteration.s"
.include "radix4_iteration.s"

; Address register of the page that the passes use besides the input page.
.equ OTHER, 9 + 2*(((R2 != 0) + (R3 != 0) + (R4 != 0)) % 2)
.include "stockham.s"

.program
.entry start
start:
    movi a14, passes
    ldq q30, [a14 + (constants - passes)]
    movi s8, 64
    movi s9, 8
    page_begin
    ldx2 a8, [a15]
    ldx2 a10, [a15 + 8]
    movi s3, 8*N
    movi s0, 7*N
    nop
    .if R1 == 4
    ldq q24, [a14 + (constants - passes) + 16]
    ldq q25, [a14 + (constants - passes) + 32]
    .else
    nop
    nop
    .endif
    shl c3, a10, log2(8*N)          ; bytes of the page
    shl c1, a10, log2(N) - 4        ; iterations of a pass but two
    addi c1, c1, -2
    addi c4, c3, -32
    addi c5, c3, -128
    addi c2, a10, -1
    bnz c2, .passes
    movi s3, 32                     ; P = 1: the radix-4 read pointer walks
    movi c4, 2*N                    ; the columns, then starts again
    .if N == 16
    addi c1, c1, 1                  ; two iterations, the second a repetition
    .endif
.passes:
    add a12, a8, s0
    add a13, a{OTHER}, s0
    .if INVERSE
    transform bflyc, bflyci
    .else
    transform bfly, bflyn
    .endif
    page_end
    stop

.dmem 0
    stockham_tables
