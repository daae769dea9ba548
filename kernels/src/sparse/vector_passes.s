; Vector passes of iterative methods: updates and inner products.
; A pass goes over blocks of QUADS quads; each section has blocks of its own.
; Vectors are padded with zeros to whole blocks, and passes leave zeros there. Each kernel is launched by its label. The
; sums of a block are a quad, one sum in a lane, in SUMS bytes; the control CPU adds up those of all blocks. In double
; precision a quad has two lanes, and three sums take two quads. In double-single precision a number is the sum of two
; floats (docs/numerics.md): loads part two quads of memory into a quad of upper and one of lower parts, stores join them.
;
; | kernel        | reads               | writes                          | sums                         | scalars |
; |---------------|---------------------|---------------------------------|------------------------------|---------|
; | dot           | x, y                |                                 | x y                          |         |
; | scaled        | z                   | x = s z                         | x x                          | s       |
; | residual      | q, r                | r - a q                         | r r                          | a       |
; | residual_by   | q, r, d             | r - a q                         | r r, r d r                   | a       |
; | first_step    | p, r                | a p, r + b p                    |                              | a, b    |
; | step          | z, p, r             | z + a p, r + b p                |                              | a, b    |
; | step_by       | z, p, r, d          | z + a p, d r + b p              |                              | a, b    |
; | errors        | x, y, z             |                                 | (x - y) (x - y), x z, z z    |         |
; | begin         | b, d                | r = b, p = d b                  | r r, r p                     |         |
; | direction     | r, p, v, d          | p = r + b (p - o v), y = d p    |                              | b, o    |
; | half          | r, v, d             | r = r - a v, z = d r            |                              | a       |
; | two_dots      | t, r                |                                 | t r, t t                     |         |
; | finish        | x, y, z, r, t, s    | x + a y + o z, r = r - o t      | s r, r r                     | a, o    |
;
; Cycles: two quads an iteration, a load or a store each for every vector, and the latency of a multiply-add or two; the
; DMA takes four cycles and more for each quad of each vector.
;
; symbols: QUADS    quads of a block, an even number
;          SUMS     bytes of a block's sums: 16, or 32 of numbers of 8 bytes, in whole granules of the DMA
;          DOUBLE   1 for numbers in double precision, 0 for others
;          DOUBLE_SINGLE  1 for numbers in double-single precision, 0 for others
;          SCALARS  bytes of the scalars: 32, 64 in double-single precision, or whole granules
;
; Registers: a0 first input, a1 first output, a2.. the further inputs and then outputs, the sums last; c0 blocks;
;            q24.. sums; q30, q31 scalars; in double-single precision q22, q23 their lower parts and q12.. intermediate
.include "page.s"

.dmem 0
    .align 64
scalars: .space SCALARS

.program
.macro scalar_quads
        movi a13, scalars
        ldq q30, [a13]
        ldq q31, [a13 + 16]
    .if DOUBLE_SINGLE
        ldq q22, [a13 + 32]
        ldq q23, [a13 + 48]
    .endif
.endm

; Loads a page's arguments: the first pair of addresses and `pairs` others.
.macro arguments pairs
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
    .rept \pairs, i
        ldx2 a{2 + 2*i}, [a15 + 16 + 8*i]
    .endr
.endm

; Loads two quads of a vector; put stores them.
.macro two to, from
    .if DOUBLE_SINGLE
        ldq q12, [\from]+16
        ldq q13, [\from]+16
        trnlo r{2 * (\to)}, r24, r25
        trnhi r{2 * (\to) + 2}, r24, r25
        trnlo r{2 * (\to) + 1}, r26, r27
        trnhi r{2 * (\to) + 3}, r26, r27
    .else
        ldq q{\to}, [\from]+16
        ldq q{\to + 1}, [\from]+16
    .endif
