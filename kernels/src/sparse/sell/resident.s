; Sparse matrix times vector in slices of sorted rows (SELL): the resident kernel.
;
; A slice is eight sums of each section: the lanes of two quads. A step loads a quad of values and four numbers of the
; vector for each quad, at the section's own addresses: a half-word is the number of a pair or of a word of local memory.
; A load fills a pair of registers, of which one lane is wanted: lanes 0 and 2 of a quad come from the first and the third
; pair, lanes 1 and 3 from the second and the fourth. `ldw` brings a word into both lanes. For `ldp` the vector lies in
; local memory twice, the second time behind one number more, so that every number is once in lane 0 of a pair and once in
; lane 1. Address 0 is zero: places without an entry multiply it by 0, and no number that may be infinite.
; Indices are loaded two steps ahead, pairs and values one step ahead: the loop waits for no load that takes up to seven
; cycles. A slice that ends only ends its sums: the loads of the next one are under way.
; page:      a15 -> slices - 1, next page's a15 or 0 | stream, counts | 0, results | 1 if its last slice goes on in the
;                   next page, 0 if it has values, 1 if its numbers are sums, 2 if they are sums of slices of one step
; segment:   a15 -> -1, next page's a15 or 0 | nothing | a part of the vector or 0, its copy | its quads to shift / 8,
;                   quads % 8
; counts:    per slice steps - 1, nothing; none for slices of one step
; stream:    indices of steps 1 and 2, values of step 1 | then per step k: indices of step k + 2, values of step k + 1.
;            Sums have no values: their pages add up the sums of a row's parts and put rows in order.
;
; symbols: SEGMENT      address of the vector, behind a quad of zeros
;          WORDS        1 if indices are of words, and no part of the vector is copied
;
; Takes 11 cycles a step, 17 for the first step of a slice; 9 and 15 where numbers are sums, 11 for slices of one step;
; about 50 a page; 2 a quad of a new part of the vector.
; Quads: indices 0, 1; pairs 2 .. 5; values 6, 7; numbers of the vector 8, 9; sums 10, 11; sums of the slice before 12, 13.
.include "shifted_segment.s"
.program
.entry start

; The macros load with `ldp` or `ldw`: `size` is the last letter.
; A step: multiplies and adds up what the step before loaded, and loads for the next.
.macro step size
        ldq q0, [a8]+16             || sel q8, q2, q3, q14
        ld\size r4, [a0 + r2.h0]
        ld\size r6, [a0 + r2.h1]
        ld\size r5, [a0 + r2.h2]
        ld\size r7, [a0 + r2.h3]        || sel q9, q4, q5, q14
        ld\size r8, [a0 + r3.h0]        || madd q10, q6, q8, q10
        ld\size r10, [a0 + r3.h1]       || madd q11, q7, q9, q11
        ld\size r9, [a0 + r3.h2]
        ld\size r11, [a0 + r3.h3]       || mov q1, q0
        ldq q6, [a8]+16
        ldq q7, [a8]+16
.endm

; A step of sums: no values.
.macro sumstep size
        ldq q0, [a8]+16             || sel q8, q2, q3, q14
        ld\size r4, [a0 + r2.h0]
        ld\size r6, [a0 + r2.h1]
        ld\size r5, [a0 + r2.h2]
        ld\size r7, [a0 + r2.h3]        || sel q9, q4, q5, q14
        ld\size r8, [a0 + r3.h0]        || add q10, q8, q10
        ld\size r10, [a0 + r3.h1]       || add q11, q9, q11
        ld\size r9, [a0 + r3.h2]
        ld\size r11, [a0 + r3.h3]       || mov q1, q0
.endm

; Loads the numbers of the first step of a page, whose indices are in q1.
.macro firstpairs size
        ld\size r4, [a0 + r2.h0]
        ld\size r6, [a0 + r2.h1]
        ld\size r5, [a0 + r2.h2]
        ld\size r7, [a0 + r2.h3]
        ld\size r8, [a0 + r3.h0]
        ld\size r10, [a0 + r3.h1]
        ld\size r9, [a0 + r3.h2]
        ld\size r11, [a0 + r3.h3]       || mov q1, q0
.endm

; The whole kernel.
.macro kernel size
start:  lii r30, 0
        lii r31, 0
        lii r26, -1
        trnlo r28, r26, r30
        mov r29, r28
        movi a0, 0
        stq q15, [a0]               || mov q10, q15
        movi a10, SEGMENT
        stq q15, [a10 - 16]         || mov q11, q15
