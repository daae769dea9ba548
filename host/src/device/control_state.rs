//! State of the control CPU: all that, besides the processor, decides a run.

use super::admit::admit;
use super::command::{Command, HostAction};
use super::error::HostError;
use super::idle::Idle;
use super::progress::{Kind, Progress};
use super::window::{CommandNeeds, CommandWindow};
use cp2_emu::Protection;
use cp2_machine::{Machine, Ticks};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Number of commands that the CPU looks ahead over. An assumption of the command model, large enough for
/// triple buffering and small enough to bound memory.
pub const WINDOW: usize = 64;

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

/// A transfer that was submitted and whose completion the CPU has not seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Submitted {
    pub(super) command: u64,
    pub(super) name: Arc<str>,
    pub(super) page: Option<u64>,
}

/// Command that the CPU is busy with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Busy {
    pub(super) command: u64,
    pub(super) what: Box<Command>,
    pub(super) from: u64,
    pub(super) until: u64,
}

/// A running kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunningKernel {
    pub(super) command: u64,
    pub(super) name: Arc<str>,
    pub(super) page: Option<u64>,
    pub(super) first: u64,
    pub(super) protection: Option<Arc<Protection>>,
}

/// State of the control CPU in the middle of a run. Two runs whose processors and states are equal, and whose
/// sources give the same commands, go on alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ControlCpuState {
    /// Present cycle of the CPU.
    pub(super) now: u64,
    pub(super) window: CommandWindow,
    /// True if something may have made a command of the window ready since the last look.
    pub(super) stirred: bool,
    pub(super) progress: Progress,
    pub(super) busy: Option<Busy>,
    pub(super) arrivals: VecDeque<(u64, Arrival)>,
    /// Transfers that were submitted and not seen complete.
    pub(super) transfers: Vec<Submitted>,
    pub(super) kernel: Option<RunningKernel>,
    /// True if a kernel was launched and its stop has not been seen.
    pub(super) cp2_taken: bool,
    /// Signals that were seen and not consumed, by event: the cycles in which they were given.
    pub(super) signals: BTreeMap<u32, VecDeque<u64>>,
    /// Pages that were loaded and that the kernel has not finished, with the times of their loads.
    pub(super) ready: Vec<(u64, Ticks)>,
    /// End of the last page, or first issue of the kernel.
    pub(super) paged: Ticks,
    /// True if a fence is in the window: no other command enters.
    pub(super) fenced: bool,
    pub(super) idle: Idle,
}

impl ControlCpuState {
    /// Returns the number of commands given since the oldest that is not complete, kernel launches aside.
    pub(super) fn under_way(&self) -> u64 {
        let window = self.window.iter().map(|given| given.number);
        let transfers = self.transfers.iter().map(|submitted| submitted.command);
        let busy = self.busy.iter().map(|busy| busy.command);
        let oldest = window.chain(transfers).chain(busy).min();
        oldest.map_or(0, |oldest| {
            self.progress.next_number().saturating_sub(oldest)
        })
    }

    /// Takes commands of the source into the window; returns false if there are no more.
    pub(super) fn fill(
        &mut self,
        machine: &Machine,
        source: &mut dyn Iterator<Item = Command>,
        pending: &mut Option<Box<Command>>,
    ) -> Result<bool, HostError> {
        while !self.fenced && self.window.len() < WINDOW {
            let command = match pending.take() {
                Some(command) => command,
                None => match source.next() {
                    Some(command) => Box::new(command),
                    None => return Ok(false),
                },
            };
            if command.is_fence() && !self.progress.all_complete() {
                *pending = Some(command);
                break;
            }
            admit(machine, self.progress.next_number(), &command)?;
            self.fenced = command.is_fence();
            self.admitted(command);
        }
        Ok(true)
    }

    /// Takes a command into the window.
    fn admitted(&mut self, command: Box<Command>) {
        let number = self.progress.take_number();
        let transfer = matches!(command.action, HostAction::Dma(_));
        let (transfers, progress) = (&self.transfers, &self.progress);
        let waits = |d: u64| {
            let queued = transfer && transfers.iter().any(|t| t.command == d);
            !queued && !progress.is_complete(d)
        };
        self.window.push(number, command, waits);
        self.stirred = true;
    }

    /// Takes the oldest ready command out of the window, for the CPU to begin.
    pub(super) fn take_ready(&mut self, machine: &Machine) -> Option<(u64, Box<Command>)> {
        if !std::mem::take(&mut self.stirred) {
            return None;
        }
        let (transfers, signals, taken) = (&self.transfers, &self.signals, self.cp2_taken);
        let ready = self.window.take(|needs| match needs {
            CommandNeeds::Nothing => true,
            CommandNeeds::Queue => transfers.len() < machine.dma.queue,
            CommandNeeds::Core => !taken,
            CommandNeeds::Signal(event) => signals.get(&event).is_some_and(|s| !s.is_empty()),
        });
        self.stirred = ready.is_some();
        ready
    }

    /// Lets go the commands that wait for `command`. If it is a transfer that was only queued, other
    /// transfers alone are let go: the DMA works in order, so a transfer may queue behind one it waits for.
    pub(super) fn release(&mut self, command: u64, queued: bool) {
        self.stirred = true;
        self.window.release(command, queued);
    }

    /// Notes that the CPU sees a command complete.
    pub(super) fn complete(&mut self, command: u64, at: u64, kind: Kind) {
        self.progress.complete(command, at, kind);
        self.release(command, false);
    }

    /// Notes that the CPU will learn of a completion in cycle `at`.
    pub(super) fn arrive(&mut self, at: u64, arrival: Arrival) {
        self.arrivals.push_back((at, arrival));
    }

    /// Lets the CPU learn of all completions up to the present cycle.
    pub(super) fn deliver(&mut self) {
        while let Some(&(at, arrival)) = self.arrivals.front() {
            if at > self.now {
                break;
            }
            self.arrivals.pop_front();
            self.stirred = true;
            match arrival {
                Arrival::Transfer { command, kind } => {
                    self.transfers.retain(|t| t.command != command);
                    self.complete(command, at, kind);
                }
                Arrival::Kernel { command } => {
                    self.cp2_taken = false;
                    self.idle.stop_seen(at);
                    self.complete(command, at, Kind::Kernel);
                }
                Arrival::Signal { event, at } => {
                    self.signals.entry(event).or_default().push_back(at);
                }
            }
        }
    }

    /// Returns to the state at the beginning of a run; allocations are kept.
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
