//! Times of a transfer: how long it takes, and when each granule crosses.

use crate::crossing::Crossing;
use crate::runs::{Breaks, Nest};
use crate::{Recipient, Run, Transfer};
use cp2_machine::{Machine, Ticks};
use serde::{Deserialize, Serialize};

/// Time that the engine takes for one transfer, without set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferTime {
    /// Granules that cross the channel to system memory (a broadcast granule crosses once).
    pub granules: u64,
    /// Bytes of the beats in which they cross, entries of a list included; beats are granules where these are
    /// not finer than lines.
    pub crossing: u64,
    /// Contiguous runs in system memory; adjacent runs count as one.
    pub runs: u64,
    /// Time from the end of the set-up to the completion.
    pub body: Ticks,
}

/// Times at which the granules of a transfer cross the channel: granules follow each other at the channel's
/// rate, with the machine's `dma.run` before each contiguous run after the first.
///
/// Granule `i` has crossed at `(i + 1) * granule + gaps * gap`, where `gaps` counts the contiguous runs begun
/// up to it after the first. Fine granules share the time of all beats or lines equally, and so do those of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    granules: u64,
    shape: Shape,
    granule: Ticks,
    /// Bytes of all beats and the time that all granules take together, of a list or where granules are finer
    /// than lines.
    shared: Option<(u64, Ticks)>,
    /// Bytes of a granule.
    unit: u64,
    gap: Ticks,
    sections: u64,
    /// Granules dealt to a section at a time.
    dealt: u64,
}

/// Positions of the contiguous runs among the granules, and the local memory of each granule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Shape {
    /// Runs repeated at equal distances: a closed form, which takes no memory and no time per granule.
    Nest {
        /// Granules of a run, before adjacent runs are joined.
        per_run: u64,
        /// Number of runs, before adjacent runs are joined.
        runs: u64,
        /// Pairs `(every, but)`: the step to run `i` begins a new contiguous run if `i` is a multiple of
        /// `every` but not of `but`.
        breaks: Breaks,
        to: Recipient,
        /// Runs of one section's block; none if the sections have no blocks of their own.
        block: Option<u64>,
    },
    /// Any other runs, one by one.
    Runs(Vec<Begun>),
}

/// A run before adjacent runs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    /// Number of its first granule.
    first: u64,
    /// Contiguous runs after the very first that have begun up to and including this run.
    gaps: u64,
    to: Recipient,
}

impl Schedule {
    /// The schedule of a valid transfer; saturates on others.
    #[must_use]
    pub fn new(transfer: &impl Transfer, machine: &Machine) -> Self {
        transfer.schedule(machine)
    }

    pub(crate) fn of_nest(nest: &Nest, runs: impl Iterator<Item = Run>, machine: &Machine) -> Self {
        let per_run = granules(nest.run(), machine);
        let sections = machine.cp2.sections.max(1) as u64;
        let shape = Shape::Nest {
            per_run,
            runs: nest.count(),
            breaks: nest.breaks(),
            to: nest.recipient(),
            block: nest.has_blocks().then(|| (nest.count() / sections).max(1)),
        };
        let crossing = Crossing::of_whole_beats(nest, machine).or_else(|| {
            // A valid transfer has no more runs than system memory has bytes.
            let crossing = Crossing::new(machine).filter(|_| nest.count() <= machine.host.memory.0);
            crossing.map(|mut crossing| {
                runs.for_each(|run| crossing.add(&run, machine));
                crossing
            })
        });
        Self::made(
            nest.count().saturating_mul(per_run),
            shape,
            crossing,
            machine,
        )
    }

    pub(crate) fn of_runs(all: impl Iterator<Item = Run>, machine: &Machine) -> Self {
        Self::of_runs_with(all, Crossing::new(machine), machine)
    }

    /// Returns the schedule of the runs of a list of so many entries.
    pub(crate) fn of_list(all: impl Iterator<Item = Run>, entries: u64, machine: &Machine) -> Self {
        Self::of_runs_with(all, Some(Crossing::with_entries(entries, machine)), machine)
    }

