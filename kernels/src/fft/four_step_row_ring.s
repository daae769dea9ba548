; Last pass of rows in eighths of a page, and first pass of half-spectrum rows.

; 32 iterations of the last pass of rows; the first of them is the second iteration of a pair and of a block.
.macro shifted_block op, opn
    .if TURNS
    loop 8 {
    shifted_four \op, \opn
    }
    .elif WOVEN
    woven_block \op, \opn
    .else
    loop 32 {
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    }
    .endif
.endm

; Four iterations; the third one loads the next pair's row factors.
.macro shifted_four op, opn
    .rept 4, i
    shifted8 \op, \opn, 1, APART, 16, 1, 0, i == 2
    .endr
.endm

.macro shifted_half op, opn, half
    movi b2, factors4
    movi l2, 8192
    movi s2, 16
    movi s0, 128
    mov s1, s0
    movi a3, 288*COUPLES + 2048
    add a3, a3, a10
    .if TURNS
    mov b3, a3
    movi l3, 96
    movi s3, 16
    .endif
    mov a0, \half
    mov a1, \half
    ldq q31, [a2]+s2%
    .rept 16, i
    ldp r{i}, [a0 + number_{i} + i%2*APART]
    .endr
    add a0, a0, s0
    couple
    shifted8 \op, \opn, 0, APART, 16, 1, 0
    loop 3 {
    shifted_block \op, \opn
    signal COMPLETE
    }
    .if TURNS
    loop 7 {
    shifted_four \op, \opn
    }
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    .else
    loop 30 {
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    }
    .endif
    shifted8 \op, \opn, 1, APART, 16, 0, 0
    last8 16
    signal COMPLETE
.endm

; First pass of rows from half a spectrum, WOVEN.
; Number n of a row is S[n] for n < 1024, else conj D[2048 - n] (inverse_real_pages.s). Block n1 has n = 64 n1 + m,
; m = 0 .. 63, of S and of D that pass 1 combines; quads of rows A and B alternate, at these bytes:
;   32 (m/2) + 16 (B)             S[n]
;   1024 + 32 (m/2) + 16 (B)      S[n + 512]
;   2048 + 32 (m/2) + 16 (B)      D[1024 - n], D[1025 - n], m even
;   3072 + 32 (m/2) + 16 (B)      D[512 - n], D[513 - n], m even
;   4096, 4128                    quads after the last two: D[1024 - n] of odd m is the second number of the next one
; Level 1 conjugates the numbers of D (`bflyy`). Pair m/2 reads the numbers D of m; those of m - 1 were read with the
; pair before. So results p0 = 2, 3 of m, m + 1 go where D[1024 - n], D[512 - n] were.

; Radix 4 in 16 cycles with all memory slots taken; four iterations overlap. Columns 0, 1 are the even and odd numbers
; of row A, columns 2, 3 those of B. In a quad of D the second number belongs to the iteration before the first one's.
;
;   cycle   arithmetic                                    memory
;   0..3    level 2 of A        (two iterations before)   D: odd numbers of the iteration before, even ones of this
;   4..7    level 1, odd        (the one before)          results of B (three before)
;   8..11   level 2 of B        (two before)              S
;   12..15  level 1, even       (this)                    results of A (two before)
;
; Level 1 of kind s = 1 leaves its results in r52 .. r63, except the odd number of A; s = 0 as in radix4_iteration.s.
; A block begins with the quads after the last D of the block before, and then loads its own in four more words.

; Register of level 1 of column j, in an iteration of kind s.
.macro woven_at j, s
.equ woven_{\s}_{\j}, \s == 0 || \j == 1 ? 16 + 4*\j : \j ? 48 + 4*\j : 52
.endm
.rept 4, j
    woven_at j, 0
    woven_at j, 1
.endr

