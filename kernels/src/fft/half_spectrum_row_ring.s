; Real FFT: half-spectrum rows of 512 or 1024 points, through a ring in DMEM.
; The rows are those of half_spectrum_rows.s, the ring of blocks in eighths of a page is that of four_step_ring.s.
; The caller defines (program.rs does):
;   COUPLES  2: a page is four rows of 1024 numbers; 4: eight rows of 512
;   FULL     pages of a matrix before its last page, of which only the first row counts
;
; Launched once for all pages. Word 0 of the argument block is the number of pieces: eight of one block for a page of
; 1024, four of two blocks for a page of 512, because a row of a tile is two digits n1. Ring, halves of a page, events
; and the order of blocks are those of four_step_ring.s.
;
; With digits n = L/F n0 + L/F/8 n1 + 8 n2 + n3, k = p0 + F p1 + 8 F p2 + L/8 p3; L = 1024, F = 4, or L = 512, F = 8:
;   pass 1  n0 -> p0, radix F, block after block
;   pass 2  n1 -> p1, radix 8, over the eight blocks
;   pass 3  n2 -> p2, radix 4, in a block, one half page after the other; none for 512, which has no n2
;   pass 4  n3 -> p3, radix 8, in a block, which is then complete
; All passes are in place. Row r of a page has in block n1, then p1, 4096/F n0 + APART r + 64 n2 + 8 n3 bytes, APART =
; 256 or 64; numbers n3 of even columns come first (half_spectrum_rows.s). Pass 4 makes of 64 bytes of A = 2c, B = A + 1
;   A   quads p3 = 0 .. 3: (A, B)                             numbers of the spectrum
;   B   quads p3 = 4 .. 7: conjugates of (A, the row before A)
; It takes the pairs of a column in turn: when results of pair c are stored, the numbers of pair c + 1 have been read,
; and the conjugates of row B go there. Those of a page's last row go to an area beside the ring, number by number in
; the order in which the next page's first pair reads them. A matrix' first pair does not use the values there.
;
; Iteration s of a column stores results of pair s, computes pair s + 1, and loads pair s + 2, after the last pair
; that of the next column; 36 cycles, all of them arithmetic:
;   0, 16    base factors                s = 0:   1..3     numbers     4..15, 17..20  results, 4 loads from the area
;   35       row factor                           21..33   numbers     34             free
;                                        others:  1, 2     row factors 4..15          results
;                                                 17..32   numbers     33, 34         row factors for s = 0, of the last
; Word 3 of the last pair of 1024 loads steps. No word waits for an operand, on vm7 or vm9.
;
; Factors, a page. Pass 1: for each pair w^2 of A, B, w of A, B; with 512 for each row w^4, w^2, w, w W8. Pass 2: the
; latter for (p0 row). Pass 3: the former for (p1 p0 pair). Pass 4: for each pair the powers 4, 2, 1 of A and B.
;
; In a matrix' last page only the first row counts. With 1024 only pass 4 is restricted to its pair, with 512 all passes
; are. Its conjugates are stored, and those of the next page's first pair find nothing new in the area.
;
; Cycles of a page on vm7 if no data is late: with 1024 23552 and 523, the last 18944 and 536; with 512 21504 and 205,
; the last 5376 and 246.
.equ COUPLES, 2
.equ FULL, 1
.equ INVERSE, 0
.equ REAL, 1
.equ WOVEN, 0

.if COUPLES != 2 && COUPLES != 4
.error "COUPLES must be 2 or 4"
.endif

.include "radix8_iteration.s"
.include "radix8_pass.s"
.include "radix4_iteration.s"
.include "in_place_passes.s"
.include "radix8_twiddle_transpose.s"
.include "half_spectrum_row_pairs.s"

.equ BLOCK, 4096
.equ HALF, 4*BLOCK
.equ RING, 12*BLOCK
.equ LOADED, 0
.equ COMPLETE, 1
.equ LENGTH, 2048/COUPLES
.equ FIRST, 2*COUPLES
; Pieces of a page.
.equ PIECES, COUPLES == 2 ? 8 : 4
; Distances from row to row, and from pair to pair.
.equ APART, COUPLES == 2 ? 256 : 64
.equ COUPLE, 2*APART
; Offsets of the factors of passes 2, 3 and 4, and length of all factors.
.equ SETS2, COUPLES == 2 ? 64 : 256
.equ SETS3, SETS2 + 64*FIRST*COUPLES
.equ SETS4, SETS3 + (COUPLES == 2)*2048
.equ FACTORS, COUPLES == 2 ? 2816 : 2496
; Iterations of pass 2 with one set.
.equ EACH, APART/16
; Bytes of the base factors, and of the area of conjugates.
.equ BASE, 4*LENGTH
.equ AREA, 4*LENGTH

