; Inverse real FFT: half-spectrum columns of 512 or 1024, through a DMEM ring.
; A page is moved in eighths (docs/fft-real.md, 'Back').
; The caller defines (program.rs does):
;   COLUMNS  columns of a section's page, 8 of 512 numbers or 4 of 1024
;   FULL     pages of a matrix
;
; A section's page of 32 KiB has C columns from c0 on, in eight of the twelve blocks of 4 KiB of a ring. It is launched,
; loaded, signalled and stored as in four_step_ring.s. It computes the columns of inverse_real_pages.s, with the digits
;   r = N1/4 n0 + N1/32 n1 + 4 n2 + n3,  j = p0 + 4 p1 + 32 p2 + N1/4 p3:
;   pass 1  n0 -> p0, radix 4, block after block; numbers r >= N1/2 are conjugates, second operands of level 1
;   pass 2  n1 -> p1, radix 8, over the eight blocks
;   pass 3  n2 -> p2, radix 4, or 8 where N1 = 1024, in a block
;   pass 4  n3 -> p3, radix 4, and the merge of j and j + 1, in a block, which is then complete
; Passes 3 and 4 treat four blocks, a half page, and then the other four.
;
; Block n1 of a page holds, in bytes, with x = 4 n2 + n3, l = 0, 1 and q = 0 .. C/2 - 1,
;   2048 l + 16 C x + 32 q         row N1/4 l + N1/32 n1 + x of columns c0 + 2q, c0 + 2q + 1
;   2048 l + 16 C x + 32 q + 16    row N1 - 1 - r, r = N1/4 (l + 2) + N1/32 n1 + x, columns N2 - c0 - 2q - 2 and next:
; conjugates of the numbers r of columns c0 + 2q + 2, c0 + 2q + 1. That of column c0 is in the page before, first in its
; last pair. Pass 1 leaves it at 8 (N1/16 n1 + 2 x + l) of one of two areas, in the place of the page's own. For the
; first page of a matrix the DMA loads 16 bytes each through both areas, free at block 4; the next exchanges the areas.
; After pass 1 a block holds, at 2048 l + 16 C x + 32 q + 16 e, p0 = 2 e + l of pair q; at the end j = 2 e + l + ..,
; with D at l = 0 and S at l = 1.
;
; Cycles of a page if no data is late: 20480 and 977; with columns of 1024, 22528 and 1446.
; Defaults, which definitions by the caller replace.
.equ COLUMNS, 8
.equ FULL, 16
.equ INVERSE, 1


.include "radix8_iteration.s"
.include "radix8_pass.s"
.include "radix4_iteration.s"
.include "in_place_passes.s"
.include "four_step_row_ring.s"

.equ BLOCK, 4096
.equ HALF, 4*BLOCK
.equ RING, 12*BLOCK
.equ LOADED, 0
.equ COMPLETE, 1
.equ N1, 4096/COLUMNS
.equ COUPLES, COLUMNS/2
; Bytes of a row, radix of pass 3.
.equ ROW, 16*COLUMNS
.equ P2, N1/128
; Numbers that pages leave to the next page.
.equ LEFT, 4*N1

; Registers: a8, a9 halves of the page, a10 the factors of its columns, a12 the numbers that the page before has
; left, s10 the step between these; c7 bytes of the ring, c9 and c10 the sums of both addresses of factors and of areas,
; c12 pages left of the matrix, c14 of all matrices.

; Pass 2: rows are blocks.
    distances8 2, BLOCK, BLOCK, 3, 0, 16, 0
; Pass 2 if rows 4 .. 7 lie before rows 0 .. 3.
    distances8 6, BLOCK, BLOCK, 3, 0, 16, 0, RING
    .if P2 == 4
    distances4 3, 2048, 32, 16, 1
    .else
    distances8 3, 256, 256, 3, 1
    .endif
; The merge: rows n3 of l = 0, 1, results p3 of S and of D.
    .equ set4, 0
    .equ row1_4, 2048
    .equ row2_4, ROW
    .equ row4_4, 2*ROW
    .equ xat4, 2048 + 3*ROW
    .equ out1_4, ROW
    .equ out2_4, 2*ROW
    .equ out4_4, -2048
    .equ yat4, 3*ROW - 2048
    .equ zs4, 2
    .equ tw4, 5

; Pass 1 treats two rows A and B = A + 1 at a time, like woven_frame (four_step_row_ring.s). Column q of four iterations
; is pair q. In a quad of partners, the first number is of its even column, the second of the odd column of pair q - 1.
; The first pair's partners are those left before (a4). The last odd column's come last, and their neighbours go to a6.

