//! The processor: CP2, DMA and system memory in one event queue.
//!
//! Time is a number of ticks (see [`cp2_machine::TimeBase`]). Of events at one
//! tick, CP2's issue comes first, then a DMA completion, then whatever the
//! caller does: a transfer takes effect as a whole at its completion, and CP2
//! sees it from the next issue cycle on.
//!
//! The control CPU is the caller: it advances the processor with
//! [`Processor::run_until`] and acts at [`Processor::now`].

pub(crate) mod dump;
mod launch;
mod notice;
pub(crate) mod observer;
pub(crate) mod port;
pub(crate) mod programs;
mod state_shift;
mod timed;
mod translations;
mod version;

pub use notice::{LaunchError, NoEvent, Notice, Quiet, SubmitError};
pub use state_shift::Course;
pub use translations::{TranslationPool, Translations};

use crate::account::counters::Counters;
use crate::check::Checker;
use crate::check::finding::Finding;
use crate::core::{Core, Poster};
use crate::engines::choice::Engine;
use crate::engines::reference::{Coprocessor, Exit, Status};
use crate::memory::SystemRam;
use crate::transfers::endpoints::TransferEndpoints;
use crate::transfers::footprint::for_each_part;
use crate::transfers::{TransferQueue, TransferRecord};
use cp2_dma::{Combine, Copier, Direction, Movement, Recipient, Schedule, Transfer};
use cp2_machine::{Cycles, Machine, Ticks, TimeBase};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use timed::TimedMachine;
use version::Version;

/// End of time: no component acts after it, so that instants never overflow. With 2^20 ticks per
/// cycle, the finest time base, it is 2^42 cycles.
const END: Ticks = Ticks(1 << 62);

/// One processor: a value that can be cloned, compared and serialised at any time. Its DMA takes
/// transfers of one type, which may be an enum of several kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Processor<T = Movement> {
    version: Version,
    machine: TimedMachine,
    cp2: Coprocessor,
    transfers: TransferQueue<T>,
    memory: SystemRam,
    #[serde(skip)]
    copier: Copier,
    checker: Option<Checker>,
    now: Ticks,
    /// Instant at which the last result lands of the kernel that has issued its `stop`.
    stopping: Option<Ticks>,
}

impl Processor {
    /// Creates a processor in the state after reset.
    #[must_use]
    pub fn new(machine: Arc<Machine>) -> Self {
        Self::for_transfers(machine)
    }

    /// Creates a processor that only stands for one: it has neither DMEM nor program memory, so that transfers
    /// and kernels fail.
    #[must_use]
    pub fn without_memories(machine: Arc<Machine>) -> Self {
        let cp2 = Coprocessor::of_core(&machine, Core::without_dmem(&machine));
        Self::of_coprocessor(machine, cp2)
    }
}

impl<T: Transfer> Processor<T> {
    /// Creates a processor in the state after reset, whose DMA takes transfers of type `T`.
    #[must_use]
    pub fn for_transfers(machine: Arc<Machine>) -> Self {
        let cp2 = Coprocessor::new(&machine);
        Self::of_coprocessor(machine, cp2)
    }

    fn of_coprocessor(machine: Arc<Machine>, cp2: Coprocessor) -> Self {
        Self {
            version: Version,
            cp2,
            transfers: TransferQueue::default(),
            memory: SystemRam::new(machine.host.memory.0),
            copier: Copier::default(),
            checker: None,
            now: Ticks::ZERO,
            stopping: None,
            machine: machine.into(),
        }
    }

    /// Returns to the state after reset, time included. System memory keeps its content.
    /// Translations of programs are kept for when these are loaded again.
    pub fn reset(&mut self) {
        self.cp2.reset();
        self.transfers.clear();
        if self.checker.is_some() {
            let mut checker = Checker::new(&self.machine);
            if let Some(before) = &self.checker {
                checker.restrict_stores(before.areas().to_vec());
            }
            self.checker = Some(checker);
        }
        self.now = Ticks::ZERO;
        self.stopping = None;
    }

    /// Switches the checkers on: reads of DMEM or registers never written, transfers that race with a running
    /// kernel, and accesses against its [`Protection`](crate::Protection) become [`Finding`]s.
    #[must_use]
    pub fn with_checks(mut self) -> Self {
        self.checker = Some(Checker::new(&self.machine));
        self
    }

    /// Restricts stores of transfers to areas of system memory, each given as first byte and end,
    /// in ascending order. Checkers object to a store that goes beyond the area in which it begins.
    pub fn own_memory(&mut self, areas: Vec<(u64, u64)>) {
        if let Some(checker) = &mut self.checker {
            checker.restrict_stores(areas);
        }
    }

