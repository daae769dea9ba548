//! What any program must compute and move for transforms of real numbers: of the problem, not of a recipe.

use super::mixed::least_issues_of;
use crate::job::Least;
use cp2_machine::Machine;

/// Bytes of a real number and of a complex one.
const REAL: u64 = 4;
const COMPLEX: u64 = 8;

/// The least of one transform of N real numbers, there or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RealLeast {
    issues: u64,
    bytes: u64,
}

impl RealLeast {
    /// Of N even, the arithmetic of N/2 complex numbers and two butterflies for two numbers of the spectrum, for a
    /// power of two N/4 (log2 N + 1) issues; of N odd, half of that of N complex ones. And every byte over the DMA
    /// channel: in and out, or where no section's DMEM could hold the numbers, in and out of two passes, as those of
    /// N/2 complex ones.
    pub(super) fn new(n: usize, machine: &Machine) -> Self {
        let complex = least_issues_of(n);
        let issues = match n % 2 {
            0 => complex.min(least_issues_of(n / 2).saturating_add(n as u64 / 2)),
            _ => complex / 2,
        };
        let n = n as u64;
        let bytes = match n.saturating_mul(REAL) < machine.cp2.dmem.0 {
            true => n * REAL + (n / 2 + 1) * COMPLEX,
            false => n.saturating_mul(4 * REAL),
        };
        Self { issues, bytes }
    }

    /// That of `batch` transforms.
    pub(super) fn of(&self, batch: usize) -> Least {
        let all = |each: u64| u128::from(each).saturating_mul(batch as u128);
        Least {
            issues: all(self.issues),
            bytes: all(self.bytes),
            ..Least::default()
        }
    }
}

/// What a way of which only the length is known takes at least, in cycles: that of N complex numbers.
pub(super) fn complex_floor(n: usize, batch: usize, machine: &Machine) -> u64 {
    let bytes = COMPLEX.saturating_mul(n as u64);
    let passes = if bytes < machine.cp2.dmem.0 { 1 } else { 2 };
    let all = |each: u64| u128::from(each).saturating_mul(batch as u128);
    let least = Least {
        issues: all(least_issues_of(n)),
        bytes: all(bytes.saturating_mul(2 * passes)),
        ..Least::default()
    };
    least.cycles(machine).0
}

/// Cycles of the channel for so many copies of N real numbers.
pub(super) fn copies(count: u64, n: usize, batch: usize, machine: &Machine) -> u64 {
    let bytes = u128::from(count) * u128::from(REAL) * n as u128 * batch as u128;
    let least = Least {
        bytes,
        ..Least::default()
    };
    least.cycles(machine).0
}
