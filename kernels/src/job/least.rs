//! Lower bounds of computations.

use cp2_machine::{Cycles, Machine};

/// The least that a computation needs whatever the program: the two terms of
/// its lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Least {
    /// Complex butterflies x + yw, x - yw.
    pub butterflies: u128,
    /// Other arithmetic issues, each one section's work of a cycle.
    pub issues: u128,
    /// Bytes over the DMA channel: every input and output once.
    pub bytes: u128,
    /// Places where what is moved goes on elsewhere in system memory: a run of a transfer or a transfer begins.
    pub gaps: u128,
}

impl Least {
    /// All arithmetic at the machine's peak rate, or all bytes over the
    /// channel, whichever takes longer. Butterflies and other arithmetic share
    /// the sections' arithmetic slot.
    #[must_use]
    pub fn cycles(&self, machine: &Machine) -> Cycles {
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
        let gap = dma.run.0.min(dma.setup_queued.0);
        let transfer = ratio(self.bytes, dma.bandwidth.num, dma.bandwidth.den)
            .saturating_add(self.gaps.saturating_mul(gap.into()));
        Cycles(u64::try_from(compute.max(transfer)).unwrap_or(u64::MAX))
    }
}
