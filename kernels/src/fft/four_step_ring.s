; Four-step FFT with lines of 1024 or 2048 points, through a ring in DMEM.
; Lines are columns, or rows at shifted frequencies, and pages are moved in eighths (docs/fft-large.md).
;
; The caller defines (program.rs does):
;   INVERSE  0: exp(-2 pi i jk/N), 1: exp(+2 pi i jk/N); neither is scaled
;   ROWS     0: columns, 1: rows
;   COUPLES  1: a page is a pair of lines A and B of 2048; 2: two pairs of lines of 1024
;   AXIS0 .. AXIS3  for columns: the axis, 0 or 1, of pass 1 .. 4; all 0 if there is one axis
;   CROSSED  1: for columns, pass 1 is along two axes, 2 x 2 numbers: level 1 along AXIS0, level 2 along the other axis
;   SHIFT, MATRIX   for columns: the frequencies of axis 0 are shifted by SHIFT/MATRIX
;   WOVEN    1: rows of 2048 from half a spectrum (four_step_row_ring.s), INVERSE is 1; quads of A and B alternate
;   SEPARATE 1: columns of 2048 that are pairs of real ones (real_column_ring.s)
;
; A section's page of 32 KiB occupies eight of the twelve blocks of 4 KiB of a ring; the lines of
; a pair are neighbours in the matrix. The kernel is launched once for all pages; word 0
; of the argument block is the number of blocks, 8 for each page. Block j, counted through all
; pages, lies at 4096 (j mod 12). Event 0 is posted for every block that has been loaded, with an
; eighth of the page's factors in front of it (rows), in order; event 1 is signalled for every block
; whose results are complete, in order. The host loads block j + 12 when block j is stored.
;
; With digits n = L/4 n0 + L/32 n1 + 8 n2 + n3, k = p0 + 4 p1 + 32 p2 + L/8 p3, L = 2048 or 1024:
;   pass 1  n0 -> p0, radix 4, block after block; CROSSED: n0 = 2 a + b, p0 = a' + 2 b', with a and a' along AXIS0
;   pass 2  n1 -> p1, radix 8, over the eight blocks
;   pass 3  n2 -> p2, radix 8, or 4 where L = 1024, in a block
;   pass 4  n3 -> p3, radix 8, in a block, which is then complete
; All passes are in place. Passes 3 and 4 treat four blocks, a half page, and then the other four, so that blocks are
; stored and loaded from the middle of a page's time on. A half page is contiguous: the ring is
; three of them. In a page whose first half is the last of the ring, rows 4 .. 7 of pass 2 lie
; before rows 0 .. 3; pass 6 is this form of pass 2.
;
; Block n1 (then p1) of a page holds, in bytes, with c = 0, 1 for the pair where there are two,
;   columns   1024 n0 + 128 COUPLES n2 + 16 COUPLES n3 + 16 c + 8 (B)      result p0, p2, p3 likewise
;   rows      1024 n0 + 512 c + 128 n2 + 64 (B) + 8 n3      result 1024 p0 + 512 c + 128 p2 + 16 p3 + 8 (B)
; The numbers of a quad, columns A and B or numbers n3, n3 + 1 of a row, share their
; factors, except in the last pass of rows, where A and B each have their own (radix8_twiddle_transpose.s).
;
; Factors of rows, 2384 or 2720 bytes for a page: pass 1 for each pair w^2 of A, B, w of A, B; pass 2
; for (p0 row) w^4, w^2, w, w W8; pass 3 for (p1 p0 row) likewise, or for (p1 p0 pair) as
; pass 1; pass 4 for each pair the powers 4, 2, 1 of A and B.
;
; DMEM: the ring, 48 KiB; after it 8 KiB of factors of pass 4 (4 for columns of 1024); for rows two
; buffers of 2.4 or 2.8 KiB for their factors, else 1.2 KiB at most.
; Cycles of a page on vm7 if no data is late: columns 22528 and 359, rows 24576 and 371; with
; two pairs 20480 and 393, 22528 and 523.
; Defaults, which definitions by the caller replace.
.equ INVERSE, 0
.equ ROWS, 0
.equ COUPLES, 1
.equ AXIS0, 0
.equ AXIS1, 0
.equ AXIS2, 0
.equ AXIS3, 0
.equ CROSSED, 0
.equ SHIFT, 0
.equ MATRIX, 1
.equ REAL, 0
.equ WOVEN, 0
.equ SEPARATE, 0