.endm
.macro put of, to
    .if DOUBLE_SINGLE
        trnlo r24, r{2 * (\of)}, r{2 * (\of) + 2}
        trnhi r25, r{2 * (\of)}, r{2 * (\of) + 2}
        trnlo r26, r{2 * (\of) + 1}, r{2 * (\of) + 3}
        trnhi r27, r{2 * (\of) + 1}, r{2 * (\of) + 3}
        stq q12, [\to]+16
        stq q13, [\to]+16
    .else
        stq q{\of}, [\to]+16
        stq q{\of + 1}, [\to]+16
    .endif
.endm

; Computes with three or four quads or pairs: numbers of single precision, or of double precision if DOUBLE.
.macro quads op, d, a, b
    .if DOUBLE
        d\op q{\d}, q{\a}, q{\b}
    .else
        \op q{\d}, q{\a}, q{\b}
    .endif
.endm
.macro quads_of_three op, d, a, b, c
    .if DOUBLE
        d\op q{\d}, q{\a}, q{\b}, q{\c}
    .else
        \op q{\d}, q{\a}, q{\b}, q{\c}
    .endif
.endm

; Sequences of double-single precision (T. J. Dekker 1971): a product of numbers whose lower parts are in other quads,
; with its upper part in q12 and the rest in q13; a b + c, whose parts go to two quads and may overlap; and d = q12 + q13
; with parts that do not overlap.
.macro product_of_parts a, a_low, b, b_low
        mul q12, q{\a}, q{\b}
        mule q13, q{\a}, q{\b}
        madd q13, q{\a_low}, q{\b}, q13
        madd q13, q{\a}, q{\b_low}, q13
.endm
.macro sum_of_parts a, a_low, b, b_low, c, to=12, rest=13
        mul q12, q{\a}, q{\b}
        mule q13, q{\a}, q{\b}
        madd q14, q{\a_low}, q{\b}, q{\c + 1}
        adde q15, q{\c}, q12
        add q{\to}, q{\c}, q12
        madd q14, q{\a}, q{\b_low}, q14
        add q13, q13, q15
        add q{\rest}, q14, q13
.endm
.macro join_parts d
        add q{\d}, q12, q13
        adde q{\d + 1}, q12, q13
.endm

; Computes d = a b + c of two quads; the macros after it take a vector and a scalar. Sums of double-single precision
; have parts that may overlap.
.macro madds d, a, b, c
    .if DOUBLE_SINGLE
        sum_of_parts \a, \a + 1, \b, \b + 1, \c, \d, \d + 1
    .else
        quads_of_three madd, \d, \a, \b, \c
        quads_of_three madd, \d + 1, \a + 1, \b + 1, \c + 1
    .endif
.endm
.macro adds d, a, scalar, c
    .if DOUBLE_SINGLE
        sum_of_parts \a, \a + 1, \scalar, \scalar - 8, \c
        join_parts \d
    .else
        quads_of_three madd, \d, \a, \scalar, \c
        quads_of_three madd, \d + 1, \a + 1, \scalar, \c + 1
    .endif
.endm
.macro takes d, a, scalar, c
    .if DOUBLE_SINGLE
        neg q16, q{\a}
        neg q17, q{\a + 1}
        sum_of_parts 16, 17, \scalar, \scalar - 8, \c
        join_parts \d
    .else
        quads_of_three nmsub, \d, \a, \scalar, \c
        quads_of_three nmsub, \d + 1, \a + 1, \scalar, \c + 1
    .endif
.endm
.macro muls d, a, b
    .if DOUBLE_SINGLE
        product_of_parts \a, \a + 1, \b, \b + 1
        join_parts \d
    .else
        quads mul, \d, \a, \b
        quads mul, \d + 1, \a + 1, \b + 1
    .endif
.endm
.macro subs d, a, b
    .if DOUBLE_SINGLE
        neg q14, q{\b}
        sub q13, q{\a + 1}, q{\b + 1}
        add q12, q{\a}, q14
        adde q14, q{\a}, q14
        add q13, q13, q14
        join_parts \d
    .else
        quads sub, \d, \a, \b
        quads sub, \d + 1, \a + 1, \b + 1
    .endif
