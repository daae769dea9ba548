; Inverse four-step FFT to real numbers: first and last passes (BACK).
; With N = N1 N2, number k = c + N2 r of the spectrum, r < N1, and real number n = j + N1 t, t < N2 (four_step.s):
;
;   Y[j, c] = sum over r of X[c + N2 r] exp(2 pi i j r/N1)                              columns c = 0 .. N2/2
;   x[j + N1 t] = sum over c of Y[j, c] exp(2 pi i c (j/N1 + t)/N2)                     rows
;
; Columns. A page holds rows r < N1/2 of C columns, from c0 on. For r >= N1/2, whose numbers are
; conjugates, it holds C + 2 numbers of rows N1 - 1 - r, from N2 - c0 - C on. So the partners of columns c0 + 2q and
; c0 + 2q + 1 are neighbours in DMEM, but no quad. The first pass, of radix 8, loads each separately, and level 1 of
; its butterflies conjugates them as second operands. It stores all rows to the other page, C numbers a row.
; The last pass, of radix 4, takes neighbours j, j + 1 of the results, j even, and computes
;   S = Y[j] + i w Y[j + 1],  D = Y[j] - i w Y[j + 1],  w = exp(2 pi i c/N):
; With z[t] = x[j + N1 t] + i x[j + 1 + N1 t] and its transform Z, Z[c] exp(-2 pi i c j/N) = S[c] and
; conj Z[N2 - c] exp(-2 pi i c j/N) = D[c].
;
; Rows. Row j/2 is z at frequencies shifted by j/N1. A page holds for each pair of columns and R rows
; R quads of D, then R of S, as the column pass leaves them; for columns N2/2, N2/2 + 1 only those of D. D of c is
; number N2 - c of the row. The first pass again has radix 8 and loads these in pairs, conjugated by level 1. Other
; passes are those without BACK.

; Constants of the first pass. Rows 0 .. 3 are quads at a0, row1_{t} apart, rows 4 .. 7 pairs at a2, up{t} apart:
; those of B at a2, those of A back{t} further on. a2 steps by s2 if walk{t}, else by -back{t} - 8.
.macro back_distances t, lower, upper, results, back, walk
    distances8 \t, \lower, \results, (\walk ? 0 : 3), 0
    .equ up{\t}, \upper
    .equ back{\t}, \back
    .equ walk{\t}, \walk
.endm

