; Real numbers beyond local memory (large.s with REAL): what rows do besides.
;
; Columns come in the order E O, four of each, E the even and O the odd of eight; the factor -i of O is
; one of the last level of butterflies (shifted8.s). Row r of the transform of N numbers has
;   k = 0 .. N2/2 - 1      numbers r + N1 k of the spectrum,
;   k = N2/2 .. N2 - 1     the conjugates of numbers N1 - r + N1 (N2 - 1 - k).
; The last pass leaves the latter as quads (row B, row A) of a couple, and `mirror` replaces them by what is side
; by side in the spectrum: (A, the row before A), conjugates, the last couple first. The row before the first of
; a page is the last of the page before, which stays at a11.

; An operation of the arithmetic slot on quads, beside a memory operation; in the others if `on`.
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
