//! The control CPU in time, over a processor.
//!
//! One CPU executes commands. Of the oldest [`WINDOW`] commands not yet
//! executed it takes the oldest that is ready, and is busy with it for its
//! cost; then it takes the next.

use super::command::{Action, Command};
use super::error::{CommandError, HostError};
use super::idle::Idle;
use super::options::Options;
use super::progress::{Kind, Progress};
use super::report::{DmaReport, End, HostReport, RunReport};
use crate::timeline::{Category, Slice, Timeline, Track};
use cp2_dma::{Descriptor, Direction, Target};
use cp2_emu::{Cause, Dump, Notice, Processor, Quiet, Status, SubmitError};
use cp2_machine::{Cycles, Machine, Ticks};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Commands the CPU looks ahead over. An assumption of the command model,
/// large enough for triple buffering and small enough to bound memory.
pub const WINDOW: usize = 64;

/// Longest cost of one command.
pub(crate) const MAX_COST: u64 = 1 << 48;

/// Simulated cycles between looks at the interrupt flag.
const POLL: u64 = 1 << 20;

/// A completion on its way to the CPU.
#[derive(Clone, Copy, Debug)]
enum Arrival {
    Transfer { command: u64, kind: Kind },
    Kernel { command: u64 },
    Signal { event: u32 },
}

/// What the CPU is busy with.
#[derive(Debug)]
struct Busy {
    command: u64,
    what: Command,
    from: u64,
    until: u64,
}

/// A running kernel.
#[derive(Debug)]
struct Kernel {
    command: u64,
    name: String,
    page: Option<u64>,
    first: u64,
}

#[derive(Debug)]
pub(crate) struct Engine {
    machine: Arc<Machine>,
    pub(crate) processor: Processor,
    options: Options,
    /// The CPU's present cycle.
    now: u64,
    window: VecDeque<(u64, Command)>,
    /// Number of the next command to enter the window.
    next: u64,
    progress: Progress,
    busy: Option<Busy>,
    arrivals: VecDeque<(u64, Arrival)>,
    /// Transfers submitted and not seen complete: name and page.
    transfers: BTreeMap<u64, (String, Option<u64>)>,
    kernel: Option<Kernel>,
    /// A kernel was launched and its stop has not been seen.
    cp2_taken: bool,
    /// Signals seen and not consumed.
    signals: BTreeMap<u32, u64>,
    /// A fence is in the window: nothing else enters.
    fenced: bool,
    idle: Idle,
    pub(crate) timeline: Timeline,
    pub(crate) dma: DmaReport,
    pub(crate) host: HostReport,
}

impl Engine {
    pub(crate) fn new(machine: Arc<Machine>, options: Options) -> Self {
        let processor = Processor::new(machine.clone());
        Self {
            processor: if options.check {
                processor.with_checks()
            } else {
                processor
            },
            timeline: Timeline::new(machine.time_base(), options.trace.clone()),
            machine,
            options,
            now: 0,
            window: VecDeque::new(),
            next: 0,
            progress: Progress::default(),
            busy: None,
            arrivals: VecDeque::new(),
            transfers: BTreeMap::new(),
            kernel: None,
            cp2_taken: false,
            signals: BTreeMap::new(),
            fenced: false,
            idle: Idle::default(),
            dma: DmaReport::default(),
            host: HostReport::default(),
        }
    }

    /// Runs until `source` gives no more commands and, if `drain`, all are complete.
    pub(crate) fn run(
        &mut self,
        source: &mut dyn Iterator<Item = Command>,
        drain: bool,
    ) -> Result<Option<End>, HostError> {
        let mut pending = None;
        self.now = self.now.max(self.at());
        loop {
            if !self.fill(source, &mut pending)? && !drain {
                return Ok(None);
            }
            self.deliver();
            if self.busy.as_ref().is_some_and(|b| b.until <= self.now) {
                self.finish_work()?;
                continue;
            }
            if self.busy.is_none() && self.take_ready()? {
                continue;
            }
            if let Some(end) = self.advance() {
                return Ok(Some(end));
            }
        }
    }