.macro back_row on, op, d, e, x, y, w, n, j, rd, spare=0
    .if (\n) && (\j) == 3
    word \on, \op, \d, \e, \x, \y, \w, ldq, q3, \rd
    .elif (\n) && (\j) < 3
    word \on, \op, \d, \e, \x, \y, \w, ldq, q{\j}, [a0 + ((\j) - 3)*row1_{\n}]
    .elif \n
    word \on, \op, \d, \e, \x, \y, \w, ldp, r{2*(\j)}, [a2 + ((\j) - 7)*up{\n} + back{\n}]
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; Hook of the first pass: loads the partners of B.
.macro back8 on, op, d, e, x, y, w, slot, n, c, p
    .if !(\n)
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .elif \slot == 17 && walk{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldx, s2, [a5]+s5%
    .elif \slot == 20
    word \on, \op, \d, \e, \x, \y, \w, ldp, r9, [a2 - 3*up{\n}]
    .elif \slot == 21
    word \on, \op, \d, \e, \x, \y, \w, ldp, r13, [a2 - up{\n}]
    .elif \slot == 22
    word \on, \op, \d, \e, \x, \y, \w, ldp, r11, [a2 - 2*up{\n}]
    .elif \slot == 23 && walk{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldp, r15, [a2]+s2
    .elif \slot == 23
    word \on, \op, \d, \e, \x, \y, \w, ldp, r15, [a2]-32*ROWS
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; The hook if n is the first iteration of a row, whose factors are before a3.
.macro back8_row on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 17
    word \on, \op, \d, \e, \x, \y, \w, ldp, r50, [a3 - 8]
    .elif \slot == 18
    word \on, \op, \d, \e, \x, \y, \w, ldp, r49, [a3 - 16]
    .else
    back8 \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; The hook if c is the first iteration of a row.
.macro back8_then on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12
    word \on, \op, \d, \e, \x, \y, \w, ldp, r54, [a3]+24
    .else
    back8 \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

.macro back_frame op, opn, n, c, p, rd, hook=back8
    frame8_of bflyy, \op, \opn, back_row, \n, \c, \p, \rd, [a1]+16, \hook
.endm

; The first pass over C columns, from a9 to a11, which becomes a8; `steps` are those of a2 to the partners of a pair.
.macro back_columns_first op, opn, t, C, steps
    back_distances \t, \C*N1, (\C + 2)*N1, \C*N1, 8, 1
    movi a2, factors1
    ldq q30, [a2]
    movi a5, \steps
    mov b5, a5
    movi l5, 4*\C
    movi a0, 3*\C*N1
    movi a2, 4*\C*N1 + 3*(\C + 2)*N1 + 8*\C - 8
    movi a1, 7*\C*N1
    add a0, a0, a9
    add a2, a2, a9
    mov a8, a11
    add a1, a1, a8
    back_frame \op, \opn, \t, 0, 0, [a0]+16
    back_frame \op, \opn, \t, \t, 0, [a0]+16
    loop N1*\C/16 - 2 {
    back_frame \op, \opn, \t, \t, \t, [a0]+16
    }
    back_frame \op, \opn, 0, \t, \t, [a0]
    tail8 \op, \opn, \t
.endm

; Steps from pair to pair of C columns, and to the next row.
.macro back_steps C
    .rept \C/2, q
    .int (q == \C/2 - 1 ? 16*\C : -16), 0
    .endr
.endm

; The first pass over ROWS rows, from a9 to a11, which becomes a8; the factors are at a10.
.macro back_rows_first op, opn, t
    back_distances \t, 2*ROWS*N2, -2*ROWS*N2, N2, 32*ROWS - 8, 0
    movi a0, 6*ROWS*N2 + 16*ROWS
    movi a2, 2*ROWS*N2 - 32*ROWS + 8
    movi a1, 7*N2
    add a0, a0, a9
    add a2, a2, a9
    mov a8, a11
    add a1, a1, a8
    addi a3, a10, 16
    ldp r48, [a3 - 16]
    movi s0, 16 - 2*ROWS*N2
    movi s2, 16 + 2*ROWS*N2
    movi s1, 7*N2
    back_frame \op, \opn, \t, 0, 0, [a0]+32*ROWS, back8_row
    ldp r52, [a3]+8
    back_frame \op, \opn, \t, \t, 0, [a0]+32*ROWS, back8_then
    loop ROWS - 1 {
    loop N2/16 - 2 {
    back_frame \op, \opn, \t, \t, \t, [a0]+32*ROWS
    }
    ldp r48, [a3 - 16]
    add a0, a0, s0
    add a2, a2, s2
    back_frame \op, \opn, \t, \t, \t, [a0]+32*ROWS, back8_row
    ldp r52, [a3]+8
    back_frame \op, \opn, \t, \t, \t, [a0]+32*ROWS, back8_then
    add a1, a1, s1
    }
    loop N2/16 - 2 {
    back_frame \op, \opn, \t, \t, \t, [a0]+32*ROWS
    }
    back_frame \op, \opn, 0, \t, \t, [a0]
    tail8 \op, \opn, \t
.endm

; The last pass over C columns, from a8 to a9, for each pair all j. The factors of radix 4 (w^2 of both columns, w of
; both) are walked by a2 and, for the next iteration, a3; w of level 3 of A and B by a4. Step table: entry j has the
; steps of a0 after iteration j, of a1 after iteration j - 2, of a4 after iteration j.
.macro join8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12 && \c
    word \on, \op, \d, \e, \x, \y, \w, ldp, r53, [a4]+s8
    .elif \slot == 17 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a2 + 16]
    .elif \slot == 18 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q24, [a3]+s2%
    .elif \slot == 19 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldq, q27, [a2]+s2%
    .elif \slot == 20 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldx, s8, [a5]+s5%
    .elif \slot == 21 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldp, r52, [a4 - 8]
    .elif \slot == 22 && \n
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s0, [a5]+s5%
    .elif \slot == 23 && \n && \c && \p == 0
    ; The frames of the loop follow.
    word \on, \op, \d, \e, \x, \y, \w, loop, c1, . + 24
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; Address of D of results j and j + 1, j even, of C columns: in blocks of the rows that a section has in a page of rows,
; of pairs of columns. S is `sums` bytes after it: after D of this pair or, with TOGETHER, of all C columns.
.macro placed j, C
.equ placed{\C}_{\j}, ((\j)/2/(SECTIONS*BACK)*SECTIONS + (\j)/4%SECTIONS)*16*\C*BACK + ((\j)/2%(SECTIONS*BACK)/(2*SECTIONS)*2 + (\j)/2%2)*16
.endm

.macro back_join op, opn, t, C, steps
    .equ set{\t}, 0
    .equ row1_{\t}, 8*\C*(N1/P1)
    .equ row2_{\t}, 8*\C
    .equ row4_{\t}, 16*\C
    .equ xat{\t}, 8*\C*(N1/P1) + 24*\C
    placed N1/4, \C
    placed N1/2, \C
    .equ out1_{\t}, placed{\C}_{N1/4}
    .equ out2_{\t}, placed{\C}_{N1/2}
    .equ sums{\C}, TOGETHER ? 8*BACK*\C : 16*BACK
    .equ out4_{\t}, -sums{\C}
    .equ yat{\t}, out1_{\t} + out2_{\t} + out4_{\t}
    .equ zs{\t}, 2
    .equ tw{\t}, 5
    movi a2, join1
    ldq q24, [a2]
    mov b2, a2
    mov b3, a2
    movi l2, 4*N1
    movi l3, 4*N1
    addi a3, a2, 32
    movi s2, 32
    addi a4, a10, 8
    movi c1, N1*\C/16 - 2
    steps_at \steps, 2*N1
    movi a0, xat{\t}
    movi a1, sums{\C} + yat{\t}
    add a0, a0, a8
    add a1, a1, a9
    walk8 \op, \opn, \t, [a0]+s0, [a1]+s1, join8
.endm

; Step table of the last pass; back_at_{k} is the position of column k.
.macro join_steps C
    .rept N1/4, j
    placed j, \C
    .endr
    .rept N1/8, j
    .int (j == N1/8 - 1 ? 16 - 8*\C*back_at_{N1/4 - 2} : 8*\C*(back_at_{2*j + 2} - back_at_{2*j}))
    .int (j == 1 ? (TOGETHER ? 16 : 32)*BACK - placed{\C}_{N1/4 - 2} : placed{\C}_{(2*j + N1/4 - 2)%(N1/4)} - placed{\C}_{(2*j + N1/4 - 4)%(N1/4)})
    .int (j == N1/8 - 1 ? 16 : 0), 0
    .endr
.endm

; A page of C columns: passes t to v and x.
.macro back_columns_of op, opn, C=COLUMNS, t=12, u=13, v=14, x=19, first=back1, second=steps12, third=steps13, join=back2
    back_columns_first \op, \opn, \t, \C, \first
    movi a2, factors1 + 16
    .if P2 == 4 && P3 == 4
    blocks44 \op, \opn, \u, \v, 8*\C*N1/P1, 8*\C*N1
    .else
    blocks \op, \opn, \u, P2, 8*\C*N1/P1, 8*\C*N1, \second
    movi a2, factors13
    blocks \op, \opn, \v, P3, 8*\C*N1/P1/P2, 8*\C*N1, \third
    .endif
    back_join \op, \opn, \x, \C, \join
.endm

.macro back_couple_of op, opn
    back_columns_of \op, \opn, 2, 20, 21, 22, 23, couple1, couple2, couple3, couple4
.endm

; The page loop of columns: all full pages, unless another kernel has these, then the pages of pairs.
.macro back_columns op, opn
    pages_begin
    ldx2 c12, [a15 + 8]
    .if !ENDS
.full:
    page back_columns_of, \op, \opn
    addi c12, c12, -1
    signal 1
    bnz c12, .full
    .endif
.couples:
    page back_couple_of, \op, \opn
    addi c13, c13, -1
    signal 1
    bnz c13, .couples
    stop
.endm

; Data that the columns expect in DMEM.
.macro back_tables
    early_tables
    .align 16
join1:
    .rept N1/8, j
    .cis -4*j, N1
    .cis -4*j - 2, N1
    .cis -2*j, N1
    .cis -2*j - 1, N1
    .endr
        .rept N1/4 + 1, k
.equ back_at_{k}, k%P1*(N1/P1) + k/P1%P2*(N1/P1/P2) + k/P1/P2%P3*(N1/P1/P2/P3)
    .endr
    .if !ENDS
back1:
    back_steps COLUMNS
back2:
    join_steps COLUMNS
    .endif
couple1:
    back_steps 2
    .align 16
    .if P2 == 8
couple2:
    steps8 16*N1/P1
    .endif
    .if P3 == 8
couple3:
    steps8 16*N1/P1/P2
    .endif
couple4:
    join_steps 2
.endm
