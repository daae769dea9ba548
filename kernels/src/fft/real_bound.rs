//! What ways to transform real numbers cannot take less than, for planners that leave out those that do not pay.

use super::mixed_radix::least_issues_of;
use crate::job::LowerBound;
use cp2_machine::Machine;

/// Bytes of a real number and of a complex one.
const REAL: u64 = 4;
const COMPLEX: u64 = 8;

/// What a way of which only the length is known takes at least, in cycles: that of N complex numbers.
pub(super) fn complex_floor(n: usize, batch: usize, machine: &Machine) -> u64 {
    let bytes = COMPLEX.saturating_mul(n as u64);
    let passes = if bytes < machine.cp2.dmem.0 { 1 } else { 2 };
    let all = |each: u64| u128::from(each).saturating_mul(batch as u128);
    let least = LowerBound {
        issues: all(least_issues_of(n)),
        bytes: all(bytes.saturating_mul(2 * passes)),
        ..LowerBound::default()
    };
    least.cycles(machine).0
}

/// Cycles of the channel for so many copies of N real numbers.
pub(super) fn copies(count: u64, n: usize, batch: usize, machine: &Machine) -> u64 {
    let bytes = u128::from(count) * u128::from(REAL) * n as u128 * batch as u128;
    let least = LowerBound {
        bytes,
        ..LowerBound::default()
    };
    least.cycles(machine).0
}
