; Real numbers beyond local memory (large.s with REAL): the last pass of columns, and their separation.
;
; Number c of a row of the matrix is two real numbers, so that the transform Z of complex column c is that of
; the real columns 2c and 2c + 1 together. For k = 0 .. N1/2 the pass leaves
;   row k             S[k] = (Z[k] + conj Z[N1-k])/2, the transform of column 2c,
;   row N1 + 1 - k    D[k] = (Z[k] - conj Z[N1-k])/2, i times that of column 2c + 1,
; so that a page has N1 + 2 rows.
;
; With L = N1/8, column k of the last pass has the results X[m] = Z[k + mL], and column L - k the results
; Y[m] = Z[L - k + mL]: Y[7-m] is the partner of X[m]. An iteration has both columns, of a couple of columns of the matrix
; (A, B): 48 butterflies, 16 `bflyy` that separate, and two products by 1/2. Halved are number 0 of either and the
; factors that meet it, level by level: w^4 of the butterfly of number 0, w^2 of even numbers, w and w W8. Column
; L - k has the conjugates of the factors of column k, times -1 or -i, in other butterflies:
;   w^4: -conj w^4   w^2: -i conj w^2   w: -i conj (w W8)   w W8: -i conj w
;
; Columns 0 and L/2 are their own partners and come first, in an iteration of another form.
;
; Schedule of 66 cycles, all of them arithmetic; level 1 of even X belongs to the iteration after (n), the last of the
; separation to the one before (p).
;   0..3     separate m = 3 (p)                41..44   level 3: X 2, Y 1
;   4..7     level 1: Y 2, 3                   45..48   separate m = 0
;   8        half of Y 0                       49..52   level 3: X 3, Y 0
;   9..16    level 1: X 2, 3, Y 0, 1           53       half of X 0 (n)
;   17..32   level 2: X, Y                     54..57   separate m = 1
;   33..40   level 3: X 0, Y 3, X 1, Y 2       58..61   separate m = 2
;                                              62..65   level 1: X 0, 1 (n)
; No word waits for an operand, on vm7 or vm9.
;
; Registers.
;   q0..q7, q8..q15    numbers of X and Y, quads (A, B), then all levels in place
;   q16..q23           results: of m = 0, 2 and of m = 1, 3
;   q24, q25, q26      w^4/2, w^4; w^2/2, w^2; w/2, w W8/2
;   q27                1/2;   r62 1
;   a0, a4 read X and Y in steps s0, s1; a1 writes rows that go up with k, a3 those that go down, in steps s2;
;   a2 walks the factors in steps s3; a5 the steps

; Bytes of a row, and of L rows.
.equ ROW, 8*COLUMNS
.equ SPAN, N1/8*ROW

