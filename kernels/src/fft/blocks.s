; Passes that stay where they are, over blocks of a page in DMEM: radix 8 and 4.
;
; A page is a row of blocks of D bytes. A pass of radix r takes each block as r
; parts and replaces part m by output p of the same columns:
;   x[p] = sum over m of x[m] (w W_r^p)^m
; with one set of factors for all columns of a block, so that neighbouring
; columns, a quad, share their factors whatever the columns are: neighbours of
; one row or two columns of a matrix. After passes of radix r0, r1, .. the
; numbers of a block (p0 p1 ..) are sub-transforms at the frequency p0 + r0 p1 + ..
;
; Sets of factors, in the order of the blocks: radix 8 w^4, w^2, w, w W8; radix 4 w^2, w.

; The first pass of a transform whose first factors are 1: a single block of D bytes
; from a8, radix 8. q24 is 1, W8; c1 iterations less one.
.macro whole8 op, opn, D
    movi s0, 16
    movi s1, 16
    movi l0, \D/8
    mov b0, a8
    mov a0, a8
    mov a1, a8
    movi c1, \D/128 - 1
    pass8 \op, \opn, 0, 0, 1, 2, 1, 2, \D/8, \D/2, \D/8, 0, 48, 48, 49
.endm

; Radix 8, blocks of D bytes in a page of B bytes from a8; `steps` is their step
; table, a2 the address of the first set.
.macro blocks8 op, opn, D, B, steps
    movi a5, \steps
    mov b5, a5
    movi l5, \D/8
    movi s5, 8
    addi a2, a2, 16
    mov a0, a8
    mov b0, a8
    movi l0, \B
    mov a1, a8
    movi c1, \B/128 - 1
    pass8 \op, \opn, 2, 1, 1, 2, 1, 2, \D/8, \D/2, \D/8, 0, 49, 52, 53
.endm

; Step table of blocks8. Entry j: read step of iteration j, write step of
; iteration j - 2, factor step of iteration j; it goes round with the block.
.macro steps8 D
    .rept \D/128, j
    .int 16 + 7*\D/8*(j == \D/128 - 1), 16 + 7*\D/8*(j == 1 % (\D/128)), 32*(j == \D/128 - 1), 0
    .endr
.endm

; Radix 4: four columns an iteration, 16 cycles, every slot of both kinds taken
; by 16 butterflies, 8 loads and 8 stores. A new block's factors cost 3 cycles.
;   q0..q7    part m of columns 2h, 2h+1 is q{2m + h}
;   q8..q15   level 1;  q16..q23  results, part p in q{16 + 2p + h}
;   r48, r49  w^2, w
;   a0 reads (at part 3, h = 1), a1 writes (at part 0, h = 0)
;
;   cycle  arithmetic   memory
;   0..7   level 1      0: the last row quad; from 1: results of the iteration before
;   8..15  level 2      8: the last result; from 9: seven row quads of the next iteration

; Column j, first level: parts m and m + 2.
.macro one4 op, j, m
    \op r{16 + 8*\m + \j}, r{20 + 8*\m + \j}, r{4*\m + \j}, r{4*\m + 8 + \j}, r48
.endm
.macro one4_st op, j, m, st, q, D
    .if \st
    \op r{16 + 8*\m + \j}, r{20 + 8*\m + \j}, r{4*\m + \j}, r{4*\m + 8 + \j}, r48 || stq q{16 + \q}, [a1 + (\q)/2*(\D/4) + (\q)%2*16]
    .else
    one4 \op, \j, \m
    .endif
.endm

; Column j, second level: outputs p and p + 2, with the load of row quad q.
.macro two4_ld op, j, p, q, D
    \op r{32 + 4*\p + \j}, r{40 + 4*\p + \j}, r{16 + 4*\p + \j}, r{24 + 4*\p + \j}, r49 || ldq q{\q}, [a0 + ((\q)/2 - 3)*(\D/4) + ((\q)%2 - 1)*16]
.endm

; One iteration. st: there are results to store; rd, wr: steps of a0 and a1.
.macro iteration4b op, opn, st, D, rd, wr
    \op r16, r20, r0, r8, r48 || ldq q7, [a0]+\rd%
    one4_st \op, 0, 1, \st, 4, \D
    one4_st \op, 1, 0, \st, 2, \D
    one4_st \op, 1, 1, \st, 6, \D
    one4_st \op, 2, 0, \st, 1, \D
    one4_st \op, 2, 1, \st, 5, \D
    one4_st \op, 3, 0, \st, 3, \D
    one4_st \op, 3, 1, \st, 7, \D
    .if \st
    \op r32, r40, r16, r24, r49 || stq q16, [a1]+\wr
    .else
    \op r32, r40, r16, r24, r49
    .endif
    two4_ld \opn, 0, 1, 0, \D
    two4_ld \op, 1, 0, 4, \D
    two4_ld \opn, 1, 1, 2, \D
    two4_ld \op, 2, 0, 6, \D
    two4_ld \opn, 2, 1, 1, \D
    two4_ld \op, 3, 0, 5, \D
    two4_ld \opn, 3, 1, 3, \D
.endm

; B / D blocks of D bytes from a8, a2 the address of the first set.
.macro blocks4 op, opn, D, B
    ldq q24, [a2]+16
    movi s0, 32
    movi s1, 32
    movi s3, 32 + 3*\D/4            ; from the end of a block to the next
    movi l0, \B
    movi c1, 3*\D/4 + 16
    add b0, a8, c1
    mov a0, b0
    mov a1, a8
    .rept 7, i
    ldq q{bitrev(i, 3)}, [a0 + (bitrev(i, 3)/2 - 3)*(\D/4) + (bitrev(i, 3)%2 - 1)*16]
    .endr
    .if \B == \D
    iteration4b \op, \opn, 0, \D, s0, s1
    loop \D/128 - 2 {
    iteration4b \op, \opn, 1, \D, s0, s1
    }
    iteration4b \op, \opn, 1, \D, s3, s1
    .else
    iteration4b \op, \opn, 0, \D, s0, s1
    movi c1, \B/\D - 1
    loop c1 {
    .if \D/128 > 2
    loop \D/128 - 2 {
    iteration4b \op, \opn, 1, \D, s0, s1
    }
    .endif
    iteration4b \op, \opn, 1, \D, s3, s1
    ldq q24, [a2]+16
    nop
    nop
    iteration4b \op, \opn, 1, \D, s0, s3
    }
    .if \D/128 > 2
    loop \D/128 - 2 {
    iteration4b \op, \opn, 1, \D, s0, s1
    }
    .endif
    iteration4b \op, \opn, 1, \D, s3, s1
    .endif
    .rept 8, i
    stq q{16 + bitrev(i, 3)}, [a1 + bitrev(i, 3)/2*(\D/4) + bitrev(i, 3)%2*16]
    .endr
.endm
