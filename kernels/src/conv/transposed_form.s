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

.include "page.s"

.dmem 0
zero:                               ; what sums begin with
    .space 16
sums:
    .space 16*SUMS
taps:
    .space 8*TAPS

.program
.entry start
start:
    ring_begin
.page:
    ring_page a12, a10
    .include "tiles.s"
    ring_end .page
    stop