; Registers: a8, a9 halves of the page, a10 its factors, a4 goes round the area; c7 bytes of the ring, c9 the sum
; of the addresses of the factor buffers, c14 pages left.

    .if COUPLES == 2
; Radix 4: columns 0 .. 3 of an iteration are of rows A A B B.
.equ apart2, 1024
.equ beside2, APART
.equ own2, 1
    distances4 3, COUPLE, 16, APART, 1, 64
    .else
    distances8 1, 512, 512, 3, 1
    .endif
    distances8 2, BLOCK, BLOCK, 3, 0
; Pass 2 if rows 4 .. 7 lie before rows 0 .. 3.
    distances8 6, BLOCK, BLOCK, 3, 0, 16, 1, RING

; Iterations of pass 1 in a block of rows of 1024 except the first two. s1, s2, s3: steps to the next quads, to the next
; pair and to the next block.
.macro inside op, opn
    loop 13 {
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%
    }
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s2%, [a1]+s1%
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%, 1, [a10 + 32]
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s2%, 2, [a10 + 48]
    loop 13 {
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%
    }
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s3%, [a1]+s1%
.endm

; Lets both pointers go round the ring; at launch they are `first` bytes after its beginning.
.macro pointers first, last, at
    movi b0, \first
    movi b1, \last
    mov l0, c7
    mov l1, c7
    add a0, \at, b0
    add a1, \at, b1
.endm

; Pass 1; all: for a page of 512 all rows, else only those of the first pair.
.macro pass1 op, opn, all
    .if COUPLES == 2
    pointers 3*apart2 + beside2, 3*apart2 + beside2, a8
    movi s1, 16
    movi s2, COUPLE - 240
    movi s3, 3072 + COUPLE - 240
    wait LOADED
    ldq q24, [a10]
    ldq q25, [a10 + 16]
    frame4 \op, \opn, 2, 1, 0, 0, [a0]+s1%, [a1]+s1%
    frame4 \op, \opn, 2, 1, 1, 0, [a0]+s1%, [a1]+s1%
    inside \op, \opn
    loop 7 {
    wait LOADED
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%, 1, [a10]
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s3%, 2, [a10 + 16]
    inside \op, \opn
    }
    frame4 \op, \opn, 2, 0, 1, 1, [a0]+s1%, [a1]+s1%
    tail4 \op, \opn, 2
    .else
    pointers xat1, yat1, a8
    mov a2, a10
    wait LOADED
    .if \all
    shared_at 1, steps1, 512, SETS2, EACH
    .else
    shared_at 1, steps1_2, 128, SETS2/4, EACH
    .endif
    frame8 \op, \opn, 1, 0, 0, [a0]+s0%, [a1], own8
    frame8 \op, \opn, 1, 1, 0, [a0]+s0%, [a1], begin8
    loop \all ? 62 : 14 {
    frame8 \op, \opn, 1, 1, 1, [a0]+s0%, [a1]+s1%, own8
    }
    loop 3 {
    wait LOADED
    loop \all ? 64 : 16 {
    frame8 \op, \opn, 1, 1, 1, [a0]+s0%, [a1]+s1%, own8
    }
    nop
    }
    frame8 \op, \opn, 0, 1, 1, [a0], [a1]+s1%, own8
    tail8 \op, \opn, 1
    .endif
.endm

; Pass 2 over the rows of the first pair alone: with 512, the first 128 of every 512 bytes.
.macro pass2_alone op, opn, t
    addi a2, a10, SETS2
    movi c1, 6
    shared_at \t, steps2_2, 64, SETS3 - SETS2, EACH
    movi a0, xat{\t}
    add a0, a0, a8
    mov a1, a0
    .if \t == 2
    walk_alone \op, \opn, \t, [a0]+on{\t}, [a1]+on{\t}, own8
    .else
    walk_alone \op, \opn, \t, [a0 - BLOCK], [a1 - BLOCK], around8
    .endif
.endm
.macro walk_alone op, opn, t, rd, wr, hook
    frame8 \op, \opn, \t, 0, 0, \rd, [a1], \hook
    frame8 \op, \opn, \t, \t, 0, \rd, [a1], \hook
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, \hook
    loop 7 {
    addi a0, a0, 384
    .rept 2
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, \hook
    .endr
    addi a1, a1, 384
    loop 6 {
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, \hook
    }
    nop
    }
    frame8 \op, \opn, 0, \t, \t, [a0], \wr, \hook
    tail8 \op, \opn, \t
