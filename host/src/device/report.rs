//! What a run did.

use super::run_part::RunPart;
use super::stages::{ProgramStage, StageReport};
use crate::paging::PAGE_EVENT;
use crate::timeline::{Category, Timeline};
use cp2_emu::{Causes, Counters, Fault, Finding};
use cp2_machine::Ticks;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a run ended. All but the first leave a report of what happened until then.
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
    /// Nothing can happen any more.
    Deadlock {
        /// The cycle since which that is so.
        since: u64,
        /// Event and word address where the kernel waits, if one runs.
        kernel: Option<(u32, u32)>,
        /// The first commands that wait, with their names.
        waiting: Vec<(u64, String)>,
        /// The first page of which the CPU waits in vain that a page kernel is done with it.
        unsignalled: Option<u64>,
    },
    /// The limit was reached.
    MaxCycles {
        /// The limit.
        limit: u64,
    },
    /// The interrupt flag was set.
    Interrupted,
    /// A recorded run was repeated on data by which the host program would have gone on in another way.
    Diverged {
        /// The command by which the control CPU read what decides.
        command: u64,
        /// Its name.
        name: String,
    },
}

impl RunEnd {
    /// Whether every command is complete.
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

/// What the DMA did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmaReport {
    /// Transfers completed.
    pub transfers: u64,
    /// Bytes read from system memory (a broadcast counts once).
    pub loaded: u64,
    /// Bytes written to system memory.
    pub stored: u64,
    /// Time a transfer was set up or under way.
    pub busy: Ticks,
}

impl DmaReport {
    /// Adds what the DMA did at another time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.loaded += other.loaded;
        self.stored += other.stored;
        self.busy += other.busy;
    }

    pub(crate) fn count(&mut self, category: Category, bytes: u64, time: Ticks) {
        self.transfers += 1;
        self.busy += time;
        match category {
            Category::Store => self.stored += bytes,
            _ => self.loaded += bytes,
        }
    }
}

/// What the control CPU did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// Commands executed.
    pub commands: u64,
    /// Cycles busy with descriptors and work.
    pub busy: u64,
}

impl HostReport {
    /// Adds what the CPU did at another time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.commands += other.commands;
        self.busy += other.busy;
    }
}

/// A pass of one page at a time: DMEM has no room for two, so that nothing is moved while its kernel works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SingleBuffered {
    /// What the pass's kernel is called.
    pub pass: String,
    /// Bytes of DMEM that two pages of the least size would take more than there are.
    pub bytes_short: u64,
}

/// Everything measured in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Name of the machine.
    pub machine: String,
    /// Hash of its parameters.
    pub machine_hash: String,
    /// How the run ended.
    pub end: RunEnd,
    /// From the first to the last simulated cycle: until the CPU has seen
    /// everything complete.
    pub cycles: u64,
    /// The same in seconds of simulated time.
    pub seconds_simulated: f64,
    /// Where CP2's cycles went; they add up to `cycles`.
    pub causes: Causes,
    /// Counters of the kernels, with each word's share.
    pub counters: Counters,
    /// The DMA.
    pub dma: DmaReport,
    /// The DMA's busy time in cycles.
    pub dma_busy_cycles: f64,
    /// The control CPU.
    pub host: HostReport,
    /// The program and the pass of the kernel that ran when the run ended, or that the control CPU was at; none of a run that finished.
    pub stage: Option<ProgramStage>,
    /// What was done for each program and pass, where that was asked for ([`Options::stages`](super::DeviceOptions)): the numbers of findings'
    /// launches count from its first one.
    pub stages: Vec<StageReport>,
    /// What lies between the marks, where there are any: cycles and causes of each.
    pub parts: Vec<RunPart>,
    /// The passes, each once, that had no room for two pages.
    pub single_buffered: Vec<SingleBuffered>,
    /// What the checkers found.
    pub findings: Vec<Finding>,
    /// What happened when.
    pub timeline: Timeline,
    /// Of a kernel that faulted: what `a15` held, where that is no argument block any more as the host loads them: something overwrote it.
    pub overwritten_arguments: Option<u32>,
    /// Where everything stood, unless the run finished.
    pub dump: Option<String>,
}
