//! Arithmetic of binary64 numbers and of complex ones, from single roundings.

use super::{Pair, QUAD};
use crate::alu::{Alu, SIGN};
use crate::semantics::double::DoubleOperation::{self, Add, Mul, Sub};

/// A complex number of two binary64 numbers: real part, imaginary part.
pub(super) type ComplexDouble<L> = [Pair<L>; 2];

/// Returns the complex number in a quad.
#[inline(always)]
pub(super) fn complex<L: Copy>([r0, r1, i0, i1]: [L; QUAD]) -> ComplexDouble<L> {
    [[r0, r1], [i0, i1]]
}

/// Returns the quad that holds a complex number.
#[inline(always)]
pub(super) fn flat<L: Copy>([[r0, r1], [i0, i1]]: ComplexDouble<L>) -> [L; QUAD] {
    [r0, r1, i0, i1]
}

/// Flips the sign bit, of a NaN too.
#[inline(always)]
pub(super) fn negate<A: Alu>(alu: &mut A, [low, high]: Pair<A::L>) -> Pair<A::L> {
    [low, alu.fneg(high)]
}

/// Clears the sign bit, of a NaN too.
#[inline(always)]
pub(super) fn absolute<A: Alu>(alu: &mut A, [low, high]: Pair<A::L>) -> Pair<A::L> {
    let rest = alu.constant(!SIGN);
    [low, alu.and(high, rest)]
}

/// `a * b + c`, the product rounded first.
#[inline(always)]
pub(super) fn madd<A: Alu>(alu: &mut A, a: Pair<A::L>, b: Pair<A::L>, c: Pair<A::L>) -> Pair<A::L> {
    let product = alu.double(Mul, a, b);
    alu.double(Add, product, c)
}

/// `a * b - c`, the product rounded first.
#[inline(always)]
pub(super) fn msub<A: Alu>(alu: &mut A, a: Pair<A::L>, b: Pair<A::L>, c: Pair<A::L>) -> Pair<A::L> {
    let product = alu.double(Mul, a, b);
    alu.double(Sub, product, c)
}

/// `-(a * b) - c`, the product rounded first.
#[inline(always)]
pub(super) fn nmadd<A: Alu>(
    alu: &mut A,
    a: Pair<A::L>,
    b: Pair<A::L>,
    c: Pair<A::L>,
) -> Pair<A::L> {
    let product = alu.double(Mul, a, b);
    let negated = negate(alu, product);
    alu.double(Sub, negated, c)
}

/// `c - a * b`, the product rounded first.
#[inline(always)]
pub(super) fn nmsub<A: Alu>(
    alu: &mut A,
    a: Pair<A::L>,
    b: Pair<A::L>,
    c: Pair<A::L>,
) -> Pair<A::L> {
    let product = alu.double(Mul, a, b);
    alu.double(Sub, c, product)
}

/// Combines first parts by the first operation, second parts by the second.
#[inline(always)]
pub(super) fn by_parts<A: Alu>(
    alu: &mut A,
    [first, second]: [DoubleOperation; 2],
    a: ComplexDouble<A::L>,
    b: ComplexDouble<A::L>,
) -> ComplexDouble<A::L> {
    [
        alu.double(first, a[0], b[0]),
        alu.double(second, a[1], b[1]),
    ]
}

/// The products of the parts of `b` by `a`'s real part, and by its imaginary part, turned round.
#[inline(always)]
fn products<A: Alu>(
    alu: &mut A,
    [ar, ai]: ComplexDouble<A::L>,
    [br, bi]: ComplexDouble<A::L>,
) -> (ComplexDouble<A::L>, ComplexDouble<A::L>) {
    let real = by_parts(alu, [Mul; 2], [ar; 2], [br, bi]);
    let imaginary = by_parts(alu, [Mul; 2], [ai; 2], [bi, br]);
    (real, imaginary)
}

/// `a * b`: the four products rounded, then their difference and sum.
#[inline(always)]
pub(super) fn cmul<A: Alu>(
    alu: &mut A,
    a: ComplexDouble<A::L>,
    b: ComplexDouble<A::L>,
) -> ComplexDouble<A::L> {
    let (p, q) = products(alu, a, b);
    by_parts(alu, [Sub, Add], p, q)
}

/// `a * conj(b)`: [`cmul`] with the sign of `b`'s imaginary part flipped.
#[inline(always)]
pub(super) fn cmulc<A: Alu>(
    alu: &mut A,
    a: ComplexDouble<A::L>,
    b: ComplexDouble<A::L>,
) -> ComplexDouble<A::L> {
    let (p, q) = products(alu, b, a);
    by_parts(alu, [Add, Sub], p, q)
}
