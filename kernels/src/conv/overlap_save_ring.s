; Overlap-save with blocks of 4096 complex numbers, through a ring in DMEM.
; Blocks follow each other; each is transformed, multiplied by the transformed taps and transformed back, in place.
;
; A block of 32 KiB occupies eight of the twelve parts of 4 KiB of a ring, so that four parts can
; be in transfer: the last results of one block are stored and the first numbers of the next but one are
; loaded while CP2 works. The taps and the factors of the middle and last passes do not fit
; beside the ring. They are streamed through an area of 12 KiB, broadcast to all sections.
;
; The kernel is launched once; word 0 of the argument block is the number of pages, 24 for every block:
;   0 .. 7     a part of the block has been loaded (event LOADED), and pass 1 has transformed it
;   8 .. 15    an eighth of the middle pass's tables has been loaded (event TABLES) and used
;   16 .. 23   a part of the results is complete; page 16 also brings the last pass's factors
;              (event TABLES)
; Events are posted in the order of these pages, and event COMPLETE is signalled for each. Part j,
; counted through all blocks, lies at 4096 (j mod 12); the host loads part j + 12 when part j is
; stored. Eighth i of the tables lies at AREA + 6144 (i mod 2).
;
; With octal digits, number n = (n0 n1 n2 n3), and p0 .. p2 as in overlap_save.s:
;   pass 1  digit n0 -> p0                                     no factors
;   pass 2  digit n1 -> p1  factors of exp(-2 pi i p0/64)      one set per row p0
;   pass 3  digit n2 -> p2  exp(-2 pi i (p0+8p1)/512)          one per row and part
;   middle  digit n3, eight consecutive numbers, forward, products and back (spectrum_product.s)
;   pass 4  digit p2 -> n2  exp(2 pi i n3/64)                  one per column
;   pass 5  digit p1 -> n1  exp(2 pi i (n3+8n2)/512)           one per column
;   pass 6  digit p0 -> n0  exp(2 pi i (n3+8n2+64n1)/4096)     one per column
; Part n1 (then p1) holds digit n0 (p0) 512 bytes apart, n2 (p2) 64 bytes apart, n3 8 bytes apart.
; So pass 1 needs one part at a time, pass 6 completes one at a time, and all passes are in place.
;
; In a block that begins at part 8 of the ring, parts 4 .. 7 are parts 0 .. 3 of the ring. Passes 2 and 5,
; which take rows from all parts, therefore exist twice.
;
; Factors. Passes 3 and 5 share theirs: records of w^4, w^2, w, w W8, each for columns k and
; k + 1, which pass 3 takes one after the other. Pass 6 is described in fft4096.s: 8 KiB of w^2, w^4 and 4 KiB
; of w, from which w W8 is read backwards.
;
; DMEM: the ring (48 KiB), AREA (12 KiB), then 3 KiB of tables.

.equ M, 8
.equ INVERSE, 1
.equ MID_RING, 1
.equ PART, 4096
.equ RING, 12*PART
.equ BLOCK, 8*PART
.equ AREA, RING
.equ EIGHTH, 6144
.equ PAGES, 24
.equ LOADED, 0
.equ COMPLETE, 1
.equ TABLES, 2

.include "../fft/radix8_iteration.s"
.include "../fft/radix8_pass.s"
.include "../fft/hooks4096.s"
.include "spectrum_product.s"

    distances8 1, 512, 512, 0, 0
    distances8 2, PART, PART, 3, 0
    distances8 7, PART, PART, 3, 0, 16, 1, RING
    distances8 3, 64, 64, 3, 1
    distances8 8, 64, 64, 4, 1
    distances8 5, PART, PART, 1, 0
    distances8 9, PART, PART, 1, 0, 16, 1, RING
; Pass 6 has the number 4, as in fft4096.s, because it uses the hooks of that file.
    distances8 4, 512, 512, 2, 0

