; Direct FIR filter, also decimating and interpolating: sums of taps * samples.
; Every output is such a sum, computed without a transform.
;
; The caller defines (direct.rs does):
;   TAPS      taps in the table, each a pair: a complex number, or a real one twice
; It provides `tiles.s` (pointers and the schedule: direct_tile.rs, at high rates polyphase.rs), and replaces `taps`.
;
; A page kernel (docs/abi.md) of one block: word 0 is the samples, word 1 the outputs.
;
;   a8, a9    first sample, first output
;   a0, a5    samples; a1 outputs; a7 sums so far of the first half; a3, a6, a4, a10 those of the second half
;   a2        taps; a11 first tap of a part; s14, s15 steps from a part to the next

; At high rates: a0, a1, a3 to a7 samples and outputs as needed, a2 taps, a11 `zero`, s14 and s15 steps from a tile to
; the next; the highest pair registers hold the sums.

; Default, which a definition by the caller replaces.
.equ TAPS, 2

.include "page.s"

.dmem 0
zero:                               ; what sums of parts of the taps begin with
    .space 16
taps:
    .space 8*TAPS

.program
.entry start
start:
    page_begin
    ldx2 a8, [a15]
    .include "tiles.s"
    page_end
    stop
