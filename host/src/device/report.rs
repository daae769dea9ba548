//! The report of a run.

use super::run_part::RunPart;
use super::stages::{ProgramStage, StageReport};
use crate::paging::PAGE_EVENT;
use crate::timeline::{Category, Timeline};
use cp2_emu::{Causes, Counters, Fault, Finding};
use cp2_machine::Ticks;
use serde::{Deserialize, Serialize};
use std::fmt;

/// End of a run. All but the first leave a report of the time until then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "end")]
pub enum RunEnd {
    /// Every command is complete.
    Finished,
    /// A kernel cannot go on.
    Fault(Fault),
    /// A transfer left a memory.
    Transfer {
        /// The DMA's message.
        reason: String,
    },
    /// No event can happen any more.
    Deadlock {
        /// Cycle since which nothing can happen.
        since: u64,
        /// Event and word address at which the kernel waits, if one runs.
        kernel: Option<(u32, u32)>,
        /// First commands that wait, with their names.
        waiting: Vec<(u64, String)>,
        /// First page for whose signal from the page kernel the CPU waits in vain.
        unsignalled: Option<u64>,
    },
    /// The cycle limit was reached.
    MaxCycles {
        /// The limit.
        limit: u64,
    },
    /// The interrupt flag was set.
    Interrupted,
    /// A recorded run was repeated on data by which the host program would have gone on differently.
    Diverged {
        /// Number of the command that read the deciding data.
        command: u64,
        /// Name of that command.
        name: String,
    },
}

impl RunEnd {
    /// Returns true if every command is complete.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Finished)
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "finished"),
            Self::Fault(fault) => write!(f, "{fault}"),
            Self::Transfer { reason } => write!(f, "{reason}"),
            Self::Deadlock {
                since,
                kernel,
                waiting,
                unsignalled,
            } => {
                write!(f, "deadlock since cycle {since}: ")?;
                match kernel {
                    Some((event, pc)) => write!(
                        f,
                        "the kernel waits at pc {pc} for event {event}, which nothing will post"
                    )?,
                    None => write!(f, "CP2 and the DMA are idle")?,
                }
                if let [(number, name), rest @ ..] = waiting.as_slice() {
                    write!(f, "; command {number} (`{name}`)")?;
                    if !rest.is_empty() {
                        write!(f, " and {} more", rest.len())?;
                    }
                    write!(f, " wait for completions or signals that will not come")?;
                }
                match (unsignalled, kernel) {
                    (None, _) => Ok(()),
                    (Some(page), Some(_)) => write!(
                        f,
                        "; the kernel never said that it is done with page {page}: end what it does for a page with \
                         `page_end` of page.s, which signals event {PAGE_EVENT}"
                    ),
                    (Some(page), None) => write!(
                        f,
                        "; the kernel stopped before it was done with page {page}: put what it does for a page between \
                         `page_begin` and `page_end` of page.s, and `stop` behind them"
                    ),
                }
            }
            Self::MaxCycles { limit } => write!(
                f,
                "stopped at the limit of {limit} cycles, after the word or the launch under way"
            ),
            Self::Interrupted => write!(f, "interrupted"),
            Self::Diverged { command, name } => write!(
                f,
                "command {command} (`{name}`) read other words than the recorded run, which went on by them: the commands behind it are not                  those of this data; record a run on it"
            ),
        }
    }
}

/// Activity of the DMA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmaReport {
    /// Transfers completed.
    pub transfers: u64,
    /// Bytes read from system memory (a broadcast counts once).
    pub loaded: u64,
    /// Bytes written to system memory.
    pub stored: u64,
    /// Time in which a transfer was set up or under way.
    pub busy: Ticks,
    /// Part of `busy` without set-ups: granules crossed, or a contiguous run began.
    pub moving: Ticks,
}

impl DmaReport {
    /// Adds the activity of another stretch of time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.loaded += other.loaded;
        self.stored += other.stored;
        self.busy += other.busy;
        self.moving += other.moving;
    }

    /// Counts a transfer of so many bytes, with its time in all and behind its set-up.
    pub(crate) fn count(&mut self, category: Category, bytes: u64, time: Ticks, moving: Ticks) {
        self.transfers += 1;
        self.busy += time;
        self.moving += moving;
        match category {
            Category::Store => self.stored += bytes,
            _ => self.loaded += bytes,
        }
    }
}

/// Activity of the control CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// Commands executed.
    pub commands: u64,
    /// Cycles busy with descriptors and work.
    pub busy: u64,
}

impl HostReport {
    /// Adds the activity of another stretch of time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.commands += other.commands;
        self.busy += other.busy;
    }
}

/// A pass of one page at a time: DMEM has no room for two, so nothing is moved while its kernel works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SingleBuffered {
    /// Name of the pass's kernel.
    pub pass: String,
    /// Bytes of DMEM that are missing for two pages of the least size.
    pub bytes_short: u64,
}

/// Everything measured in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Name of the machine.
    pub machine: String,
    /// Hash of the machine's parameters.
    pub machine_hash: String,
    /// End of the run.
    pub end: RunEnd,
    /// Cycles from the first to the last, in which the CPU has seen everything complete.
    pub cycles: u64,
    /// Simulated time in seconds.
    pub seconds_simulated: f64,
    /// Cycles of CP2 by cause; they add up to `cycles`.
    pub causes: Causes,
    /// Counters of the kernels, with each word's share.
    pub counters: Counters,
    /// Activity of the DMA.
    pub dma: DmaReport,
    /// Busy time of the DMA in cycles.
    pub dma_busy_cycles: f64,
    /// Activity of the control CPU.
    pub host: HostReport,
    /// Program and pass of the kernel that ran when the run ended, or else of the control CPU's command; none
    /// for a run that finished.
    pub stage: Option<ProgramStage>,
    /// Activity for each program and pass, if [`DeviceOptions::stages`](super::DeviceOptions) was set; the
    /// launch numbers of findings are indices of this list.
    pub stages: Vec<StageReport>,
    /// Parts of the run between marks, if there are any: cycles and causes of each.
    pub parts: Vec<RunPart>,
    /// Passes that had no room for two pages, each once.
    pub single_buffered: Vec<SingleBuffered>,
    /// Findings of the checkers.
    pub findings: Vec<Finding>,
    /// Timeline of the run.
    pub timeline: Timeline,
    /// Value of `a15` in a kernel that faulted, if the argument block there is no longer as the host loads
    /// it: something overwrote it.
    pub overwritten_arguments: Option<u32>,
    /// Dump of the state at the end, unless the run finished.
    pub dump: Option<String>,
}
