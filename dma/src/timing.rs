//! How long a transfer occupies the engine, and when each granule crosses.

use crate::runs::{Breaks, Nest};
use crate::{Descriptor, Recipient};
use cp2_machine::{Machine, Ticks};
use serde::{Deserialize, Serialize};

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

/// When the granules of a transfer cross the channel: every granule at the channel's
/// rate, and the machine's `dma.run` before each contiguous run after the first.
///
/// A closed form: it takes no memory and no time per granule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    granules: u64,
    /// Granules of a run before joining.
    per_run: u64,
    /// Runs before joining.
    runs: u64,
    /// Pairs `(every, but)`: steps to a run whose number is a multiple of `every`
    /// but not of `but` begin a new contiguous run.
    breaks: Breaks,
    granule: Ticks,
    gap: Ticks,
    to: Recipient,
    sections: u64,
    /// Runs of one section's block, where each section has its own.
    block: Option<u64>,
}

impl Schedule {
    /// The schedule of a valid descriptor; saturates on others.
    #[must_use]
    pub fn new(d: &Descriptor, machine: &Machine) -> Self {
        let nest = Nest::new(d, machine);
        let base = machine.time_base();
        let per_run = d.run.div_ceil(machine.dma.granule.0.max(1));
        let sections = machine.cp2.sections.max(1) as u64;
        Self {
            granules: nest.count().saturating_mul(per_run),
            per_run,
            runs: nest.count(),
            breaks: nest.breaks(),
            granule: Ticks(base.ticks_per_granule),
            gap: base.cycles(machine.dma.run),
            to: nest.recipient(),
            sections,
            block: nest.has_blocks().then(|| (nest.count() / sections).max(1)),
        }
    }

    /// Granules that cross the channel.
    #[must_use]
    pub fn granules(&self) -> u64 {
        self.granules
    }

    /// Contiguous runs in system memory.
    #[must_use]
    pub fn runs(&self) -> u64 {
        match self.runs.checked_sub(1) {
            None => 0,
            Some(last) => self.gaps_before(last).saturating_add(1),
        }
    }

    /// Time from the end of the set-up until granule `i` has crossed.
    #[must_use]
    pub fn at(&self, i: u64) -> Ticks {
        let gaps = self.gaps_before(i / self.per_run.max(1));
        let moving = self.granule.0.saturating_mul(i.saturating_add(1));
        Ticks(moving) + Ticks(self.gap.0.saturating_mul(gaps))
    }

    /// The local memories granule `i` goes to or comes from.
    #[must_use]
    pub fn to(&self, i: u64) -> Recipient {
        let per_run = self.per_run.max(1);
        let section = match (self.to, self.block) {
            (_, Some(block)) => i / per_run / block,
            (Recipient::Deal, _) => i % per_run % self.sections,
            (to, None) => return to,
        };
        Recipient::Section(section as u32)
    }

    /// Steps into a new contiguous run among the first `n`.
    fn gaps_before(&self, n: u64) -> u64 {
        let steps = |&(every, but): &(u64, u64)| n / every.max(1) - n / but.max(1);
        self.breaks.iter().map(steps).fold(0, u64::saturating_add)
    }
}

/// Time for the transfer of a valid descriptor: that of its last granule's [`Schedule`].
///
/// Set-up depends on what the engine did before and is the queue's affair. Takes
/// time proportional to the levels, not to the runs; saturates on descriptors
/// that [`validate`](crate::validate) refuses.
#[must_use]
pub fn transfer_time(d: &Descriptor, machine: &Machine) -> TransferTime {
    let schedule = Schedule::new(d, machine);
    let last = schedule.granules.checked_sub(1);
    TransferTime {
        granules: schedule.granules,
        runs: schedule.runs(),
        body: last.map_or(Ticks::ZERO, |last| schedule.at(last)),
    }
}