; Level 2 of column j of an iteration of kind s, result b, with quad i of the partners of pair q, if q is not 0. q =
; COUPLES is after the last pair; there the last load is from `rd` and steps.
.macro mirrored on, op, j, b, s, q, i, rd
    .if \q == COUPLES && \i == 3
    woven_second \on, \op, \j, \b, \s, 1, ldq, q7, \rd
    .elif \q && \q <= COUPLES
    woven_second \on, \op, \j, \b, \s, 1, ldq, q{4 + 2*(\i%2) + \i/2}, [a0 + 32*(\q - COUPLES) + 2048*(\i%2 - 1) + ROW*(\i/2 - 1)]
    .else
    woven_second \on, \op, \j, \b, \s
    .endif
.endm

; Level 2 of column j, result b, with quad i of the pair itself, if `n`.
.macro direct on, op, j, b, s, n, q, i
    .if \n
    woven_second \on, \op, \j, \b, \s, 1, ldq, q{2*(\i%2) + \i/2}, [a0 + 16 + 32*(\q - COUPLES) + 2048*(\i%2 - 1) + ROW*(\i/2 - 1)]
    .else
    woven_second \on, \op, \j, \b, \s
    .endif
.endm

; A frame of pair q of two rows, if `n`; a0 finds the last partners of B for l = 1. one, two, three: the pairs before
; exist; `one` also after a pair 0 whose last rows step by `rd`. a1 points to result 3 of B.
.macro mirrored_frame op, opn, q, n, one, two, three, wr=0, rd=0
    mirrored \two, \op, 0, 0, \q%2, (\q ? \q : COUPLES*\one), 0, \rd
    mirrored \two, \opn, 0, 1, \q%2, (\q ? \q : COUPLES*\one), 1, \rd
    mirrored \two, \op, 1, 0, \q%2, (\q ? \q : COUPLES*\one), 2, \rd
    mirrored \two, \opn, 1, 1, \q%2, (\q ? \q : COUPLES*\one), 3, \rd
    woven_first \one, 1, 0, 1 - \q%2, \three, stq, q17, [a1 - 2064]
    woven_first \one, 1, 1, 1 - \q%2, \three, stq, q19, [a1 - 16]
    woven_first \one, 3, 0, 1 - \q%2, \three, stq, q21, [a1 - 2048]
    woven_first \one, 3, 1, 1 - \q%2, \three, stq, q23, \wr
    .if \q == 0 && \one
    stp r8, [a6]+8
    stp r12, [a6]+8
    stp r10, [a6]+8
    stp r14, [a6]+8
    .endif
    .if \q == 0 && \n
    ldp r8, [a4]+s10%
    ldp r12, [a4]+s10%
    ldp r10, [a4]+s10%
    ldp r14, [a4]+s10%
    .endif
    direct \two, \op, 2, 0, \q%2, \n, \q, 0
    direct \two, \opn, 2, 1, \q%2, \n, \q, 1
    direct \two, \op, 3, 0, \q%2, \n, \q, 2
    direct \two, \opn, 3, 1, \q%2, \n, \q, 3
    woven_first \n, 0, 0, \q%2, \two, stq, q16, [a1 - 2064 - ROW]
    woven_first \n, 0, 1, \q%2, \two, stq, q18, [a1 - 16 - ROW]
    woven_first \n, 2, 0, \q%2, \two, stq, q20, [a1 - 2048 - ROW]
    woven_first \n, 2, 1, \q%2, \two, stq, q22, [a1 - ROW]
.endm

; Two rows after others; rd: step to these, wr: from the last results of those before; with two pairs, before these.
.macro rows op, opn, rd, wr
    .if COUPLES == 4
    mirrored_frame \op, \opn, 0, 1, 1, 1, 1, [a1]+s1%, \rd
    mirrored_frame \op, \opn, 1, 1, 1, 1, 1, [a1]+s1%
    mirrored_frame \op, \opn, 2, 1, 1, 1, 1, \wr
    mirrored_frame \op, \opn, 3, 1, 1, 1, 1, [a1]+s1%
    .else
    mirrored_frame \op, \opn, 0, 1, 1, 1, 1, \wr, \rd
    mirrored_frame \op, \opn, 1, 1, 1, 1, 1, [a1]+s1%
    .endif
.endm

; The rows of a block except the first 4/COUPLES.
.macro others op, opn
    loop COUPLES == 4 ? 6 : 13 {
    rows \op, \opn, [a0]+s3%, [a1]+s2%
    }
    rows \op, \opn, [a0]+s3%, [a1]+s2%
