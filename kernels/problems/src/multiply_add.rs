//! Multiplications followed by additions, rounded once or twice.

use crate::data::{NamedArrays, Values};
use num_complex::Complex32;

/// Rounding of a product that is added to a sum, in single precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MultiplyAdd {
    /// The product is not rounded, only the sum.
    Fused,
    /// The product is rounded, and then the sum.
    RoundedTwice,
}

impl MultiplyAdd {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Fused, Self::RoundedTwice];

    /// Returns the name of the rounding.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fused => "fused",
            Self::RoundedTwice => "rounded-twice",
        }
    }

    /// Computes a b + c.
    ///
    /// ```
    /// use cp2_problems::MultiplyAdd;
    ///
    /// // The product 1 + 2^-11 + 2^-24 is a tie, and is rounded to the even 1 + 2^-11.
    /// let (a, c) = (1.0 + 1.0 / 4096.0, -(1.0 + 1.0 / 2048.0));
    /// assert_eq!(MultiplyAdd::RoundedTwice.compute(a, a, c), 0.0);
    /// assert_eq!(MultiplyAdd::Fused.compute(a, a, c), 1.0 / 16_777_216.0);
    /// ```
    #[must_use]
    pub fn compute(self, a: f32, b: f32, c: f32) -> f32 {
        match self {
            Self::Fused => a.mul_add(b, c),
            Self::RoundedTwice => a * b + c,
        }
    }
}

impl NamedArrays {
    /// Returns true if other arrays have these names and shapes and, to the bit, these elements. All NaNs are
    /// equal, since no definition says which one a result is.
    #[must_use]
    pub fn equal_bits(&self, other: &Self) -> bool {
        let all = self.arrays();
        all.len() == other.arrays().len()
            && all.iter().all(|one| {
                other.array(one.name).is_ok_and(|other| {
                    one.shape == other.shape && same_values(&one.values, &other.values)
                })
            })
    }
}

fn same_values(one: &Values, other: &Values) -> bool {
    let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    let same_complex = |(a, b): (&Complex32, &Complex32)| same(a.re, b.re) && same(a.im, b.im);
    match (one, other) {
        (Values::F32(a), Values::F32(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, *b))
        }
        (Values::F64(a), Values::F64(b)) => {
            let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(*a, *b))
        }
        (Values::Complex64(a), Values::Complex64(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(same_complex)
        }
        (a, b) => a.kind() == b.kind() && a.bytes() == b.bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_elements_and_every_nan_is_one() {
        let of = |x: [f32; 2]| NamedArrays::from_array("x", &[2], x.to_vec());
        assert!(of([1.0, f32::NAN]).equal_bits(&of([1.0, -f32::NAN])));
        assert!(!of([1.0, 0.0]).equal_bits(&of([1.0, -0.0])));
        assert!(!of([1.0, 2.0]).equal_bits(&of([1.0, f32::NAN])));
        assert!(!of([1.0, 2.0]).equal_bits(&NamedArrays::default()));
        assert!(!NamedArrays::default().equal_bits(&of([1.0, 2.0])));
        let other = NamedArrays::from_array("x", &[1, 2], vec![1.0f32, 2.0]);
        assert!(!of([1.0, 2.0]).equal_bits(&other));
        let wide = |x: f64| NamedArrays::from_array("x", &[1], vec![x]);
        assert!(wide(f64::NAN).equal_bits(&wide(-f64::NAN)));
        assert!(!wide(0.0).equal_bits(&wide(-0.0)) && !wide(1.0).equal_bits(&wide(f64::NAN)));
        let z = |im: f32| NamedArrays::from_array("z", &[1], vec![Complex32::new(0.0, im)]);
        assert!(z(1.0).equal_bits(&z(1.0)) && !z(1.0).equal_bits(&z(2.0)));
        let place = |at: u32| NamedArrays::from_array("place", &[1], vec![at]);
        assert!(place(3).equal_bits(&place(3)) && !place(3).equal_bits(&place(4)));
    }
}