.if COUPLES != 1 && COUPLES != 2
.error "COUPLES must be 1 or 2"
.endif

.include "radix8_iteration.s"
.include "radix8_pass.s"
.include "radix4_iteration.s"
.include "in_place_passes.s"
.include "radix8_twiddle_transpose.s"
.include "four_step_row_ring.s"

.equ BLOCK, WOVEN ? 4160 : 4096
.equ HALF, 4*BLOCK
.equ RING, 12*BLOCK
.equ LOADED, 0
.equ COMPLETE, 1
; Bytes of the factors of a page of rows, in eighths that are multiples of 16 bytes.
.equ FACTORS, 8*(256 + 48*COUPLES)

; Sets of pass 4 in 1024 bytes: rows have one for every 128 bytes, columns share theirs.
.equ SETS, ROWS ? 8 : 8/COUPLES
; 1: pairs of rows with factors of their own alternate in a block.
.equ TURNS, ROWS*(COUPLES - 1)

; Distance from number 0 of A to number 0 of B.
.equ APART, WOVEN ? 16 : 64

    .include "real_column_ring.s"

; Registers: a8, a9 halves of the page, a10 its factors, a6 (columns) those of pass 1, c7 bytes of the ring, c9 sum of
; the addresses of the factor buffers, c14 pages left.

; Radix 4: columns 0 .. 3 of an iteration are of columns A B A B, or of rows A A B B.
.equ apart2, 1024
.equ beside2, ROWS && !WOVEN ? 64 : 16
.equ own2, ROWS
    distances8 2, BLOCK, BLOCK, 3, 0
    .if COUPLES == 1
    distances8 3, 128, 128, 3, 1
    distances8 4, 16, 16, 3, 0, 128, 0
    .else
    .if ROWS
    distances4 3, 512, 16, 64, 1
    .else
    distances4 3, 1024
    .endif
    distances8 4, 32, 32, 3, 1
    .endif
; Pass 2 if rows 4 .. 7 lie before rows 0 .. 3.
    distances8 6, BLOCK, BLOCK, 3, 0, 16, 1, RING

; The hook of pass 4 when a block has been stored.
.macro done8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 23
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || signal COMPLETE
    .else
    own8 \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; Four iterations of pass 1 through 128 bytes of a row; new: the third is the first of pair c = 1.
.macro four op, opn, new
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s2%, [a1]+s1%
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%, \new, [a10 + 32]
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s2%, 2*\new, [a10 + 48]
.endm

; The iterations of pass 1 in a block except the first two. s1, s2, s3 are the steps to the
; next quads, to the next n2 and to the next block.
.macro inside op, opn
    .if TURNS
    loop 3 {
    four \op, \opn, 0
    }
    four \op, \opn, 1
    loop 3 {
    four \op, \opn, 0
    }
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%
    .elif ROWS
    loop 7 {
    four \op, \opn, 0
    }
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%
    .else
    loop 29 {
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%
    }
    .endif
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s3%, [a1]+s1%
.endm

.macro pass1 op, opn
    movi b0, 3*apart2 + beside2
    movi b1, 3*apart2 + beside2
    mov l0, c7
    mov l1, c7
    add a0, a8, b0
    mov a1, a0
    movi s1, ROWS ? 16 : 32
    movi s2, 80
    movi s3, 3072 + (ROWS ? 80 : 32)
    wait LOADED
    .if ROWS
    ldq q24, [a10]
    ldq q25, [a10 + 16]
    .else
    ldq q24, [a6]
    .endif
    frame4 \op, \opn, 2, 1, 0, 0, [a0]+s1%, [a1]+s1%
    frame4 \op, \opn, 2, 1, 1, 0, [a0]+s1%, [a1]+s1%
    inside \op, \opn
    loop 7 {
    wait LOADED
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%, TURNS, [a10]
    frame4 \op, \opn, 2, 1, 1, 1, [a0]+s1%, [a1]+s3%, 2*TURNS, [a10 + 16]
    inside \op, \opn
    }
    frame4 \op, \opn, 2, 0, 1, 1, [a0]+s1%, [a1]+s1%
    tail4 \op, \opn, 2