.endm

; Steps: s1 to the next pair's results, s2 to those of the next rows, s4 to those of the next block, s7 after the last;
; s3 and s6 likewise for rows.
.macro pass1 op, opn
    add a0, a8, b0
    add a1, a8, b1
    movi s1, 32
    movi s2, 2*ROW - 32*(COUPLES - 1)
    movi s3, 2*ROW
    mov a4, a12
    mov a6, a12
    movi a2, ones
    ldq q24, [a2]
    ldq q25, [a2]
    wait LOADED
    mirrored_frame \op, \opn, 0, 1, 0, 0, 0
    mirrored_frame \op, \opn, 1, 1, 1, 0, 0
    mirrored_frame \op, \opn, 2%COUPLES, 1, 1, 1, 0, 0, [a0]+s3%
    mirrored_frame \op, \opn, 2%COUPLES + 1, 1, 1, 1, 1, [a1]+s1%
    others \op, \opn
    loop 7 {
    wait LOADED
    .if COUPLES == 4
    rows \op, \opn, [a0]+s6%, [a1]+s4%
    .else
    rows \op, \opn, [a0]+s6%, [a1]+s2%
    rows \op, \opn, [a0]+s3%, [a1]+s4%
    .endif
    others \op, \opn
    }
    mirrored_frame \op, \opn, 0, 0, 1, 1, 1, [a1]+s7%, [a0]
    mirrored_frame \op, \opn, 5, 0, 0, 1, 1, [a1]+s1%
    .rept 4
    nop
    .endr
    stq q17, [a1 - 2064]
    stq q19, [a1 - 16]
    stq q21, [a1 - 2048]
    stq q23, [a1]
.endm

; Pass 2 of the halves l = 0 and 1 of all blocks.
.macro pass2 op, opn, t
    .rept 2, l
    movi a2, factors2 + 64*l
    movi c1, 126
    shared_at \t, 0, 0, 64, 1
    movi a11, 2048*l
    add a11, a11, a8
    .if \t == 2
    pass8 \op, \opn, 2, a11
    .else
    pass8_around \op, \opn, 6, a11, BLOCK
    .endif
    .endr
.endm

; Hook of pass 4 with factors and steps of join8 (inverse_real_pages.s), except that s9, also from the table, steps a2.
.macro joined8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12 && \c
    word \on, \op, \d, \e, \x, \y, \w, ldp, r53, [a4]+s8
    .elif \slot == 17 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a2 + 16]
    .elif \slot == 18 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q27, [a2]+s9
    .elif \slot == 19 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q24, [a2]
    .elif \slot == 20 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s8, [a5]+s5%
    .elif \slot == 21 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldp, r52, [a4 - 8]
    .elif \slot == 22 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s0, [a5]+s5%
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; The hook of pass 4 when a block has been stored.
.macro complete8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 23
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || signal COMPLETE
    .else
    joined8 \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; Passes 3 and 4 on half h = 0, 1 of the page, which lies at `half`.
.macro half op, opn, half, h
    .if P2 == 4
    movi a2, factors3 + 256*\h
    walk4 \op, \opn, 3, 2048, HALF, \half
    .else
    movi a2, factors3 + 512*\h
    movi c1, 126
    shared_at 3, steps3, 256, 512, 1
    pass8 \op, \opn, 3, \half
    .endif
    movi a2, factors4 + 256*P2*\h
    ldq q24, [a2]
    movi s9, 32
    addi a4, a10, 8
    steps_at steps4, 512
    movi a0, xat4
    movi a1, 2048 + yat4
    add a0, a0, \half
    add a1, a1, \half
    frame8 \op, \opn, 4, 0, 0, [a0]+s0, [a1], joined8
    frame8 \op, \opn, 4, 4, 0, [a0]+s0, [a1], joined8
    loop 3 {
    loop 31 {
    frame8 \op, \opn, 4, 4, 4, [a0]+s0, [a1]+s1, joined8
    }
    frame8 \op, \opn, 4, 4, 4, [a0]+s0, [a1]+s1, complete8
    }
    loop 30 {
    frame8 \op, \opn, 4, 4, 4, [a0]+s0, [a1]+s1, joined8
    }
    frame8 \op, \opn, 0, 4, 4, [a0], [a1]+s1, joined8
    tail8 \op, \opn, 4
    signal COMPLETE
.endm

