; Elementwise operations on pages of blocks: y = f(x), or y = f(x, w) with a second input or a window w.
;
; QUADS        quads of y in an iteration: as many as hide what is not pipelined
; ITERATIONS   iterations of a block
; ESTRIN       whether polynomials are evaluated by Estrin's scheme, otherwise by Horner's
;
; A macro `map_NAME` is an iteration without its stores: it computes the quads y[0] to y[QUADS - 1] through the pointers
; `x` and `w`, which point at the first quads of the iteration. A complex number is two floats, so that functions of one
; to a float read two quads of x for a quad of y. Bounds are those of a quad of y.
;
; Registers: c4, c5, c8 point at the pages of x, y and w; c6 has the number of blocks, then that of iterations.
.include "page.s"

; Scales: a x. Two loads and stores, an operation. FACTOR_BITS: the word of a.
.macro map_scale
    .const FACTOR = int(FACTOR_BITS)
    .rept QUADS, q
    ldq  x[q], [x + 16*q]
    mul  y[q], x[q], FACTOR
    .endr
.endm

; a x + w. Three loads and stores, an operation. FACTOR_BITS: the word of a.
.macro map_axpy
    .const FACTOR = int(FACTOR_BITS)
    .rept QUADS, q
    map_load_both q
    madd y[q], x[q], FACTOR, w[q]
    .endr
.endm

; Sums, differences, products. Three loads and stores, an operation.
.macro map_add
    .rept QUADS, q
    map_load_both q
    add  y[q], x[q], w[q]
    .endr
.endm

.macro map_subtract
    .rept QUADS, q
    map_load_both q
    sub  y[q], x[q], w[q]
    .endr
.endm

.macro map_multiply
    .rept QUADS, q
    map_load_both q
    mul  y[q], x[q], w[q]
    .endr
.endm

; Products of complex numbers. Three loads and stores, two operations.
.macro map_complex_multiply
    .rept QUADS, q
    map_load_both q
    cmul y[q], x[q], w[q]
    .endr
.endm

.macro map_load_both q
    ldq  x[\q], [x + 16*\q]
    ldq  w[\q], [w + 16*\q]
.endm

; Squared magnitudes of complex numbers. Three loads and stores, six operations.
.macro map_power
    .rept QUADS, q
    map_load_complex q
    map_square y[q], q
    .endr
.endm

; Magnitudes of complex numbers: p rsqrt(p), which leaves 0 and infinity as they are. Three loads and stores, eleven
; operations, two of the elementary unit.
.macro map_magnitude
    .const LEAST = int(1), MOST = int(0x7f7fffff)       ; the least and the largest finite number above 0
    .rept QUADS, q
    map_load_complex q
    map_square p[q], q
    max  above[q], p[q], LEAST
    min  inside[q], above[q], MOST
    rsqrt root[q], inside[q]
    mul  y[q], p[q], root[q]
    .endr
.endm

; 10 log10 of squared magnitudes of complex numbers. Three loads and stores, nine operations, two of the elementary
; unit.
.macro map_decibels
    .const FACTOR = 3.010299956639812                   ; 10 log10(2)
    .rept QUADS, q
    map_load_complex q
    map_square p[q], q
    log2 log[q], p[q]
    mul  y[q], log[q], FACTOR
    .endr
.endm

; Arguments of complex numbers, atan2(im, re). With t = min(|re|, |im|) / max(|re|, |im|): angle = t + t^3 p(t^2), then
; pi/2 - angle if |im| > |re|, pi - angle if re is negative, and the sign of im. Every iteration loads its constants
; anew so that registers are free for values: 16 loads and stores. 30 operations by Horner's scheme, two of the
; elementary unit, and two more by Estrin's.
.macro map_phase
    .pointer numbers[4] = phase_numbers by 0            ; the loads through a pointer lie within an interval
    .rept QUADS, q
    ldq  z[q][0], [x + 32*q]
    ldq  z[q][1], [x + 32*q + 16]
    .rept 13, k
    ldq  c[q][k], [numbers[k/4] + 16*k]
    .endr
    map_phase_quad q
    .endr
.endm

