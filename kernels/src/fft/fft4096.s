; FFTs of 4096 complex numbers, in place in a ring of blocks in DMEM.
;
; The caller defines INVERSE, 0 or 1, and REAL. REAL = 1: the numbers are 8192 real ones
; and the result is half of their spectrum, or the inverse. Launched once for T transforms of every
; section; word 0 of the argument block is the number of blocks, 8 T.
;
; A transform of 32 KiB stays in place in eight of the twelve blocks of 4 KiB of
; a ring, so that four blocks can be in transfer: the last results of one transform
; are stored and the first numbers of the next but one are loaded while CP2 works.
; Block j (counted through all transforms) lies at 4096 (j mod 12). Event 0 is
; posted for every block that has been loaded, in order; event 1 is signalled for
; every block whose results are complete, in order. The host loads block j + 12
; when block j is stored.
;
; With octal digits, number n = (n0 n1 n2 n3), result k = (p3 p2 p1 p0):
;   pass 1  digit n0 -> p0                                     no factors
;   pass 2  digit n1 -> p1  factors of exp(-2 pi i p0/64)      one per row p0
;   pass 3  digit n2 -> p2  exp(-2 pi i (p0+8p1)/512)          one per row and block
;   pass 4  digit n3 -> p3  exp(-2 pi i (p0+8p1+64p2)/4096)    one per column
; Block n1 (then p1) of a transform holds, in bytes,
;   loaded         512 n2 + 64 n0 + 8 n3
;   after pass 1   512 n2 + 128 (p0/2) + 64 (n3%2) + 16 (n3/2) + 8 (p0%2)
;   after pass 4   512 p2 + 128 (p0/2) + 16 p3 + 8 (p0%2)
; So pass 1 needs one block at a time, pass 4 completes one block at a time,
; the columns of a pair are p0 and p0 + 1 from pass 2 on, and an iteration writes
; to the places that it has read. The store takes (p0/2, p2, p3) in that order: runs of 64
; bytes in system memory.
;
; In a transform that begins at block 8 of the ring, blocks 4..7 are blocks 0..3 of the ring. Pass 2,
; which takes rows from all blocks, therefore exists twice; its second form is pass 5.
;
; Factors. Passes 2 and 3 load theirs when the row changes. Pass 4 would need 16 KiB, but
; w' = W8 w and W^(512-k) = W8 conj(W^k), W = exp(-2 pi i/4096), so that
;   w'(k) = -i conj(W^(512-k)),
; The pass reads w' from the table of w, backwards, as a factor of bflycn and bflyc.
;
; DMEM: the ring, 48 KiB, and 14.3 KiB of tables behind it.
; Cycles: T (24576 + 88), 7 more for every third transform, and 78, if no data is late.
;
; With REAL, forward: pass 1 halves its results. Pass 4 and the split of the spectrum are in "separate4096.s",
; generated for the machine by mixed_radix/ring4096_split.rs, which takes column c of blocks 0 .. 7
; together with column 512 - c. Block p1 is therefore complete at nearly the time of block 7 - p1; the order is
; 0 7 1 6 2 5 3 4. With REAL, inverse: "join4096.s" (mixed_radix/ring4096_merge.rs) has the merge and pass 1; it takes
; the blocks 3 2 1 0 together with 4 5 6 7. Transforms do not overlap.

; Defaults, which definitions by the caller replace.
.equ INVERSE, 0
.equ REAL, 0

.include "radix8_iteration.s"

.equ BLOCK, 4096
.equ RING, 12*BLOCK
.equ LOADED, 0
.equ COMPLETE, 1

; Constants that radix8_iteration.s expects of pass t, in place: rows and results at
; distances r1, r2, r4 and o1, o2, o4, the pointers x and y bytes from the first.
.macro pass t, at, r1, r2, r4, x, o1, o2, o4, y, layout, factors
    .equ set{\t}, \at
    .equ row1_{\t}, \r1
    .equ row2_{\t}, \r2
    .equ row4_{\t}, \r4
    .equ xat{\t}, \x
    .equ out1_{\t}, \o1
    .equ out2_{\t}, \o2
    .equ out4_{\t}, \o4
    .equ yat{\t}, \y
    .equ zs{\t}, \layout
    .equ tw{\t}, \factors
