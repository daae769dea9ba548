//! Cycles of an iteration, which need not be a whole number.

use std::cmp::Ordering;
use std::fmt;

/// Cycles of an iteration: a number of cycles in a number of iterations, in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CycleRatio {
    cycles: u64,
    iterations: u64,
}

impl CycleRatio {
    /// Returns `cycles` in `iterations`, which count as 1 if they are 0.
    #[must_use]
    pub fn new(cycles: u64, iterations: u64) -> Self {
        let iterations = iterations.max(1);
        let divisor = greatest_common_divisor(cycles, iterations);
        Self {
            cycles: cycles / divisor,
            iterations: iterations / divisor,
        }
    }

    /// Returns a whole number of cycles in each iteration.
    #[must_use]
    pub const fn whole(cycles: u64) -> Self {
        Self {
            cycles,
            iterations: 1,
        }
    }

    /// Returns the cycles of [`CycleRatio::iterations`].
    #[must_use]
    pub const fn cycles(self) -> u64 {
        self.cycles
    }

    /// Returns the number of iterations that take a whole number of cycles: at least 1.
    #[must_use]
    pub const fn iterations(self) -> u64 {
        self.iterations
    }

    /// Returns the cycles of one iteration.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.cycles as f64 / self.iterations as f64
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl PartialOrd for CycleRatio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CycleRatio {
    fn cmp(&self, other: &Self) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.cycles, other.iterations).cmp(&product(other.cycles, self.iterations))
    }
}

impl fmt::Display for CycleRatio {
    /// Writes a whole number without a point, others with up to two digits behind it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.iterations == 1 {
            return f.pad(&self.cycles.to_string());
        }
        let digits = format!("{:.2}", self.as_f64());
        f.pad(digits.trim_end_matches('0').trim_end_matches('.'))
    }
}