; A butterfly, if `on`, beside the memory operation `mn a, b`, if `there`.
.macro beside on, op, d, e, x, y, w, there, mn, a, b
    .if \there
    word \on, \op, \d, \e, \x, \y, \w, \mn, \a, \b
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; A butterfly of numbers i and j of column A or B (col 0, 1) of X (y = 0) or Y (1: with X's factors; 2: with
; its own, 8 registers further); turn: the factor is -i w (y = 1: -i w is -conj of X's, else -i conj).
.macro meet on, y, turn, i, j, w, col, there, mn, a, b
    .if (\y) == 1 && (\turn)
    beside \on, bflyc, 16 + 2*(\j) + \col, 16 + 2*(\i) + \col, 16 + 2*(\i) + \col, 16 + 2*(\j) + \col, \w, \there, \mn, \a, \b
    .elif (\y) == 1
    beside \on, bflycn, 16 + 2*(\i) + \col, 16 + 2*(\j) + \col, 16 + 2*(\i) + \col, 16 + 2*(\j) + \col, \w, \there, \mn, \a, \b
    .elif \turn
    beside \on, bflyn, 8*(\y) + 2*(\i) + \col, 8*(\y) + 2*(\j) + \col, 8*(\y) + 2*(\i) + \col, 8*(\y) + 2*(\j) + \col, (\w) + 4*(\y), \there, \mn, \a, \b
    .else
    beside \on, bfly, 8*(\y) + 2*(\i) + \col, 8*(\y) + 2*(\j) + \col, 8*(\y) + 2*(\i) + \col, 8*(\y) + 2*(\j) + \col, (\w) + 4*(\y), \there, \mn, \a, \b
    .endif
.endm

; Level 1 of number i = 0 .. 3, level 2 of i = 0, 1, 4, 5, level 3 of result m = 0 .. 3.
.macro level1 on, y, i, col, there=0, mn=0, a=0, b=0
    meet \on, \y, (\y) == 1, \i, (\i) + 4, 48 + ((\i) != 0), \col, \there, \mn, \a, \b
.endm
.macro level2 y, i, col, there=0, mn=0, a=0, b=0
    meet 1, \y, (\i)/4, \i, (\i) + 2, 50 + (\i)%2, \col, \there, \mn, \a, \b
.endm
.macro level3 y, m, col, there=0, mn=0, a=0, b=0
    meet 1, \y, (\m)/2, lo_{\m}, lo_{\m} + 1, 52 + ((\m)%2 != ((\y) == 1)), \col, \there, \mn, \a, \b
.endm

; Where result m is, m + 4 behind it; where those of m are stored: S and D of X[m], S and D of Y[3-m].
.macro result_at m
.equ lo_{\m}, 4*((\m)%2) + 2*((\m)/2)
.equ sx_{\m}, ((\m) - 3)*SPAN
.equ dx_{\m}, (3 - (\m))*SPAN
.equ sy_{\m}, -((\m) + 1)*SPAN - ROW
.equ dy_{\m}, ((\m) + 1)*SPAN + ROW
.endm
.rept 4, m
    result_at m
.endr

; S to quad s and D to quad d of number x and its partner y, of column A or B.
.macro part on, s, d, x, y, col, there=0, mn=0, a=0, b=0
    beside \on, bflyy, 2*(\s) + \col, 2*(\d) + \col, 2*(\x) + \col, 2*(\y) + \col, 62, \there, \mn, \a, \b
.endm
.macro part_x on, m, s, col, there=0, mn=0, a=0, b=0
    part \on, \s, (\s) + 1, lo_{\m}, 9 + lo_{3 - (\m)}, \col, \there, \mn, \a, \b
.endm
.macro part_y on, m, s, col, there=0, mn=0, a=0, b=0
    part \on, \s, (\s) + 1, 8 + lo_{3 - (\m)}, 1 + lo_{\m}, \col, \there, \mn, \a, \b
.endm

; q{q}, number 0 of X or Y, halved.
.macro half on, q, there, mn=0, a=0, b=0
    .if (\on) && (\there)
    mul q{\q}, q{\q}, q27 || \mn \a, \b
    .elif \on
    mul q{\q}, q{\q}, q27
    .else
    nop
    .endif
.endm

; p, n: there is an iteration before, after.
.macro separate_frame p, n
    part_y \p, 3, 20, 0, \p, stq, q22, [a3 + sy_1]
    part_y \p, 3, 20, 1, \p, stq, q23, [a1 + dy_1]
    part_x \p, 3, 22, 0, 1, ldq, q8, [a4 - ROW]
    part_x \p, 3, 22, 1, 1, ldq, q7, [a0 + ROW]
    level1 1, 1, 2, 0, 1, ldq, q6, [a0]+s0
    level1 1, 1, 2, 1, 1, ldq, q12, [a4 + 3*ROW]
    level1 1, 1, 3, 0, 1, ldq, q13, [a4 + 4*ROW]
    level1 1, 1, 3, 1, 1, ldq, q9, [a4]+s1
    half 1, 8, \p, stq, q16, [a1 + sx_2]
    level1 1, 0, 2, 0, \p, stq, q17, [a3 + dx_2]
    level1 1, 0, 2, 1, \p, stq, q18, [a3 + sy_2]
    level1 1, 0, 3, 0, \p, stq, q19, [a1 + dy_2]
    level1 1, 0, 3, 1, \p, stq, q20, [a3 + sy_3]
    level1 1, 1, 0, 0, \p, stq, q21, [a1 + dy_3]
    level1 1, 1, 0, 1, \p, stq, q22, [a1]+16
    level1 1, 1, 1, 0, \p, stq, q23, [a3]+s2
    level1 1, 1, 1, 1, \n, ldx2, s0, [a5]+8
    level2 0, 0, 0
    level2 0, 0, 1, 1, ldq, q26, [a2]+s3
    level2 0, 1, 0
    level2 0, 1, 1, \n, ldq, q24, [a2 - 32]
    .rept 8, i
    level2 i/4, i/2%2 + 4, i%2
    .endr
    .rept 4, i
    level2 1, i/2, i%2
    .endr
    level3 0, 0, 0
    level3 0, 0, 1, \n, ldq, q25, [a2 - 16]
    level3 1, 3, 0
    level3 1, 3, 1, \n, ldx2, s2, [a5]+8
    .rept 2, m
    .rept 4, i
    level3 i/2, 1 + (i/2 + m)%2, i%2
    .endr
    .endr
    part_x 1, 0, 16, 0
    part_x 1, 0, 16, 1
    part_y 1, 0, 18, 0, \n, ldq, q0, [a0 - 6*ROW]
    part_y 1, 0, 18, 1, \n, ldq, q15, [a4 + 6*ROW]
    level3 0, 3, 0, \n, ldq, q1, [a0 - 5*ROW]
    level3 0, 3, 1, \n, ldq, q14, [a4 + 5*ROW]
    level3 1, 0, 0
    level3 1, 0, 1
    half \n, 0, 0
    part_x 1, 1, 20, 0, 1, stq, q16, [a1 + sx_0]
    part_x 1, 1, 20, 1, 1, stq, q17, [a3 + dx_0]
    part_y 1, 1, 22, 0, \n, ldq, q4, [a0 - 2*ROW]
    part_y 1, 1, 22, 1, 1, stq, q18, [a3 + sy_0]
    part_x 1, 2, 16, 0, \n, ldq, q5, [a0 - ROW]
    part_x 1, 2, 16, 1, 1, stq, q19, [a1 + dy_0]
    part_y 1, 2, 18, 0, \n, ldq, q10, [a4 + ROW]
    part_y 1, 2, 18, 1, \n, ldq, q11, [a4 + 2*ROW]
    .if \n
    level1 1, 0, 0, 0, 1, ldq, q2, [a0 - 4*ROW]
    level1 1, 0, 0, 1, 1, ldq, q3, [a0 - 3*ROW]
    .else
    nop
    .endif
    level1 \n, 0, 1, 0, 1, stq, q20, [a1 + sx_1]
    level1 \n, 0, 1, 1, 1, stq, q21, [a3 + dx_1]
.endm

; Before the first frame, and after the last.
.macro separate_begin
    ldq q0, [a0 - 6*ROW]
    ldq q24, [a2 - 32]
    ldq q4, [a0 - 2*ROW]
    ldq q1, [a0 - 5*ROW]
    half 1, 0, 1, ldq, q5, [a0 - ROW]
    ldq q15, [a4 + 6*ROW]
    ldq q14, [a4 + 5*ROW]
    ldq q10, [a4 + ROW]
    level1 1, 0, 0, 0, 1, ldq, q11, [a4 + 2*ROW]
    level1 1, 0, 0, 1, 1, ldq, q2, [a0 - 4*ROW]
    level1 1, 0, 1, 0, 1, ldq, q3, [a0 - 3*ROW]
    level1 1, 0, 1, 1, 1, ldq, q25, [a2 - 16]
.endm
.macro separate_end
    part_y 1, 3, 20, 0, 1, stq, q22, [a3 + sy_1]
    part_y 1, 3, 20, 1, 1, stq, q23, [a1 + dy_1]
    part_x 1, 3, 22, 0, 1, stq, q16, [a1 + sx_2]
    part_x 1, 3, 22, 1, 1, stq, q17, [a3 + dx_2]
    stq q18, [a3 + sy_2]
    stq q19, [a1 + dy_2]
    nop
    nop
    nop
    stq q20, [a3 + sy_3]
    stq q21, [a1 + dy_3]
    stq q22, [a1]
    stq q23, [a3]
.endm

; Columns 0 and L/2, whose factors are in q28 .. q30, of a couple: a0 and a4 at number 7 of either, a1 at row 0.
; Partners of X are 0 0, 1 7, 2 6, 3 5, 4 4, those of Y 0 7, 1 6, 2 5, 3 4; 83 words.
.macro separate_own
    ldq q0, [a0 - 7*ROW]
    ldq q4, [a0 - 3*ROW]
    ldq q1, [a0 - 6*ROW]
    ldq q5, [a0 - 2*ROW]
    half 1, 0, 1, ldq, q2, [a0 - 5*ROW]
    ldq q6, [a0 - ROW]
    ldq q3, [a0 - 4*ROW]
    level1 1, 0, 1, 0, 1, ldq, q7, [a0]+16
    level1 1, 0, 1, 1, 1, ldq, q8, [a4 - 7*ROW]
    level1 1, 0, 0, 0, 1, ldq, q12, [a4 - 3*ROW]
    level1 1, 0, 0, 1, 1, ldq, q9, [a4 - 6*ROW]
    level1 1, 0, 2, 0, 1, ldq, q13, [a4 - 2*ROW]
    level1 1, 0, 2, 1, 1, ldq, q10, [a4 - 5*ROW]
    level1 1, 0, 3, 0, 1, ldq, q14, [a4 - ROW]
    level1 1, 0, 3, 1, 1, ldq, q11, [a4 - 4*ROW]
    half 1, 8, 1, ldq, q15, [a4]+16
    .rept 4, i
    level1 1, 2, 1 + i/2, i%2
    .endr
    .rept 4, i
    level1 1, 2, i/2*3, i%2
    .endr
    .rept 16, i
    level2 i/8*2, i/2%2 + i/4%2*4, i%2
    .endr
    .rept 16, i
    level3 i/8*2, i/2%4, i%2
    .endr
    .rept 6, i
    part 1, lo_{i/2 + 1}, lo_{3 - i/2} + 1, lo_{i/2 + 1}, lo_{3 - i/2} + 1, i%2
    .endr
    part 1, 0, 16, 0, 0, 0
    part 1, 0, 16, 0, 0, 1
    part 1, 1, 17, 1, 1, 0
    part 1, 1, 17, 1, 1, 1, 1, stq, q4, [a1 + SPAN]
    part_own 0, 0, q7, [a1 + N1*ROW + ROW - SPAN]
    part_own 0, 1, q2, [a1 + 2*SPAN]
    part_own 1, 0, q3, [a1 + N1*ROW + ROW - 2*SPAN]
    part_own 1, 1, q6, [a1 + 3*SPAN]
    part_own 2, 0, q5, [a1 + N1*ROW + ROW - 3*SPAN]
    part_own 2, 1, q0, [a1]
    part_own 3, 0, q16, [a1 + N1*ROW + ROW]
    part_own 3, 1, q1, [a1 + 4*SPAN]
    stq q17, [a1 + N1*ROW + ROW - 4*SPAN]
    .rept 4, m
    stq q{8 + lo_{m}}, [a1 + SPAN/2 + m*SPAN]
    stq q{9 + lo_{3 - m}}, [a1 + N1*ROW + ROW - SPAN/2 - m*SPAN]
    .endr
.endm
.macro part_own m, col, q, at
    part 1, 8 + lo_{\m}, 9 + lo_{3 - (\m)}, 8 + lo_{\m}, 9 + lo_{3 - (\m)}, \col, 1, stq, \q, \at
.endm

; The pass from a8 to a9.
.macro separate_pass
    movi a2, halved
    movi a4, ROW*at1_{N1/16} + 7*ROW
    addi a0, a8, 7*ROW
    .rept 3, i
    ldq q{24 + i}, [a2 + 16*i]
    ldq q{28 + i}, [a2 + 48 + 16*i]
    .endr
    ldq q27, [a2 + 96]
    ldq q31, [a2 + 112]
    add a4, a4, a8
    mov a1, a9
    loop COLUMNS/2 {
    separate_own
    addi a1, a1, 16
    }
    movi a0, ROW*at1_1 + 6*ROW
    movi a4, ROW*at1_{N1/8 - 1} + ROW
    movi a5, steps14
    ldx2 s0, [a5]+8
    ldx2 s2, [a5]+8
    add a0, a0, a8
    add a4, a4, a8
    movi a1, 3*SPAN + ROW
    movi a3, N1*ROW - 3*SPAN
    add a1, a1, a9
    add a3, a3, a9
    addi a2, a2, 160
    separate_begin
    .if SEPARATED == 1
    separate_frame 0, 0
    .else
    separate_frame 0, 1
    .if SEPARATED > 2
    loop SEPARATED - 2 {
    separate_frame 1, 1
    }
    .endif
    separate_frame 1, 0
    .endif
    separate_end
.endm
; Frames of a page.
.equ SEPARATED, (N1/16 - 1)*(COLUMNS/2)

; Factors of W^k, W = exp(-2 pi i/N1), halved where they meet number 0.
.macro set_halved k
    .float cos(-4.0*(\k)/N1)/2, sin(-4.0*(\k)/N1)/2
    .cis -4*(\k), N1
    .float cos(-2.0*(\k)/N1)/2, sin(-2.0*(\k)/N1)/2
    .cis -2*(\k), N1
    .float cos(-1.0*(\k)/N1)/2, sin(-1.0*(\k)/N1)/2
    .float cos(-1.0*(\k)/N1 - 0.125)/2, sin(-1.0*(\k)/N1 - 0.125)/2
.endm

; What it finds in DMEM; a step entry has how far X, Y go after an iteration, the results that go down before, the factors after.
.macro separate_tables
halved:
    set_halved 0
    set_halved N1/16
    .complex 0.5, 0.5, 0.5, 0.5
    .complex 1, 0, 0, 0
    .rept N1/16 - 1, k
    set_halved k + 1
    .endr
steps14:
    .rept N1/16 - 1, k
    .rept COLUMNS/2, c
    .int 16 + (c == COLUMNS/2 - 1)*ROW*(at1_{k + 2} - at1_{k + 1} - 1)
    .int 16 + (c == COLUMNS/2 - 1)*ROW*(at1_{N1/8 - k - 2} - at1_{N1/8 - k - 1} - 1)
    .int 16 - (c == 0)*2*ROW, 48*(c == COLUMNS/2 - 1)
    .endr
    .endr
.endm
