//! How long a transfer occupies the engine.

use crate::Descriptor;
use crate::runs::Nest;
use cp2_machine::{Machine, Ticks};

/// The engine's time for one transfer, set-up apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferTime {
    /// Granules that cross the channel to system memory (a broadcast granule crosses once).
    pub granules: u64,
    /// Contiguous runs in system memory; runs that touch end to start count as one.
    pub runs: u64,
    /// Time from the end of the set-up to the completion.
    pub body: Ticks,
}

/// Time for the transfer of a valid descriptor: every granule at the channel's
/// rate, and the machine's `dma.run` for each contiguous run after the first.
///
/// Set-up depends on what the engine did before and is the queue's affair. Takes
/// time proportional to the levels, not to the runs; saturates on descriptors
/// that [`validate`](crate::validate) refuses.
#[must_use]
pub fn transfer_time(d: &Descriptor, machine: &Machine) -> TransferTime {
    let nest = Nest::new(d, machine);
    let base = machine.time_base();
    let granules = nest
        .count()
        .saturating_mul(d.run.div_ceil(machine.dma.granule.0.max(1)));
    let runs = nest.joined();
    let moving = Ticks(granules.saturating_mul(base.ticks_per_granule));
    let per_run = base.cycles(machine.dma.run).0;
    let gaps = Ticks(runs.saturating_sub(1).saturating_mul(per_run));
    TransferTime {
        granules,
        runs,
        body: moving + gaps,
    }
}
