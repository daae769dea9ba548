//! Seeded random numbers for test data, the same on every host.

use crate::ROUNDING;
use num_complex::Complex32;

/// The `SplitMix64` generator (Steele, Lea and Flood, 2014): the state counts up by
/// an odd constant and each output is a mix of its bits.
///
/// ```
/// let mut random = cp2_problems::Random::new(1234567);
/// assert_eq!(random.next_u64(), 6457827717110365317);
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns the stream of a seed. Every seed is a good seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number uniform in [-1, 1): a multiple of 2^-23, so that no rounding is involved.
    #[allow(clippy::cast_precision_loss)]
    pub fn uniform(&mut self) -> f32 {
        ((self.next_u64() >> 40) as f32 - 8_388_608.0) / 8_388_608.0
    }

    /// Returns a number of double precision that rounds to about `x` in single precision, and has digits that single
    /// precision lacks.
    pub(crate) fn fill_digits(&mut self, x: f32) -> f64 {
        f64::from(x) * (1.0 + f64::from(self.uniform()) * ROUNDING)
    }

    /// Returns a complex number whose parts are uniform in [-1, 1).
    pub fn complex(&mut self) -> Complex32 {
        let re = self.uniform();
        Complex32::new(re, self.uniform())
    }

    /// Returns `count` numbers of [`Random::uniform`].
    pub fn uniforms(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.uniform()).collect()
    }

    /// Returns `count` numbers of [`Random::complex`].
    pub fn complexes(&mut self, count: usize) -> Vec<Complex32> {
        (0..count).map(|_| self.complex()).collect()
    }

    /// Returns an approximately normal number of mean 0 and variance 1: a scaled sum of twelve uniform
    /// numbers.
    pub fn normal(&mut self) -> f32 {
        // The sum of twelve numbers of variance 1/3 has variance 4.
        (0..12).map(|_| self.uniform()).sum::<f32>() / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| random.next_u64()).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(first, expected);
    }

    #[test]
    fn moments() {
        let mut random = Random::new(1);
        let n = 100_000;
        let (mut mean, mut square) = (0.0, 0.0);
        for _ in 0..n {
            let x = f64::from(random.normal());
            mean += x / f64::from(n);
            square += x * x / f64::from(n);
        }
        assert!(
            mean.abs() < 0.02 && (square - 1.0).abs() < 0.02,
            "{mean} {square}"
        );
        assert!((0..n).all(|_| (-1.0..1.0).contains(&random.uniform())));
    }
}
