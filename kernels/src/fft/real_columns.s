; Last pass of real column pairs: radix 8 and separation of both spectra.
; It is included by four_step.s (REAL) and four_step_ring.s (SEPARATE).
; Number c of a row of the matrix is two real numbers, so that the transform Z of complex column c is that of
; the real columns 2c and 2c + 1 together. For k = 0 .. N1/2 the pass leaves
;   row k             S[k] = (Z[k] + conj Z[N1-k])/2, the transform of column 2c,
;   row N1 + 1 - k    D[k] = (Z[k] - conj Z[N1-k])/2, i times that of column 2c + 1,
; So a page has N1 + 2 rows. With PARTED the rows take the numbers' places (real_column_ring.s).
;
; With L = N1/8, column k of the last pass has the results X[m] = Z[k + mL], and column L - k the results
; Y[m] = Z[L - k + mL]: Y[7-m] is the partner of X[m]. An iteration has both columns, of a pair of matrix columns
; (A, B): 48 butterflies, 16 `bflyy` that separate, and two products by 1/2. Number 0 of each is halved, and so are the
; factors that meet it, level by level: w^4 of the butterfly of number 0, w^2 of even numbers, w and w W8. Column
; L - k has the conjugates of the factors of column k, times -1 or -i, in other butterflies:
;   w^4: -conj w^4   w^2: -i conj w^2   w: -i conj (w W8)   w W8: -i conj w
;
; Columns 0 and L/2 are their own partners and come first, in an iteration of another form. Partners of X are 0 0, 1 7,
; 2 6, 3 5, 4 4; those of Y are 0 7, 1 6, 2 5, 3 4.
;
; Schedule of 66 cycles, all of them arithmetic. Level 1 of even X belongs to the iteration after (n), the last
; separation to the iteration before.
;   0..3     separate m = 3 (before)           41..44   level 3: X 2, Y 1
;   4..7     level 1: Y 2, 3                   45..48   separate m = 0
;   8        half of Y 0                       49..52   level 3: X 3, Y 0
;   9..16    level 1: X 2, 3, Y 0, 1           53       half of X 0 (n)
;   17..32   level 2: X, Y                     54..57   separate m = 1
;   33..40   level 3: X 0, Y 3, X 1, Y 2       58..61   separate m = 2
;                                              62..65   level 1: X 0, 1 (n)
; Columns 0 and L/2 take 68 cycles, all of them arithmetic. Numbers of the next pair are loaded as registers become
; free; the last results are stored during level 1 of the next pair, which is also level 1 of the first frame:
;   0        half of X 0                       42..45   separate X 0, 4
;   1..6     level 1: X 1, 2, 3                46, 47   level 3: Y 1
;   7, 9     level 1: X 0                      48, 49   separate X 2, 6
;   8        half of Y 0                       50, 51   level 3: Y 2
;   10..17   level 1: Y 3, 0, 2, 1             52, 53   separate X 1, 7
;   18..33   level 2: X, Y                     54..57   level 3: Y 0, 3
;   34..41   level 3: X                        58, 59   separate X 3, 5
;                                              60..67   separate Y 1, 2, 0, 3
; No word waits for an operand, on vm7 or vm9.
;
; Registers:
;   q0..q7, q8..q15    numbers of X and Y, quads (A, B), then all levels in place
;   q16..q23           results: of m = 0, 2 and of m = 1, 3
;   q24, q25, q26      w^4/2, w^4; w^2/2, w^2; w/2, w W8/2;   q28, q29, q30   those of column L/2
;   q27                1/2;   r62 1
;   a0, a4 load X and Y in steps s0, s1; a1 stores rows that go up with k, a3 those that go down, in steps s2;
;   a2 walks the factors in steps s3; a5 the steps. Before the frames a0 loads both columns, and a6 stores.
;
; The caller defines the addresses `numbers`, `results` and `beyond` (for number N1/2 and number 0 of D), and
; those of the constants from ROW, bytes of a row, to MID_D that are used here.