.macro map_phase_quad q
    map_split \q
    abs  re_size[\q], re[\q]
    abs  im_size[\q], im[\q]
    max  larger[\q], re_size[\q], im_size[\q]
    min  smaller[\q], re_size[\q], im_size[\q]
    max  divisor[\q], larger[\q], c[\q][8]
    rcp  inverse[\q], divisor[\q]
    mul  t[\q], smaller[\q], inverse[\q]
    mul  s[\q], t[\q], t[\q]
    mul  cube[\q], t[\q], s[\q]
    .if ESTRIN
    .rept 4, k
    madd pair[\q][k], c[\q][2*k + 1], s[\q], c[\q][2*k]
    .endr
    mul  s2[\q], s[\q], s[\q]
    .rept 2, k
    madd four[\q][k], pair[\q][2*k + 1], s2[\q], pair[\q][2*k]
    .endr
    mul  s4[\q], s2[\q], s2[\q]
    madd p[\q][0], four[\q][1], s4[\q], four[\q][0]
    .else
    madd p[\q][6], c[\q][7], s[\q], c[\q][6]
    .rept 6, k
    madd p[\q][5 - k], p[\q][6 - k], s[\q], c[\q][5 - k]
    .endr
    .endif
    madd angle[\q], cube[\q], p[\q][0], t[\q]
    cmplt steep[\q], re_size[\q], im_size[\q]        ; steeper than the diagonal
    sub  turned[\q], c[\q][9], angle[\q]
    sel  upright[\q], turned[\q], angle[\q], steep[\q]
    sar  left[\q], re[\q], c[\q][11]                   ; left of the imaginary axis
    sub  mirrored[\q], c[\q][10], upright[\q]
    sel  above[\q], mirrored[\q], upright[\q], left[\q]
    and  below[\q], im[\q], c[\q][12]                  ; below the real axis
    or   y[\q], above[\q], below[\q]
.endm

; c[0] to c[12] of phases: a polynomial for atan on [0, 1], atan t = t + t^3 (c0 + c1 t^2 + .. + c7 t^14), which
; interpolates atan(sqrt s) / sqrt s at nine Chebyshev nodes with an error of 1.9e-8; the least normal number; pi/2; pi;
; the number of bits behind the sign; the sign.
.macro map_four number
    .float \number, \number, \number, \number
.endm

.macro map_phase_numbers
    .dmem 0
phase_numbers:
    map_four -0.33333036
    map_four 0.19991872
    map_four -0.14197798
    map_four 0.10618371
    map_four -0.07456855
    map_four 0.042137623
    map_four -0.01573125
    map_four 0.0027662835
    map_four bits(0x00800000)
    map_four 1.5707963267948966
    map_four 3.141592653589793
    map_four bits(31)
    map_four bits(0x80000000)
.endm

; Quad q of the real and of the imaginary parts of two quads of complex numbers.
.macro map_load_complex q
    ldq  z[\q][0], [x + 32*\q]
    ldq  z[\q][1], [x + 32*\q + 16]
    map_split \q
.endm

.macro map_split q
    trnlo re[\q].lo, z[\q][0].lo, z[\q][0].hi
    trnlo re[\q].hi, z[\q][1].lo, z[\q][1].hi
    trnhi im[\q].lo, z[\q][0].lo, z[\q][0].hi
    trnhi im[\q].hi, z[\q][1].lo, z[\q][1].hi
.endm

.macro map_square p, q
    mul  re_squared[\q], re[\q], re[\q]
    madd \p, im[\q], im[\q], re_squared[\q]
.endm

; The program of an operation with so many inputs that reads `ratio` quads of the first for a quad of y. It does not
; matter where a block of a page ends, so one loop runs over all of them.
.macro map_program name, iteration, inputs, ratio
    .program
    .entry start
start:
    movi s0, ITERATIONS
    page_begin
    ldx2 c6, [a15 + 8]
    ldx2 c4, [a15]
    .if \inputs == 2
    ldx  c8, [a15 + 16]
    .endif
    mul  c6, c6, s0
    .linear \name, c6 at least ITERATIONS multiple of ITERATIONS
    .pointer x = c4 by 16*QUADS*\ratio
    .pointer y = c5 by 16*QUADS
    .if \inputs == 2
    .pointer w = c8 by 16*QUADS
    .endif
    .apart                                              ; arrays in and out are pages of their own
    \iteration
    map_store
    .endlinear
    page_end
    stop
.endm

; The program of a window, whose quads are at `window`: a block is a row, or a part of it.
.macro map_window_program
    .program
    .entry start
start:
    movi s0, 16*QUADS*ITERATIONS
    page_begin
    ldx2 c6, [a15 + 8]
    ldx2 c4, [a15]
    loop c6 {
    .linear window, ITERATIONS
    .pointer x = c4 by 16*QUADS
    .pointer y = c5 by 16*QUADS
    .pointer w = window by 16*QUADS
    .apart
    map_multiply
    map_store
    .endlinear
    add  c4, c4, s0
    add  c5, c5, s0
    }
    page_end
    stop
.endm

.macro map_store
    .rept QUADS, q
    stq  y[q], [y + 16*q]
    .endr
.endm
