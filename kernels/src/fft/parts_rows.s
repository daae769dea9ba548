; Rows in eighths of a page (parts.s): their last pass, and what rows of 2048 numbers from half a spectrum do besides.

; 32 iterations of the last pass of rows, the first of them the second of a couple and of a block.
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

; Four of them: with the third the next couple's row factors come.
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

; Rows from half a spectrum, WOVEN.
; Number n of a row is S[n] for n < 1024, else conj D[2048 - n] (real_back.s). Block n1 of a page holds the numbers n = 64 n1 + m,
; m = 0 .. 63, of S and of D that pass 1 takes together, of rows A and B a quad each in turn:
;   32 (m/2) + 16 (B)             S[n]
;   1024 + 32 (m/2) + 16 (B)      S[n + 512]
;   2048 + 32 (m/2) + 16 (B)      D[1024 - n], D[1025 - n], m even
;   3072 + 32 (m/2) + 16 (B)      D[512 - n], D[513 - n], m even
;   4096, 4128                    what follows on the last two: so D[1024 - n] of odd m is the second number of the quad behind
; Level 1 takes the numbers of D one by one, conjugated by `bflyy`. Of couple m/2 the numbers D of m are read with it, those of
; m - 1 were with the couple before: results p0 = 2, 3 of m, m + 1 go where D[1024 - n], D[512 - n] were.

; A butterfly, if `on`, and the loads of row m of columns 2h, 2h + 1, if `n`: of rows 2, 3 two words. n = 3: of the last
; iteration of a block.
.macro woven_row on, op, d, e, x, y, w, k, n, m, h, last
    .if !(\n)
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .elif \m < 2
    word \on, \op, \d, \e, \x, \y, \w, ldq, q{2*\m + \h}, [a0 + (\m - 3)*apart2 + (\h - 1)*beside2]
    .else
    word \on, \op, \d, \e, \x, \y, \w, ldp, r{4*\m + 2*\h + 1}, [a0 + (\m - 3)*apart2 + (\h - 1)*beside2 + 40 + (\n == 3 && \m == 2)*1056]
    .if \m == 3 && \h
    ldp r14, \last
    .else
    ldp r{4*\m + 2*\h}, [a0 + (\m - 3)*apart2 + (\h - 1)*beside2]
    .endif
    .endif
.endm

; Radix 4 in 20 cycles, all memory slots taken.
.macro woven_frame op, opn, n, c, p, rd, wr
    frame4_by bflyy, woven_row, \op, \opn, 2, 2, \n, \c, \p, \rd, \wr
.endm

; The iterations of a block but the first two.
.macro woven_inside op, opn
    loop 29 {
    woven_frame \op, \opn, 1, 1, 1, [a0]+s1%, [a1]+s1%
    }
    woven_frame \op, \opn, 3, 1, 1, [a0]+s3%, [a1]+s1%
.endm

.macro woven_pass1 op, opn
    movi b0, 3*apart2 + beside2
    movi b1, 3*apart2 + beside2
    mov l0, c7
    mov l1, c7
    add a0, a8, b0
    mov a1, a0
    movi s1, 32
    movi s3, BLOCK - 31*32
    wait LOADED
    ldq q24, [a10]
    ldq q25, [a10 + 16]
    woven_frame \op, \opn, 1, 0, 0, [a0]+s1%, [a1]+s1%
    woven_frame \op, \opn, 1, 1, 0, [a0]+s1%, [a1]+s1%
    woven_inside \op, \opn
    loop 7 {
    wait LOADED
    woven_frame \op, \opn, 1, 1, 1, [a0]+s1%, [a1]+s1%
    woven_frame \op, \opn, 1, 1, 1, [a0]+s1%, [a1]+s3%
    woven_inside \op, \opn
    }
    woven_frame \op, \opn, 0, 1, 1, [a0]+s1%, [a1]+s1%
    tail4 \op, \opn, 2
.endm

; 32 iterations of the last pass, the first of them the second of a block: blocks lie BLOCK bytes apart.
.macro woven_block op, opn
    loop 30 {
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    }
    addi a0, a0, BLOCK - 4096
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    shifted8 \op, \opn, 1, APART, 16, 1, 0
    addi a1, a1, BLOCK - 4096
.endm

; Step table of pass 3, over half a page: sets of A and B take turns.
.macro woven_steps
    .rept 32, j
    .int j%2 || j%8 == 0 ? 32 : -32, j%2 || (j + 2)%8 == 0 ? 32 : -32
    .int 16 + (j%8 == 7)*896 + (j == 31)*(BLOCK - 4096), 16 + (j%8 == 1)*896 + (j == 1)*(BLOCK - 4096)
    .endr
.endm