.macro pages op, opn
.page:
    pass1 \op, \opn
    sub c6, a9, a8
    sar c6, c6, 31
    bnz c6, .around
    pass2 \op, \opn, 2
    jmp .halves
.around:
    pass2 \op, \opn, 6
.halves:
    half \op, \opn, a8, 0
    half \op, \opn, a9, 1
    ; Goes on to the half page that is free now, and to the first half of its page.
    sub c6, c7, a8
    sub c6, c6, a9
    mov a9, a8
    mov a8, c6
    sub a10, c9, a10
    movi s10, 8
    addi c12, c12, -1
    bnz c12, .same
    ; In a matrix' first page the numbers that the DMA has loaded begin at the other area.
    movi c12, FULL
    movi s10, 16
    sub a12, c10, a12
.same:
    addi c14, c14, -1
    bnz c14, .page
    stop
.endm

.program
columns:
    ldx c14, [a15]
    movi a8, 0
    movi a9, HALF
    movi c7, RING
    movi b0, 2048 + ROW + 32*COUPLES - 16
    movi b1, 2048 + ROW + 16
    mov l0, c7
    mov l1, c7
    movi s4, BLOCK - 2048 + 2*ROW - 32*(COUPLES - 1)
    movi s5, 8
    movi s6, BLOCK - 2048 + 2*ROW
    movi s7, COUPLES == 4 ? 32 : 2*ROW - 32
    movi a10, turns
    movi c9, 2*turns + 8*COLUMNS
    movi a12, left
    movi b4, left
    movi l4, 2*LEFT
    movi s10, 16
    movi c10, 2*left + LEFT
    movi c12, FULL
    shr c14, c14, 3
    pages bflyc, bflyci

; After the ring: the numbers that are left, then the factors of columns of two pages, which alternate.
.equ left, RING
.equ turns, left + 2*LEFT
.dmem turns + 2*8*COLUMNS
ones:
    .cis 0, 1
    .cis 0, 1
; Factors at p0 = 2 e + l, by l and e.
factors2:
    .rept 4, i
.equ k2_{i}, i%2*2 + i/2
    .cis -4*k2_{i}, 32
    .cis -2*k2_{i}, 32
    .cis -k2_{i}, 32
    .cis -k2_{i} - 4, 32
    .endr
; Factors at p0 + 4 p1, by p1 and l, for both e; for radix 8 by e as well.
    .if P2 == 4
factors3:
    .rept 16, i
.equ k3_{i}, i%2 + i/2*4
    .cis -2*k3_{i}, 128
    .cis -2*k3_{i} - 4, 128
    .cis -k3_{i}, 128
    .cis -k3_{i} - 2, 128
    .endr
    .else
factors3:
    .rept 32, i
.equ k3_{i}, i%2*2 + i/2%2 + i/4*4
    .cis -4*k3_{i}, 256
    .cis -2*k3_{i}, 256
    .cis -k3_{i}, 256
    .cis -k3_{i} - 32, 256
    .endr
    .endif
; Factors at p0 + 4 p1 + 32 p2, by p1, p2 and e, for both l.
factors4:
    .rept 16*P2, i
.equ k4_{i}, i%2*2 + i/2%P2*32 + i/(2*P2)*4
    .cis -2*k4_{i}, N1
    .cis -2*k4_{i} - 2, N1
    .cis -k4_{i}, N1
    .cis -k4_{i} - 1, N1
    .endr
; Iteration i of a block, by p2, q and e: its position, its columns' factors and its own.
    .rept 35, i
.equ at4_{i}, i/32*4096 + i/COLUMNS%P2*4*ROW + i%COLUMNS*16
.equ turn4_{i}, i/2%COUPLES*16
.equ own4_{i}, i/32*64*P2 + i/COLUMNS%P2*64 + i%2*32
    .endr
; Entry i: steps of a0 after iteration i, of a1 after iteration i - 2, of a4 after iteration i, of a2 after i + 1.
steps4:
    .rept 32, i
    .int at4_{i + 1} - at4_{i}, at4_{(i + 30)%32 + 1} - at4_{(i + 30)%32}
    .int turn4_{i + 1} - turn4_{i}, own4_{i + 2} - own4_{i + 1}
    .endr
    .if P2 == 8
; Pass 3: the sets of e = 0, 1 alternate (radix8_pass.s).
steps3:
    .rept 16, i
    .int i%2 || i == 0 ? 32 : -32, i%2 || i == 14 ? 32 : -32
    .int 16 + (i == 15)*7*256, 16 + (i == 1)*7*256
    .endr
    .endif