    /// Takes commands into the window; false when there are no more.
    fn fill(
        &mut self,
        source: &mut dyn Iterator<Item = Command>,
        pending: &mut Option<Command>,
    ) -> Result<bool, HostError> {
        while !self.fenced && self.window.len() < WINDOW {
            let Some(command) = pending.take().or_else(|| source.next()) else {
                return Ok(false);
            };
            if command.is_fence() && self.progress.low() < self.next {
                *pending = Some(command);
                break;
            }
            let number = self.next;
            super::admit(&self.machine, number, &command)?;
            self.fenced = command.is_fence();
            self.next += 1;
            self.window.push_back((number, command));
        }
        Ok(true)
    }

    /// The CPU learns of completions up to the present cycle.
    fn deliver(&mut self) {
        while let Some(&(at, arrival)) = self.arrivals.front() {
            if at > self.now {
                break;
            }
            self.arrivals.pop_front();
            match arrival {
                Arrival::Transfer { command, kind } => {
                    self.transfers.remove(&command);
                    self.progress.complete(command, at, kind);
                }
                Arrival::Kernel { command } => {
                    self.cp2_taken = false;
                    self.idle.stop_seen(at);
                    self.progress.complete(command, at, Kind::Kernel);
                }
                Arrival::Signal { event } => *self.signals.entry(event).or_default() += 1,
            }
        }
    }

    /// Begins the oldest ready command, if any.
    fn take_ready(&mut self) -> Result<bool, HostError> {
        let Some(index) = self.window.iter().position(|(_, c)| self.is_ready(c)) else {
            return Ok(false);
        };
        let Some((command, what)) = self.window.remove(index) else {
            return Ok(false);
        };
        let cost = cost(&self.machine, &what.action);
        self.host.commands += 1;
        self.host.busy += cost;
        self.busy = Some(Busy {
            command,
            what,
            from: self.now,
            until: self.now.saturating_add(cost),
        });
        Ok(true)
    }

    fn is_ready(&self, command: &Command) -> bool {
        // A transfer may queue behind one it waits for: the engine works in order.
        let queued =
            |d: u64| matches!(command.action, Action::Dma(_)) && self.transfers.contains_key(&d);
        command
            .after
            .iter()
            .all(|d| self.progress.is_complete(d.0) || queued(d.0))
            && match command.action {
                Action::Dma(_) => self.transfers.len() < self.machine.dma.queue,
                Action::Launch { .. } => !self.cp2_taken,
                Action::WaitSignal { event } => self.signals.get(&event).is_some_and(|&n| n > 0),
                _ => true,
            }
    }

    /// The CPU is done with its part of a command, now.
    fn finish_work(&mut self) -> Result<(), HostError> {
        let Some(Busy {
            command,
            what,
            from,
            ..
        }) = self.busy.take()
        else {
            return Ok(());
        };
        let Command {
            name,
            page,
            action,
            after,
        } = what;
        let fail = |name: &str, reason: CommandError| HostError::Command {
            command,
            name: name.to_string(),
            reason: Box::new(reason),
        };
        let mut done = true;
        let (category, bytes) = match action {
            Action::Dma(descriptor) => {
                let bytes = moved(&self.machine, &descriptor);
                self.processor.submit(descriptor, command).map_err(|e| {
                    fail(
                        &name,
                        match e {
                            SubmitError::Descriptor(e) => CommandError::Descriptor(e),
                            SubmitError::QueueFull { queue } => CommandError::QueueFull { queue },
                        },
                    )
                })?;
                self.transfers.insert(command, (name.clone(), page));
                done = false;
                (Category::Descriptor, bytes)
            }
            Action::Launch { entry, args } => {
                self.processor
                    .launch(entry, args)
                    .map_err(|e| fail(&name, e.into()))?;
                let first = self.now.saturating_add(self.machine.host.launch.0);
                let last = after.iter().filter_map(|d| self.progress.seen(d.0)).max();
                self.idle.launch(self.now, first, last);
                self.kernel = Some(Kernel {
                    command,
                    name: name.clone(),
                    page,
                    first,
                });
                self.cp2_taken = true;
                done = false;
                (Category::Work, 0)
            }
            Action::Work { bytes, .. } => (Category::Work, bytes),
            Action::Write { address, bytes } => {
                self.processor.memory_mut().write(address, &bytes)?;
                (Category::Work, bytes.len() as u64)
            }
            Action::Read { bytes, .. } => {
                self.fenced = false;
                (Category::Work, bytes)
            }
            Action::Post { event } => {
                self.processor
                    .post(event)
                    .map_err(|e| fail(&name, e.into()))?;
                (Category::Work, 0)
            }
            Action::WaitSignal { event } => {
                if let Some(n) = self.signals.get_mut(&event) {
                    *n -= 1;
                }
                (Category::Work, 0)
            }
        };
        if done {
            self.progress.complete(command, self.now, Kind::Host);
        }
        if self.now > from {
            let (start, end) = (self.ticks(from), self.ticks(self.now));
            self.timeline.push(Slice {
                track: Track::Host,
                category,
                name,
                page,
                command,
                start,
                end,
                bytes,
            });
        }
        Ok(())
    }

