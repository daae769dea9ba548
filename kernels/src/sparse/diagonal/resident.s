; Sparse matrix times vector in the diagonal format: the resident kernel.
;
; A section computes groups of four rows, one in each lane of a quad, four groups at a time. A cell multiplies a quad of
; values by four neighbours of the section's part of the vector. Its address is the same in all sections, and comes with
; the page. A step has a cell of each group: 14 words, 12 with arithmetic. Places without an entry hold +0 (stored +0 is
; made -0); integer comparison with +0 masks the vector's value there, which may be infinite.
; page:      a15 -> units - 1, next page's a15 or 0 | values, addresses | 0, results | 1 if its last unit goes on in the
;                   next page, bytes of a list of addresses for all units or 0
; segment:   a15 -> -1, next page's a15 or 0 | nothing | new vector segment, nothing | its quads to shift / 8, quads % 8
; addresses: per unit two pairs of the first step | steps - 1, nothing | two pairs of every other step; two pairs more
; list:      if all groups have the same diagonals: per step the address for group 1 of unit 1, nothing; the first + 64
;
; symbols: SHIFTED      address of the copy of the segment that is shifted by one number
;          APART        1 if there are pages with addresses of each unit
;          ALIKE        1 if there are pages with a list for all units
;
; Takes 14 cycles a step, 8 a unit and about 50 a page; 2 a quad of a new segment.
; Quads: x 0 .. 3, values 4 .. 7, masks and masked x 8 .. 11, sums 12 .. 15, sums of the unit before 17 .. 19, zeros 20.
.include "shifted_segment.s"
.program
.entry start

; All steps of a unit but the first; the next step adds up cells 2 and 3 of a step.
.macro steps
        loop c0 {
          ldp r0, [a2]          || madd q13, q5, q9, q13
          ldp r1, [a2 + 8]
          ldp r2, [a3]          || icmpeq q10, q6, q20
          ldp r3, [a3 + 8]      || andn q10, q2, q10
          ldx2 a2, [a9]+8       || madd q14, q6, q10, q14
          ldq q4, [a8]+16       || icmpeq q11, q7, q20
          ldq q5, [a8]+16       || andn q11, q3, q11
          ldp r4, [a4]          || madd q15, q7, q11, q15
          ldp r5, [a4 + 8]
          ldp r6, [a5]          || icmpeq q8, q4, q20
          ldp r7, [a5 + 8]      || andn q8, q0, q8
          ldx2 a4, [a9]+8       || madd q12, q4, q8, q12
          ldq q6, [a8]+16       || icmpeq q9, q5, q20
          ldq q7, [a8]+16       || andn q9, q1, q9
        }
.endm

; All steps of a unit if the groups have one address, and those of other units are at distances of 64: s0 for this unit.
.macro alike
        loop c0 {
          ldq q4, [a8]+16       || madd q13, q5, q9, q13
          ldq q5, [a8]+16
          ldp r0, [a2]          || icmpeq q10, q6, q20
          ldp r1, [a2 + 8]      || icmpeq q11, q7, q20
          ldp r2, [a2 + 16]     || andn q10, q2, q10
          ldp r3, [a2 + 24]     || madd q14, q6, q10, q14
          ldp r4, [a2 + 32]     || andn q11, q3, q11
          ldp r5, [a2 + 40]     || madd q15, q7, q11, q15
          ldp r6, [a2 + 48]     || icmpeq q8, q4, q20
          ldp r7, [a2 + 56]     || andn q8, q0, q8
          add a2, a3, s0        || madd q12, q4, q8, q12
          ldx a3, [a6]+s1%      || icmpeq q9, q5, q20
          ldq q6, [a8]+16       || andn q9, q1, q9
          ldq q7, [a8]+16
        }
.endm

start:  lii r40, 0
        lii r41, 0
page:   wait 0
        ldx2 a6, [a15 + 16]
        ldx2 c4, [a15 + 24]
        ldx2 c2, [a15]
        ldx2 a8, [a15 + 8]
        bz a6, begin

; Copies the segment, shifted by one number, so that any two neighbours are a pair. Nothing follows the last quad.
        movi a10, SHIFTED
        ldq q0, [a6]+16
        shift_segment a10, 1, 9
        stq q2, [a10]           || mov q12, q20
        mov q13, q20
        mov q14, q20
        mov q15, q20

; The first step of the first unit.
begin:  bneg c2, end
.if APART && ALIKE
        bnz c5, list