; Registers:
;   a0, a1   loads, stores of a pass  s0, s1   their steps
;   a2, a3   its factors              a5       its steps, s5 = 8
;   a8       the block                c7       bytes of the ring, c9 of a block, c8 of the rest
;   a10      w^2, w^4 of pass 6       a11, a12 w forwards, backwards
;   c14      pages left

; Hook of pass 3, which takes the columns of a record one after the other.
.macro apart8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 17 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldp, r50, [a2 - 32]
    .elif \slot == 18 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldp, r49, [a2 - 48]
    .elif \slot == 21 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldp, r52, [a2 - 16]
    .else
    own8 \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; Hook of passes 5 and 9, which advances their pointers: a2 walks w of the records, a3 w W8.
.macro pairs8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12 && \c
    word \on, \op, \d, \e, \x, \y, \w, ldq, q27, [a3]+s3%
    .elif \slot == 17 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a2 - 16]
    .elif \slot == 18 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldp, r49, [a2 - 24]
    .elif \slot == 19 && \n == 9
    word3 \on, \op, \d, \e, \x, \y, \w, addi, a0, a0, 16
    .elif \slot == 20 && \p == 9
    word3 \on, \op, \d, \e, \x, \y, \w, addi, a1, a1, 16
    .elif \slot == 21 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q26, [a2]+s2%
    .elif \slot == 23 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldp, r48, [a2 - 32]
    .else
    plain \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; Sets the pointers of pass t, in place, which go round the ring.
.macro in_ring t
    movi b0, xat{\t}
    movi b1, xat{\t}
    add a0, a8, b0
    mov a1, a0
.endm

; Runs pass t part by part; hook `first` has the last loads of a part except the last part, hook `done` the
; last stores.
.macro by_parts op, opn, t, step, first, done
    in_ring \t
    movi s0, 16
    movi s1, PART - 512 + 16
    frame8 \op, \opn, \t, 0, 0, [a0]+s0%, [a1], \step
    frame8 \op, \opn, \t, \t, 0, [a0]+s0%, [a1], \step
    loop 7 {
    loop 29 {
    frame8 \op, \opn, \t, \t, \t, [a0]+s0%, [a1]+s0%, \step
    }
    frame8 \op, \opn, \t, \t, \t, [a0]+s1%, [a1]+s0%, \first
    frame8 \op, \opn, \t, \t, \t, [a0]+s0%, [a1]+s0%, \step
    frame8 \op, \opn, \t, \t, \t, [a0]+s0%, [a1]+s1%, \done
    }
    loop 30 {
    frame8 \op, \opn, \t, \t, \t, [a0]+s0%, [a1]+s0%, \step
    }
    frame8 \op, \opn, 0, \t, \t, [a0], [a1]+s0%, \step
    tail8 \op, \opn, \t
    signal COMPLETE
.endm

; Pass 2, or pass 7 for a block in which the ring ends.
.macro forward_across t
    movi c1, 254
    movi a2, rows2
    shared_at \t, steps2, 256, 256, 32
    .if \t == 2
    pass8 bfly, bflyn, \t, a8
    .else
    pass8_around bfly, bflyn, \t, a8, PART
    .endif
.endm

; Pass 5, or pass 9 for a block in which the ring ends.
.macro back_across t, rd, wr
    movi a2, records + 32
    movi a3, records + 48
    .rept 2, i
    mov b{2 + i}, a{2 + i}
    movi l{2 + i}, 2048
    movi s{2 + i}, 64
    .endr
    movi a0, xat{\t}
    add a0, a0, a8
    mov a1, a0
    frame8 bflyc, bflyci, \t, 0, 0, \rd, [a1], pairs8
    frame8 bflyc, bflyci, \t, \t, 0, \rd, [a1], pairs8
    loop 254 {
    frame8 bflyc, bflyci, \t, \t, \t, \rd, \wr, pairs8
    }
    frame8 bflyc, bflyci, 0, \t, \t, [a0], \wr, pairs8
    tail8 bflyc, bflyci, \t
.endm

