; FFT of 4096 complex numbers in one page of DMEM, in place.
;
; The caller defines INVERSE, 0 or 1. Page kernel (docs/abi.md) of one block:
;   word 0 = word 1 = the page, 33280 bytes.
;
; Two buffers of 32 KiB and twiddle tables do not fit in 64 KiB, so the
; transform stays where it is. With octal digits, number n = (n0 n1 n2 n3):
;   pass 1  digit n0 -> p0                                     no factors
;   pass 2  digit n1 -> p1  factors of exp(-2 pi i p0/64)      one per row p0
;   pass 3  digit n2 -> p2  exp(-2 pi i (p0+8p1)/512)          one per 8 columns n3
;   pass 4  digit n3 -> p3  exp(-2 pi i (p0+8p1+64p2)/4096)    one per column
; Passes 1 to 3 replace a digit in place; the columns of a pair differ in n3.
;
; Layout. The page is eight rows n0 of 512 numbers, each after a gap of 64 bytes:
; row pitch 4160, number (n0 n1 n2 n3) at 64 + 4160 n0 + 512 n1 + 64 n2 + 8 n3.
; Pass 4 takes the unit (p1 p2): 8 rows of 8 numbers; the pair of columns p0, p0+1
; reads its eight n3 side by side and writes the couples (p0, p0+1) to row p3:
; a transposition of the unit. It goes 64 bytes down, over the unit before (for the
; first one the gap), so that nothing is overwritten before it is read. Result
; p0 + 8 p1 + 64 p2 + 512 p3 then is at 4160 p3 + 512 p1 + 64 p2 + 8 p0: runs of 64
; bytes for the DMA, contiguous in system memory when it takes p1 before p2.
;
; DMEM: the page and 19.3 KiB of tables.
; Cycles on vm7: 4 passes of 256 iterations of 24, 24576, and 134 a page.

; Default, which a definition by the caller replaces.
.equ INVERSE, 0

.include "page.s"
.include "radix8.s"

.equ PITCH, 4160

.macro transform op, opn
    ldx2 a8, [a15]
    movi a2, constants
    ldq q24, [a2]
    movi c1, 255
    movi l0, 4096
    movi s0, 16
    addi a8, a8, 64
    movi s1, 16
pass1:
    mov a0, a8
    mov b0, a8
    mov a1, a8
    pass8 \op, \opn, 0, 0, 1, 2, 1, 2, PITCH, 4*PITCH, PITCH, 0, 48, 48, 49
    movi l0, 8*PITCH
    movi s5, 8
    movi l5, 512
pass2:
    movi a5, steps2
    mov b5, a5
    movi a2, twiddles2 + 16
    mov a0, a8
    mov a1, a8
    pass8 \op, \opn, 2, 1, 1, 2, 1, 2, 512, 2048, 512, 0, 49, 52, 53
pass3:
    movi a5, steps3
    mov b5, a5
    movi a2, twiddles3 + 16
    mov a0, a8
    mov a1, a8
    pass8 \op, \opn, 2, 1, 1, 2, 1, 2, 64, 256, 64, 0, 49, 52, 53
pass4:
    mov a0, a8
    movi l0, 8*PITCH - 64
    movi s0, 2*PITCH
    addi a1, a8, -64
    movi s1, 16
    movi a2, twiddles4
    mov b2, a2
    movi l2, 16384
    movi s2, 16
    pass8 \op, \opn, 1, 0, 8, 1, 1, 2, 16, PITCH, PITCH, 1, 50, 52, 54
.endm

.program
.entry start
start:
    page_begin
    .if INVERSE
    transform bflyc, bflyci
    .else
    transform bfly, bflyn
    .endif
    page_end
    stop

; Factors of W^k, W = exp(-2 pi i/den), for both columns: w^4, w^2, w, w W8.
.macro shared k, den
    .cis -4*(\k), \den
    .cis -2*(\k), \den
    .cis -(\k), \den
    .cis -(\k) - \den/8, \den
.endm

.dmem 0
constants:
    .cis 0, 8
    .cis -1, 8
; Entry j: read step of iteration j, write step of iteration j - 2, twiddle step of iteration j.
steps2:
    .rept 32, j
    .int 16 + (PITCH - 512)*(j == 31), 16 + (PITCH - 512)*(j == 1), 32*(j == 31), 0
    .endr
steps3:
    .rept 32, j
    .int 16 + 448*(j % 4 == 3) + (PITCH - 4096)*(j == 31), 16 + 448*(j % 4 == 1) + (PITCH - 4096)*(j == 1), 32*(j % 4 == 3), 0
    .endr
twiddles2:
    .rept 8, p0
    shared p0, 64
    .endr
twiddles3:
    .rept 64, i
    shared i/8 + 8*(i % 8), 512
    .endr
twiddles4:
    .rept 64, u
    .rept 4, h
    .rept 8, f
    ; factor f/2 (w^4, w^2, w, w W8) of column f%2
    .cis -(2*h + f%2 + 8*(u/8) + 64*(u%8))*(f < 2 ? 4 : f < 4 ? 2 : 1) - 512*(f >= 6), 4096
    .endr
    .endr
    .endr
