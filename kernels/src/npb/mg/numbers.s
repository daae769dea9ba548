; Operations on as many numbers as a quad computes, in three precisions.
;
; PRECISION  0 single: a quad holds four numbers.
;            1 double: a quad holds two.
;            2 double-single: a number is the unevaluated sum of two binary32; x.high and x.low are quads of four upper
;              and four lower parts, which lie one behind the other in memory.
;
; Double-single: T. J. Dekker (Numerische Mathematik 18, 1971), D. E. Knuth (The Art of Computer Programming 2, 4.2.2);
; `adde` and `mule` are the rounding errors of `add` and `mul`. Sums and products leave parts that may overlap, which
; `number_store` ends. The second factor of a product is a constant.

.equ PARTS, PRECISION == 2 ? 2 : 1
.equ NUMBER_BYTES, 16*PARTS

; Lanes of a row's last quad that make the left neighbours of its first quad, and the reverse.
.equ LAST_TO_FIRST, PRECISION == 1 ? 0b01_00_11_10 : 0b10_01_00_11
.equ FIRST_TO_LAST, PRECISION == 1 ? 0b01_00_11_10 : 0b00_11_10_01

; A constant: in double-single precision with a lower part where it is not a binary32.
.macro number_constant name, value
    .if PRECISION == 1
    .const \name = double(\value)
    .else
    .const \name = \value
    .if PARTS == 2 && single(\value) != (\value)
    .const \name.low = (\value) - single(\value)
    .endif
    .endif
.endm

; Loads from `bytes` behind `pointer`.
.macro number_load x, pointer, bytes
    .if PARTS == 1
    ldq  \x, [\pointer + \bytes]
    .else
    ldq  \x.high, [\pointer + \bytes]
    ldq  \x.low, [\pointer + \bytes + 16]
    .endif
.endm

.macro number_store x, pointer, bytes
    .if PARTS == 1
    stq  \x, [\pointer + \bytes]
    .else
    add  \x.whole.high, \x.high, \x.low
    adde \x.whole.low, \x.high, \x.low
    stq  \x.whole.high, [\pointer + \bytes]
    stq  \x.whole.low, [\pointer + \bytes + 16]
    .endif
.endm

.macro number_permute d, a, lanes
    .if PARTS == 1
    perm \d, \a, \lanes
    .else
    perm \d.high, \a.high, \lanes
    perm \d.low, \a.low, \lanes
    .endif
.endm

.macro number_add d, a, b
    .if PRECISION == 0
    add  \d, \a, \b
    .elif PRECISION == 1
    dadd \d, \a, \b
    .else
    add  \d.high, \a.high, \b.high
    adde \d.error, \a.high, \b.high
    add  \d.lows, \a.low, \b.low
    add  \d.low, \d.lows, \d.error
    .endif
.endm

; d = a k + c for a constant k. Products with a power of two have no error.
.macro number_madd d, a, k, c
    .if PRECISION == 0
    madd \d, \a, \k, \c
    .elif PRECISION == 1
    dmadd \d, \a, \k, \c
    .else
    mul  \d.product, \a.high, \k
    .if !is_power_of_two(constant(\k))
    mule \d.missed, \a.high, \k
    .endif
    add  \d.high, \d.product, \c.high
    adde \d.error, \d.product, \c.high
    madd \d.crossed, \a.low, \k, \c.low
    number_add_errors \d, \a, \k
    .endif
.endm

; The errors of a product and a sum join the lower part of d.
.macro number_add_errors d, a, k
    .if is_power_of_two(constant(\k))
    add  \d.low, \d.crossed, \d.error
    .elif single(constant(\k)) == constant(\k)
    add  \d.more, \d.crossed, \d.missed
    add  \d.low, \d.more, \d.error
    .else
    madd \d.both, \k.low, \a.high, \d.crossed
    add  \d.more, \d.both, \d.missed
    add  \d.low, \d.more, \d.error
    .endif
.endm