; Level 1 of column j of an iteration of kind s, result b = 0, 1, with operation `mn x, y`, if `moves`.
.macro woven_first on, j, b, s, moves=0, mn=0, x=0, y=0
    .if \moves
    word \on, bflyy, woven_{\s}_{\j} + 2*(\b), woven_{\s}_{\j} + 2*(\b) + 1, 4*(\b) + \j, 8 + 4*(\b) + \j, 48 + \j/2, \mn, \x, \y
    .else
    alone \on, bflyy, woven_{\s}_{\j} + 2*(\b), woven_{\s}_{\j} + 2*(\b) + 1, 4*(\b) + \j, 8 + 4*(\b) + \j, 48 + \j/2, 0
    .endif
.endm

; Level 2 of column j, results b and b + 2.
.macro woven_second on, op, j, b, s, moves=0, mn=0, x=0, y=0
    .if \moves
    word \on, \op, 32 + 4*(\b) + \j, 40 + 4*(\b) + \j, woven_{\s}_{\j} + \b, woven_{\s}_{\j} + 2 + \b, 50 + \j/2, \mn, \x, \y
    .else
    alone \on, \op, 32 + 4*(\b) + \j, 40 + 4*(\b) + \j, woven_{\s}_{\j} + \b, woven_{\s}_{\j} + 2 + \b, 50 + \j/2, 0
    .endif
.endm

; Level 2 with the load of quad i of D. n = 1: from a0; 2, 3: the quads after a block's last, which a4 finds.
.macro woven_mirrored on, op, j, b, s, n, i
    .if \n == 1
    woven_second \on, \op, \j, \b, \s, 1, ldq, q{4 + 2*(\i%2) + \i/2}, [a0 + 1024*(1 + \i%2) + 16*(\i/2 - 1)]
    .elif \n && \i == 3
    woven_second \on, \op, \j, \b, \s, 1, ldq, q7, [a4]+s4%
    .elif \n
    woven_second \on, \op, \j, \b, \s, 1, ldq, q{4 + 2*(\i%2) + \i/2}, [a4 + (\i == 1 ? -16 : 16 + 8*\i)]
    .else
    woven_second \on, \op, \j, \b, \s
    .endif
.endm

; Level 2 with the load of quad i of S; the last one of an iteration is from `rd` and steps.
.macro woven_direct on, op, j, b, s, n, i, rd
    .if (\n == 1 || \n == 2) && \i == 3
    woven_second \on, \op, \j, \b, \s, 1, ldq, q3, \rd
    .elif \n == 1 || \n == 2
    woven_second \on, \op, \j, \b, \s, 1, ldq, q{2*(\i%2) + \i/2}, [a0 + 1024*(\i%2 - 1) + 16*(\i/2 - 1)]
    .else
    woven_second \on, \op, \j, \b, \s
    .endif
.endm

; A frame of an iteration of kind s, for which a0 finds S of B in row 1. n = 0: no iteration, 1: one, 2: the first of a
; block, 3: only the quads after the last. one, two, three: the iterations before exist. a1 points to result 3 of B.
.macro woven_frame op, opn, s, n, one, two, three, rd=0, wr=0
    woven_mirrored \two, \op, 0, 0, \s, \n, 0
    woven_mirrored \two, \opn, 0, 1, \s, \n, 1
    woven_mirrored \two, \op, 1, 0, \s, \n, 2
    woven_mirrored \two, \opn, 1, 1, \s, \n, 3
    woven_first \one, 1, 0, 1 - \s, \three, stq, q17, [a1 - 3072]
    woven_first \one, 1, 1, 1 - \s, \three, stq, q19, [a1 - 2048]
    woven_first \one, 3, 0, 1 - \s, \three, stq, q21, [a1 - 1024]
    woven_first \one, 3, 1, 1 - \s, \three, stq, q23, \wr
    .if \n == 2
    .rept 4, i
    woven_mirrored 0, \op, 0, 0, \s, 1, i
    .endr
    .endif
    woven_direct \two, \op, 2, 0, \s, \n, 0, \rd
    woven_direct \two, \opn, 2, 1, \s, \n, 1, \rd
    woven_direct \two, \op, 3, 0, \s, \n, 2, \rd
    woven_direct \two, \opn, 3, 1, \s, \n, 3, \rd
    woven_first (\n == 1 || \n == 2), 0, 0, \s, \two, stq, q16, [a1 - 3088]
    woven_first (\n == 1 || \n == 2), 0, 1, \s, \two, stq, q18, [a1 - 2064]
    woven_first (\n == 1 || \n == 2), 2, 0, \s, \two, stq, q20, [a1 - 1040]
    woven_first (\n == 1 || \n == 2), 2, 1, \s, \two, stq, q22, [a1 - 16]
