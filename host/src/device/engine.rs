//! The control CPU and the processor in one simulated time.
//!
//! One CPU executes commands. Of the oldest [`WINDOW`] commands not yet
//! executed it takes the oldest that is ready, and is busy with it for its
//! cost; then it takes the next.

use super::command::{Command, HostAction};
use super::control_state::{Arrival, ControlCpuState};
use super::error::HostError;
use super::messages::MessageRecord;
use super::options::DeviceOptions;
use super::report::{DmaReport, HostReport, RunEnd, SingleBuffered};
use super::run_part::RunPart;
use super::stages::StageLog;
use crate::paging::PAGE_EVENT;
use crate::timeline::Timeline;
use cp2_emu::{Notice, Processor, Quiet};
use cp2_machine::{Cycles, Machine, Ticks};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Simulated cycles between tests of the interrupt flag.
const POLL: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct DeviceEngine {
    pub(super) machine: Arc<Machine>,
    pub(crate) processor: Processor,
    pub(super) options: DeviceOptions,
    pub(super) state: ControlCpuState,
    pub(crate) timeline: Timeline,
    pub(crate) dma: DmaReport,
    pub(crate) host: HostReport,
    pub(super) stages: StageLog,
    /// Parts of the run that have ended.
    pub(super) parts: Vec<RunPart>,
    /// Passes that have no room for two pages.
    pub(super) single_buffered: Vec<SingleBuffered>,
    /// End of a replay that cannot go on as it was recorded.
    pub(super) diverged: Option<RunEnd>,
    /// Sends and receives that nobody has taken yet.
    pub(super) messages: Vec<MessageRecord>,
}

impl DeviceEngine {
    pub(crate) fn new(machine: Arc<Machine>, options: DeviceOptions) -> Self {
        let processor = Processor::new(machine.clone()).with_engine(options.engine);
        let processor = match options.check {
            true => processor.with_checks(),
            false => processor,
        };
        Self::of_processor(machine, processor, options)
    }

    /// Creates an engine that runs nothing: its processor has no memories.
    pub(super) fn idle(machine: Arc<Machine>) -> Self {
        let processor = Processor::without_memories(machine.clone());
        Self::of_processor(machine, processor, DeviceOptions::default())
    }

    fn of_processor(machine: Arc<Machine>, processor: Processor, options: DeviceOptions) -> Self {
        Self {
            processor,
            timeline: Timeline::new(machine.time_base(), options.trace.clone()),
            machine,
            options,
            state: ControlCpuState::default(),
            dma: DmaReport::default(),
            host: HostReport::default(),
            stages: StageLog::default(),
            parts: Vec::new(),
            single_buffered: Vec::new(),
            diverged: None,
            messages: Vec::new(),
        }
    }

    /// Returns the options that the engine was created with.
    pub(crate) fn options(&self) -> &DeviceOptions {
        &self.options
    }

    pub(super) fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Returns to cycle 0, with the memory as it is now.
    pub(crate) fn restart(&mut self) {
        self.processor.reset();
        self.timeline = Timeline::new(self.machine.time_base(), self.options.trace.clone());
        self.state.clear();
        self.dma = DmaReport::default();
        self.host = HostReport::default();
        self.stages.clear();
        self.parts.clear();
        self.single_buffered.clear();
        self.diverged = None;
        self.messages.clear();
    }

    /// Runs until `source` gives no more commands and, if `drain`, all are complete.
    pub(crate) fn run(
        &mut self,
        source: &mut dyn Iterator<Item = Command>,
        drain: bool,
    ) -> Result<Option<RunEnd>, HostError> {
        self.wake();
        self.go_on(source, drain)
    }

    /// Moves the CPU to the present of the processor, where it begins to work.
    pub(super) fn wake(&mut self) {
        self.state.now = self.state.now.max(self.current_cycle());
    }

    /// Goes on behind an earlier source, as if its commands and those of `source` came from one.
    pub(super) fn go_on(
        &mut self,
        source: &mut dyn Iterator<Item = Command>,
        drain: bool,
    ) -> Result<Option<RunEnd>, HostError> {
        let mut pending = None;
        loop {
            // A completion may let a fence in.
            self.state.deliver();
            if !self.state.fill(&self.machine, source, &mut pending)? && !drain {
                return Ok(None);
            }
            if self
                .state
                .busy
                .as_ref()
                .is_some_and(|b| b.until <= self.state.now)
            {
                self.finish_work()?;
                if let Some(end) = self.diverged.take() {
                    return Ok(Some(end));
                }
                continue;
            }
            if self.state.busy.is_none() && self.take_ready()? {
                continue;
            }
            if let Some(end) = self.advance() {
                return Ok(Some(end));
            }
        }
    }

