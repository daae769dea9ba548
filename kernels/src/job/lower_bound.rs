//! A lower bound on the cycles of one algorithm, by its issues and bytes.

use cp2_machine::{Class, Cycles, Machine};

/// The least that an algorithm needs, by which planners leave out what cannot be the cheapest.
///
/// This is no bound of the problem: what any program needs, and what the best known one takes, is in
/// `cp2_reference`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LowerBound {
    /// Complex butterflies `x + y w`, `x - y w`.
    pub(crate) butterflies: u128,
    /// Other arithmetic issues: one section's arithmetic slot for one cycle each.
    pub(crate) issues: u128,
    /// Bytes that go over the DMA channel.
    pub(crate) bytes: u128,
}

impl LowerBound {
    /// Returns the least number of cycles, `max(slots / sections, bytes / bandwidth)`, both rounded up.
    ///
    /// `slots = max(butterflies + issues, butterflies * interval)`: butterflies at the rate of their unit.
    pub(crate) fn cycles(&self, machine: &Machine) -> Cycles {
        let ratio = |count: u128, num: u64, den: u64| {
            count
                .saturating_mul(u128::from(den))
                .div_ceil(u128::from(num.max(1)))
        };
        let (cp2, dma) = (&machine.cp2, &machine.dma);
        // Cycles in which the butterfly unit cannot begin are free for other arithmetic.
        let unit = self
            .butterflies
            .saturating_mul(cp2.interval[Class::Butterfly].0.into());
        let slots = self.butterflies.saturating_add(self.issues).max(unit);
        let compute = ratio(slots, cp2.sections as u64, 1);
        let transfer = ratio(self.bytes, dma.bandwidth.num, dma.bandwidth.den);
        Cycles(u64::try_from(compute.max(transfer)).unwrap_or(u64::MAX))
    }
}