    /// Simulated time goes on to the next thing the CPU can act on; an end if there is none.
    fn advance(&mut self) -> Option<End> {
        let next = [
            self.busy.as_ref().map(|b| b.until),
            self.arrivals.front().map(|a| a.0),
        ]
        .into_iter()
        .flatten()
        .min();
        let quiet = self.processor.quiet();
        if next.is_none() {
            match quiet {
                Some(Quiet::Idle) if self.window.is_empty() => return Some(self.finished()),
                Some(quiet) => return Some(self.deadlock(quiet)),
                None => {}
            }
        }
        let max = self.options.max_cycles.unwrap_or(u64::MAX);
        if self.at() >= max {
            return Some(End::MaxCycles { limit: max });
        }
        if self
            .options
            .interrupt
            .as_ref()
            .is_some_and(|i| i.load(Ordering::Relaxed))
        {
            return Some(End::Interrupted);
        }
        if let Some(progress) = &self.options.progress {
            progress.store(self.at(), Ordering::Relaxed);
        }
        let poll = self.at().saturating_add(POLL);
        let limit = next.unwrap_or(u64::MAX).min(max).min(poll);
        match self.processor.run_until(self.ticks(limit)) {
            Notice::Limit => {
                if next == Some(limit) {
                    self.now = limit;
                }
                None
            }
            Notice::TransferDone(transfer) => {
                self.transfer_done(&transfer);
                None
            }
            Notice::KernelStopped => {
                let at = self.at();
                self.idle.stop(at);
                if let Some(Kernel {
                    command,
                    name,
                    page,
                    first,
                }) = self.kernel.take()
                {
                    let (start, end) = (self.ticks(first), self.ticks(at));
                    let slice = Slice {
                        track: Track::Cp2,
                        category: Category::Kernel,
                        name,
                        page,
                        command,
                        start,
                        end,
                        bytes: 0,
                    };
                    self.timeline.push(slice);
                    self.arrive(at, Arrival::Kernel { command });
                }
                None
            }
            Notice::Signal { event } => {
                self.arrive(self.at(), Arrival::Signal { event });
                None
            }
            Notice::Fault(fault) => Some(End::Fault(fault)),
            Notice::Dma(error) => Some(End::Transfer {
                reason: error.to_string(),
            }),
        }
    }

    fn transfer_done(&mut self, transfer: &cp2_emu::Transfer) {
        let bytes = moved(&self.machine, &transfer.descriptor);
        let (kind, category) = match transfer.descriptor.direction {
            Direction::Load => (Kind::Load, Category::Load),
            Direction::Store => (Kind::Store, Category::Store),
        };
        self.dma
            .count(category, bytes, transfer.completes - transfer.started);
        let (name, page) = self
            .transfers
            .get(&transfer.tag)
            .cloned()
            .unwrap_or_default();
        let (command, start, end) = (transfer.tag, transfer.started, transfer.completes);
        self.timeline.push(Slice {
            track: Track::Dma,
            category,
            name,
            page,
            command,
            start,
            end,
            bytes,
        });
        let at = self.machine.time_base().ceil_cycles(transfer.completes).0;
        self.idle.transfer(at, kind);
        self.arrive(at, Arrival::Transfer { command, kind });
    }

