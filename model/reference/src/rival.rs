//! Base programs that compete with a proposal: counted, not written.
//!
//! A rival is a plan for the machine as it is, and no part of a reference: it says whether a change of the machine
//! gains what a better program would gain without it.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::{COMPLEX, Fft, REAL, RealFft};
use crate::figures::Figures;
use crate::stencil::Stencil;
use cp2_machine::{Cycles, Machine};
use serde::{Deserialize, Serialize};

/// A plan that competes with a change of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rival {
    /// Least cycles of the plan, counted: its arithmetic at the units' intervals or its transfers.
    pub cycles: Cycles,
    /// Short description of the plan.
    pub method: String,
    /// Publication of the method.
    pub source: String,
}

impl Rival {
    fn new(figures: &Figures, method: &str, source: &str) -> Self {
        Self {
            cycles: figures.reference,
            method: method.to_owned(),
            source: source.to_owned(),
        }
    }
}

const BROADCAST: &str = "input broadcast, each section computes its share of the frequencies";
const REDUCTION: &str =
    "Fiduccia, Polynomial evaluation via the division algorithm: the FFT revisited, STOC 1972";

/// Returns the issues of all sections for one transform of `n` numbers, each section computing its share of the
/// frequencies from the whole input; none where a section's share does not fit its memory.
///
/// With S sections, section s holds the input as a polynomial modulo z^(n/S) - c, c a power of a root of order S.
/// The first halving adds its halves with a factor of 1 or -1: n/2 sums, a quad of real multiply-adds for two.
/// Each further one is a complex multiply-add for a number. What is left is a transform of n/S numbers, whose
/// butterflies have factors that differ from section to section.
fn broadcast(n: usize, machine: &Machine) -> Option<Count> {
    let sections = machine.cp2.sections;
    let share = n.checked_div(sections)?;
    let fits = (share as u128) * COMPLEX < u128::from(machine.cp2.dmem.0);
    let whole = (n as u128) * COMPLEX < u128::from(machine.cp2.dmem.0);
    if sections < 2 || !n.is_power_of_two() || !sections.is_power_of_two() || whole || !fits {
        return None;
    }
    let (numbers, share) = (n as f64, share as f64);
    let levels = f64::from(sections.trailing_zeros());
    let own = Count {
        madds: numbers / 4.0,
        // n/4 + n/8 + .. + n/S.
        products: numbers / 2.0 - share,
        twiddled: share / 2.0 * (f64::from(n.trailing_zeros()) - levels),
        ..Count::default()
    };
    Some(own * sections as f64)
}

impl Fft {
    /// Returns the plan that broadcasts the input to all sections, if one section's memory cannot hold a transform
    /// but can hold its share.
    #[must_use]
    pub fn rival(&self, machine: &Machine) -> Option<Rival> {
        let count = broadcast(self.len(), machine)? * self.batch() as f64;
        let ends = 2 * COMPLEX * self.len() as u128 * self.batch() as u128;
        let figures = Figures::of(machine, Traffic::bytes(ends), count, BROADCAST, REDUCTION);
        Some(Rival::new(&figures, BROADCAST, REDUCTION))
    }
}

impl RealFft {
    /// Returns the plan that broadcasts the input to all sections, as for half as many complex numbers; splitting
    /// the spectrum is not counted.
    #[must_use]
    pub fn rival(&self, machine: &Machine) -> Option<Rival> {
        let count = broadcast(self.len() / 2, machine)? * self.batch() as f64;
        let ends = 2 * REAL * self.len() as u128 * self.batch() as u128;
        let figures = Figures::of(machine, Traffic::bytes(ends), count, BROADCAST, REDUCTION);
        Some(Rival::new(&figures, BROADCAST, REDUCTION))
    }
}

const SHIFTED: &str = "rows that begin inside a granule shifted while they are computed";

impl Stencil {
    /// Returns the plan without relayouts for rows that are no multiple of the granule: every quad is shifted once
    /// when its row is loaded and once before it is stored, an issue of `ext` each.
    #[must_use]
    pub fn rival(&self, machine: &Machine) -> Option<Rival> {
        let row = REAL * self.columns() as u128;
        if row.is_multiple_of(u128::from(machine.dma.granule.0.max(1))) {
            return None;
        }
        let figures = self.figures_with_shifts(2.0, machine);
        Some(Rival::new(&figures, SHIFTED, "docs/isa.md, `ext`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coefficients;

    fn machine(name: &str) -> Machine {
        Machine::load(name).unwrap_or_else(|e| panic!("{e}"))
    }

    /// 8192 numbers are 2048 in a section: 4096 issues before its own transform, 11 levels of 1024 butterflies in it.
    #[test]
    fn a_broadcast_transform_has_three_counted_parts() {
        let rival = |n, machine: &Machine| Fft::new(n, 8).rival(machine).map(|r| r.cycles.0);
        let vm7 = machine("vm7");
        assert_eq!(rival(8192, &vm7), Some(8 * (4096 + 11 * 1024)));
        assert_eq!(rival(4096, &vm7), None);
        assert_eq!(rival(1 << 15, &vm7), None);
        assert_eq!(
            rival(1 << 15, &machine("vm7+cp2.dmem=x2")),
            Some(8 * 69_632)
        );
        // A channel of a byte a cycle takes longer than the arithmetic.
        let narrow = machine("vm7+dma.bandwidth=1");
        assert_eq!(rival(8192, &narrow), Some(8 * 16 * 8192));
    }

    /// Two issues more for every quad than the six of a stencil of seven points.
    #[test]
    fn shifted_rows_take_two_issues_a_quad_more() {
        let stencil = |columns| Stencil::new([32, 64, columns], 7, Coefficients::Class, 1);
        let vm7 = machine("vm7+dma.bandwidth=1000");
        let cycles = |columns| stencil(columns).rival(&vm7).map(|r| r.cycles.0);
        assert_eq!(cycles(64), None);
        assert_eq!(cycles(66), Some(32 * 64 * 66 / 4 * 8 / 4));
        let fine = machine("vm7+dma.granule=4B");
        assert_eq!(stencil(66).rival(&fine), None);
    }
}