.endm

.macro pass2 op, opn, t
    .if ROWS
    addi a2, a10, 32*COUPLES
    .else
    movi a2, factors2
    .endif
    movi c1, 254
    shared_at \t, steps2, 512, ROWS ? 256*COUPLES : 128, WOVEN ? 1 : ROWS ? 4 : 64
    .if \t == 2
    pass8 \op, \opn, 2, a8
    .else
    pass8_around \op, \opn, 6, a8, BLOCK
    .endif
.endm

; Passes 3 and 4 on half h = 0, 1 of the page, which lies at `half`.
.macro half_page op, opn, half, h
    .if ROWS
    addi a2, a10, 288*COUPLES + 1024*\h
    .else
    movi a2, factors3 + 512/COUPLES*\h
    .endif
    .if COUPLES == 1
    movi c1, 126
    shared_at 3, steps3, WOVEN ? 512 : 128, ROWS ? 1024 : 512, WOVEN ? 1 : ROWS ? 4 : 8
    pass8 \op, \opn, 3, \half
    .else
    walk4 \op, \opn, 3, (ROWS ? 512 : 1024), HALF, \half
    .endif
    .if SEPARATE
    parted_half \half, \h
    .else
    movi a2, factors4 + 512*SETS*\h
    .if ROWS
    shifted_half \op, \opn, \half
    .elif COUPLES == 1
    shared_at 4, 0, 0, 4096, 1
    columns_half \op, \opn, \half, [a0]+128, [a1]+128
    .else
    shared_at 4, steps4, 32, 2048, 2
    columns_half \op, \opn, \half, [a0]+s0, [a1]+s1
    .endif
    .endif
.endm

.macro columns_half op, opn, half, rd, wr
    movi a0, xat4
    add a0, a0, \half
    mov a1, a0
    frame8 \op, \opn, 4, 0, 0, \rd, [a1], own8
    frame8 \op, \opn, 4, 4, 0, \rd, [a1], begin8
    loop 3 {
    loop 31 {
    frame8 \op, \opn, 4, 4, 4, \rd, \wr, own8
    }
    frame8 \op, \opn, 4, 4, 4, \rd, \wr, done8
    }
    loop 30 {
    frame8 \op, \opn, 4, 4, 4, \rd, \wr, own8
    }
    frame8 \op, \opn, 0, 4, 4, [a0], \wr, own8
    tail8 \op, \opn, 4
    signal COMPLETE
.endm

.macro pages op, opn
.page:
    .if WOVEN
    woven_pass1 \op, \opn
    .elif CROSSED
    ; Pass 1 along two axes has no factor -i between its levels.
    pass1 \op, \op
    .else
    pass1 \op, \opn
    .endif
    sub c6, a9, a8
    sar c6, c6, 31
    bnz c6, .around
    pass2 \op, \opn, 2
    jmp .halves
.around:
    pass2 \op, \opn, 6
.halves:
    half_page \op, \opn, a8, 0
    half_page \op, \opn, a9, 1
    ; Goes on to the half page that is free now, and to the first half of its page.
    sub c6, c7, a8
    sub c6, c6, a9
    mov a9, a8
    mov a8, c6
    .if ROWS
    sub a10, c9, a10
    .endif
    addi c14, c14, -1
    bnz c14, .page
    stop
.endm

.program
    .if ROWS
rows:
    .else
columns:
    .endif
    ldx c14, [a15]
    movi a8, 0
    movi a9, HALF
    movi c7, RING
    movi s5, 8
    .if ROWS
    movi a10, row_factors
    movi c9, 2*row_factors + FACTORS
    .else
    movi a6, constants
    .endif
    shr c14, c14, 3
    .if INVERSE
    pages bflyc, bflyci
    .else
    pages bfly, bflyn
    .endif

