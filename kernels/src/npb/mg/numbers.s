; Operations on as many numbers as a quad computes, in three precisions.
;
; PRECISION  0 single: a quad holds four numbers.
;            1 double: a quad holds two.
;            2 double-single: a number is the unevaluated sum of two binary32; x.high and x.low are quads of four upper
;              and four lower parts, which lie one behind the other in memory.
;
; Double-single (docs/numerics.md): T. J. Dekker, A floating-point technique for extending the available precision
; (Numerische Mathematik 18, 1971); D. E. Knuth, The Art of Computer Programming 2, 4.2.2; Y. Hida, X. S. Li, D. H.
; Bailey, Algorithms for quad-double precision floating point arithmetic (ARITH-15, 2001). The rows `adde` and `mule`
; give the rounding errors of `add` and `mul`. Issues, where the factor k is a constant:
;
;     a + b                                4
;     a k                                  3, and 1 if k has a lower part; 2 for a power of two
;     a k + c                              7, and 1 if k has a lower part; 5 for a power of two
;     making parts not overlap             2
;
; Sums and products leave parts that may overlap; they are made not to once, when the result is stored. Until then a
; lower part is some units of the last place of the largest upper part of a sum, and each operation on it loses at
; most 2^-24 of that.

.equ PARTS, PRECISION == 2 ? 2 : 1
.equ NUMBER_BYTES, 16*PARTS
.equ LANES, PRECISION == 1 ? 2 : 4

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

; Makes the parts of a sum or a product not overlap.
.macro number_normalise d, x
    add  \d.high, \x.high, \x.low
    adde \d.low, \x.high, \x.low
.endm

; Stores a sum or a product.
.macro number_store x, pointer, bytes
    .if PARTS == 1
    stq  \x, [\pointer + \bytes]
    .else
    number_normalise \x.whole, \x
    number_store_loaded \x.whole, \pointer, \bytes
    .endif
.endm

; Stores a number that was loaded: its parts do not overlap.
.macro number_store_loaded x, pointer, bytes
    .if PARTS == 1
    stq  \x, [\pointer + \bytes]
    .else
    stq  \x.high, [\pointer + \bytes]
    stq  \x.low, [\pointer + \bytes + 16]
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

.macro number_and d, a, mask
    .if PARTS == 1
    and  \d, \a, \mask
    .else
    and  \d.high, \a.high, \mask
    and  \d.low, \a.low, \mask
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

; d = a k for a constant k.
.macro number_mul d, a, k
    .if PRECISION == 0
    mul  \d, \a, \k
    .elif PRECISION == 1
    dmul \d, \a, \k
    .elif is_power_of_two(constant(\k))
    mul  \d.high, \a.high, \k
    mul  \d.low, \a.low, \k
    .else
    mul  \d.high, \a.high, \k
    mule \d.missed, \a.high, \k
    .if single(constant(\k)) == constant(\k)
    madd \d.low, \a.low, \k, \d.missed
    .else
    madd \d.crossed, \a.low, \k, \d.missed
    madd \d.low, \k.low, \a.high, \d.crossed
    .endif
    .endif
.endm

; d = a k + c for a constant k.
.macro number_madd d, a, k, c
    .if PARTS == 1 || is_power_of_two(constant(\k))
    number_madd_exact \d, \a, \k, \c
    .else
    mul  \d.product, \a.high, \k
    mule \d.missed, \a.high, \k
    add  \d.high, \d.product, \c.high
    adde \d.error, \d.product, \c.high
    madd \d.crossed, \a.low, \k, \c.low
    .if single(constant(\k)) == constant(\k)
    add  \d.more, \d.crossed, \d.missed
    .else
    madd \d.both, \k.low, \a.high, \d.crossed
    add  \d.more, \d.both, \d.missed
    .endif
    add  \d.low, \d.more, \d.error
    .endif
.endm

; d = a k + c for a k that is a power of two in double-single precision.
.macro number_madd_exact d, a, k, c
    .if PRECISION == 0
    madd \d, \a, \k, \c
    .elif PRECISION == 1
    dmadd \d, \a, \k, \c
    .else
    mul  \d.product, \a.high, \k
    add  \d.high, \d.product, \c.high
    adde \d.error, \d.product, \c.high
    madd \d.crossed, \a.low, \k, \c.low
    add  \d.low, \d.crossed, \d.error
    .endif
.endm