.endif
.if APART
        ldx2 a2, [a9]+8
        ldx2 a4, [a9]+8
        ldx c0, [a9]+8
        ldq q4, [a8]+16
        ldq q5, [a8]+16
        ldp r0, [a2]
        ldp r1, [a2 + 8]
        ldp r2, [a3]
        ldp r3, [a3 + 8]
        ldx2 a2, [a9]+8
        ldp r4, [a4]            || icmpeq q8, q4, q20
        ldp r5, [a4 + 8]        || andn q8, q0, q8
        ldp r6, [a5]            || madd q12, q4, q8, q12
        ldp r7, [a5 + 8]        || icmpeq q9, q5, q20
        ldx2 a4, [a9]+8         || andn q9, q1, q9
        ldq q6, [a8]+16
        ldq q7, [a8]+16
        steps
        loop c2 {
; The first step of a unit, and the end of the unit before.
          ldx c0, [a9]+8        || madd q17, q5, q9, q13
          ldp r0, [a2]          || mov q13, q20
          ldp r1, [a2 + 8]
          ldp r2, [a3]          || icmpeq q10, q6, q20
          ldp r3, [a3 + 8]      || andn q10, q2, q10
          ldx2 a2, [a9]+8       || madd q18, q6, q10, q14
          ldq q4, [a8]+16       || icmpeq q11, q7, q20
          ldq q5, [a8]+16       || andn q11, q3, q11
          stq q12, [a7]+16      || madd q19, q7, q11, q15
          ldp r4, [a4]          || mov q14, q20
          ldp r5, [a4 + 8]      || mov q15, q20
          ldp r6, [a5]          || icmpeq q8, q4, q20
          ldp r7, [a5 + 8]      || andn q8, q0, q8
          ldx2 a4, [a9]+8       || mul q12, q4, q8
          ldq q6, [a8]+16       || icmpeq q9, q5, q20
          ldq q7, [a8]+16       || andn q9, q1, q9
          stq q17, [a7]+16
          stq q18, [a7]+16
          steps
          stq q19, [a7]+16
        }
.if ALIKE
        jmp last
.endif
.endif

.if ALIKE
; Units with one list: the address of a unit's first step is that of the unit before, plus 64.
list:   mov a6, a9
        mov b6, a9
        mov l6, c5
        movi s1, 8
        shr c0, c5, 3
        addi c0, c0, -1
        ldx a3, [a6]+s1%
        movi s0, 0
        ldq q4, [a8]+16
        ldq q5, [a8]+16
        addi a2, a3, -64
        ldx a3, [a6]+s1%
        ldp r0, [a2]            || icmpeq q8, q4, q20
        ldp r1, [a2 + 8]        || icmpeq q9, q5, q20
        ldp r2, [a2 + 16]
        ldp r3, [a2 + 24]
        ldp r4, [a2 + 32]       || andn q8, q0, q8
        ldp r5, [a2 + 40]       || madd q12, q4, q8, q12
        ldp r6, [a2 + 48]       || andn q9, q1, q9
        ldp r7, [a2 + 56]
        add a2, a3, s0
        ldx a3, [a6]+s1%
        ldq q6, [a8]+16
        ldq q7, [a8]+16
        alike
        loop c2 {
          ldq q4, [a8]+16       || madd q17, q5, q9, q13
          ldq q5, [a8]+16       || mov q13, q20
          ldp r0, [a2]          || icmpeq q10, q6, q20
          ldp r1, [a2 + 8]      || icmpeq q11, q7, q20
          ldp r2, [a2 + 16]     || andn q10, q2, q10
          ldp r3, [a2 + 24]     || madd q18, q6, q10, q14
          ldp r4, [a2 + 32]     || andn q11, q3, q11
          stq q12, [a7]+16      || madd q19, q7, q11, q15
          ldp r5, [a2 + 40]     || mov q14, q20
          ldp r6, [a2 + 48]     || icmpeq q8, q4, q20
          ldp r7, [a2 + 56]     || andn q8, q0, q8
          addi s0, s0, 64       || mov q15, q20
          add a2, a3, s0        || mul q12, q4, q8
          ldx a3, [a6]+s1%      || icmpeq q9, q5, q20
          ldq q6, [a8]+16       || andn q9, q1, q9
          ldq q7, [a8]+16
          stq q17, [a7]+16
          stq q18, [a7]+16
          alike
          stq q19, [a7]+16
        }

.endif

; The end of the last unit, which the next page may continue.
last:   madd q13, q5, q9, q13
        icmpeq q10, q6, q20
        icmpeq q11, q7, q20
        andn q10, q2, q10
        andn q11, q3, q11
        madd q14, q6, q10, q14
        madd q15, q7, q11, q15
        bnz c4, end
        stq q12, [a7]+16        || mov q12, q20
        stq q13, [a7]+16        || mov q13, q20
        stq q14, [a7]+16        || mov q14, q20
        stq q15, [a7]           || mov q15, q20
end:    signal 1
        bz c3, done
        mov a15, c3
        jmp page
done:   stop
