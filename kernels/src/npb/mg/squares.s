; Sums of squares of a row, in as many chains as hide the latency of a multiply-add. In double-single precision the
; operations on a quad take longer than that latency.
.equ CHAINS, PARTS == 2 ? 1 : 4

; The sum of the squares of a page, lane by lane, and its lower part.
.alias SUM, q31
.alias SUM_LOW, q30

.macro clear_squares
    lif  r62, 0.0
    lif  r63, 0.0
    .if PARTS == 2
    lif  r60, 0.0
    lif  r61, 0.0
    .endif
.endm

; Adds the square of number x of a row to its chain: chain[x] is the sum up to it. In double-single precision the
; square of a lower part is left out, so parts must not overlap: a sum or a product is made so.
.macro square x, a, chains
    .if PARTS == 2
    number_normalise \a.whole, \a
    square_loaded \x, \a.whole, \chains
    .else
    square_loaded \x, \a, \chains
    .endif
.endm

; Squares of a number whose parts do not overlap are added without that.
.macro square_loaded x, a, chains
    .if PARTS == 2
    square_parts \x, \a.high, \a.low, \chains
    .elif PRECISION == 0 && \x < \chains
    mul  chain[\x], \a, \a
    .elif PRECISION == 0
    madd chain[\x], \a, \a, chain[\x - \chains]
    .elif \x < \chains
    dmul chain[\x], \a, \a
    .else
    dmadd chain[\x], \a, \a, chain[\x - \chains]
    .endif
.endm

.macro square_parts x, high, low, chains
    .if \x < \chains
    mul  chain[\x].high, \high, \high
    mule chain[\x].missed, \high, \high
    madd chain[\x].half, \low, \high, chain[\x].missed
    madd chain[\x].low, \low, \high, chain[\x].half
    .else
    mul  chain[\x].product, \high, \high
    mule chain[\x].missed, \high, \high
    add  chain[\x].high, chain[\x].product, chain[\x - \chains].high
    adde chain[\x].error, chain[\x].product, chain[\x - \chains].high
    madd chain[\x].half, \low, \high, chain[\x - \chains].low
    madd chain[\x].crossed, \low, \high, chain[\x].half
    add  chain[\x].more, chain[\x].crossed, chain[\x].missed
    add  chain[\x].low, chain[\x].more, chain[\x].error
    .endif
.endm

; Adds the chains of a row of n numbers to the sum of the page. The free cycles let the end of the row be issued
; within the next interval, not later.
.macro end_squares n, chains
    .interval + 4
    .if \n == 1 || \chains == 1
    add_squares chain[\n - 1]
    .elif \n == 2 || \chains == 2
    number_add  pair[0], chain[\n - 2], chain[\n - 1]
    add_squares pair[0]
    .else
    number_add  pair[0], chain[\n - 4], chain[\n - 3]
    number_add  pair[1], chain[\n - 2], chain[\n - 1]
    number_add  pairs, pair[0], pair[1]
    add_squares pairs
    .endif
.endm

.macro add_squares row
    .if PARTS == 1
    .before sum@1 = SUM
    number_add  sum, sum@1, \row
    .after SUM = sum
    .else
    .before sum.high@1 = SUM, sum.low@1 = SUM_LOW
    add  total.high, sum.high@1, \row.high
    adde total.error, sum.high@1, \row.high
    add  total.lows, sum.low@1, \row.low
    add  total.low, total.lows, total.error
    number_normalise sum, total
    .after SUM = sum.high, SUM_LOW = sum.low
    .endif
.endm

; Leaves the sum of a page's squares in all lanes of q0, so that the control CPU has one number of a page to add; in
; double-single precision its parts take turns.
.macro fold_squares
    .if PRECISION == 0
    perm q1, SUM, HALVES
    add  q0, SUM, q1
    perm q1, q0, NEIGHBOURS
    add  q0, q0, q1
    .elif PRECISION == 1
    perm q1, SUM, HALVES
    dadd q0, SUM, q1
    .else
    mov  q0, SUM
    mov  q1, SUM_LOW
    fold_parts HALVES
    fold_parts NEIGHBOURS
    trnlo r0, r0, r2
    .endif
.endm

; Lane permutations that exchange the halves of a quad, and the neighbours in each.
.equ HALVES, 0b01_00_11_10
.equ NEIGHBOURS, 0b10_11_00_01

; Adds q0 with lower parts q1 to itself with its lanes permuted.
.macro fold_parts lanes
    perm q2, q0, \lanes
    perm q3, q1, \lanes
    add  q4, q0, q2
    adde q5, q0, q2
    add  q3, q1, q3
    add  q3, q3, q5
    add  q0, q4, q3
    adde q1, q4, q3
.endm
