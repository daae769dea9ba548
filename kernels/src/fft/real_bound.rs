//! Lower bounds of real FFTs, by which a planner leaves methods out.

use super::mixed_radix::find_least_issues;
use crate::job::LowerBound;
use cp2_machine::Machine;

/// Bytes of a real number.
const REAL: u64 = 4;
/// Bytes of a complex number.
const COMPLEX: u64 = 8;

/// Returns a lower bound in cycles of a complex transform of which only the length `n` is known: its issues,
/// and one or two passes of every number in and out.
pub(super) fn complex_floor(n: usize, batch: usize, machine: &Machine) -> u64 {
    let bytes = COMPLEX.saturating_mul(n as u64);
    let passes = if bytes < machine.cp2.dmem.0 { 1 } else { 2 };
    let all = |each: u64| u128::from(each).saturating_mul(batch as u128);
    let least = LowerBound {
        issues: all(find_least_issues(n)),
        bytes: all(bytes.saturating_mul(2 * passes)),
        ..LowerBound::default()
    };
    least.cycles(machine).0
}

/// Returns the DMA cycles of `count` transfers of N real numbers each.
pub(super) fn copies(count: u64, n: usize, batch: usize, machine: &Machine) -> u64 {
    let bytes = u128::from(count) * u128::from(REAL) * n as u128 * batch as u128;
    let least = LowerBound {
        bytes,
        ..LowerBound::default()
    };
    least.cycles(machine).0
}