.endm
.macro scales d, a, scalar
    .if DOUBLE_SINGLE
        product_of_parts \a, \a + 1, \scalar, \scalar - 8
        join_parts \d
    .else
        quads mul, \d, \a, \scalar
        quads mul, \d + 1, \a + 1, \scalar
    .endif
.endm

; Sets the sums of a block, two quads each, to 0.
.macro zeros count
    .rept 4 * \count, i
        lif r{48 + i}, 0.0
    .endr
.endm

; Adds up the lanes of sums of double-single precision: all lanes of q{of} get the upper part, of q{of + 1} the lower.
.macro add_lanes of
    .rept 2, i
        perm q14, q{\of}, 0b01001110 + i * 0b01100011
        perm q15, q{\of + 1}, 0b01001110 + i * 0b01100011
        add q12, q{\of}, q14
        adde q14, q{\of}, q14
        add q13, q{\of + 1}, q15
        add q13, q13, q14
        join_parts \of
    .endr
.endm

; Reduces the sums of a block, of two quads each: to one lane each of a quad, or of two quads if numbers have 8 bytes.
.macro put_sums to
    .rept SUMS / 16
        stq q24, [\to]+16
    .endr
.endm
.macro one_sum to
    .if DOUBLE_SINGLE
        add_lanes 24
        trnlo r48, r48, r50
    .elif DOUBLE
        dadd q24, q24, q25
        dadd r48, r48, r49
        mov r49, r48
    .else
        add q24, q24, q25
        add r48, r48, r49
        swap r49, r48
        add r48, r48, r49
    .endif
        put_sums \to
.endm
.macro two_sums to
    .if DOUBLE_SINGLE
        add_lanes 24
        add_lanes 26
        trnlo r48, r48, r50
        trnlo r49, r52, r54
    .elif DOUBLE
        dadd q24, q24, q25
        dadd q26, q26, q27
        dadd r48, r48, r49
        dadd r49, r52, r53
    .else
        add q24, q24, q25
        add q26, q26, q27
        add r48, r48, r49
        add r52, r52, r53
        trnlo r50, r48, r52
        trnhi r51, r48, r52
        add r48, r50, r51
        mov r49, r48
    .endif
        put_sums \to
.endm
.macro three_sums to
    .if DOUBLE_SINGLE
        add_lanes 24
        add_lanes 26
        add_lanes 28
        trnlo r48, r48, r50
        trnlo r49, r52, r54
        trnlo r56, r56, r58
    .rept SUMS / 32
        stq q24, [\to]+16
        stq q28, [\to]+16
    .endr
    .elif DOUBLE
        dadd q24, q24, q25
        dadd q26, q26, q27
        dadd q28, q28, q29
        dadd r48, r48, r49
        dadd r49, r52, r53
        dadd r56, r56, r57
        mov r57, r56
    .rept SUMS / 32
        stq q24, [\to]+16
        stq q28, [\to]+16
    .endr
    .else
        add q24, q24, q25
        add q26, q26, q27
        add q28, q28, q29
        add r48, r48, r49
        add r52, r52, r53
        add r56, r56, r57
        trnlo r50, r48, r52
        trnhi r51, r48, r52
        swap r57, r56
        add r48, r50, r51
        add r49, r56, r57
        put_sums \to
    .endif
.endm

; The frame of a kernel: has_scalars 0 or 1, address pairs besides the first, number of sums. Between `blocks` and
; `blocks_end` stand two quads of every vector; the sums of a block are stored to an address, if there are any.
.macro blocks has_scalars, pairs, sums
    .if \has_scalars
        scalar_quads
    .endif
        page_begin
        arguments \pairs
        loop c0 {
        zeros \sums
        loop QUADS / 2 {
.endm
.macro blocks_end sums, to=a0
        }
    .if \sums == 0
        nop                     ; no two loops end with one word
    .elif \sums == 1
        one_sum \to
    .elif \sums == 2
        two_sums \to
    .else
        three_sums \to
    .endif
        }
        page_end
        stop
.endm

