; Resident kernels of packed matrices: a copy of a segment of the vector, shifted by lanes.

; Copies 8 c4 + c5 quads from a6 to the pointer `to`. Each is taken from lane `lanes` of the quad in q0, which comes
; before the first one, and of the next quad. What is shifted last follows, as far as it is known. Quads: 0 .. 8, and 8
; from `first`; a loop's turn takes 16 cycles.
.macro shift_segment to, lanes, first
        loop c4 {
        .rept 5, i
          ldq q{1 + i}, [a6]+16
        .endr
        .rept 3, i
          ldq q{6 + i}, [a6]+16         || ext q{\first + i}, q{i}, q{i + 1}, \lanes
        .endr
        .rept 5, i
          stq q{\first + i}, [\to]+16   || ext q{\first + 3 + i}, q{3 + i}, q{4 + i}, \lanes
        .endr
          stq q{\first + 5}, [\to]+16   || mov q0, q8
          stq q{\first + 6}, [\to]+16
          stq q{\first + 7}, [\to]+16
        }
        loop c5 {
          ldq q1, [a6]+16
          ext q2, q0, q1, \lanes
          stq q2, [\to]+16
          mov q0, q1
        }
        ext q2, q0, q0, \lanes
.endm
