; Real numbers beyond local memory (large.s with REAL): what columns and rows do besides.
;
; Columns. Number c of a row of the matrix is two real numbers, so that the transform Z of complex
; column c is that of the real columns 2c and 2c + 1 together. For k = 0 .. N1/2 `separate` replaces row k by
;   S[k] = (Z[k] + conj Z[N1-k])/2, the transform of column 2c,
; and row N1 + 1 - k by
;   D[k] = (Z[k] - conj Z[N1-k])/2, i times that of column 2c + 1.
; The page has room for N1 + 2 rows. Rows 0 and N1 of Z are the same; row k + 1 is read before row N1 - k is written.
;
; Rows. Columns come in the order E O, four of each, E the even and O the odd of eight; the factor -i of O is
; one of the last level of butterflies (shifted8.s). Row r of the transform of N numbers has
;   k = 0 .. N2/2 - 1      numbers r + N1 k of the spectrum,
;   k = N2/2 .. N2 - 1     the conjugates of numbers N1 - r + N1 (N2 - 1 - k).
; The last pass leaves the latter as quads (row B, row A) of a couple, and `mirror` replaces them by what is side
; by side in the spectrum: (A, the row before A), conjugates, the last couple first. The row before the first of
; a page is the last of the page before, which stays at a11.

; A row of the matrix in a page is so many quads, and an iteration takes four of them.
.equ WIDE, COLUMNS/2

; Where quad j of an iteration is, and its partner, from those of quad 3.
.macro separate_at j
.equ at_{\j}, 16*(\j) - 48
.equ from_{\j}, 16*((\j)%WIDE - (\j)/WIDE*WIDE) - 16*(3%WIDE - 3/WIDE*WIDE)
.endm

; An operation of the arithmetic slot on quads, beside a memory operation; in the others if `on`.
.macro both3 op, d, a, b, mn, q, at
    \op q{\d}, q{\a}, q{\b} || \mn q{\q}, \at
.endm

.macro both4 op, d, a, b, c, on, mn, q, at
    .if \on
    \op \d, \a, \b, \c || \mn q{\q}, \at
    .else
    \op \d, \a, \b, \c
    .endif
.endm

.macro both2 op, d, a, on, mn, q, at
    .if \on
    \op q{\d}, q{\a} || \mn q{\q}, \at
    .else
    \op q{\d}, q{\a}
    .endif
.endm

; Registers: partners in q0 .. q3, numbers in q4 .. q7, their products q8 .. q11, results q12 .. q19.
; Loads take words 0 to 7, products 4 to 7, sums 8 to 15 with the stores of the iteration before: no word
; waits for an operand. on: bytes to the next iteration; a1 and a3 go back as far.
.macro separate_frame st, on
    ldq q0, [a1 + from_0]
    ldq q1, [a1 + from_1]
    ldq q2, [a1 + from_2]
    ldq q3, [a1]-\on
    both3 mul, 8, 0, 31, ldq, 4, [a0 + at_0]
    both3 mul, 9, 1, 31, ldq, 5, [a0 + at_1]
    both3 mul, 10, 2, 31, ldq, 6, [a0 + at_2]
    both3 mul, 11, 3, 31, ldq, 7, [a0]+\on
    .rept 3, j
    both4 madd, q{12 + 2*j}, q{4 + j}, q30, q{8 + j}, \st, stq, 12 + 2*j, [a2 + at_{j}]
    both4 msub, q{13 + 2*j}, q{4 + j}, q30, q{8 + j}, \st, stq, 13 + 2*j, [a3 + from_{j}]
    .endr
    both4 madd, q18, q7, q30, q11, \st, stq, 18, [a2]+\on
    both4 msub, q19, q7, q30, q11, \st, stq, 19, [a3]-\on
.endm

