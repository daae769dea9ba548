; Direct FIR filter, also decimating and interpolating: every output is the sum of taps
; times samples, nothing else.
;
; The caller defines (direct.rs does):
;   TAPS      taps in the table, each a pair: a complex number, or a real one twice
;   REAL      1: two halves of a block at once, as the halves of a quad
;   HALF_IN, HALF_OUT   bytes from the first half to the second
; gives `tiles.s`, the schedule (tile), and replaces the data at `taps`.
;
; Page kernel (docs/abi.md) of one block: word 0 the samples, word 1 the outputs.
;
;   a0 samples, a1 outputs of the first half, a3 and a4 of the second; a2 taps
;
; Cycles on vm7: the words of all tiles, and 10 (REAL: 14), the loads before the first
; tile and the stores after the last.

; Defaults, which a definition by the caller replaces.
.equ TAPS, 2
.equ REAL, 0
.equ HALF_IN, 0
.equ HALF_OUT, 0

.include "page.s"

.macro body
    ldx2 a0, [a15]
    movi a2, taps
    .if REAL
    movi s0, HALF_IN
    movi s1, HALF_OUT
    nop
    nop
    add a3, a0, s0
    add a4, a1, s1
    .else
    nop
    nop
    nop
    nop
    .endif
    .include "tiles.s"
.endm

.program
.entry start
start:
    page_begin
    body
    page_end
    stop

.dmem 0
taps:
    .space 8*TAPS