page:   wait 0
        ldx2 a6, [a15 + 16]
        ldx2 c4, [a15 + 24]
        ldx2 c2, [a15]
        ldx2 a8, [a15 + 8]
.if WORDS == 0
        bz a6, begin

; Copies the part, shifted by one number. Nothing follows its last quad yet.
        ldq q0, [a6 - 16]
        shift_segment a7, 3, 16
        stq q2, [a7]
.endif

begin:  bneg c2, end
        bnz c5, sums
        ldq q1, [a8]+16
        ldx c0, [a9]+8
        ldq q0, [a8]+16
        ldq q6, [a8]+16
        ldq q7, [a8]+16
        firstpairs \size
        loop c0 {
          step \size
        }
        loop c2 {
; The first step of a slice, and the end of the slice before.
          ldx c0, [a9]+8
          ldq q0, [a8]+16           || sel q8, q2, q3, q14
          ld\size r4, [a0 + r2.h0]
          ld\size r6, [a0 + r2.h1]
          ld\size r5, [a0 + r2.h2]
          ld\size r7, [a0 + r2.h3]      || sel q9, q4, q5, q14
          ld\size r8, [a0 + r3.h0]      || madd q12, q6, q8, q10
          ld\size r10, [a0 + r3.h1]     || madd q13, q7, q9, q11
          ld\size r9, [a0 + r3.h2]      || mov q10, q15
          ld\size r11, [a0 + r3.h3]     || mov q1, q0
          ldq q6, [a8]+16           || mov q11, q15
          ldq q7, [a8]+16
          stq q12, [a7]+16
          loop c0 {
            step \size
          }
          stq q13, [a7]+16
        }
        sel q8, q2, q3, q14
        sel q9, q4, q5, q14
        madd q10, q6, q8, q10
        madd q11, q7, q9, q11
        bnz c4, keep
last:   stq q10, [a7]+16            || mov q10, q15
        stq q11, [a7]               || mov q11, q15
end:    signal 1
        bz c3, done
        mov a15, c3
        jmp page
; The next page adds to these sums: nothing of this page is under way when it begins.
keep:   mov q10, q10
        mov q11, q11
        jmp end
done:   stop

sums:   ldq q1, [a8]+16
        addi c5, c5, -1
        ldq q0, [a8]+16
        firstpairs \size
        bnz c5, order
        ldx c0, [a9]+8
        loop c0 {
          sumstep \size
        }
        loop c2 {
          ldx c0, [a9]+8
          ldq q0, [a8]+16           || sel q8, q2, q3, q14
          ld\size r4, [a0 + r2.h0]
          ld\size r6, [a0 + r2.h1]
          ld\size r5, [a0 + r2.h2]
          ld\size r7, [a0 + r2.h3]      || sel q9, q4, q5, q14
          ld\size r8, [a0 + r3.h0]      || add q12, q8, q10
          ld\size r10, [a0 + r3.h1]     || add q13, q9, q11
          ld\size r9, [a0 + r3.h2]      || mov q10, q15
          ld\size r11, [a0 + r3.h3]     || mov q1, q0
          stq q12, [a7]+16          || mov q11, q15
          loop c0 {
            sumstep \size
          }
          stq q13, [a7]+16
        }
        sel q8, q2, q3, q14
        sel q9, q4, q5, q14
        add q10, q8, q10
        add q11, q9, q11
        jmp last

; Slices of one step: rows of one part are only put in order.
order:  loop c2 {
          ldq q0, [a8]+16           || sel q8, q2, q3, q14
          ld\size r4, [a0 + r2.h0]
          ld\size r6, [a0 + r2.h1]
          ld\size r5, [a0 + r2.h2]
          ld\size r7, [a0 + r2.h3]      || sel q9, q4, q5, q14
          ld\size r8, [a0 + r3.h0]
          ld\size r10, [a0 + r3.h1]
          ld\size r9, [a0 + r3.h2]
          ld\size r11, [a0 + r3.h3]     || mov q1, q0
          stq q8, [a7]+16
          stq q9, [a7]+16
        }
        sel q10, q2, q3, q14
        sel q11, q4, q5, q14
        jmp last
.endm

.if WORDS
        kernel w
.else
        kernel p
.endif
