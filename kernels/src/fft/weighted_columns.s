; Columns multiplied by weights before their transform (four_step.s, WEIGHED).
;
; There are two methods: a loop before the first pass (WEIGHED 1), and products in a first pass of radix 4 (WEIGHED 2).
;
; WEIGHED 1: a loop before the first pass.
;
; Number n of column c is multiplied by real numbers, z[n] y x[c]. Table `weights1` has z[n] in all four numbers of a
; quad; the host fills it before the pass. A page's factors (a10) are x[c] twice for every column, then y in all numbers
; of a quad. The page stays in place (a8).
;
; Cycles: COLUMNS + 1 for a row, of which COLUMNS are products. With eight columns neither machine stalls.
;
;   cycle          arithmetic                   memory
;   0 .. H-1       z[n] (y x[c])                results of row n - 1
;   H .. 2H - 1    row n times these            z[n + 1], row n + 1
;   2H                                          last quad of row n + 1; H = COLUMNS/2
;
; Registers: q0.. row, q8.. y x[c], q16.. weights of a row, q24.. results, q28 z[n]; a0 loads, a1 stores, a2 walks z.

.macro weigh
    .rept COLUMNS/2, c
    ldq q{8 + c}, [a10 + 16*c]
    .endr
    ldq q28, [a10 + 8*COLUMNS]
    movi a2, weights1
    mov a0, a8
    mov a1, a8
    .rept COLUMNS/2, c
    mul q{8 + c}, q{8 + c}, q28 || ldq q{c}, [a0]+16
    .endr
    ldq q28, [a2]+16
    weigh_row 0, 1
    loop N1 - 2 {
    weigh_row 1, 1
    }
    weigh_row 1, 0
    .rept COLUMNS/2, c
    stq q{24 + c}, [a1]+16
    .endr
.endm

; A row. before: results of the row before are stored; next: the next row is loaded.
.macro weigh_row before, next
    .rept COLUMNS/2, c
    .if \before
    mul q{16 + c}, q28, q{8 + c} || stq q{24 + c}, [a1]+16
    .else
    mul q{16 + c}, q28, q{8 + c}
    .endif
    .endr
    .rept COLUMNS/2, c
    .if \next && c == 0
    mul q24, q0, q16 || ldq q28, [a2]+16
    .elif \next
    mul q{24 + c}, q{c}, q{16 + c} || ldq q{c - 1}, [a0]+16
    .else
    mul q{24 + c}, q{c}, q{16 + c}
    .endif
    .endr
    .if \next
    ldq q{COLUMNS/2 - 1}, [a0]+16
    .endif
.endm

; WEIGHED 2: products in a first pass of radix 4, whose factors are 1 except for ratios of weights.
;
; Rows r + m N1/4, m = 0 .. 3, have weights z_m: numbers x_m z_m y x[c]. All are multiplied by z_0 y x[c]. Butterflies
;   x_0 +- (z_2/z_0) x_2,  x_1 +- (z_3/z_1) x_3,  and of the results a, b  a+ +- (z_1/z_0) b+, a- +- (-i) (z_1/z_0) b-
; do the rest. For each r `weights1` has a quad of z_0, then z_2/z_0, z_3/z_1, z_1/z_0 and 0 as complex numbers.
;
; A modulo schedule of 13 cycles for two columns (A, B) of four rows. Three iterations overlap: n multiplies and does
; level 1, p does level 2, s is stored; f are the rows that are loaded. Neither machine stalls:
;
;   cycle  arithmetic           memory            cycle  arithmetic        memory
;   0      x_0            (n)   two ratios (*)    7      B+          (p)   row 1   (f)
;   1      x_1            (n)                     8      B-          (p)   row 2   (f)
;   2      x_2            (n)   result 0  (s)     9      A 0, 2      (n)   row 3   (f), steps
;   3      x_3            (n)   result 2  (s)     10     A 1, 3      (n)   the third ratio (*)
;   4      z_0 (y x[c])   (f)   result 1  (s)     11     B 0, 2      (n)   z_0 of the next r (**)
;   5      A+             (p)   result 3  (s)     12     B 1, 3      (n)
;   6      A-             (p)   row 0     (f)
;
; (*) in the first iteration of a row, (**) in its last but one.
;
; Registers: q0.. rows, q4.. weighted rows, r16.. level 1 (A: x_0 +- x_2, x_1 +- x_3; then B), q12.. results,
; q16.. y x[c], q24 z_0 y x[c], q25 z_0, r52 .. r54 ratios; a0 loads row 3, a1 stores it, a2 walks the table.
.macro weigh4 op, opn
    .rept COLUMNS/2, c
    ldq q{16 + c}, [a10 + 16*c]
    .endr
    ldq q24, [a10 + 8*COLUMNS]
    movi a2, weights1
    movi a0, 3*QUARTER1
    add a0, a0, a8
    mov a1, a0
    .rept COLUMNS/2, c
    mul q{16 + c}, q{16 + c}, q24
    .endr
    ldq q25, [a2]+16
    .rept 3, m
    ldq q{m}, [a0 + (m - 3)*QUARTER1]
    .endr
    ldq q3, [a0]+16
    mul q24, q16, q25
    weigh4_row \op, \opn, 1, 0
    loop N1/4 - 2 {
    weigh4_row \op, \opn, 0, 0
    }
    weigh4_row \op, \opn, 0, 1
    weigh4_couple \op, \opn, 1, 0, 1, 1, 0, 0
    weigh4_couple \op, \opn, 1, 0, 0, 1, 0, 0
