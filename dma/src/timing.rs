//! How long a transfer occupies the engine, and when each granule crosses.

use crate::runs::{Breaks, Nest};
use crate::{Recipient, Run, Transfer};
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    granules: u64,
    shape: Shape,
    granule: Ticks,
    gap: Ticks,
    sections: u64,
    /// Granules dealt to a section at a time.
    dealt: u64,
}

/// Which granules begin a contiguous run, and whose each is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Shape {
    /// Runs repeated at equal distances. A closed form: it takes no memory and no time per granule.
    Nest {
        /// Granules of a run before joining.
        per_run: u64,
        /// Runs before joining.
        runs: u64,
        /// Pairs `(every, but)`: steps to a run whose number is a multiple of `every`
        /// but not of `but` begin a new contiguous run.
        breaks: Breaks,
        to: Recipient,
        /// Runs of one section's block, where each section has its own.
        block: Option<u64>,
    },
    /// Any others, one by one.
    Runs(Vec<Begun>),
}

/// A run before joining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    /// Its first granule.
    first: u64,
    /// Contiguous runs begun before it and with it, after the very first.
    gaps: u64,
    to: Recipient,
}

impl Schedule {
    /// The schedule of a valid transfer; saturates on others.
    #[must_use]
    pub fn new(transfer: &impl Transfer, machine: &Machine) -> Self {
        transfer.schedule(machine)
    }

    pub(crate) fn of_nest(nest: &Nest, machine: &Machine) -> Self {
        let per_run = granules(nest.run(), machine);
        let sections = machine.cp2.sections.max(1) as u64;
        let shape = Shape::Nest {
            per_run,
            runs: nest.count(),
            breaks: nest.breaks(),
            to: nest.recipient(),
            block: nest.has_blocks().then(|| (nest.count() / sections).max(1)),
        };
        Self::made(nest.count().saturating_mul(per_run), shape, machine)
    }

    pub(crate) fn of_runs(all: impl Iterator<Item = Run>, machine: &Machine) -> Self {
        let (mut runs, mut first, mut gaps) = (Vec::new(), 0u64, 0);
        let mut end = None;
        for run in all {
            gaps += u64::from(end.is_some_and(|end| end != run.system));
            end = Some(run.system.saturating_add(run.bytes));
            runs.push(Begun {
                first,
                gaps,
                to: run.to,
            });
            first = first.saturating_add(granules(run.bytes, machine));
        }
        Self::made(first, Shape::Runs(runs), machine)
    }

    fn made(granules: u64, shape: Shape, machine: &Machine) -> Self {
        let base = machine.time_base();
        Self {
            granules,
            shape,
            granule: Ticks(base.ticks_per_granule),
            gap: base.cycles(machine.dma.run),
            sections: machine.cp2.sections.max(1) as u64,
            dealt: machine.dma.dealt() / machine.dma.granule.0.max(1),
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
        match &self.shape {
            Shape::Nest { runs: 0, .. } => 0,
            Shape::Nest { runs, breaks, .. } => gaps_before(breaks, runs - 1).saturating_add(1),
            Shape::Runs(runs) => runs.last().map_or(0, |last| last.gaps + 1),
        }
    }

    /// Time from the end of the set-up until granule `i` has crossed.
    #[must_use]
    pub fn at(&self, i: u64) -> Ticks {
        let gaps = match &self.shape {
            Shape::Nest {
                per_run, breaks, ..
            } => gaps_before(breaks, i / (*per_run).max(1)),
            Shape::Runs(runs) => begun(runs, i).map_or(0, |run| run.gaps),
        };
        let moving = self.granule.0.saturating_mul(i.saturating_add(1));
        Ticks(moving) + Ticks(self.gap.0.saturating_mul(gaps))
    }

    /// The local memories granule `i` goes to or comes from.
    #[must_use]
    pub fn to(&self, i: u64) -> Recipient {
        let (to, in_run) = match &self.shape {
            &Shape::Nest {
                per_run, to, block, ..
            } => {
                let per_run = per_run.max(1);
                match block {
                    Some(block) => (Recipient::Section((i / per_run / block) as u32), 0),
                    None => (to, i % per_run),
                }
            }
            Shape::Runs(runs) => match begun(runs, i) {
                Some(run) => (run.to, i - run.first),
                None => (Recipient::All, 0),
            },
        };
        match to {
            Recipient::Deal => {
                Recipient::Section((in_run / self.dealt.max(1) % self.sections) as u32)
            }
            to => to,
        }
    }
}

/// Granules of a run.
fn granules(bytes: u64, machine: &Machine) -> u64 {
    bytes.div_ceil(machine.dma.granule.0.max(1))
}

/// Steps into a new contiguous run among the first `n`.
fn gaps_before(breaks: &Breaks, n: u64) -> u64 {
    let steps = |&(every, but): &(u64, u64)| n / every.max(1) - n / but.max(1);
    breaks.iter().map(steps).fold(0, u64::saturating_add)
}

/// The run of granule `i`.
fn begun(runs: &[Begun], i: u64) -> Option<&Begun> {
    runs.get(..runs.partition_point(|run| run.first <= i))?
        .last()
}

/// Time for a valid transfer: that of its last granule's [`Schedule`].
///
/// Set-up depends on what the engine did before and is the queue's affair. For a descriptor it takes
/// time proportional to the levels, not to the runs; saturates on transfers
/// that [`validate`](crate::validate) refuses.
#[must_use]
pub fn transfer_time(transfer: &impl Transfer, machine: &Machine) -> TransferTime {
    let schedule = transfer.schedule(machine);
    let last = schedule.granules.checked_sub(1);
    TransferTime {
        granules: schedule.granules,
        runs: schedule.runs(),
        body: last.map_or(Ticks::ZERO, |last| schedule.at(last)),
    }
}
