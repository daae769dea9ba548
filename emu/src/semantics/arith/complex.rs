//! Fused and complex arithmetic of two lanes, from single roundings.

use super::Pair;
use crate::alu::Alu;

/// `a * b + c`, the product rounded first.
#[inline(always)]
pub(super) fn madd<A: Alu>(alu: &mut A, a: Pair<A::L>, b: Pair<A::L>, c: Pair<A::L>) -> Pair<A::L> {
    let product = alu.mul_two(a, b);
    alu.add_two(product, c)
}

/// `a * b - c`, the product rounded first.
#[inline(always)]
pub(super) fn msub<A: Alu>(alu: &mut A, a: Pair<A::L>, b: Pair<A::L>, c: Pair<A::L>) -> Pair<A::L> {
    let product = alu.mul_two(a, b);
    alu.sub_two(product, c)
}

/// `-(a * b) - c`, the product rounded first.
#[inline(always)]
pub(super) fn nmadd<A: Alu>(
    alu: &mut A,
    a: Pair<A::L>,
    b: Pair<A::L>,
    c: Pair<A::L>,
) -> Pair<A::L> {
    let product = alu.mul_two(a, b);
    let negated = product.map(|lane| alu.fneg(lane));
    alu.sub_two(negated, c)
}

/// `c - a * b`, the product rounded first.
#[inline(always)]
pub(super) fn nmsub<A: Alu>(
    alu: &mut A,
    a: Pair<A::L>,
    b: Pair<A::L>,
    c: Pair<A::L>,
) -> Pair<A::L> {
    let product = alu.mul_two(a, b);
    alu.sub_two(c, product)
}

/// The four products of two complex numbers, rounded: those with `a`'s real part,
/// then those with its imaginary part beside `b` turned round.
#[inline(always)]
fn products<A: Alu>(
    alu: &mut A,
    [ar, ai]: Pair<A::L>,
    [br, bi]: Pair<A::L>,
) -> (Pair<A::L>, Pair<A::L>) {
    let real = alu.mul_two([ar, ar], [br, bi]);
    let imaginary = alu.mul_two([ai, ai], [bi, br]);
    (real, imaginary)
}

/// `a * b`: the four products rounded, then their difference and sum.
#[inline(always)]
pub(super) fn cmul<A: Alu>(alu: &mut A, a: Pair<A::L>, b: Pair<A::L>) -> Pair<A::L> {
    let (p, q) = products(alu, a, b);
    alu.sub_add(p, q)
}

/// `a * conj(b)`: [`cmul`] with the sign of `b`'s imaginary part flipped.
#[inline(always)]
pub(super) fn cmulc<A: Alu>(alu: &mut A, a: Pair<A::L>, b: Pair<A::L>) -> Pair<A::L> {
    let (p, q) = products(alu, b, a);
    alu.add_sub(p, q)
}

/// `conj(a) * b`.
#[inline(always)]
pub(super) fn ccmul<A: Alu>(alu: &mut A, a: Pair<A::L>, b: Pair<A::L>) -> Pair<A::L> {
    cmulc(alu, b, a)
}

/// `conj(a) * conj(b)`: [`cmul`] with both imaginary signs flipped. Not
/// `conj(a * b)`, whose zeros can have the other sign.
#[inline(always)]
pub(super) fn ccmulc<A: Alu>(alu: &mut A, a: Pair<A::L>, b: Pair<A::L>) -> Pair<A::L> {
    let ([rr, ri], q) = products(alu, a, b);
    let negated = alu.fneg(ri);
    alu.sub_two([rr, negated], q)
}

/// `x + i*t`, where `i*t = (-t.im, t.re)`.
#[inline(always)]
pub(super) fn add_turned<A: Alu>(alu: &mut A, x: Pair<A::L>, t: Pair<A::L>) -> Pair<A::L> {
    alu.sub_add(x, [t[1], t[0]])
}

/// `x - i*t`.
#[inline(always)]
pub(super) fn sub_turned<A: Alu>(alu: &mut A, x: Pair<A::L>, t: Pair<A::L>) -> Pair<A::L> {
    alu.add_sub(x, [t[1], t[0]])
}