; The middle pass; each iteration reads the tables of the next one.
.macro middle
    movi b0, 112
    movi b1, 112
    movi a2, AREA
    mov b2, a2
    movi l2, 2*EIGHTH
    mid_steps
    wait TABLES
    mid_first
    loop 31 {
    mid_iteration
    }
    loop 7 {
    signal COMPLETE
    wait TABLES
    loop 32 {
    mid_iteration
    }
    nop
    }
    ; The last iteration loads from loaded addresses only; the loaded values are not used.
    mov a0, a1
    mid_iteration
    signal COMPLETE
.endm

.program
.entry start
start:
    ldx c14, [a15]
    movi a8, 0
    movi c7, RING
    movi c8, RING - BLOCK
    movi c9, BLOCK
    mov l0, c7
    mov l1, c7
    movi s5, 8
    movi a7, constants
    ldq q30, [a7]
block:
    wait LOADED
    by_parts bfly, bflyn, 1, plain, await, block_p
    sub c6, a8, c9
    bz c6, around2
    forward_across 2
pass3:
    movi c1, 254
    movi a2, records
    shared_at 3, steps3, 128, 2048, 4
    addi a2, a2, 24
    mov b2, a2
    in_ring 3
    walk8 bfly, bflyn, 3, [a0]+s0%, [a1]+s1%, apart8
    middle
    movi c1, 254
    movi a2, records4
    records_at steps4, 32, 256
    in_ring 8
    walk8 bflyc, bflyci, 8, [a0]+s0%, [a1]+s1%
    sub c6, a8, c9
    bz c6, around5
    back_across 5, [a0]+16, [a1]+16
pass6:
    movi a10, AREA
    movi a11, AREA + 8192
    movi a12, AREA + 8192 + 8*511
    wait TABLES
    by_parts bflyc, bflyci, 4, along, along, block_p
    ; The next block begins eight parts further on.
    sub a8, a8, c8
    sar c6, a8, 31
    and c6, c6, c7
    add a8, a8, c6
    addi c14, c14, -PAGES
    bnz c14, block
    stop
around2:
    forward_across 7
    jmp pass3
around5:
    back_across 9, [a0 - PART], [a1 - PART]
    jmp pass6

; A set of factors w^4, w^2, w, w W8 of W^k, W = exp(-2 pi i/den).
.macro set k, den
    .cis -4*(\k), \den
    .cis -2*(\k), \den
    .cis -(\k), \den
    .cis -(\k) - \den/8, \den
.endm

.dmem AREA + 2*EIGHTH
    ; The last w of pass 6.
    .cis -512, 4096
    .align 16
    mid_constants
rows2:
    .rept 8, k
    set k, 64
    .endr
records:
    .rept 32, i
    .rept 2, c
    .cis -4*(2*i + c), 512
    .endr
    .rept 2, c
    .cis -2*(2*i + c), 512
    .endr
    .rept 2, c
    .cis -(2*i + c), 512
    .endr
    .rept 2, c
    .cis -(2*i + c) - 64, 512
    .endr
    .endr
; Records in the form of radix8_pass.s, with the columns in pairs.
records4:
    .rept 4, i
    .cis -4*i, 64
    .cis -2*(2*i + 1), 64
    .cis -4*((2*i + 2) % 8), 64
    .cis -4*(2*i + 1), 64
    .cis -2*i, 64
    .cis -(2*i + 1), 64
    .cis -2*i - 8, 64
    .cis -(2*i + 1) - 8, 64
    .endr
steps2:
    .rept 32, j
    .int 32*(j == 0), 32*(j == 30)
    .endr
; A record serves two rows of four iterations each.
steps3:
    .rept 8, j
    .int (j == 0)*56 + (j == 4)*8, (j == 6)*56 + (j == 2)*8, j % 4 == 3 ? 464 : 16, j % 4 == 1 ? 464 : 16
    .endr
steps4:
    .rept 4, j
    .int j == 3 ? 464 : 16, j == 1 ? 464 : 16
    .endr
