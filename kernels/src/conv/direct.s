; Direct FIR filter, also decimating and interpolating: every output is the sum of taps
; times samples, nothing else.
;
; The caller defines (direct.rs does)
;   TAPS      taps in the table, each a pair: a complex number, or a real one twice
; gives `tiles.s`, pointers and the schedule (direct_tile.rs; at high rates polyphase.rs), and replaces the data at `taps`.
;
; Page kernel (docs/abi.md) of one block: word 0 the samples, word 1 the outputs.
;
;   a8, a9 samples, outputs: where they begin
;   a0, a5 samples, a1 outputs, a7 sums so far of the first half, a3, a6, a4 and a10 of the second;
;   a2 taps, a11 where those of a part begin, s14 and s15 from a part to the next

; At high rates a0, a1, a3 to a7 are samples and outputs as needed, a2 taps, a11 `zero`, s14 and s15 from a tile to the next;
; sums are the highest pair registers.

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
zero:                               ; what sums of parts of the taps begin with
    .space 16
taps:
    .space 8*TAPS
