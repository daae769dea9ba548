; A pass of radix 8: radix8_iteration.s with pointers, prologue and epilogue.
;
;   a0, s0   loads row 7; step to the next iteration
;   a1, s1   stores row 7; its step
;   a2, s2   walks the factors, circular in b2, l2
;   a3, s3   likewise for w^4 of column A where the columns share factors: one iteration ahead
;   a5       walks the step table, circular in b5, l5; s5 = 8 from the beginning
;   c1       iterations less two
;   r60, r61 1, W8, where there are no factors
; Pass t has the constants of radix8_iteration.s, except that set{t} is 0, and
;   table{t} 0: a0 and a1 step by on{t} bytes; 1: their steps come from the table
;   sets{t}  1: the steps of the factors come from the table
;
; Factors. tw{t} = 3: the columns of a block share sets of w^4, w^2,
; w, w', 32 bytes. tw{t} = 4: a record of 64 bytes for each iteration, in the order of the
; pipeline: w^2 of (A, B), w^4 of A of the next iteration and of B of this one, w, w' of (A, B).
; Step table. Entry j has, if sets{t}, the step of a2 from iteration j - 1 and of a3 from
; j + 1; then, if table{t}, the step of a0 after iteration j and of a1 after iteration j - 2.

.macro own8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 12 && \c && tw{\c} == 3
    word \on, \op, \d, \e, \x, \y, \w, ldp, r54, [a2]+s2%
    .elif \slot == 12 && \c && tw{\c} == 4
    word \on, \op, \d, \e, \x, \y, \w, ldq, q27, [a2]+s2%
    .elif \slot == 17 && \n && tw{\n} == 3
    word \on, \op, \d, \e, \x, \y, \w, ldp, r50, [a2 - 16]
    .elif \slot == 17 && \n && tw{\n} == 4
    word \on, \op, \d, \e, \x, \y, \w, ldq, q25, [a2 - 48]
    .elif \slot == 18 && \n && tw{\n} == 3
    word \on, \op, \d, \e, \x, \y, \w, ldp, r49, [a2 - 24]
    .elif \slot == 18 && \n && tw{\n} == 4
    word \on, \op, \d, \e, \x, \y, \w, ldq, q24, [a2 - 32]
    .elif \slot == 19 && \n && tw{\n} == 3
    word \on, \op, \d, \e, \x, \y, \w, ldp, r48, [a3]+s3%
    .elif \slot == 20 && \n && sets{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s2, [a5]+s5%
    .elif \slot == 21 && \n && tw{\n} == 3
    word \on, \op, \d, \e, \x, \y, \w, ldp, r52, [a2 - 8]
    .elif \slot == 21 && \n && tw{\n} == 4
    word \on, \op, \d, \e, \x, \y, \w, ldq, q26, [a2 - 16]
    .elif \slot == 22 && \n && table{\n}
    word \on, \op, \d, \e, \x, \y, \w, ldx2, s0, [a5]+s5%
    .elif \slot == 23 && \n && \c && \p == 0
    ; The frames of the loop follow.
    word \on, \op, \d, \e, \x, \y, \w, loop, c1, . + 24
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .endif
.endm

; The second frame of a pass whose loops are elsewhere.
.macro begin8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 23
    alone \on, \op, \d, \e, \x, \y, \w, 1
    .else
    own8 \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; The hook if the ring ends before row 4; the pointers step here.
.macro around8 on, op, d, e, x, y, w, slot, n, c, p
    .if \slot == 22 && \n
    word3 \on, \op, \d, \e, \x, \y, \w, addi, a0, a0, 16
    .elif \slot == 23 && \p
    word3 \on, \op, \d, \e, \x, \y, \w, addi, a1, a1, 16
    .else
    own8 \on, \op, \d, \e, \x, \y, \w, \slot, \n, \c, \p
    .endif
.endm

; The pass in place over the data at address `x`.
.macro pass8 op, opn, t, x
    movi a0, xat{\t}
    add a0, a0, \x
    mov a1, a0
    frames8 \op, \opn, \t
.endm

; The pass in place if rows 4 .. 7 lie before rows 0 .. 3, `rows` bytes apart.
.macro pass8_around op, opn, t, x, rows
    movi a0, xat{\t}
    add a0, a0, \x
    mov a1, a0
    walk8 \op, \opn, \t, [a0 - \rows], [a1 - \rows], around8
.endm

; Sets the pointers of a pass from `x` to `y`. `frames8` leaves them at the next iteration, except a1, which the last
; iteration does not advance, so that a pass continues after its epilogue.
.macro between8 t, x, y
    movi a0, xat{\t}
    movi a1, yat{\t}
    add a0, a0, \x
    add a1, a1, \y
.endm

.macro frames8 op, opn, t
    .if table{\t}
    walk8 \op, \opn, \t, [a0]+s0, [a1]+s1
    .else
    walk8 \op, \opn, \t, [a0]+on{\t}, [a1]+on{\t}
    .endif
.endm

.macro walk8 op, opn, t, rd, wr, hook=own8
    frame8 \op, \opn, \t, 0, 0, \rd, [a1], \hook
    frame8 \op, \opn, \t, \t, 0, \rd, [a1], \hook
    frame8 \op, \opn, \t, \t, \t, \rd, \wr, \hook
    frame8 \op, \opn, 0, \t, \t, [a0], \wr, \hook
    tail8 \op, \opn, \t
.endm

; Sets the step table at `steps`, of `length` bytes.
.macro steps_at steps, length
    movi a5, \steps
    mov b5, a5
    movi l5, \length
    ldx2 s0, [a5]+s5%
.endm

; Sets the step table, and for pass t with tw{t} = 3 the factors at a2, `sets` bytes of them; each set serves
; `each` iterations.
.macro shared_at t, steps, length, sets, each
    ldp r48, [a2]
    mov b3, a2
    movi l3, \sets
    movi l2, \sets
    addi a3, a2, (\each) == 1 ? 32 : 0
    addi a2, a2, 24
    mov b2, a2
    .if sets{\t}
    movi a5, \steps
    mov b5, a5
    movi l5, \length
    ldx2 s2, [a5]+s5%
    .else
    movi s2, 32
    movi s3, 32
    .endif
    .if table{\t}
    ldx2 s0, [a5]+s5%
    .endif
.endm

; Sets the step table, and the records of tw{t} = 4 at a2, `records` bytes of them.
.macro records_at steps, length, records
    ldp r48, [a2 + \records - 48]
    addi a2, a2, 48
    mov b2, a2
    movi l2, \records
    movi s2, 64
    steps_at \steps, \length
.endm

; Constants of pass t over rows `rows` bytes apart and results `results` bytes apart, (A, B) side by side.
; moving: 1 if the steps of shared factors come from the table, else every iteration has its own set;
; ring: 0, or length of the ring that ends before row 4 of a pass in place: a0 and a1 point between.
.macro distances8 t, rows, results, factors, table, on=16, moving=1, ring=0
    .equ set{\t}, 0
    .equ row1_{\t}, \rows
    .equ row2_{\t}, 2*(\rows)
    .equ row4_{\t}, 4*(\rows) - \ring
    .equ xat{\t}, \ring ? -4*(\rows) : 7*(\rows)
    .equ out1_{\t}, \results
    .equ out2_{\t}, 2*(\results)
    .equ out4_{\t}, 4*(\results) - \ring
    .equ yat{\t}, \ring ? -4*(\results) : 7*(\results)
    .equ zs{\t}, 2
    .equ tw{\t}, \factors
    .equ sets{\t}, (\factors == 3)*\moving
    .equ table{\t}, \table
    .equ on{\t}, \on
.endm