; The page at a9.
.macro separate
    .rept 4, j
    separate_at j
    .endr
    movi a1, 16*WIDE*N1
    movi a5, halves
    .rept WIDE, j
    ldq q{j}, [a9 + 16*j]
    .endr
    ldq q30, [a5]
    ldq q31, [a5 + 16]
    add a1, a1, a9
    addi a0, a9, 48
    addi a2, a9, 48
    .rept WIDE, j
    stq q{j}, [a1 + 16*j]
    .endr
    addi a1, a1, 16*(3%WIDE - 3/WIDE*WIDE)
    addi a3, a1, 16*WIDE
    separate_frame 0, 64
    loop N1*WIDE/8 - 1 {
    separate_frame 1, 64
    }
    ; Row N1/2, with what follows it.
    separate_frame 1, 64
    .rept WIDE, j
    stq q{12 + 2*j}, [a2 + at_{j}]
    stq q{13 + 2*j}, [a3 + from_{j}]
    .endr
.endm

; Word w of the loop of `mirror`, which takes one k in 2 C + 2 words, 7 for 2 couples, C couples of rows: the quads (B, A) come to
; q1 .. qC, that of the couple before to q0; the C after these take the pairs, the C after those their conjugates,
; which are stored in the next iteration. on: there is one before; there: the memory operation is.
.macro mirror_word w, C, on, there, mn, q, at
    .if (\w) <= 2 && (\w) + \C >= 3 && (\on)
    both2 conj, 3*\C - 2 + (\w), 2*\C - 2 + (\w), \there, \mn, \q, \at
    .elif (\w) >= 5 && (\w) <= 4 + \C
    both4 ext, q{\C + (\w) - 4}, q{(\w) - 4}, q{(\w) - 5}, 2, \there, \mn, \q, \at
    .elif (\w) >= 5 + \C
    both2 conj, \C + (\w) - 4, (\w) - 4, \there, \mn, \q, \at
    .elif \there
    \mn q{\q}, \at
    .else
    nop
    .endif
.endm

.macro mirror_frame st, C
    mirror_word 0, \C, \st, 1, ldq, 0, [a2]+16
    .rept \C - 1, i
    mirror_word i + 1, \C, \st, 1, ldq, i + 1, [a0 + 16*(i + 1 - \C)]
    .endr
    mirror_word \C, \C, \st, 1, ldq, \C, [a0]+16*\C
    .rept \C - 1, i
    mirror_word \C + 1 + i, \C, \st, \st, stq, 2*\C + 1 + i, [a1 + 16*(\C - 1 - i)]
    .endr
    mirror_word 2*\C, \C, \st, \st, stq, 3*\C, [a1]+16*\C
    .if \C == 2
    mirror_word 5, \C, \st, 0, stq, 0, [a3]
    .endif
    mirror_word 2*\C + 1 + (\C == 2), \C, \st, 1, stq, \C, [a3]+16
.endm

; The same of a page of one couple, whose quads stay where they are among those of a full page: four k in 14 words.
.equ APART, 8*ROWS
.macro mirror_couple
    movi a0, N2/2*APART
    mov a2, a11
    add a0, a0, a9
    mov a1, a0
    loop N2/8 {
    ldq q0, [a2]+16
    ldq q1, [a0]
    ldq q2, [a2]+16
    ldq q3, [a0 + APART]
    ldq q4, [a2]+16
    ext q8, q1, q0, 2 || ldq q5, [a0 + 2*APART]
    conj q8, q8 || ldq q6, [a2]+16
    ext q9, q3, q2, 2 || ldq q7, [a0 + 3*APART]
    conj q9, q9 || stq q8, [a1]
    ext q10, q5, q4, 2 || stq q9, [a1 + APART]
    conj q10, q10 || addi a0, a0, 4*APART
    ext q11, q7, q6, 2 || stq q10, [a1 + 2*APART]
    conj q11, q11 || addi a1, a1, 4*APART
    stq q11, [a1 - APART]
    }
.endm

; The upper half of the results at a9, of C couples of rows.
.macro mirror C
    movi a0, 8*N2*\C + 16*\C - 16
    mov a2, a11
    add a0, a0, a9
    mov a3, a11
    addi a1, a0, 16 - 16*\C
    mirror_frame 0, \C
    loop N2/2 - 1 {
    mirror_frame 1, \C
    }
    .rept 3 - (\C == 2), i
    conj q{3*\C - i}, q{2*\C - i}
    .endr
    .rept \C, i
    stq q{2*\C + 1 + i}, [a1 + 16*(\C - 1 - i)]
    .endr
.endm
