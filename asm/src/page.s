; The page loop of the kernel ABI, version 2 (docs/abi.md).
;
;     page_begin          ; for every page: wait until it is loaded
;     ...                 ; a15 is its argument block; a15 and c15 stay as they are
;     page_end            ; it may be stored; on to the next
;     stop
;
; The 16 bytes before an argument block are the loop's: the address of the next
; page's block, a free word, in the first block the number of pages, a free word.
; The page loop is a hardware loop, so what lies between must fit one (4095 words).

; The event that a page's last transfer posts, and the signal that gives it back.
.equ PAGE_EVENT, 0

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