.endm
.equ QUARTER1, 2*N1*COLUMNS

; All columns of a row r; first, last: the row is the first one, the last one.
.macro weigh4_row op, opn, first, last
    .rept COLUMNS/2, c
    weigh4_couple \op, \opn, c, 1, !(\first && c == 0), !(\first && c < 2), !(\last && c == COLUMNS/2 - 1), !\last
    .endr
.endm

; The cycles of pair c. n, p, s, f: these iterations exist; follows: a row follows r.
.macro weigh4_couple op, opn, c, n, p, s, f, follows
    product4 \n, 4, 0, 24, (\n) && (\c) == 0, ldq, q26, [a2]+16
    product4 \n, 5, 1, 24, 0, nop, 0, 0
    product4 \n, 6, 2, 24, \s, stq, q12, [a1 - 3*QUARTER1]
    product4 \n, 7, 3, 24, \s, stq, q14, [a1 - QUARTER1]
    product4 \f, 24, 16 + ((\c) + 1) % (COLUMNS/2), 25, \s, stq, q13, [a1 - 2*QUARTER1]
    level4 \p, \op, 24, 28, 16, 18, 54, \s, stq, q15, [a1]+16
    level4 \p, \opn, 26, 30, 17, 19, 54, \f, ldq, q0, [a0 - 3*QUARTER1]
    level4 \p, \op, 25, 29, 20, 22, 54, \f, ldq, q1, [a0 - 2*QUARTER1]
    level4 \p, \opn, 27, 31, 21, 23, 54, \f, ldq, q2, [a0 - QUARTER1]
    level4 \n, \op, 16, 17, 8, 12, 52, \f, ldq, q3, [a0]+16
    level4 \n, \op, 18, 19, 10, 14, 53, (\n) && (\c) == 0, ldp, r54, [a2]+16
    level4 \n, \op, 20, 21, 9, 13, 52, (\n) && (\follows) && (\c) == COLUMNS/2 - 2, ldq, q25, [a2]+16
    level4 \n, \op, 22, 23, 11, 15, 53, 0, nop, 0, 0
.endm

; A product, if `on`, with the memory operation `mn a, b`, if `with`.
.macro product4 on, d, x, y, with, mn, a, b
    .if (\on) && (\with)
    mul q{\d}, q{\x}, q{\y} || \mn \a, \b
    .elif \on
    mul q{\d}, q{\x}, q{\y}
    .elif \with
    \mn \a, \b
    .endif
.endm

; A butterfly, if `on`, with the memory operation `mn a, b`, if `with`.
.macro level4 on, op, d, e, x, y, w, with, mn, a, b
    .if (\on) && (\with)
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || \mn \a, \b
    .elif \on
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w}
    .elif \with
    \mn \a, \b
    .endif
.endm

; Data that the weights need in DMEM.
.macro weights
    .align 16
weights1:
    .if WEIGHED == 2
    .space 12*N1
    .else
    .space 16*N1
    .endif
.endm
