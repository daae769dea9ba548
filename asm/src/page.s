; The page loop of the kernel ABI, version 3 (docs/abi.md).
;
;     page_begin          ; for every page: wait until it is loaded
;     ...                 ; a15 is its argument block; a15 and c15 stay as they are
;     page_end            ; it may be stored; on to the next
;     stop
;
; The loop owns the 16 bytes before an argument block: the address of the next page's block, a word of shares, in the
; first block the number of pages, a word of marches.
; The page loop is a hardware loop, so the words between its macros must fit one (4095 words).

; Offsets from a15, in bytes, of the words by which a job of arrays (`cp2 map`) describes a page; a pair for one ldx2.
.equ PAGE_INDEX, -32                ; number of the page, flags: 1 the first, 2 the last
.equ PAGE_COLUMNS, -24              ; quads and elements of a row that the array has here
.equ PAGE_ROWS, -48                 ; rows and planes
.equ PAGE_PITCH, -96                ; bytes from row to row and from plane to plane of the first input
.equ PAGE_OUT_PITCH, -88            ; the same of the first output
; With marching pages (`--march`): addresses of the first line (plane or row) of the first input's window and of the
; next line. The pair of line i is at PAGE_LINES - 8*i, and 8 bytes lower for every further input and output.
.equ PAGE_LINES, -104
; Quads of integers that describe the part of each section.
.equ SECTION_FILLED, -64            ; columns, rows, planes that the array has here; number of the section
.equ SECTION_ORIGIN, -80            ; column, row, plane in the array of the block's first element; 0

; Number of the event that a page's last transfer posts, and of the signal that gives the page back; a ring's signal.
.equ PAGE_EVENT, 0
.equ RING_SIGNAL, 1

.macro page_begin
    ldx c15, [a15 - 8]
    .rept 5
    nop                             ; c15 is on its way, on vm9 too
    .endr
    loop c15 {
    wait PAGE_EVENT
    ldx c15, [a15 - 16]
.endm

.macro page_end
    mov a15, c15
    signal PAGE_EVENT
    }
.endm

; The loop over the pages of a ring, for kernels that find the arguments of all page buffers behind one another: the
; block has the number of pages, the bytes of these arguments, eight bytes that are free, and 16 bytes for each buffer.
;
;     ring_begin
; .page:
;     ring_page a8, a10   ; arguments 0 and 1 of the next page into a8 and a9, 2 and 3 into a10 and a11; waits for it
;     ...                 ; a7, b7, l7, s7 and c14 stay as they are; ring_begin writes c15
;     ring_end .page      ; it may be stored; on to the next, at the label
;     stop
.macro ring_begin
    ldx2 c14, [a15]
    addi a7, a15, 16
    mov b7, a7
    movi s7, 8
    mov l7, c15 .allow stall
.endm

.macro ring_page first, more
    ldx2 \first, [a7]+s7%
    ldx2 \more, [a7]+s7% .allow register
    wait PAGE_EVENT
.endm

.macro ring_end page
    addi c14, c14, -1
    signal RING_SIGNAL
    bnz c14, \page
.endm

; Ends a reduction, after page_end: the section's result is in its output block (word 1 of its arguments). Then a15 is
; the address of arguments: word 0 all sections' results, each behind the one before by its planes times the second
; word of PAGE_OUT_PITCH; word 1 the place of the whole result; word 2 the number of results.
.macro page_gather
    signal PAGE_EVENT
    wait PAGE_EVENT
.endm
