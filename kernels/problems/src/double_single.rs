//! Numbers of two binary32: about twice the digits of one.

use crate::real::Real;
use num_complex::Complex64;
use std::ops::{Add, Mul, Sub};

/// A number as the unevaluated sum of two binary32, of which the second is at most half a unit of the first one's last
/// place: at least 48 bits.
///
/// In memory it is the upper part, then the lower part: `[f32; 2]`. Sums and products are those of T. J. Dekker, *A
/// floating-point technique for extending the available precision* (Numerische Mathematik 18, 1971), with the errors
/// of sums by D. E. Knuth (The Art of Computer Programming, volume 2, 4.2.2). Their errors are a few times 2^-48 of the
/// sizes of a sum's operands, or of the product.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DoubleSingle {
    high: f32,
    low: f32,
}

impl DoubleSingle {
    /// Adds two numbers, of which the second is far smaller or the rounding error of the first.
    fn normalise(high: f32, low: f32) -> Self {
        let sum = high + low;
        let other = sum - high;
        let error = (high - (sum - other)) + (low - other);
        Self {
            high: sum,
            low: error,
        }
    }
}

impl From<[f32; 2]> for DoubleSingle {
    fn from([high, low]: [f32; 2]) -> Self {
        Self { high, low }
    }
}

impl From<DoubleSingle> for [f32; 2] {
    fn from(number: DoubleSingle) -> Self {
        [number.high, number.low]
    }
}

impl Add for DoubleSingle {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let sum = Self::normalise(self.high, other.high);
        Self::normalise(sum.high, sum.low + (self.low + other.low))
    }
}

impl Sub for DoubleSingle {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self {
            high: -other.high,
            low: -other.low,
        }
    }
}

impl Mul for DoubleSingle {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let high = self.high * other.high;
        // A product of two binary32 has 48 bits, so both operations of binary64 are exact.
        let error = f64::from(self.high) * f64::from(other.high) - f64::from(high);
        let crossed = self.high * other.low + self.low * other.high;
        Self::normalise(high, error as f32 + crossed)
    }
}

impl Real for DoubleSingle {
    fn from_f64(x: f64) -> Self {
        let high = x as f32;
        let rest = x - f64::from(high);
        Self {
            high,
            low: if high.is_finite() { rest as f32 } else { 0.0 },
        }
    }

    fn wide(self) -> f64 {
        f64::from(self.high) + f64::from(self.low)
    }
}

/// Returns the double-single number next to a number of double precision, as it is in memory.
#[must_use]
pub fn split_double(x: f64) -> [f32; 2] {
    DoubleSingle::from_f64(x).into()
}

/// Returns a double-single number in memory, rounded to double precision.
#[must_use]
pub fn join_double(parts: [f32; 2]) -> f64 {
    DoubleSingle::from(parts).wide()
}

/// Returns a complex number whose parts are double-single numbers in memory, rounded to double precision.
pub(crate) fn join_complex(parts: [[f32; 2]; 2]) -> Complex64 {
    let [re, im] = parts.map(join_double);
    Complex64::new(re, im)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npb::Precision;
    use proptest::prelude::*;

    proptest! {
        /// Splitting a number loses less than half a rounding; sums and products of such numbers have at most one
        /// of the sizes of their operands.
        #[test]
        fn operations_are_within_a_rounding(a in -2.0f64..2.0, b in -2.0f64..2.0) {
            let rounding = Precision::DoubleSingle.rounding();
            let [x, y] = [a, b].map(DoubleSingle::from_f64);
            prop_assert!((x.wide() - a).abs() <= rounding / 2.0 * a.abs());
            let (a, b) = (x.wide(), y.wide());
            let sum = (x + y).wide() - (a + b);
            prop_assert!(sum.abs() <= rounding * (a.abs() + b.abs()), "{}", sum);
            let difference = (x - y).wide() - (a - b);
            prop_assert!(difference.abs() <= rounding * (a.abs() + b.abs()));
            let product = (x * y).wide() - a * b;
            prop_assert!(product.abs() <= rounding * (a * b).abs() + 1e-40, "{}", product);
        }
    }

    #[test]
    fn numbers_beyond_the_range_are_infinite() {
        assert_eq!(split_double(1e300), [f32::INFINITY, 0.0]);
        assert_eq!(join_double(split_double(-1e300)), f64::NEG_INFINITY);
        assert!(join_double(split_double(f64::NAN)).is_nan());
    }
}
