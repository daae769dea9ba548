//! The random numbers of the NAS benchmarks.

/// The generator of all benchmarks: x' = 5^13 x mod 2^46. A draw is x / 2^46, in (0, 1) and exact in double
/// precision. The seed itself is never drawn.
///
/// ```
/// let mut draws = cp2_problems::npb::Generator::default();
/// assert_eq!(draws.draw(), 55_909_509_111_989.0 / 2f64.powi(46));
/// // The millionth number, without those before it.
/// let mut later = cp2_problems::npb::Generator::default();
/// later.skip(999_999);
/// assert_eq!(later.draw(), 50_447_193_586_593.0 / 2f64.powi(46));
/// ```
#[derive(Clone, Debug)]
pub struct Generator(u64);

/// The multiplier 5^13.
const FACTOR: u64 = 1_220_703_125;
const BITS: u32 = 46;
const MASK: u64 = (1 << BITS) - 1;

impl Default for Generator {
    /// Starts from the seed of the benchmarks.
    fn default() -> Self {
        Self(314_159_265)
    }
}

impl Generator {
    /// Returns the next number as an integer below 2^46; integers are in the same order as numbers.
    // 2^46 divides 2^64, so products may wrap.
    pub const fn next_integer(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(FACTOR) & MASK;
        self.0
    }

    /// Returns the next number, in (0, 1).
    #[allow(clippy::cast_precision_loss)]
    pub fn draw(&mut self) -> f64 {
        self.next_integer() as f64 / (1u64 << BITS) as f64
    }

    /// Skips `count` numbers, in time proportional to log `count`.
    pub const fn skip(&mut self, count: u64) {
        let (mut power, mut rest) = (FACTOR, count);
        while rest > 0 {
            if rest & 1 == 1 {
                self.0 = self.0.wrapping_mul(power) & MASK;
            }
            power = power.wrapping_mul(power) & MASK;
            rest >>= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers() {
        // Values of the benchmark's definition: x_1 to x_5, x_10, x_100, x_1000.
        let published = [
            (1, 55_909_509_111_989),
            (2, 61_155_031_930_969),
            (3, 45_573_031_421_645),
            (4, 55_279_057_169_489),
            (5, 1_250_169_187_877),
            (10, 34_383_163_428_281),
            (100, 54_040_635_609_297),
            (1000, 39_923_673_819_009),
            (1 << 24, 40_561_112_887_457),
        ];
        for (k, x) in published {
            let mut draws = Generator::default();
            draws.skip(k - 1);
            assert_eq!(draws.next_integer(), x, "x_{k}");
        }
        let mut draws = Generator::default();
        let sum: f64 = (0..1_000_000).map(|_| draws.draw()).sum();
        assert!((sum - 499_741.605_742).abs() < 1e-6, "{sum}");
    }
}
