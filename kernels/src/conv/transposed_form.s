; Decimating FIR filter in transposed form: sums are carried between blocks.
; Products that belong to outputs of the next block of a section are kept as sums, so no sample is loaded twice.
;
; The caller defines (transposed_form.rs does):
;   TAPS      taps in the table, each a pair: a complex number, or a real one twice
;   SUMS      quads of sums that are carried on
; It provides `tiles.s` and replaces the data at `taps`.
;
; Launched once: word 0 of the argument block is the number of pages, word 1 the length in bytes of the ring after it,
; for every buffer four words: samples, -, outputs, -. For each page the kernel waits for event 0, which the DMA posts
; when the samples have been loaded, and signals event 1 when the outputs can be stored.
;
;   a12, a10  samples and outputs of a block; a8, a9  those of a tile
;   a7        walks the ring, s7 = 8; c14  pages left
;   a0, a5, a3, a6, a1, a4  samples as needed; a2  taps; a11  `zero`; s14, s15  steps from a tile to the next;
;   the highest pair registers hold the sums

; Defaults, which definitions by the caller replace.
.equ TAPS, 2
.equ SUMS, 1

.program
.entry start
start:
    ldx2 c14, [a15]
    addi a7, a15, 16
    mov b7, a7
    movi s7, 8
    mov l7, c15
.page:
    ldx2 a12, [a7]+s7%
    ldx2 a10, [a7]+s7%
    wait 0
    .include "tiles.s"
    addi c14, c14, -1
    signal 1
    bnz c14, .page
    stop

.dmem 0
zero:                               ; what sums begin with
    .space 16
sums:
    .space 16*SUMS
taps:
    .space 8*TAPS
