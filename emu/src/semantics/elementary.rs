//! The elementary functions: algorithms that define every result bit.
//!
//! Each works in binary64 with plain additions, multiplications, divisions and
//! square roots in the order written, and rounds once to binary32 at the end.
//! No fused operation, no library function: any IEEE host gives these bits.
//! `docs/numerics.md` states coefficients' origin, bounds and measured errors.

use crate::alu::{NAN, SIGN};

/// An elementary function of one float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `1 / x`.
    Rcp,
    /// `1 / sqrt(x)`.
    Rsqrt,
    /// `2^x`.
    Exp2,
    /// Base-2 logarithm.
    Log2,
    /// `sin(2 pi x)`.
    Sin,
    /// `cos(2 pi x)`.
    Cos,
}

impl Function {
    /// All functions.
    pub const ALL: [Self; 6] = [
        Self::Rcp,
        Self::Rsqrt,
        Self::Exp2,
        Self::Log2,
        Self::Sin,
        Self::Cos,
    ];
}

/// The function's value, bits to bits.
#[must_use]
pub fn evaluate(function: Function, x: u32) -> u32 {
    let x = f32::from_bits(x);
    let y = match function {
        Function::Rcp => 1.0 / x,
        Function::Rsqrt => rsqrt(x),
        Function::Exp2 => exp2(x),
        Function::Log2 => log2(x),
        Function::Sin => sin(x),
        Function::Cos => cos(x),
    };
    if y.is_nan() { NAN } else { y.to_bits() }
}

/// `1 / sqrt(x)`; zeros give an infinity of their sign, negative numbers NaN.
fn rsqrt(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

/// Horner's rule, highest coefficient last in the array.
fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// `2^n` for a normal result.
fn power(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// `ln(2)^k / k!`.
const EXP2: [f64; 14] = [
    1.0,
    std::f64::consts::LN_2,
    0.24022650695910072,
    0.05550410866482158,
    0.009618129107628477,
    0.0013333558146428443,
    0.0001540353039338161,
    1.5252733804059841e-05,
    1.321548679014431e-06,
    1.01780860092397e-07,
    7.054911620801123e-09,
    4.4455382718708116e-10,
    2.5678435993488206e-11,
    1.3691488853904128e-12,
];

/// `2^x = 2^n * 2^f`, `n` the nearest integer and `|f| <= 1/2`.
fn exp2(x: f32) -> f32 {
    if x.is_nan() {
        return x;
    }
    // Beyond these the result is 0 or infinity; the clamp keeps `n` small.
    let x = f64::from(x).clamp(-160.0, 160.0);
    let n = x.round_ties_even();
    (polynomial(x - n, &EXP2) * power(n as i32)) as f32
}

/// `2 / ((2k + 1) ln 2)`.
const LOG2: [f64; 11] = [
    2.8853900817779268,
    0.9617966939259756,
    0.5770780163555853,
    0.4121985831111324,
    0.3205988979753252,
    0.2623081892525388,
    0.22195308321368667,
    0.19235933878519512,
    0.16972882833987804,
    0.15186263588304877,
    0.1373995277037108,
];

/// `log2 x = e + log2 m`, `sqrt(1/2) <= m < sqrt 2`, and
/// `log2 m = 2/ln 2 * atanh((m - 1) / (m + 1))`.
fn log2(x: f32) -> f32 {
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if !(x > 0.0 && x < f32::INFINITY) {
        return if x > 0.0 { x } else { f32::NAN };
    }
    // Every f32 is a normal f64: split exponent and fraction, 1 <= m < 2.
    let bits = f64::from(x).to_bits();
    let mut e = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m >= std::f64::consts::SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    (f64::from(e) + s * polynomial(s * s, &LOG2)) as f32
}

/// `(-1)^k (2 pi)^(2k + 1) / (2k + 1)!`.
const SIN: [f64; 9] = [
    std::f64::consts::TAU,
    -41.34170224039976,
    81.60524927607506,
    -76.70585975306139,
    42.058693944897655,
    -15.09464257682299,
    3.819952584848282,
    -0.7181223017785006,
    0.10422916220813984,
];

/// `(-1)^k (2 pi)^(2k) / (2k)!`.
const COS: [f64; 9] = [
    1.0,
    -19.739208802178716,
    64.9393940226683,
    -85.45681720669373,
    60.24464137187666,
    -26.4262567833744,
    7.903536371318469,
    -1.714390711088672,
    0.28200596845579123,
];

/// `sin(2 pi (|x| + shift/4))`, `shift` quarter turns. The reduction to an eighth of a turn is exact.
fn sine(x: f32, shift: u32) -> f64 {
    let x = f64::from(x).abs();
    let k = (4.0 * x).round_ties_even();
    let r = x - 0.25 * k;
    let quarter = (k - 4.0 * (0.25 * k).floor()) as u32;
    match (quarter + shift) % 4 {
        0 => r * polynomial(r * r, &SIN),
        1 => polynomial(r * r, &COS),
        2 => 0.0 - r * polynomial(r * r, &SIN), // 0 - 0 is +0
        _ => 0.0 - polynomial(r * r, &COS),
    }
}

/// `sin(2 pi x)`: odd; multiples of half a turn give a zero of the argument's sign.
fn sin(x: f32) -> f32 {
    let y = sine(x, 0) as f32;
    f32::from_bits(y.to_bits() ^ x.to_bits() & SIGN)
}

/// `cos(2 pi x)`: even; odd multiples of a quarter turn give +0.
fn cos(x: f32) -> f32 {
    sine(x, 1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{LN_2, TAU};

    /// The last coefficients weigh too little for wrong results to betray a misprint.
    #[test]
    fn coefficients_follow_their_formulas() {
        let near = |c: f64, formula: f64| {
            assert!(
                (c / formula - 1.0).abs() < 1e-14,
                "{c:e} is not {formula:e}"
            )
        };
        let mut term = 1.0;
        for (k, c) in EXP2.into_iter().enumerate() {
            near(c, term);
            term *= LN_2 / (k + 1) as f64;
        }
        for (k, c) in LOG2.into_iter().enumerate() {
            near(c, 2.0 / ((2 * k + 1) as f64 * LN_2));
        }
        let mut term = 1.0;
        for (k, (cos, sin)) in COS.into_iter().zip(SIN).enumerate() {
            near(cos, term);
            near(sin, term * TAU / (2 * k + 1) as f64);
            term *= -TAU * TAU / ((2 * k + 1) * (2 * k + 2)) as f64;
        }
    }
}
