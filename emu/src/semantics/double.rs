//! Operations on binary64 numbers: a pair of lanes is one, lane 0 its lower half.

use crate::alu::canonical;

/// The only NaN that an operation on binary64 numbers returns.
pub const DOUBLE_NAN: u64 = 0x7ff8_0000_0000_0000;

/// An operation on two binary64 numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubleOperation {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// Smaller number, `-0 < +0`; NaN if either is.
    Min,
    /// Larger number, `-0 < +0`; NaN if either is.
    Max,
    /// Mask of 64 ones where `a == b`.
    Equal,
    /// Mask of 64 ones where `a < b`.
    Less,
    /// Mask of 64 ones where `a <= b`.
    LessOrEqual,
}

/// Returns the bits of a binary64 number from its lanes.
#[must_use]
pub const fn join([low, high]: [u32; 2]) -> u64 {
    (high as u64) << 32 | low as u64
}

/// Returns the lanes of a binary64 number.
#[must_use]
pub const fn split(bits: u64) -> [u32; 2] {
    [bits as u32, (bits >> 32) as u32]
}

fn canonical_double(value: f64) -> u64 {
    if value.is_nan() {
        DOUBLE_NAN
    } else {
        value.to_bits()
    }
}

/// Computes `operation` on bits: IEEE binary64, rounded to nearest even, subnormals kept.
#[must_use]
pub fn evaluate(operation: DoubleOperation, a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let mask = |holds: bool| if holds { u64::MAX } else { 0 };
    let select = |first: bool, zeros: u64| match (x.is_nan() || y.is_nan(), x == y) {
        (true, _) => DOUBLE_NAN,
        // Only zeros of unlike sign are equal and have different bits.
        (_, true) => zeros,
        _ if first => a,
        _ => b,
    };
    match operation {
        DoubleOperation::Add => canonical_double(x + y),
        DoubleOperation::Sub => canonical_double(x - y),
        DoubleOperation::Mul => canonical_double(x * y),
        DoubleOperation::Min => select(x < y, a | b),
        DoubleOperation::Max => select(x > y, a & b),
        DoubleOperation::Equal => mask(x == y),
        DoubleOperation::Less => mask(x < y),
        DoubleOperation::LessOrEqual => mask(x <= y),
    }
}

/// Rounds a binary64 number to binary32, to nearest even.
#[must_use]
pub fn to_single(bits: u64) -> u32 {
    canonical(f64::from_bits(bits) as f32)
}

/// Returns a binary32 number as a binary64 one.
#[must_use]
pub fn from_single(bits: u32) -> u64 {
    canonical_double(f64::from(f32::from_bits(bits)))
}

/// Returns the rounding error of a binary32 product, `a b - fl(a b)`, rounded once.
///
/// A product of two binary32 numbers has at most 48 digits and an exponent far inside that of binary64, so it is
/// exact there, and so is its difference from the rounded product.
#[must_use]
pub fn product_error(a: u32, b: u32) -> u32 {
    let exact = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
    canonical((exact - f64::from(exact as f32)) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn special_numbers() {
        let (zero, minus_zero) = (0f64.to_bits(), (-0f64).to_bits());
        let signalling = 0xfff0_0000_0000_0001;
        for operation in [
            DoubleOperation::Add,
            DoubleOperation::Sub,
            DoubleOperation::Mul,
            DoubleOperation::Min,
            DoubleOperation::Max,
        ] {
            assert_eq!(evaluate(operation, signalling, zero), DOUBLE_NAN);
            assert_eq!(evaluate(operation, zero, signalling), DOUBLE_NAN);
        }
        for (a, b) in [(zero, minus_zero), (minus_zero, zero)] {
            assert_eq!(evaluate(DoubleOperation::Min, a, b), minus_zero);
            assert_eq!(evaluate(DoubleOperation::Max, a, b), zero);
            assert_eq!(evaluate(DoubleOperation::Equal, a, b), u64::MAX);
        }
        assert_eq!(evaluate(DoubleOperation::Less, signalling, zero), 0);
        assert_eq!(to_single(signalling), crate::alu::NAN);
        assert_eq!(from_single(0xff80_0001), DOUBLE_NAN);
    }

    proptest! {
        /// The rounded product and its error add up to the exact product, wherever that error is a number that
        /// binary32 has.
        #[test]
        fn a_product_and_its_error_are_exact(a in -1e12f32..1e12, b in -1e12f32..1e12) {
            let error = f32::from_bits(product_error(a.to_bits(), b.to_bits()));
            prop_assert_eq!(f64::from(a * b) + f64::from(error), f64::from(a) * f64::from(b));
            prop_assert_eq!(error, a.mul_add(b, -(a * b)));
        }

        #[test]
        fn lanes_come_back(bits: u64) {
            prop_assert_eq!(join(split(bits)), bits);
        }
    }
}