    /// Chooses the engine, now or at any other time; the fast one is the default.
    #[must_use]
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.cp2.engine = engine;
        self
    }

    /// Returns the machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        self.machine.all()
    }

    /// Returns the time base of [`Processor::now`].
    #[must_use]
    pub fn time_base(&self) -> TimeBase {
        self.machine.time_base()
    }

    /// Returns the present instant.
    #[must_use]
    pub fn now(&self) -> Ticks {
        self.now
    }

    /// Returns system memory.
    #[must_use]
    pub fn memory(&self) -> &SystemRam {
        &self.memory
    }

    /// Returns system memory, to change. This costs no simulated time: the caller accounts for it.
    pub fn memory_mut(&mut self) -> &mut SystemRam {
        &mut self.memory
    }

    /// Returns the coprocessor's registers and memories.
    #[must_use]
    pub fn core(&self) -> &Core {
        &self.cp2.core
    }

    /// Writes DMEM from outside, as a debugger would: no time, no DMA.
    ///
    /// # Errors
    /// The run leaves the memory.
    pub fn poke_dmem(
        &mut self,
        section: usize,
        address: u32,
        bytes: &[u8],
    ) -> Result<(), crate::core::fault::FaultKind> {
        self.cp2.core.write_dmem(section, address, bytes)?;
        if let Some(checker) = &mut self.checker {
            checker.dmem_written(section, address, bytes.len() as u32);
        }
        Ok(())
    }

    /// Returns the state of the coprocessor: idle, running, waiting or faulted.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.cp2.status
    }

    /// Computes the counters of the coprocessor.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.cp2.counters()
    }

    /// Returns the counters of the coprocessor and sets them to zero.
    pub fn take_counters(&mut self) -> Counters {
        self.cp2.take_counters()
    }

    /// Returns the record of the tier that ran each word, since the processor was made.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn ran(&self) -> crate::testing::ExecutedWords {
        self.cp2.ran()
    }

    /// Returns the findings of the checkers in order of discovery; none without checks.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        self.checker.as_ref().map_or(&[], |c| c.findings())
    }

    /// Returns the number of free places in the DMA queue.
    #[must_use]
    pub fn queue_free(&self) -> usize {
        self.machine.dma.queue.saturating_sub(self.transfers.len())
    }

    /// Returns the transfer under way.
    #[must_use]
    pub fn transfer(&self) -> Option<&TransferRecord<T>> {
        self.transfers.running()
    }

    /// Queues a transfer now. `tag` comes back with [`Notice::TransferDone`].
    ///
    /// # Errors
    /// The transfer breaks a rule, or the queue is full; nothing happens then.
    pub fn submit(&mut self, transfer: impl Into<T>, tag: u64) -> Result<(), SubmitError> {
        let descriptor = transfer.into();
        cp2_dma::validate(&descriptor, &self.machine)?;
        if self.queue_free() == 0 {
            return Err(SubmitError::QueueFull {
                queue: self.machine.dma.queue,
            });
        }
        if self
            .transfers
            .submit(&self.machine, descriptor, tag, self.now)
        {
            self.transfer_started();
        }
        Ok(())
    }

    /// Posts a CP2 event now, as the control CPU.
    ///
    /// # Errors
    /// The machine has no such event.
    pub fn post(&mut self, event: u32) -> Result<(), NoEvent> {
        self.post_from(event, Poster::Host)
    }

    fn post_from(&mut self, event: u32, poster: Poster) -> Result<(), NoEvent> {
        let seen = self.time_base().floor_cycles(self.now).0 + 1;
        let events = self.cp2.core.events.len();
        let queue = self
            .cp2
            .core
            .events
            .get_mut(event as usize)
            .ok_or(NoEvent { event, events })?;
        queue.push_back((poster, seen));
        Ok(())
    }

    /// Returns what the processor waits for if nothing can happen without the caller, and `None` if
    /// something can.
    #[must_use]
    pub fn quiet(&self) -> Option<Quiet> {
        if self.transfers.running().is_some() || self.stopping.is_some() {
            return None;
        }
        match self.cp2.status {
            Status::Running => None,
            // An event may have been posted since the kernel began to wait.
            Status::Waiting { event, .. } => {
                let posted = self
                    .cp2
                    .core
                    .events
                    .get(event as usize)
                    .is_some_and(|posts| !posts.is_empty());
                (!posted).then_some(Quiet::Waiting {
                    event,
                    pc: self.cp2.core.pc,
                })
            }
            Status::Idle | Status::Faulted => Some(Quiet::Idle),
        }
    }

    /// Advances to the first notice, or to `limit` if none comes before it.
    /// The present never moves back, nor beyond the end of time, 2^62 ticks.
    pub fn run_until(&mut self, limit: Ticks) -> Notice<T> {
        self.advance(limit, |_| None)
    }

    /// Advances as [`Processor::run_until`] does, but no further than to the instant from which on
    /// nothing can happen unless the caller acts ([`Processor::quiet`]). That instant is a limit
    /// too.
    pub fn run_until_quiet(&mut self, limit: Ticks) -> Notice<T> {
        self.advance(limit, |processor| match processor.cp2.status {
            _ if processor.quiet().is_none() => None,
            Status::Waiting { since, .. } => Some(processor.time_base().cycles(Cycles(since))),
            _ => Some(processor.now),
        })
    }

    /// Advances to `limit`, to a notice before it, or to an earlier instant that `quiet` gives.
    fn advance(&mut self, limit: Ticks, quiet: impl Fn(&Self) -> Option<Ticks>) -> Notice<T> {
        let limit = limit.min(END);
        loop {
            let completion = self.transfers.running().map(|t| t.completes);
            let stop = self.stopping;
            let horizon = completion.map_or(limit, |at| at.min(limit));
            let horizon = stop.map_or(horizon, |at| at.min(horizon));
            match self.run_core(horizon) {
                Exit::Limit => {}
                Exit::Stopped { end } => {
                    self.stopping = Some(self.time_base().cycles(Cycles(end)));
                    continue;
                }
                Exit::Signal { event, cycle } => {
                    if let Some(checker) = &mut self.checker {
                        checker.signalled(event);
                    }
                    self.now = self.now.max(self.time_base().cycles(Cycles(cycle)));
                    return Notice::Signal { event };
                }
                Exit::Fault(fault) => {
                    self.now = self.now.max(self.time_base().cycles(Cycles(fault.cycle)));
                    return Notice::Fault(fault);
                }
            }
            if let Some(since) = quiet(self).filter(|&since| since <= horizon) {
                self.now = self.now.max(since);
                return Notice::Limit;
            }
            self.now = self.now.max(horizon);
            if completion.is_some_and(|at| at <= horizon) {
                if let Some(notice) = self.complete_transfer() {
                    return notice;
                }
            } else if stop.is_some_and(|at| at <= horizon) {
                self.stopping = None;
                return Notice::KernelStopped;
            } else {
                return Notice::Limit;
            }
        }
    }

    fn run_core(&mut self, horizon: Ticks) -> Exit {
        let limit = self.time_base().floor_cycles(horizon).0;
        match &mut self.checker {
            Some(checker) => self.cp2.run_observed(&self.machine, limit, checker),
            None => self.cp2.run(&self.machine, limit),
        }
    }

    /// Applies the running transfer and starts the next.
    fn complete_transfer(&mut self) -> Option<Notice<T>> {
        let done = self.transfers.complete(&self.machine)?;
        let direction = done.descriptor.direction();
        let base = self.machine.time_base();
        self.cp2.account_transfer(
            direction,
            base.ceil_cycles(done.started).0,
            base.ceil_cycles(done.completes).0,
        );
        if let Some(checker) = &mut self.checker {
            checker.release();
            let cycle = self.machine.time_base().floor_cycles(self.now).0;
            if direction == Direction::Load && done.descriptor.combine() == Combine::Add {
                for run in done.descriptor.runs(&self.machine) {
                    for_each_part(&run, &self.machine, |section, address, bytes| {
                        checker.check_sum((done.tag, cycle), section, (address, bytes));
                    });
                }
            }
            if direction == Direction::Store {
                for run in done.descriptor.runs(&self.machine) {
                    checker.stores((done.tag, cycle), run.system, run.bytes);
                    let system = (run.to != Recipient::Deal).then_some(run.system);
                    for_each_part(&run, &self.machine, |section, address, bytes| {
                        let run = (address, bytes);
                        checker.check_store((done.tag, cycle), section, run, system);
                    });
                }
            }
        }
        let mut local = TransferEndpoints {
            cp2: &mut self.cp2,
            checker: self.checker.as_mut(),
        };
        let copied = self.copier.copy(
            &done.descriptor,
            &self.machine,
            &mut local,
            &mut self.memory,
        );
        if let Err(error) = copied {
            self.transfer_started();
            return Some(Notice::Dma(error));
        }
        if let Some(event) = done.descriptor.event() {
            let poster = match direction {
                Direction::Load => Poster::Load,
                Direction::Store => Poster::Store,
            };
            // The event was checked when the transfer was submitted.
            let _ = self.post_from(event, poster);
        }
        self.transfer_started();
        Some(Notice::TransferDone(done))
    }

    /// Tells ports and checkers which memory the transfer that now runs will access.
    fn transfer_started(&mut self) {
        let Some(transfer) = self.transfers.running() else {
            return;
        };
        if let Some(checker) = &mut self.checker {
            let holder = (transfer.tag, transfer.descriptor.direction());
            for run in transfer.descriptor.runs(&self.machine) {
                if run.to == Recipient::Program {
                    checker.replace(holder, run.local, run.bytes);
                }
                for_each_part(&run, &self.machine, |section, address, bytes| {
                    checker.hold(holder, section, address, bytes);
                });
            }
        }
        if self.machine.cp2.dmem_ports == 1 {
            let base = self.machine.time_base();
            let schedule = Schedule::new(&transfer.descriptor, &self.machine);
            let decided = self.cp2.next_issue(base.floor_cycles(self.now).0 + 1);
            let sections = self.machine.cp2.sections;
            self.cp2
                .port
                .announce(schedule, transfer.data, base, sections, decided);
        }
    }
}
