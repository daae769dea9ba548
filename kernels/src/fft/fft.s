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
; Layout, factors and passes are described in stockham.s.
;
; DMEM: (1 + radix-8 passes but the first) N/2 + 32 L (each of these) bytes of tables, and up to 80 bytes of constants.

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

; Address register of the page that the passes use besides the input page.
.equ OTHER, 9 + 2*(((R2 != 0) + (R3 != 0) + (R4 != 0)) % 2)
.equ LEAST, min(N/16, 4)
.include "stockham.s"

; All that no word before names will do.
.macro stockham_registers
.endm

.dmem 0
    stockham_tables

.program
.entry start
start:
    movi s2, 8*N
    page_begin
    .chain
    ldx2 a8, [a15]
    ldx2 a10, [a15 + 8]
    shl  c3, a10, log2(8*N)         ; bytes of the page
    shl  c0, a10, log2(N) - 4       ; iterations of a pass
    stockham_passes
    .endchain
    page_end
    stop
