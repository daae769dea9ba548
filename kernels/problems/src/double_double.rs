//! Numbers of two binary64: references of what is computed in one.

use crate::real::Real;
use std::ops::{Add, Mul, Sub};

/// A number as the unevaluated sum of two binary64, of which the second is at most half a unit of the first one's last
/// place: about 106 bits.
///
/// Sums and products are those of T. J. Dekker, *A floating-point technique for extending the available precision*
/// (Numerische Mathematik 18, 1971), with relative errors below 2^-100.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DoubleDouble {
    high: f64,
    low: f64,
}

/// Returns a sum and its rounding error, which is exact.
fn add_exactly(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    let other = high - a;
    let low = (a - (high - other)) + (b - other);
    DoubleDouble { high, low }
}

/// Splits a number into two of 26 bits.
fn split(a: f64) -> [f64; 2] {
    /// One more than 2^27: the product leaves the upper half of the bits behind.
    const SPLITTER: f64 = 134_217_729.0;
    let scaled = SPLITTER * a;
    let upper = scaled - (scaled - a);
    [upper, a - upper]
}

/// Returns a product and its rounding error, which is exact unless a part of it is subnormal.
fn multiply_exactly(a: f64, b: f64) -> DoubleDouble {
    let high = a * b;
    let ([a_upper, a_lower], [b_upper, b_lower]) = (split(a), split(b));
    let rest = a_upper * b_upper - high + a_upper * b_lower + a_lower * b_upper;
    DoubleDouble {
        high,
        low: rest + a_lower * b_lower,
    }
}

impl Add for DoubleDouble {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let high = add_exactly(self.high, other.high);
        let low = add_exactly(self.low, other.low);
        let first = add_exactly(high.high, high.low + low.high);
        add_exactly(first.high, first.low + low.low)
    }
}

impl Sub for DoubleDouble {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self {
            high: -other.high,
            low: -other.low,
        }
    }
}

impl Mul for DoubleDouble {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let product = multiply_exactly(self.high, other.high);
        let crossed = self.high * other.low + self.low * other.high;
        add_exactly(product.high, product.low + crossed)
    }
}

impl Real for DoubleDouble {
    fn from_f64(x: f64) -> Self {
        Self { high: x, low: 0.0 }
    }

    fn wide(self) -> f64 {
        self.high + self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Integers of 40 bits have exact sums and products in 128 bits.
        #[test]
        fn sums_and_products_are_those_of_integers(
            a in -(1i128 << 40)..1i128 << 40,
            b in -(1i128 << 40)..1i128 << 40,
            c in -(1i128 << 20)..1i128 << 20,
        ) {
            let number = |n: i128| DoubleDouble::from_f64(n as f64);
            let found = number(a) * number(b) + number(c) - number(a);
            let exact = a * b + c - a;
            prop_assert_eq!(found.high as i128 + found.low as i128, exact);
        }

        /// Squares of a sum and of a difference differ by four products, to more digits than a binary64 has.
        #[test]
        fn errors_are_far_below_those_of_double_precision(a in 1.0f64..2.0, b in 1.0f64..2.0) {
            let [a, b] = [a, b].map(DoubleDouble::from_f64);
            // (a + b)^2 - (a - b)^2 = 4 a b.
            let [sum, difference] = [a + b, a - b];
            let left = sum * sum - difference * difference;
            let error = (left - DoubleDouble::from_f64(4.0) * a * b).wide();
            prop_assert!(error.abs() < 1e-29, "{}", error);
        }
    }
}
