//! Quantities with their units in the type, and the integer time base.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Zero.
            pub const ZERO: Self = Self(0);

            /// Returns the number without its unit.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// Returns `self - other`, or zero if that would be negative.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                debug_assert!(self.0 >= other.0, "negative quantity");
                self.saturating_sub(other)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {}", self.0, $unit)
            }
        }
    };
}

quantity!(
    /// Clock cycles of CP2.
    Cycles, "cycles");
quantity!(
    /// Bytes.
    Bytes, "B");
quantity!(
    /// Instants and durations in the time base of a system (see [`TimeBase`]).
    Ticks, "ticks");

/// An exact non-negative rational number: bandwidths such as 12.8 bytes per cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ratio {
    /// Numerator.
    pub num: u64,
    /// Denominator, never zero.
    pub den: u64,
}

impl Ratio {
    /// Returns `num / den` in lowest terms; none if `den` is zero.
    #[must_use]
    pub fn new(num: u64, den: u64) -> Option<Self> {
        if den == 0 {
            return None;
        }
        let g = gcd(num, den).max(1);
        Some(Self {
            num: num / g,
            den: den / g,
        })
    }

    /// Returns the nearest `f64`, for reports.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

/// Returns the greatest common divisor; `gcd(0, n) = n`.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The integer time base of one machine.
///
/// A tick divides both the CP2 cycle and the time the DMA takes for one
/// granule, so that 12.8 bytes per cycle is exact without floating point:
/// on VM9 a cycle is 4 ticks and a 16-byte granule takes 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeBase {
    /// Ticks in one CP2 cycle.
    pub ticks_per_cycle: u64,
    /// Ticks the DMA channel needs for one granule.
    pub ticks_per_granule: u64,
    /// CP2 cycles in one second.
    pub clock_hz: u64,
}

impl TimeBase {
    /// Returns the duration of `cycles` CP2 cycles.
    #[must_use]
    pub fn cycles(&self, cycles: Cycles) -> Ticks {
        Ticks(cycles.0.saturating_mul(self.ticks_per_cycle))
    }

    /// Returns the number of whole cycles that have ended by instant `t`.
    #[must_use]
    pub fn floor_cycles(&self, t: Ticks) -> Cycles {
        Cycles(t.0 / self.ticks_per_cycle)
    }

    /// Returns the first cycle boundary at or after instant `t`.
    #[must_use]
    pub fn ceil_cycles(&self, t: Ticks) -> Cycles {
        Cycles(t.0.div_ceil(self.ticks_per_cycle))
    }

    /// Returns the seconds of simulated time, for reports.
    #[must_use]
    pub fn seconds(&self, t: Ticks) -> f64 {
        t.0 as f64 / (self.ticks_per_cycle as f64 * self.clock_hz as f64)
    }
}