    fn arrive(&mut self, at: u64, arrival: Arrival) {
        self.arrivals
            .push_back((at + self.machine.host.completion.0, arrival));
    }

    fn finished(&mut self) -> End {
        self.idle.end(self.now);
        End::Finished
    }

    fn deadlock(&self, quiet: Quiet) -> End {
        let waiting = self
            .window
            .iter()
            .take(8)
            .map(|(n, c)| (*n, c.name.clone()))
            .collect();
        let kernel = match quiet {
            Quiet::Waiting { event, pc } => Some((event, pc)),
            Quiet::Idle => None,
        };
        End::Deadlock { kernel, waiting }
    }

    /// The processor's present, in whole cycles.
    fn at(&self) -> u64 {
        self.machine.time_base().ceil_cycles(self.processor.now()).0
    }

    fn ticks(&self, cycle: u64) -> Ticks {
        self.machine.time_base().cycles(Cycles(cycle))
    }

    /// The account of the run, which ended like this.
    pub(crate) fn report(&mut self, end: End) -> RunReport {
        let at = self.at();
        if let Some(Kernel {
            command,
            name,
            page,
            first,
        }) = self.kernel.take()
        {
            let until = if let End::Fault(fault) = &end {
                fault.cycle
            } else {
                at
            };
            let (start, end) = (self.ticks(first), self.ticks(until.max(first)));
            self.timeline.push(Slice {
                track: Track::Cp2,
                category: Category::Kernel,
                name,
                page,
                command,
                start,
                end,
                bytes: 0,
            });
        } else if !end.is_finished() {
            self.idle.end(at);
        }
        let mut causes = self.idle.causes().clone();
        causes.merge(&self.processor.counters().causes);
        if let Status::Waiting { .. } = self.processor.status() {
            // The wait that did not end is not yet in the kernel's account.
            causes.add(Cause::WaitHost, at.saturating_sub(causes.total()));
        }
        let cycles = if end.is_finished() {
            self.now
        } else {
            causes.total()
        };
        let base = self.machine.time_base();
        RunReport {
            machine: self.machine.name.clone(),
            machine_hash: self.machine.hash.clone(),
            cycles,
            seconds_simulated: base.seconds(base.cycles(Cycles(cycles))),
            causes,
            counters: self.processor.counters().clone(),
            dma: self.dma.clone(),
            dma_busy_cycles: self.dma.busy.0 as f64 / base.ticks_per_cycle as f64,
            host: self.host.clone(),
            findings: self.processor.findings().to_vec(),
            timeline: self.timeline.clone(),
            dump: (!end.is_finished()).then(|| Dump(&self.processor).to_string()),
            end,
        }
    }
}

/// Cycles the CPU is busy with a command.
pub(crate) fn cost(machine: &Machine, action: &Action) -> u64 {
    let touch = |bytes: u64| {
        let rate = machine.host.copy;
        let cycles =
            (u128::from(bytes) * u128::from(rate.den)).div_ceil(u128::from(rate.num.max(1)));
        u64::try_from(cycles).unwrap_or(u64::MAX)
    };
    match action {
        Action::Dma(_) => machine.host.descriptor.0,
        Action::Work { cycles, bytes } => cycles.saturating_add(touch(*bytes)),
        Action::Write { bytes, .. } => touch(bytes.len() as u64),
        Action::Read { bytes, .. } => touch(*bytes),
        Action::Launch { .. } | Action::Post { .. } | Action::WaitSignal { .. } => 0,
    }
}

/// Bytes a transfer moves over the channel to system memory.
fn moved(machine: &Machine, descriptor: &Descriptor) -> u64 {
    debug_assert!(
        !matches!(descriptor.target, Target::Section(s) if s as usize >= machine.cp2.sections)
    );
    cp2_dma::transfer_time(descriptor, machine)
        .granules
        .saturating_mul(machine.dma.granule.0)
}