.endm
    pass 1, 0, 64, 128, 256, 448, 128, 256, 64, 448, 1, 6*(REAL && !INVERSE)
    pass 2, 8, BLOCK, 2*BLOCK, 4*BLOCK, 7*BLOCK, BLOCK, 2*BLOCK, 4*BLOCK, 7*BLOCK, 2, 1
    pass 3, 2, 512, 1024, 2048, 3584, 512, 1024, 2048, 3584, 2, 1
    pass 4, 4, 64, 16, 32, 112, 16, 32, 64, 112, 2, 2
    pass 5, 13, BLOCK, 2*BLOCK, 4*BLOCK - RING, -4*BLOCK, BLOCK, 2*BLOCK, 4*BLOCK - RING, -4*BLOCK, 2, 1
; Address registers that walk the factors of passes 2, 3, 5.
.equ fac2, 6
.equ fac3, 7
.equ fac5, 6

; Registers:
;   a0, a1    pass 1 reads, writes    a6, a7    factors of passes 2, 3
;   a2, a3    pass 3                  a10       w^2, w^4 of pass 4
;   a4, a5    pass 4                  a11, a12  w forwards, w of 512 - k backwards
;   a8, a9    pass 2                  a13, a14  pass 2 where the ring ends in it
;   s0, s1    steps of pass 1: a pair of columns, and to the next row n2 too
;   s2        step of pass 3 to the next block     s3   step of pass 4
;   s4        step of factors                      s5   16 KiB
;   s6, s7    from the first block to a8, a13      c7   bytes of the ring
;   c1        transforms left   c5   first block of the transform   c6   0, or it has come round
; All except a8, a9, a13, a14 advance through the ring and the tables from transform to transform.

.include "hooks4096.s"

; Four frames of pass 1, which are a row n2; the third has a hook.
.macro four1 op, opn, hook
    frame8 \op, \opn, 1, 1, 1, [a0]+s0%, [a1]+s0%, plain
    frame8 \op, \opn, 1, 1, 1, [a0]+s1%, [a1]+s0%, \hook
    frame8 \op, \opn, 1, 1, 1, [a0]+s0%, [a1]+s0%, plain
    frame8 \op, \opn, 1, 1, 1, [a0]+s0%, [a1]+s1%, plain
.endm

; Pass 2 or 5 between pass `before` (1, or 0 for none) and pass 3; its last loads and stores are at rd, wr.
.macro pass2 op, opn, t, before, rd, wr
    frame8 \op, \opn, \t, \before, \before, \rd, [a1]+s0%, due1
    frame8 \op, \opn, \t, \t, \before, \rd, [a1]+s1%, due0
    loop 31 {
    .rept 5
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, hold
    .endr
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, due2
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, due1
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, due0
    }
    .rept 6
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, hold
    .endr
    frame8 \op, \opn, 3, \t, \t, [a2]+s0%, \wr, due1
    frame8 \op, \opn, 3, 3, \t, [a2]+s0%, \wr, due0
.endm

; Eight frames of pass 3, which share a set of factors; s{jump} is the last step.
.macro eight3 op, opn, jump
    .rept 5
    frame8 \op, \opn, 3, 3, 3, [a2]+s0%, [a3]+s0%, hold
    .endr
    frame8 \op, \opn, 3, 3, 3, [a2]+s{\jump}%, [a3]+s0%, due2
    frame8 \op, \opn, 3, 3, 3, [a2]+s0%, [a3]+s0%, due1
    frame8 \op, \opn, 3, 3, 3, [a2]+s0%, [a3]+s{\jump}%, due0
.endm

; Four frames of pass 4, which are a row p2.
.macro four4 op, opn, second, third, fourth
    frame8 \op, \opn, 4, 4, 4, [a4]+s3%, [a5]+s3%, along
    frame8 \op, \opn, 4, 4, 4, [a4]+s3%, [a5]+s3%, \second
    frame8 \op, \opn, 4, 4, 4, [a4]+s3%, [a5]+s3%, \third
    frame8 \op, \opn, 4, 4, 4, [a4]+s3%, [a5]+s3%, \fourth
