//! Instants and durations of the network, in whole picoseconds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Add;

/// An instant since the start of a run, or a duration.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Picoseconds(pub u64);

impl Picoseconds {
    /// The start of a run; no time at all.
    pub const ZERO: Self = Self(0);

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum; `None` where it is too large to be represented.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// `self - other`, or zero where that would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Picoseconds of a second.
const SECOND: u128 = 1_000_000_000_000;

impl Picoseconds {
    /// Returns the instant of a cycle of a clock, rounded up to picoseconds; the last one that there is where
    /// it is later.
    #[must_use]
    pub fn from_cycles(cycle: u64, hertz: u64) -> Self {
        let instant = (u128::from(cycle) * SECOND).div_ceil(u128::from(hertz.max(1)));
        Self(u64::try_from(instant).unwrap_or(u64::MAX))
    }

    /// Returns the first cycle of a clock that is not before the instant: `from_cycles(c).to_cycles() == c`.
    #[must_use]
    pub fn to_cycles(self, hertz: u64) -> u64 {
        let cycle = u128::from(self.0) * u128::from(hertz) / SECOND;
        let cycle = u64::try_from(cycle).unwrap_or(u64::MAX);
        match Self::from_cycles(cycle, hertz) < self {
            true => cycle.saturating_add(1),
            false => cycle,
        }
    }
}

/// The sum, or the largest number where it is larger.
impl Add for Picoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Exact, in nanoseconds: `316.8 ns`.
impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000);
        if rest == 0 {
            return write!(f, "{whole} ns");
        }
        let digits = format!("{rest:03}");
        write!(f, "{whole}.{} ns", digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_exactly() {
        let shown = |ps| Picoseconds(ps).to_string();
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(1), "0.001 ns");
        assert_eq!(shown(316_800), "316.8 ns");
        assert_eq!(shown(2_000_050), "2000.05 ns");
    }

    #[test]
    fn cycles_come_back_from_their_instants() {
        for hertz in [1, 3, 7, 1_000, 200_000_000, 999_999_937, 1_000_000_000_000] {
            for cycle in [0, 1, 2, 3, 1000, 12_345] {
                let instant = Picoseconds::from_cycles(cycle, hertz);
                assert_eq!(instant.to_cycles(hertz), cycle, "{hertz} {cycle}");
                let later = Picoseconds(instant.0 + 1);
                assert!(later.to_cycles(hertz) > cycle, "{hertz} {cycle}");
            }
        }
        assert_eq!(Picoseconds::from_cycles(u64::MAX, 1), Picoseconds(u64::MAX));
    }

    #[test]
    fn sums_do_not_wrap() {
        let most = Picoseconds(u64::MAX);
        assert_eq!(most + Picoseconds(1), most);
        assert_eq!(most.checked_add(Picoseconds(1)), None);
        assert_eq!(
            Picoseconds(1).checked_add(Picoseconds(2)),
            Some(Picoseconds(3))
        );
        assert_eq!(Picoseconds(1).saturating_sub(most), Picoseconds::ZERO);
    }
}