.endm

.macro pass2 op, opn, t, all
    .if \all || COUPLES == 2
    addi a2, a10, SETS2
    movi c1, 254
    shared_at \t, steps2, 8*EACH, SETS3 - SETS2, EACH
    .if \t == 2
    pass8 \op, \opn, 2, a8
    .else
    pass8_around \op, \opn, 6, a8, BLOCK
    .endif
    .else
    pass2_alone \op, \opn, \t
    .endif
.endm

; Passes 1 and 2.
.macro firsts op, opn, all
    pass1 \op, \opn, \all
    sub c6, a9, a8
    sar c6, c6, 31
    bnz c6, .around{\all}
    pass2 \op, \opn, 2, \all
    jmp .lasts{\all}
.around{\all}:
    pass2 \op, \opn, 6, \all
.lasts{\all}:
.endm

; Pass 3 on half h of a page of 1024, which lies at `half`.
.macro pass3 op, opn, half, h
    addi a2, a10, SETS3 + 1024*\h
    walk4 \op, \opn, 3, COUPLE, HALF, \half
.endm

; Goes on to the half page that is free now, and to the first half of its page.
.macro onward
    sub c6, c7, a8
    sub c6, c6, a9
    mov a9, a8
    mov a8, c6
    sub a10, c9, a10
    addi c13, c13, -1
.endm

.program
rows:
    ldx c14, [a15]
    movi a8, 0
    movi a9, HALF
    movi c7, RING
    movi s5, 8
    movi a10, row_factors
    movi c9, 2*row_factors + FACTORS
    movi b4, area + 24
    movi l4, AREA
    mov a4, b4
    movi s4, 32
    shr c14, c14, COUPLES == 2 ? 3 : 2
.matrix:
    movi c13, FULL + (COUPLES == 2)
    .if COUPLES == 2
.page:
    ; c12 is 0, or -1 for the last page.
    addi c12, c13, -2
    sar c12, c12, 31
    firsts bfly, bflyn, 1
    pass3 bfly, bflyn, a8, 0
    bnz c12, .first_half
    pass4_all bfly, bflyn, a8, 0
.middle:
    pass3 bfly, bflyn, a9, 1
    bnz c12, .second_half
    pass4_all bfly, bflyn, a9, BASE/2
.end:
    onward
    bnz c13, .page
    .else
.page:
    firsts bfly, bflyn, 1
    pass4_all bfly, bflyn, a8, 0
    onward
    bnz c13, .page
    firsts bfly, bflyn, 0
    pass4_alone bfly, bflyn, a8, 0
    onward
    .endif
    addi c14, c14, -1 - FULL
    bnz c14, .matrix
    stop
    .if COUPLES == 2
.first_half:
    pass4_alone bfly, bflyn, a8, 0
    jmp .middle
.second_half:
    pass4_alone bfly, bflyn, a9, BASE/2
    jmp .end
    .endif

.dmem RING
; Buffers for the caller's factors of two pages, which alternate.
row_factors:
    .space 2*FACTORS
area:
    .space AREA
base4:
    .rept LENGTH/8, j
.equ k4_{j}, COUPLES == 2 ? j/4 + j%4*32 : j
    .cis -4*k4_{j}, LENGTH
    .cis -2*k4_{j}, LENGTH
    .cis -k4_{j}, LENGTH
    .cis -k4_{j} - LENGTH/8, LENGTH
    .endr
    .if COUPLES == 4
; Pass 1: steps of sets, and of numbers.
steps1:
    .rept 32, j
    .int 32*(j%4 == 0), 32*((j + 2)%4 == 0), 16 + (j == 31)*3584, 16 + (j == 1)*3584
    .endr
; Passes 1 and 2 of the first pair alone: steps of sets, and of numbers.
steps1_2:
    .rept 8, j
    .int 32*(j%4 == 0), 32*((j + 2)%4 == 0), 16 + (j == 7)*3968, 16 + (j == 1)*3968
    .endr
steps2_2:
    .rept 8, j
    .int 32*(j%4 == 0) + 192*(j == 0), 32*((j + 2)%4 == 0) + 192*(j == 6)
    .endr
    .endif
; Index of the set of iteration j - 1 of pass 2.
steps2:
    .rept EACH, j
    .int 32*(j == 0), 32*((j + 2)%EACH == 0)
    .endr
    .if COUPLES == 2
; Steps from column to column: digit n2 is the fastest.
steps4:
    .rept 4, j
    .int j == 3 ? 832 : 64, j == 0 ? 832 : 64
    .endr
    .endif