; Factors at frequency k of an axis, of which `done` numbers are transformed, for a pass: radix 8, and radix 4.
.macro set axis, k, done
    .if \axis == 0
    set_at (\k)*MATRIX + SHIFT, (\done)*MATRIX
    .else
    set_at \k, \done
    .endif
.endm
.macro set_at k, den
    .cis -4*(\k), \den
    .cis -2*(\k), \den
    .cis -(\k), \den
    .cis -(\k) - (\den)/8, \den
.endm
.macro short_set axis, k, done
    .if \axis == 0
    .cis -2*((\k)*MATRIX + SHIFT), (\done)*MATRIX
    .cis -((\k)*MATRIX + SHIFT), (\done)*MATRIX
    .else
    .cis -2*(\k), \done
    .cis -(\k), \done
    .endif
.endm

; Numbers of the axis of pass t + 1 that pass 1 has transformed; modulo their count p0 has result p0/by{t}.
.macro first t
    .equ first{\t}, CROSSED ? 2 : (AXIS0 == AXIS{\t} ? 4 : 1)
    .equ by{\t}, 1 + CROSSED*(AXIS0 != AXIS{\t})
.endm
    first 1
    first 2
    first 3

; Numbers of the same axis that are transformed before a pass.
.equ DONE1, first1
.equ DONE2, first2*(AXIS1 == AXIS2 ? 8 : 1)
.equ DONE3, first3*(AXIS1 == AXIS3 ? 8 : 1)*(AXIS2 == AXIS3 ? 8/COUPLES : 1)

.dmem RING + 32*SEPARATE
    .if ROWS
; Buffers for the caller's factors of two pages, which alternate.
row_factors:
    .space 2*FACTORS
    .else
constants:
    .if CROSSED
    .cis -SHIFT*(AXIS0 == 0), 2*MATRIX
    .cis -SHIFT*(AXIS0 != 0), 2*MATRIX
    .else
    short_set AXIS0, SEPARATE, 4
    .endif
factors2:
    .rept 4, p0
    set AXIS1, p0/by1%first1 - 7*SEPARATE, 8*DONE1
    .endr
factors3:
    .rept 32, i
.equ k3_{i}, (i%4/by2%first2 + i/4*(AXIS1 == AXIS2)*first2 + 25*SEPARATE)%32
    .if COUPLES == 1
    set AXIS2, k3_{i}, 8*DONE2
    .else
    short_set AXIS2, k3_{i}, 4*DONE2
    .endif
    .endr
    .endif
factors4:
    .rept SEPARATE ? 0 : 32*SETS, i
.equ k4_{i}, i/SETS%4/by3%first3 + i/(4*SETS)*(AXIS1 == AXIS3)*first3 + i%(8/COUPLES)*(AXIS2 == AXIS3)*first3*(AXIS1 == AXIS3 ? 8 : 1)
    set AXIS3, k4_{i}, 8*DONE3
    .endr
    .if SEPARATE
    parted_tables
    .endif
; Index of the set of iteration j - 1 of pass 2.
    .rept 67, j
.equ set2_{j}, WOVEN ? (j + 63)/64*2 + (j + 63)%2 : ROWS ? (j + 63)/64*2*COUPLES + (j + 63)%64/32*2*(COUPLES - 1) + (j + 63)%8/4 : (j + 63)/64
    .endr
steps2:
    .rept 64, j
    .int 32*(set2_{j + 1} - set2_{j}), 32*(set2_{j + 3} - set2_{j + 2})
    .endr
    .if WOVEN
steps3:
    woven_steps
    .elif COUPLES == 1
steps3:
    .rept 8, j
    .int 32*(j%(ROWS ? 4 : 8) == 0), 32*((j + 2)%(ROWS ? 4 : 8) == 0), j == 7 ? 912 : 16, j == 1 ? 912 : 16
    .endr
    .elif !ROWS
steps4:
    .rept 2, j
    .int 32*(j == 0), 32*(j == 0), j ? 240 : 16, j ? 240 : 16
    .endr
    .endif
