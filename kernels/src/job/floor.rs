//! What a chosen way of computing cannot take less than.

use cp2_machine::{Cycles, Machine};

/// The least that a way of computing needs, for planners that leave out what cannot be the cheapest. It says nothing of the problem: what
/// any program needs, and what the best known one does, is in `cp2_reference`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Floor {
    /// Complex butterflies x + yw, x - yw.
    pub(crate) butterflies: u128,
    /// Other arithmetic issues, each one section's work of a cycle.
    pub(crate) issues: u128,
    /// Bytes over the DMA channel.
    pub(crate) bytes: u128,
}

impl Floor {
    /// All arithmetic at the machine's peak rate, or all bytes over the
    /// channel, whichever takes longer. Butterflies and other arithmetic share
    /// the sections' arithmetic slot.
    pub(crate) fn cycles(&self, machine: &Machine) -> Cycles {
        let ratio = |count: u128, num: u64, den: u64| {
            count
                .saturating_mul(u128::from(den))
                .div_ceil(u128::from(num.max(1)))
        };
        let (cp2, dma) = (&machine.cp2, &machine.dma);
        let rate = cp2.butterflies_per_cycle;
        // Butterflies and issues over the sections, over the common denominator.
        let slots = self
            .butterflies
            .saturating_mul(u128::from(rate.den))
            .saturating_add(self.issues.saturating_mul(u128::from(rate.num)));
        let compute = ratio(slots, rate.num.saturating_mul(cp2.sections as u64), 1);
        let transfer = ratio(self.bytes, dma.bandwidth.num, dma.bandwidth.den);
        Cycles(u64::try_from(compute.max(transfer)).unwrap_or(u64::MAX))
    }
}
