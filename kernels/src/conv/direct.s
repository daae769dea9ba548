; Direct FIR filter, also decimating and interpolating: every output is the sum of taps
; times samples, nothing else.
;
; The caller defines (direct.rs does)
;   TAPS      taps in the table, each a pair: a complex number, or a real one twice
; gives `tiles.s`, pointers and the schedule (tile.rs), and replaces the data at `taps`.
;
; Page kernel (docs/abi.md) of one block: word 0 the samples, word 1 the outputs.
;
;   a8, a9 samples, outputs: where they begin
;   a0, a5 samples, a1 outputs of the first half, a3, a6 and a4 of the second; a2 taps

; Default, which a definition by the caller replaces.
.equ TAPS, 2

.include "page.s"

.program
.entry start
start:
    page_begin
    ldx2 a8, [a15]
    .include "tiles.s"
    page_end
    stop

.dmem 0
taps:
    .space 8*TAPS