    fn of_runs_with(
        all: impl Iterator<Item = Run>,
        mut crossing: Option<Crossing>,
        machine: &Machine,
    ) -> Self {
        let (mut runs, mut first, mut gaps) = (Vec::new(), 0u64, 0);
        let mut end = None;
        for run in all {
            if let Some(crossing) = &mut crossing {
                crossing.add(&run, machine);
            }
            gaps += u64::from(end.is_some_and(|end| end != run.system));
            end = Some(run.system.saturating_add(run.bytes));
            runs.push(Begun {
                first,
                gaps,
                to: run.to,
            });
            first = first.saturating_add(granules(run.bytes, machine));
        }
        Self::made(first, Shape::Runs(runs), crossing, machine)
    }

    fn made(granules: u64, shape: Shape, crossing: Option<Crossing>, machine: &Machine) -> Self {
        let base = machine.time_base();
        Self {
            granules,
            shape,
            granule: Ticks(base.ticks_per_granule),
            shared: crossing.map(|crossing| (crossing.bytes(), crossing.time(machine))),
            unit: machine.dma.granule.0,
            gap: base.cycles(machine.dma.run),
            sections: machine.cp2.sections.max(1) as u64,
            dealt: machine.dma.dealt() / machine.dma.granule.0.max(1),
        }
    }

    /// Returns the number of granules that cross the channel.
    #[must_use]
    pub fn granules(&self) -> u64 {
        self.granules
    }

    /// Returns the bytes of all beats together.
    fn crossing(&self) -> u64 {
        match self.shared {
            None => self.granules.saturating_mul(self.unit),
            Some((bytes, _)) => bytes,
        }
    }

    /// Returns the number of contiguous runs in system memory.
    #[must_use]
    pub fn runs(&self) -> u64 {
        match &self.shape {
            Shape::Nest { runs: 0, .. } => 0,
            Shape::Nest { runs, breaks, .. } => gaps_before(breaks, runs - 1).saturating_add(1),
            Shape::Runs(runs) => runs.last().map_or(0, |last| last.gaps + 1),
        }
    }

    /// Returns the time from the end of the set-up until granule `i` has crossed.
    #[must_use]
    pub fn at(&self, i: u64) -> Ticks {
        let gaps = match &self.shape {
            Shape::Nest {
                per_run, breaks, ..
            } => gaps_before(breaks, i / (*per_run).max(1)),
            Shape::Runs(runs) => begun(runs, i).map_or(0, |run| run.gaps),
        };
        let crossed = i.saturating_add(1);
        let moving = match self.shared {
            None => self.granule.0.saturating_mul(crossed),
            Some((_, all)) => {
                let share =
                    u128::from(all.0) * u128::from(crossed) / u128::from(self.granules.max(1));
                u64::try_from(share).unwrap_or(u64::MAX)
            }
        };
        Ticks(moving) + Ticks(self.gap.0.saturating_mul(gaps))
    }

    /// Returns the local memories that granule `i` goes to or comes from.
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

/// Returns the granules that `bytes` take, rounded up.
fn granules(bytes: u64, machine: &Machine) -> u64 {
    bytes.div_ceil(machine.dma.granule.0.max(1))
}

/// Counts the steps into a new contiguous run among the first `n` steps between runs.
///
/// A pair `(every, but)` accounts for `n / every - n / but` of them, since `but` is a multiple of `every`.
fn gaps_before(breaks: &Breaks, n: u64) -> u64 {
    let steps = |&(every, but): &(u64, u64)| n / every.max(1) - n / but.max(1);
    breaks.iter().map(steps).fold(0, u64::saturating_add)
}

/// Returns the run that granule `i` belongs to.
fn begun(runs: &[Begun], i: u64) -> Option<&Begun> {
    runs.get(..runs.partition_point(|run| run.first <= i))?
        .last()
}

/// Returns the time for a valid transfer: that at which its last granule has crossed.
///
/// Set-up is not included: it depends on what the engine did before, and the queue accounts for it. For a
/// descriptor the computation takes time proportional to the levels, not to the runs, unless granules are
/// finer than lines and runs are not whole ones. Saturates on transfers that [`validate`](fn@crate::validate) refuses.
#[must_use]
pub fn transfer_time(transfer: &impl Transfer, machine: &Machine) -> TransferTime {
    let schedule = transfer.schedule(machine);
    let last = schedule.granules.checked_sub(1);
    TransferTime {
        granules: schedule.granules,
        crossing: schedule.crossing(),
        runs: schedule.runs(),
        body: last.map_or(Ticks::ZERO, |last| schedule.at(last)),
    }
}