.endm

; Iterations 4 to 31 of a block.
.macro woven_inside op, opn
    loop 13 {
    woven_frame \op, \opn, 0, 1, 1, 1, 1, [a0]+s1%, [a1]+s1%
    woven_frame \op, \opn, 1, 1, 1, 1, 1, [a0]+s1%, [a1]+s1%
    }
    woven_frame \op, \opn, 0, 1, 1, 1, 1, [a0]+s1%, [a1]+s1%
    woven_frame \op, \opn, 1, 1, 1, 1, 1, [a0]+s3%, [a1]+s1%
.endm

.macro woven_pass1 op, opn
    movi b0, apart2 + 16
    movi b1, 3*apart2 + 16
    movi b4, 4*apart2 + 16
    mov l0, c7
    mov l1, c7
    mov l4, c7
    add a0, a8, b0
    add a1, a8, b1
    add a4, a8, b4
    movi s1, 32
    movi s3, BLOCK - 31*32
    movi s4, BLOCK
    wait LOADED
    ldq q24, [a10]
    ldq q25, [a10 + 16]
    woven_frame \op, \opn, 0, 1, 0, 0, 0, [a0]+s1%
    woven_frame \op, \opn, 1, 1, 1, 0, 0, [a0]+s1%
    woven_frame \op, \opn, 0, 1, 1, 1, 0, [a0]+s1%
    woven_frame \op, \opn, 1, 1, 1, 1, 1, [a0]+s1%, [a1]+s1%
    woven_inside \op, \opn
    loop 7 {
    wait LOADED
    woven_frame \op, \opn, 0, 2, 1, 1, 1, [a0]+s1%, [a1]+s1%
    woven_frame \op, \opn, 1, 1, 1, 1, 1, [a0]+s1%, [a1]+s1%
    woven_frame \op, \opn, 0, 1, 1, 1, 1, [a0]+s1%, [a1]+s3%
    woven_frame \op, \opn, 1, 1, 1, 1, 1, [a0]+s1%, [a1]+s1%
    woven_inside \op, \opn
    }
    woven_frame \op, \opn, 0, 3, 1, 1, 1, 0, [a1]+s1%
    woven_frame \op, \opn, 1, 0, 0, 1, 1, 0, [a1]+s1%
    .rept 4
    nop
    .endr
    woven_first 0, 1, 0, 0, 1, stq, q17, [a1 - 3072]
    woven_first 0, 1, 0, 0, 1, stq, q19, [a1 - 2048]
    woven_first 0, 1, 0, 0, 1, stq, q21, [a1 - 1024]
    woven_first 0, 1, 0, 0, 1, stq, q23, [a1]
.endm

; 32 iterations of the last pass; the first of them is the second of a block. Blocks lie BLOCK bytes apart.
.macro woven_block op, opn
    loop 30 {
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    }
    addi a0, a0, BLOCK - 4096
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    addi a1, a1, BLOCK - 4096
.endm

; Step table of pass 3 over half a page: the sets of A and B alternate.
.macro woven_steps
    .rept 32, j
    .int j%2 || j%8 == 0 ? 32 : -32, j%2 || (j + 2)%8 == 0 ? 32 : -32
    .int 16 + (j%8 == 7)*896 + (j == 31)*(BLOCK - 4096), 16 + (j%8 == 1)*896 + (j == 1)*(BLOCK - 4096)
    .endr
.endm