.endm

; Pass 1 without its first two and its last two frames.
.macro first op, opn, origin
    loop 7 {
    loop 7 {
    four1 \op, \opn, plain
    }
    four1 \op, \opn, await
    }
    loop 7 {
    four1 \op, \opn, plain
    }
    frame8 \op, \opn, 1, 1, 1, [a0]+s0%, [a1]+s0%, \origin
    frame8 \op, \opn, 1, 1, 1, [a0]+s1%, [a1]+s0%, choose
.endm

; Passes 2 and 3 without the last two frames, after pass `before`.
.macro middle op, opn, before
    pass2 \op, \opn, 2, \before, [a8]+16, [a9]+16
pass3:
    loop 7 {
    loop 3 {
    eight3 \op, \opn, 0
    }
    eight3 \op, \opn, 2
    }
    loop 3 {
    eight3 \op, \opn, 0
    }
    .rept 5
    frame8 \op, \opn, 3, 3, 3, [a2]+s0%, [a3]+s0%, hold
    .endr
    frame8 \op, \opn, 3, 3, 3, [a2]+s2%, [a3]+s0%, hold
.endm

; Pass 4 after pass 3, without the last frame that loads rows.
.macro fourth op, opn
    frame8 \op, \opn, 4, 3, 3, [a4]+s3%, [a3]+s0%, along
    frame8 \op, \opn, 4, 4, 3, [a4]+s3%, [a3]+s2%, along
    loop 7 {
    loop 7 {
    four4 \op, \opn, row_n, row_c, along
    }
    four4 \op, \opn, block_n, block_c, block_p
    }
    loop 7 {
    four4 \op, \opn, row_n, row_c, along
    }
    frame8 \op, \opn, 4, 4, 4, [a4]+s3%, [a5]+s3%, along
.endm

; The end of pass 4, with no pass after it.
.macro end4 op, opn
    frame8 \op, \opn, 0, 4, 4, [a0], [a5]+s3%, last_c
    tail8 \op, \opn, 4
    signal COMPLETE
.endm

; Pass 2 of a transform in which the ring ends.
.macro around op, opn, before
round:
    pass2 \op, \opn, 5, \before, [a13 - BLOCK], [a14 - BLOCK]
    jmp pass3
.endm

.macro transforms op, opn
    wait LOADED
    frame8 \op, \opn, 1, 0, 0, [a0]+s0%, [a1], plain
    frame8 \op, \opn, 1, 1, 0, [a0]+s0%, [a1], plain
next:
    first \op, \opn, begin
    middle \op, \opn, 1
    fourth \op, \opn
    frame8 \op, \opn, 4, 4, 4, [a4]+s3%, [a5]+s3%, last_n
    wait LOADED
    frame8 \op, \opn, 1, 4, 4, [a0]+s0%, [a5]+s3%, last_c
    frame8 \op, \opn, 1, 1, 4, [a0]+s0%, [a5]+s3%, last_p
out:
    end4 \op, \opn
    stop
    around \op, \opn, 1
.endm

; Resets the pointers to the factors of pass 4.
.macro factors4
    movi a10, twiddles4
    movi a11, powers
    movi a12, powers + 8*511
.endm

; Sets c5 to the first block of the next transform, as `begin` of hooks4096.s does.
.macro onwards
    sub c5, c5, s5
    sar c6, c5, 31
    and c6, c6, c7
    add c5, c5, c6
.endm

; Sets the pointers of pass t to its first rows and results.
.macro at_first t
    .rept 2, i
    movi b{set{\t} + i}, xat{\t}
    movi a{set{\t} + i}, xat{\t}
    add a{set{\t} + i}, a{set{\t} + i}, c5
    .endr
.endm

; Transforms from half spectra to real numbers.
.macro joined op, opn
next:
    onwards
    .rept 5
    wait LOADED
    .endr
    .include "join4096.s"
    at_first 3
    at_first 4
    factors4
    add a8, c5, s6
    add a13, c5, s7
    mov a9, a8
    mov a14, a13
    bnz c6, round
    middle \op, \opn, 0
    fourth \op, \opn
    frame8 \op, \opn, 4, 4, 4, [a4]+s3%, [a5]+s3%, along
    end4 \op, \opn
    addi c1, c1, -1
    bnz c1, next
    stop
    around \op, \opn, 0