; A butterfly, if `on`, with a memory operation: there = 1: `mn a, b`; 2: `mn a`; 3: `mn a, b, c`; 0: none.
.macro beside on, op, d, e, x, y, w, there, mn, a, b, c=0
    .if \there == 3
    word3 \on, \op, \d, \e, \x, \y, \w, \mn, \a, \b, \c
    .elif \there == 2
    \op r{\d}, r{\e}, r{\x}, r{\y}, r{\w} || \mn \a
    .elif \there
    word \on, \op, \d, \e, \x, \y, \w, \mn, \a, \b
    .else
    alone \on, \op, \d, \e, \x, \y, \w, 0
    .endif
.endm

; A butterfly of numbers i and j of column A or B (col 0, 1) of X (y = 0) or Y (1: with the factors of X; 2: with
; its own, 8 registers further). turn: the factor is -i w (y = 1: -i w is -conj of X's, else -i conj).
.macro meet on, y, turn, i, j, w, col, there, mn, a, b, c=0
    .if (\y) == 1 && (\turn)
    beside \on, bflyc, 16 + 2*(\j) + \col, 16 + 2*(\i) + \col, 16 + 2*(\i) + \col, 16 + 2*(\j) + \col, \w, \there, \mn, \a, \b, \c
    .elif (\y) == 1
    beside \on, bflycn, 16 + 2*(\i) + \col, 16 + 2*(\j) + \col, 16 + 2*(\i) + \col, 16 + 2*(\j) + \col, \w, \there, \mn, \a, \b, \c
    .elif \turn
    beside \on, bflyn, 8*(\y) + 2*(\i) + \col, 8*(\y) + 2*(\j) + \col, 8*(\y) + 2*(\i) + \col, 8*(\y) + 2*(\j) + \col, (\w) + 4*(\y), \there, \mn, \a, \b, \c
    .else
    beside \on, bfly, 8*(\y) + 2*(\i) + \col, 8*(\y) + 2*(\j) + \col, 8*(\y) + 2*(\i) + \col, 8*(\y) + 2*(\j) + \col, (\w) + 4*(\y), \there, \mn, \a, \b, \c
    .endif
.endm

; Level 1 of number i = 0 .. 3, level 2 of i = 0, 1, 4, 5, level 3 of result m = 0 .. 3.
.macro level1 on, y, i, col, there=0, mn=0, a=0, b=0, c=0
    meet \on, \y, (\y) == 1, \i, (\i) + 4, 48 + ((\i) != 0), \col, \there, \mn, \a, \b, \c
.endm
.macro level2 y, i, col, there=0, mn=0, a=0, b=0, c=0
    meet 1, \y, (\i)/4, \i, (\i) + 2, 50 + (\i)%2, \col, \there, \mn, \a, \b, \c
.endm
.macro level3 y, m, col, there=0, mn=0, a=0, b=0, c=0
    meet 1, \y, (\m)/2, lo_{\m}, lo_{\m} + 1, 52 + ((\m)%2 != ((\y) == 1)), \col, \there, \mn, \a, \b, \c
.endm

; Register of result m (m + 4 is behind it), and offsets of the stores of m: S and D of X[m], S and D of Y[3-m].
.macro result_at m
.equ lo_{\m}, 4*((\m)%2) + 2*((\m)/2)
.equ sx_{\m}, ((\m) - 3)*SPAN
.equ dx_{\m}, (3 - (\m))*SPAN
.equ sy_{\m}, -((\m) + 1)*SPAN - TURN
.equ dy_{\m}, ((\m) + 1)*SPAN + TURN
.endm
.rept 4, m
    result_at m
.endr

; Separates number x and its partner y of column A or B: S to quad s, D to quad d.
.macro part on, s, d, x, y, col, there=0, mn=0, a=0, b=0
    beside \on, bflyy, 2*(\s) + \col, 2*(\d) + \col, 2*(\x) + \col, 2*(\y) + \col, 62, \there, \mn, \a, \b
.endm
.macro part_x on, m, s, col, there=0, mn=0, a=0, b=0
    part \on, \s, (\s) + 1, lo_{\m}, 9 + lo_{3 - (\m)}, \col, \there, \mn, \a, \b
.endm
.macro part_y on, m, s, col, there=0, mn=0, a=0, b=0
    part \on, \s, (\s) + 1, 8 + lo_{3 - (\m)}, 1 + lo_{\m}, \col, \there, \mn, \a, \b
.endm

; Halves q{q}, number 0 of X or Y.
.macro half on, q, there, mn=0, a=0, b=0
    .if (\on) && (\there)
    mul q{\q}, q{\q}, q27 || \mn \a, \b
    .elif \on
    mul q{\q}, q{\q}, q27
    .else
    nop
    .endif
.endm

; A frame. n: there is an iteration after; done: a signal that earlier results are complete. x, y, up, down: loads and
; stores which step their pointers; factors: the load which steps theirs.
.macro separate_frame n, done=0, x=[a0]+s0, y=[a4]+s1, up=[a1]+16, down=[a3]+s2, factors=[a2]+s3
    separate_low 1, \n, \x, \y, \up, \down
    separate_high \n, \done, \factors
.endm

; Words 0 to 16 of a frame; p: there is an iteration before.
.macro separate_low p, n, x, y, up, down
    part_y \p, 3, 20, 0, \p, stq, q22, [a3 + sy_1]
    part_y \p, 3, 20, 1, \p, stq, q23, [a1 + dy_1]
    part_x \p, 3, 22, 0, 1, ldq, q8, [a4 - ROW]
    part_x \p, 3, 22, 1, 1, ldq, q7, [a0 + ROW]
    level1 1, 1, 2, 0, 1, ldq, q6, \x
    level1 1, 1, 2, 1, 1, ldq, q12, [a4 + 3*ROW]
    level1 1, 1, 3, 0, 1, ldq, q13, [a4 + 4*ROW]
    level1 1, 1, 3, 1, 1, ldq, q9, \y
    half 1, 8, \p, stq, q16, [a1 + sx_2]
    level1 1, 0, 2, 0, \p, stq, q17, [a3 + dx_2]
    level1 1, 0, 2, 1, \p, stq, q18, [a3 + sy_2]
    level1 1, 0, 3, 0, \p, stq, q19, [a1 + dy_2]
    level1 1, 0, 3, 1, \p, stq, q20, [a3 + sy_3]
    level1 1, 1, 0, 0, \p, stq, q21, [a1 + dy_3]
    level1 1, 1, 0, 1, \p, stq, q22, \up
    level1 1, 1, 1, 0, \p, stq, q23, \down
    level1 1, 1, 1, 1, (\n && !PARTED), ldx2, s0, [a5]+8
.endm

; Words 17 to 65 of a frame.
.macro separate_high n, done=0, factors=[a2]+s3
    level2 0, 0, 0, 2*(\done), signal, COMPLETE
    level2 0, 0, 1, 1, ldq, q26, \factors
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
    level3 1, 3, 1, (\n && !PARTED), ldx2, s2, [a5]+8
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

; The epilogue after the last frame.
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

; Before columns 0 and L/2 of a page's first pair: sets a0 and loads the first numbers.
.macro own_begin
    movi a2, halved
    addi a0, numbers, 6*ROW
    ldq q24, [a2]
    ldq q1, [a0 - 5*ROW]
    ldq q27, [a2 + 96]
    ldq q0, [a0 - 6*ROW]
    ldq q5, [a0 - ROW]
    ldq q2, [a0 - 4*ROW]
    ldq q6, [a0]
.endm

; Words 0 to 17 of columns 0 and L/2 of the first pair: the other numbers and the constants are loaded.
.macro own_first
    half 1, 0, 1, ldq, q3, [a0 - 3*ROW]
    level1 1, 0, 1, 0, 1, ldq, q7, [a0 + ROW]
    level1 1, 0, 1, 1, 1, ldq, q4, [a0 - 2*ROW]
    level1 1, 0, 2, 0, 1, ldq, q8, [a0 + OTHER]
    level1 1, 0, 2, 1, 1, ldq, q11, [a0 + OTHER + 3*ROW]
    level1 1, 0, 3, 0, 1, ldq, q15, [a0 + OTHER + 7*ROW]
    level1 1, 0, 3, 1, 1, ldq, q28, [a2 + 48]
    level1 1, 0, 0, 0, 1, ldq, q12, [a0 + OTHER + 4*ROW]
    half 1, 8, 1, ldq, q10, [a0 + OTHER + 2*ROW]
    level1 1, 0, 0, 1, 1, ldq, q14, [a0 + OTHER + 6*ROW]
    level1 1, 2, 3, 0, 1, ldq, q13, [a0 + OTHER + 5*ROW]
    level1 1, 2, 3, 1, 1, ldq, q9, [a0 + OTHER + ROW]
    level1 1, 2, 0, 0, 1, ldq, q25, [a2 + 16]
    level1 1, 2, 0, 1, 1, ldq, q29, [a2 + 64]
    level1 1, 2, 2, 0, 1, ldq, q26, [a2 + 32]
    level1 1, 2, 2, 1, 1, ldq, q30, [a2 + 80]
    level1 1, 2, 1, 0, 1, ldq, q31, [a2 + 112]
    level1 1, 2, 1, 1, 1, mov, a6, results
.endm

; Words 0 to 17 of another pair (y = 2, n = 1) or of the first frame (y = 1, n: there is another): results of the pair
; before are stored. Number 0 of Y is at `a` + `z`, number 1 at `last`.
.macro own_next y, n, a, z, last
    half 1, 0, 1, ldq, q15, [\a + \z + 7*ROW]
    level1 1, 0, 1, 0, 1, ldq, q11, [\a + \z + 3*ROW]
    level1 1, 0, 1, 1, 1, ldq, q12, [\a + \z + 4*ROW]
    level1 1, 0, 2, 0, 1, ldq, q10, [\a + \z + 2*ROW]
    level1 1, 0, 2, 1, 1, ldq, q13, [\a + \z + 5*ROW]
    level1 1, 0, 3, 0, 1, stq, q22, [a6 + 3*SPAN]
    level1 1, 0, 3, 1, 1, stq, q23, [a6 + DOWN - 3*SPAN]
    level1 1, 0, 0, 0, 1, stq, q14, [a6 + 3*SPAN + MID_S]
    half 1, 8, 1, stq, q9, [a6 + MID_D - 3*SPAN]
    level1 1, 0, 0, 1, 1, ldq, q14, [\a + \z + 6*ROW]
    level1 1, \y, 3, 0, 1, ldq, q9, \last
    level1 1, \y, 3, 1, 1, stq, q18, [a6 + SPAN + MID_S]
    level1 1, \y, 0, 0, 1, stq, q19, [a6 + MID_D - SPAN]
    level1 1, \y, 0, 1, 1, stq, q20, [a6 + 2*SPAN + MID_S]
    level1 1, \y, 2, 0, 1, stq, q21, [a6 + MID_D - 2*SPAN]
    level1 1, \y, 2, 1, 1, stq, q16, [a6 + MID_S]
    level1 1, \y, 1, 0, 1, stq, q17, [a6 + MID_D]
    .if \y == 2
    level1 1, 2, 1, 1, 3, addi, a6, a6, 16
    .else
    level1 1, 1, 1, 1, (\n && !PARTED), ldx2, s0, [a5]+8
    .endif
.endm

; Words 18 to 67, then another pair or (`last`) the first frame, whose pointers, steps and factors are loaded here. The
; next numbers of X are loaded from a0 on, number 6 from `x`; number 0 of Y is at `a` + `z`.
.macro own_high last, x, a, z
    .if \last
    level2 0, 0, 0, 1, movi, a0, X_FIRST
    level2 0, 0, 1, 3, add, a0, a0, numbers
    level2 0, 1, 0, 1, movi, a4, Y_FIRST
    level2 0, 1, 1, 3, add, a4, a4, numbers
    level2 0, 4, 0, !PARTED, movi, a5, steps14
    level2 0, 4, 1, !PARTED, ldx2, s0, [a5]+8
    level2 0, 5, 0, !PARTED, ldx2, s2, [a5]+8
    level2 0, 5, 1, 1, movi, a1, UP_FIRST
    level2 2, 0, 0, 3, add, a1, a1, results
    level2 2, 0, 1, 1, movi, a3, DOWN_FIRST
    level2 2, 1, 0, 3, add, a3, a3, results
    level2 2, 1, 1, 3, addi, a2, a2, 160
    level2 2, 4, 0, 1, ldq, q24, [a2 - 32]
    level2 2, 4, 1, 1, ldq, q25, [a2 - 16]
    .else
    level2 0, 0, 0, 3, addi, a0, a0, 16
    .rept 13, i
    level2 (i + 1)/8*2, (i + 1)/2%2 + (i + 1)/4%2*4, (i + 1)%2
    .endr
    .endif
    level2 2, 5, 0
    level2 2, 5, 1
    .rept 8, i
    level3 0, i/2, i%2
    .endr
    .rept 4, i
    part 1, i/2, 16 + i/2, i/2, i/2, i%2
    .endr
    level3 2, 1, 0
    level3 2, 1, 1
    part 1, 2, 3, 2, 3, 0
    part 1, 2, 3, 2, 3, 1
    level3 2, 2, 0
    level3 2, 2, 1, 1, stq, q0, [a6]
    part 1, 4, 7, 4, 7, 0, 1, stq, q16, [beyond + END_D]
    part 1, 4, 7, 4, 7, 1, 1, stq, q1, [beyond + END_S]
    level3 2, 0, 0, 1, stq, q17, [a6 + DOWN - 4*SPAN]
    level3 2, 0, 1, 1, ldq, q0, [a0 - 6*ROW]
    level3 2, 3, 0, 1, ldq, q1, [a0 - 5*ROW]
    level3 2, 3, 1, 1, stq, q2, [a6 + 2*SPAN]
    part 1, 22, 23, 6, 5, 0, 1, stq, q3, [a6 + DOWN - 2*SPAN]
    part 1, 22, 23, 6, 5, 1, 1, ldq, q2, [a0 - 4*ROW]
    part 1, 18, 19, 12, 11, 0, 1, ldq, q3, [a0 - 3*ROW]
    part 1, 18, 19, 12, 11, 1, 1, stq, q4, [a6 + SPAN]
    part 1, 20, 21, 10, 13, 0, 1, stq, q7, [a6 + DOWN - SPAN]
    part 1, 20, 21, 10, 13, 1, 1, ldq, q4, [a0 - 2*ROW]
    part 1, 16, 17, 8, 15, 0, 1, ldq, q5, [a0 - ROW]
    part 1, 16, 17, 8, 15, 1, 1, ldq, q7, [a0 + ROW]
    part 1, 14, 9, 14, 9, 0, 1, ldq, q6, \x
    part 1, 14, 9, 14, 9, 1, 1, ldq, q8, [\a + \z]
.endm

; The pass over a page, from a8 to a9.
.macro separate_pass
    own_begin
    own_first
    .if COLUMNS > 4
    loop COLUMNS/2 - 1 {
    own_more
    }
    .elif COLUMNS > 2
    own_more
    .endif
    own_high 1, [a0]+s0, a4, BELOW
    own_next 1, SEPARATED > 1, a4, BELOW, [a4]+s1
    separate_high SEPARATED > 1
    .if SEPARATED > 2
    loop SEPARATED - 2 {
    separate_frame 1
    }
    .endif
    .if SEPARATED > 1
    separate_frame 0
    .endif
    separate_end
.endm
.macro own_more
    own_high 0, [a0], a0, OTHER
    own_next 2, 1, a0, OTHER, [a0 + OTHER + ROW]
.endm
; Number of frames of a page.
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

; Data in DMEM. A step entry has the steps of X and Y after an iteration, of results that go down before it, of factors.
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