; x y
dot:
        blocks 0, 1, 1
        two 0, a0               ; x
        two 2, a2               ; y
        madds 24, 0, 2, 24
        blocks_end 1, a1

; x = s z, and x x
scaled:
        blocks 1, 1, 1
        two 0, a0               ; z
        scales 2, 0, 30
        madds 24, 2, 2, 24
        put 2, a1
        blocks_end 1, a2

; r - a q, and r r
residual:
        blocks 1, 1, 1
        two 0, a0               ; q
        two 2, a2               ; r
        takes 2, 0, 30, 2
        madds 24, 2, 2, 24
        put 2, a1
        blocks_end 1, a3

; r - a q, r r, and r d r
residual_by:
        blocks 1, 2, 2
        two 0, a0               ; q
        two 2, a2               ; r
        two 4, a3               ; d
        takes 2, 0, 30, 2
        muls 4, 4, 2
        madds 24, 2, 2, 24
        madds 26, 2, 4, 26
        put 2, a1
        blocks_end 2, a4

; a p, r + b p
first_step:
        blocks 1, 1, 0
        two 0, a0               ; p
        two 2, a2               ; r
        scales 4, 0, 30
        adds 0, 0, 31, 2
        put 4, a1
        put 0, a3
        blocks_end 0

; z + a p, r + b p
step:
        blocks 1, 2, 0
        two 0, a0               ; z
        two 2, a2               ; p
        two 4, a3               ; r
        adds 0, 2, 30, 0
        adds 2, 2, 31, 4
        put 0, a1
        put 2, a4
        blocks_end 0

; z + a p, d r + b p
step_by:
        blocks 1, 2, 0
        two 0, a0               ; z
        two 2, a2               ; p
        two 4, a3               ; r
        two 6, a4               ; d
        muls 4, 6, 4
        adds 0, 2, 30, 0
        adds 2, 2, 31, 4
        put 0, a1
        put 2, a5
        blocks_end 0

; (x - y) (x - y), x z, z z
errors:
        blocks 0, 1, 3
        two 0, a0               ; x
        two 2, a2               ; y
        two 4, a3               ; z
        subs 2, 0, 2
        madds 26, 0, 4, 26
        madds 28, 4, 4, 28
        madds 24, 2, 2, 24
        blocks_end 3, a1

; r = b, p = d b, r r, r p
begin:
        blocks 0, 2, 2
        two 0, a0               ; b
        two 2, a2               ; d
        muls 2, 2, 0
        madds 24, 0, 0, 24
        madds 26, 0, 2, 26
        put 0, a1
        put 2, a3
        blocks_end 2, a4

; p = r + b (p - o v), y = d p
direction:
        blocks 1, 2, 0
        two 0, a0               ; r
        two 2, a2               ; p
        two 4, a3               ; v
        two 6, a4               ; d
        takes 2, 4, 31, 2
        adds 2, 2, 30, 0
        muls 6, 6, 2
        put 2, a1
        put 6, a5
        blocks_end 0

; r - a v, z = d r
half:
        blocks 1, 2, 0
        two 0, a0               ; r
        two 2, a2               ; v
        two 4, a3               ; d
        takes 0, 2, 30, 0
        muls 4, 4, 0
        put 0, a1
        put 4, a4
        blocks_end 0

; t r, t t
two_dots:
        blocks 0, 1, 2
        two 0, a0               ; t
        two 2, a2               ; r
        madds 24, 0, 2, 24
        madds 26, 0, 0, 26
        blocks_end 2, a1

; x + a y + o z, r - o t, s r, r r
finish:
        blocks 1, 4, 2
        two 0, a0               ; x
        two 2, a2               ; y
        two 4, a3               ; z
        two 6, a4               ; r
        two 8, a5               ; t
        two 10, a6               ; s
        adds 0, 2, 30, 0
        takes 6, 8, 31, 6
        adds 0, 4, 31, 0
        madds 24, 10, 6, 24
        madds 26, 6, 6, 26
        put 0, a1
        put 6, a7
        blocks_end 2, a8