.endm

.program
.entry start
start:
    ldx c1, [a15]                   ; blocks
    movi a6, constants
    ldq q30, [a6]
    .rept 2, i
    movi b{i}, xat1
    movi b{2 + i}, xat3
    movi b{4 + i}, xat4
    movi a{i}, xat1
    movi a{2 + i}, xat3
    movi a{4 + i}, xat4
    .endr
    .rept 6, i
    movi l{i}, RING
    .endr
    movi a6, twiddles2 + 48
    movi b6, twiddles2 + 48
    movi l6, 256
    movi a7, twiddles3 + 48
    movi b7, twiddles3 + 48
    movi l7, 2048
    .if !REAL
    factors4
    .endif
    movi s0, 16
    movi s1, 512 - 48
    movi s2, BLOCK - 512 + 16
    movi s3, 128
    movi s4, 64
    movi s5, 4*BLOCK
    movi s6, xat2
    movi s7, xat5
    movi c5, 4*BLOCK
    movi c7, RING
    shr c1, c1, 3                   ; transforms
    .if REAL && INVERSE
    movi a10, constants
    ldq q31, [a10 + 16]
    joined bflyc, bflyci
    .elif REAL
next:
    movi a10, constants
    ldq q31, [a10 + 16]
    ldq q24, [a10 + 32]
    onwards
    at_first 1
    at_first 3
    wait LOADED
    frame8 bfly, bflyn, 1, 0, 0, [a0]+s0%, [a1], plain
    frame8 bfly, bflyn, 1, 1, 0, [a0]+s0%, [a1], plain
    first bfly, bflyn, plain
    middle bfly, bflyn, 1
    frame8 bfly, bflyn, 0, 3, 3, [a2], [a3]+s0%, hold
    tail8 bfly, bflyn, 3
    .include "separate4096.s"
    addi c1, c1, -1
    bnz c1, next
    stop
    around bfly, bflyn, 1
    .elif INVERSE
    transforms bflyc, bflyci
    .else
    transforms bfly, bflyn
    .endif

; A record of w^2, w^4, w, w W8 of W^k and W^(k+1), W = exp(-2 pi i/den).
.macro factors k, den
    .cis -2*(\k), \den
    .cis -2*(\k) - 2, \den
    .cis -4*(\k), \den
    .cis -4*(\k) - 4, \den
    .cis -(\k), \den
    .cis -(\k) - 1, \den
    .cis -(\k) - \den/8, \den
    .cis -(\k) - 1 - \den/8, \den
.endm

.if REAL && INVERSE
.dmem
.align 16
constants:
    .cis 0, 8
    .cis -1, 8
    .cis -1, 8192
    .complex 0, 0
.elif REAL
.dmem
.align 16
constants:
    .cis 0, 8
    .complex cos(1.0/8)/2, -sin(1.0/8)/2
    .complex 0.5, 0
    .complex 0, 0
    .float 0.5, 0.5, 0.5, 0.5
.else
.dmem RING
constants:
    .cis 0, 8
    .cis -1, 8
.endif
twiddles2:
    .rept 4, h
    factors 2*h, 64
    .endr
twiddles3:
    .rept 32, i
    factors 2*(i % 4) + 8*(i/4), 512
    .endr
.if !REAL || INVERSE
; Column pair i = (p1 p2 h), k = 2h + 8 p1 + 64 p2: w^2 of k and k + 1, w^4 of the next pair's k, w^4 of k + 1.
.macro k4 i, mult, more
    .cis -\mult*(2*((\i) % 4) + 64*((\i)/4 % 8) + 8*((\i)/32 % 8) + \more), 4096
.endm
twiddles4:
    .rept 256, i
    k4 i, 2, 0
    k4 i, 2, 1
    k4 i + 1, 4, 0
    k4 i, 4, 1
    .endr
powers:
    .rept 513, j
    .cis -j, 4096
    .endr
.endif
