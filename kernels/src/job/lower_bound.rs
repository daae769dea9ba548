//! What a chosen way of computing cannot take less than.

use cp2_machine::{Class, Cycles, Machine};

/// The least that a way of computing needs, for planners that leave out what cannot be the cheapest. It says nothing of the problem: what
/// any program needs, and what the best known one does, is in `cp2_reference`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LowerBound {
    /// Complex butterflies x + yw, x - yw.
    pub(crate) butterflies: u128,
    /// Other arithmetic issues, each one section's work of a cycle.
    pub(crate) issues: u128,
    /// Bytes over the DMA channel.
    pub(crate) bytes: u128,
}

impl LowerBound {
    /// All arithmetic in the sections' slot, the butterflies at their unit's rate, or all bytes over the
    /// channel, whichever takes longest.
    pub(crate) fn cycles(&self, machine: &Machine) -> Cycles {
        let ratio = |count: u128, num: u64, den: u64| {
            count
                .saturating_mul(u128::from(den))
                .div_ceil(u128::from(num.max(1)))
        };
        let (cp2, dma) = (&machine.cp2, &machine.dma);
        // What a butterfly's unit leaves free of the slot, other arithmetic may have.
        let unit = self
            .butterflies
            .saturating_mul(cp2.interval[Class::Butterfly].0.into());
        let slots = self.butterflies.saturating_add(self.issues).max(unit);
        let compute = ratio(slots, cp2.sections as u64, 1);
        let transfer = ratio(self.bytes, dma.bandwidth.num, dma.bandwidth.den);
        Cycles(u64::try_from(compute.max(transfer)).unwrap_or(u64::MAX))
    }
}