    /// Returns the number of the next command.
    pub(super) fn next_command(&self) -> u64 {
        self.state.progress.next_number()
    }

    /// Advances simulated time to the next event that the CPU can act on, or returns the run's end if there
    /// is none.
    fn advance(&mut self) -> Option<RunEnd> {
        let busy = self.state.busy.as_ref().map(|b| b.until);
        let arrival = self.state.arrivals.front().map(|a| a.0);
        let next = match (busy, arrival) {
            (Some(busy), Some(arrival)) => Some(busy.min(arrival)),
            (busy, arrival) => busy.or(arrival),
        };
        let quiet = self.processor.quiet();
        if next.is_none() {
            match quiet {
                Some(Quiet::Idle) if self.state.window.is_empty() => return Some(self.finished()),
                Some(quiet) => return Some(self.deadlock(quiet)),
                None => {}
            }
        }
        let max = self.options.max_cycles.unwrap_or(u64::MAX);
        if self.current_cycle() >= max {
            return Some(RunEnd::MaxCycles { limit: max });
        }
        if self
            .options
            .interrupt
            .as_ref()
            .is_some_and(|i| i.load(Ordering::Relaxed))
        {
            return Some(RunEnd::Interrupted);
        }
        if let Some(progress) = &self.options.progress {
            progress.store(self.current_cycle(), Ordering::Relaxed);
        }
        let poll = self.current_cycle().saturating_add(POLL);
        let limit = next.unwrap_or(u64::MAX).min(max).min(poll);
        let ticks = self.ticks(limit);
        // If the CPU has nothing to come, time goes no further than to the last possible event.
        let notice = match next {
            Some(_) => self.processor.run_until(ticks),
            None => self.processor.run_until_quiet(ticks),
        };
        match notice {
            Notice::Limit => {
                if next == Some(limit) {
                    self.state.now = limit;
                }
                None
            }
            Notice::TransferDone(transfer) => {
                self.transfer_done(&transfer);
                None
            }
            Notice::KernelStopped => {
                let at = self.current_cycle();
                self.state.idle.stop(at);
                if let Some(command) = self.kernel_ended(at) {
                    self.kernel_counted(command);
                    self.arrive(at, Arrival::Kernel { command });
                }
                None
            }
            Notice::Signal { event } => {
                let at = self.current_cycle();
                self.arrive(at, Arrival::Signal { event, at });
                None
            }
            Notice::Fault(fault) => Some(RunEnd::Fault(fault)),
            Notice::Dma(error) => Some(RunEnd::Transfer {
                reason: error.to_string(),
            }),
        }
    }

    pub(super) fn arrive(&mut self, at: u64, arrival: Arrival) {
        self.state
            .arrive(at + self.machine.host.completion.0, arrival);
    }

    fn finished(&mut self) -> RunEnd {
        self.state.idle.end(self.state.now);
        RunEnd::Finished
    }

    fn deadlock(&self, quiet: Quiet) -> RunEnd {
        let waiting = self
            .state
            .window
            .iter()
            .take(8)
            .map(|given| (given.number, given.command.name.to_string()))
            .collect();
        let kernel = match quiet {
            Quiet::Waiting { event, pc } => Some((event, pc)),
            Quiet::Idle => None,
        };
        let unsignalled = self.state.window.iter().find_map(|given| {
            let waits = matches!(
                given.command.action,
                HostAction::WaitSignal { event: PAGE_EVENT }
            );
            given.command.page.filter(|_| waits)
        });
        RunEnd::Deadlock {
            since: self.current_cycle(),
            kernel,
            waiting,
            unsignalled,
        }
    }

    /// Returns the processor's present in whole cycles.
    pub(super) fn current_cycle(&self) -> u64 {
        self.timeline.base.ceil_cycles(self.processor.now()).0
    }

    pub(super) fn ticks(&self, cycle: u64) -> Ticks {
        self.timeline.base.cycles(Cycles(cycle))
    }
}
