//! Everything beside the processor that decides how a run goes on.

use super::command::Command;
use super::idle::Idle;
use super::progress::{Kind, Progress};
use super::window::Window;
use cp2_machine::Ticks;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A completion on its way to the CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arrival {
    Transfer {
        command: u64,
        kind: Kind,
    },
    Kernel {
        command: u64,
    },
    /// Signalled in this cycle.
    Signal {
        event: u32,
        at: u64,
    },
}

/// A transfer that was submitted and not seen complete.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Submitted {
    pub(super) command: u64,
    pub(super) name: Arc<str>,
    pub(super) page: Option<u64>,
}

/// What the CPU is busy with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Busy {
    pub(super) command: u64,
    pub(super) what: Box<Command>,
    pub(super) from: u64,
    pub(super) until: u64,
}

/// A running kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kernel {
    pub(super) command: u64,
    pub(super) name: Arc<str>,
    pub(super) page: Option<u64>,
    pub(super) first: u64,
}

/// The control CPU in the middle of a run. Runs whose processors and states are
/// equal, and whose sources give the same commands, go on alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State {
    /// The CPU's present cycle.
    pub(super) now: u64,
    pub(super) window: Window,
    /// Something happened that may have made a command of the window ready.
    pub(super) stirred: bool,
    pub(super) progress: Progress,
    pub(super) busy: Option<Busy>,
    pub(super) arrivals: VecDeque<(u64, Arrival)>,
    /// Transfers submitted and not seen complete.
    pub(super) transfers: Vec<Submitted>,
    pub(super) kernel: Option<Kernel>,
    /// A kernel was launched and its stop has not been seen.
    pub(super) cp2_taken: bool,
    /// Signals seen and not consumed: the cycles in which they were given.
    pub(super) signals: BTreeMap<u32, VecDeque<u64>>,
    /// When the pages that a kernel may take were loaded, until it is done with them.
    pub(super) ready: Vec<(u64, Ticks)>,
    /// End of the last page, or first issue of the kernel.
    pub(super) paged: Ticks,
    /// A fence is in the window: nothing else enters.
    pub(super) fenced: bool,
    pub(super) idle: Idle,
}

impl State {
    /// Commands since the oldest that is not done, but for a kernel's launch.
    pub(super) fn under_way(&self) -> u64 {
        let window = self.window.iter().map(|given| given.number);
        let transfers = self.transfers.iter().map(|submitted| submitted.command);
        let busy = self.busy.iter().map(|busy| busy.command);
        let oldest = window.chain(transfers).chain(busy).min();
        oldest.map_or(0, |oldest| self.progress.given().saturating_sub(oldest))
    }

    /// As at the beginning; what was allocated stays.
    pub(super) fn clear(&mut self) {
        let mut old = std::mem::take(self);
        old.window.clear();
        old.progress.clear();
        old.arrivals.clear();
        old.transfers.clear();
        old.ready.clear();
        self.window = old.window;
        self.progress = old.progress;
        self.arrivals = old.arrivals;
        self.transfers = old.transfers;
        self.ready = old.ready;
    }
}
