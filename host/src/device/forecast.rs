//! Forecast of what commands take, without carrying them out.
//!
//! The control CPU is that of every device, with its window, queue and costs. A transfer is its time on the
//! channel, and a kernel is the steps between its events ([`cp2_emu::cycles`]); nothing is computed and
//! nothing is moved.

mod port;

use super::Device;
use super::command::{Command, HostAction};
use super::control_state::{Arrival, Busy, ControlCpuState, Submitted};
use super::cpu::cost;
use super::engine::DeviceEngine;
use super::error::HostError;
use super::messages::{MessageRecord, busy_until, describe_operation};
use super::progress::Kind;
use cp2_dma::{Direction, ListTarget, Movement, Target, Transfer, transfer_time};
use cp2_emu::cycles::{KernelInterval, Mark};
use cp2_machine::{Cycles, Machine, Ticks};
use port::PortProgress;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

/// Steps of a kernel from its launch to its end, in order.
pub type KernelSteps = Box<dyn Iterator<Item = KernelInterval> + Send>;

/// A run that is timed without contents.
#[derive(Default)]
pub(super) struct Forecast {
    state: ControlCpuState,
    /// Kernels that have not been launched, in the order of their launches.
    kernels: VecDeque<KernelSteps>,
    kernel: Option<Running>,
    /// Transfers that are not complete, in the order of the queue.
    moving: VecDeque<ChannelTransfer>,
    /// Posts of each event that no kernel has waited for, each with the first cycle in which the kernel sees
    /// it.
    posts: BTreeMap<u32, VecDeque<u64>>,
    /// State of the DMEM port, where there is only one: the cycle up to which it was followed, and the
    /// granules that wait then.
    port: PortProgress,
    /// Time that the processor and the channel have reached.
    passed: Ticks,
    /// Cycles in which the control CPU came to each mark.
    marks: Vec<u64>,
    /// Cycles in which each kernel stopped.
    stops: Vec<u64>,
    /// True if computed data would decide how the run goes on, or if a kernel waits for ever: then there is
    /// no forecast.
    open: bool,
    /// Sends and receives that nobody has taken yet.
    messages: Vec<MessageRecord>,
}

impl fmt::Debug for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks = &self.marks;
        f.debug_struct("Forecast")
            .field("marks", marks)
            .finish_non_exhaustive()
    }
}

/// A kernel that has been launched.
struct Running {
    command: u64,
    steps: KernelSteps,
    step: KernelInterval,
    /// Cycle up to which the kernel was followed; fractional where the kernel shares a DMEM port.
    at: f64,
    /// Cycles of the present step that are left then.
    left: f64,
}

/// A transfer that was given to the channel.
struct ChannelTransfer {
    command: u64,
    kind: Kind,
    event: Option<u32>,
    data: Ticks,
    completes: Ticks,
    /// Granules per cycle on the port of DMEM that CP2 shares; 0 where it shares none.
    granules: f64,
    /// Granules per cycle that arrive at the same section.
    piled: f64,
}

/// Next event outside the control CPU.
#[derive(Clone, Copy)]
enum NextEvent {
    Kernel(u64),
    Transfer(Ticks),
}

impl Forecast {
    pub(super) fn new(kernels: VecDeque<KernelSteps>) -> Self {
        Self {
            kernels,
            ..Self::default()
        }
    }

    /// Returns the sends and receives that nobody has taken yet.
    pub(super) fn messages_mut(&mut self) -> &mut Vec<MessageRecord> {
        &mut self.messages
    }

    /// Returns the cycle that the control CPU has come to; nothing if what is computed would have decided the way.
    pub(super) fn current_cycle(&self) -> Option<u64> {
        (!self.open).then_some(self.state.now)
    }

    /// Returns the number of the next command.
    pub(super) fn next_command(&self) -> u64 {
        self.state.progress.next_number()
    }

    /// Goes on until `source` gives no more commands and, if `drain`, all are complete.
    pub(super) fn run(
        &mut self,
        machine: &Machine,
        source: &mut dyn Iterator<Item = Command>,
        drain: bool,
    ) -> Result<(), HostError> {
        let base = machine.time_base();
        self.state.now = self.state.now.max(base.ceil_cycles(self.passed).0);
        let mut pending = None;
        while !self.open {
            self.state.deliver();
            if !self.state.fill(machine, source, &mut pending)? && !drain {
                return Ok(());
            }
            let until = self.state.busy.as_ref().map(|busy| busy.until);
            if until.is_some_and(|until| until <= self.state.now) {
                self.finish_work(machine);
                continue;
            }
            if until.is_none() && self.begin_work(machine) {
                continue;
            }
            let arrival = self.state.arrivals.front().map(|arrival| arrival.0);
            let next = until.into_iter().chain(arrival).min();
            let limit = next.map_or(Ticks(u64::MAX), |next| base.cycles(Cycles(next)));
            match (self.next(machine), next) {
                (Some((at, happening)), _) if at <= limit => self.happens(happening, machine),
                (_, Some(next)) => self.state.now = next,
                _ => {
                    self.open = self.kernel.is_some() || !self.state.window.is_empty();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn begin_work(&mut self, machine: &Machine) -> bool {
        let Some((command, what)) = self.state.take_ready(machine) else {
            return false;
        };
        let from = self.state.now;
        self.state.busy = Some(Busy {
            command,
            until: busy_until(from, &what.action, cost(machine, &what.action)),
            what,
            from,
        });
        true
    }

    /// Ends the CPU's part of its command, now.
    fn finish_work(&mut self, machine: &Machine) {
        let Some(Busy { command, what, .. }) = self.state.busy.take() else {
            return;
        };
        let now = self.state.now;
        let Command {
            name, page, action, ..
        } = *what;
        match action {
            HostAction::Dma(descriptor) => {
                self.submit(command, &descriptor, machine);
                self.state.transfers.push(Submitted {
                    command,
                    name,
                    page,
                });
                self.state.release(command, true);
                return;
            }
            HostAction::Launch { .. } => {
                let first = (now + machine.host.launch.0).max(now + 1);
                self.state.cp2_taken = true;
                self.kernel = self
                    .kernels
                    .pop_front()
                    .and_then(|steps| Running::new(command, steps, first));
                self.open |= self.kernel.is_none();
                return;
            }
            HostAction::Read { .. } => self.open = true,
            HostAction::Mark => {
                self.state.fenced = false;
                self.marks.push(now);
            }
            HostAction::Post { event } => self.posts.entry(event).or_default().push_back(now + 1),
            HostAction::WaitSignal { event } => {
                let signals = self.state.signals.get_mut(&event);
                signals.and_then(VecDeque::pop_front);
            }
            HostAction::Send { .. } | HostAction::Receive { .. } => {
                let nothing = |_: &_| Ok::<_, std::convert::Infallible>(Vec::new());
                if let Ok(Some((request, operation))) = describe_operation(&action, nothing) {
                    self.messages.push(MessageRecord {
                        cycle: now,
                        request,
                        operation,
                    });
                }
            }
            HostAction::Await { .. } => self.state.fenced = false,
            HostAction::Work { .. } | HostAction::Write { .. } | HostAction::Step(_) => {}
        }
        self.state.complete(command, now, Kind::Host);
    }

    /// Gives a transfer to the channel, now.
    fn submit(&mut self, command: u64, transfer: &Movement, machine: &Machine) {
        let base = machine.time_base();
        let now = base.cycles(Cycles(self.state.now));
        let (at, setup) = match self.moving.back() {
            Some(before) => (before.completes, machine.dma.setup_queued),
            None => (now, machine.dma.setup_idle),
        };
        let time = transfer_time(transfer, machine);
        let data = at + base.cycles(setup);
        let target = transfer.as_strided().map(|d| d.target);
        let shared = machine.cp2.dmem_ports == 1 && target != Some(Target::Program);
        if shared {
            self.settle(now, machine);
        }
        let cycles = time.body.0 as f64 / base.ticks_per_cycle as f64;
        let granules = match shared {
            true => time.granules as f64 / cycles.max(1.0),
            false => 0.0,
        };
        self.moving.push_back(ChannelTransfer {
            command,
            kind: match transfer.direction() {
                Direction::Load => Kind::Load,
                Direction::Store => Kind::Store,
            },
            event: transfer.event(),
            data,
            completes: data + time.body,
            granules,
            // Shared granules are accepted in the same cycles.
            piled: match is_shared(transfer) {
                true => granules / machine.cp2.sections.max(1) as f64,
                false => granules,
            },
        });
    }

    /// Returns the next event outside the CPU, and its time. At equal times CP2's comes first.
    fn next(&self, machine: &Machine) -> Option<(Ticks, NextEvent)> {
        let base = machine.time_base();
        let kernel = self.kernel.as_ref().and_then(|kernel| {
            let at = self.reached(kernel, f64::INFINITY, machine).at.ceil() as u64;
            let at = match kernel.step.mark {
                Mark::Wait(event) => at.max(*self.posts.get(&event)?.front()?),
                Mark::Signal(_) | Mark::Stop => at,
            };
            Some((base.cycles(Cycles(at)), NextEvent::Kernel(at)))
        });
        let transfer = self.moving.front();
        let transfer = transfer.map(|t| (t.completes, NextEvent::Transfer(t.completes)));
        match (kernel, transfer) {
            (Some(kernel), Some(transfer)) if transfer.0 < kernel.0 => Some(transfer),
            (kernel, transfer) => kernel.or(transfer),
        }
    }

    fn happens(&mut self, happening: NextEvent, machine: &Machine) {
        let base = machine.time_base();
        let completion = machine.host.completion.0;
        match happening {
            NextEvent::Transfer(at) => {
                self.passed = self.passed.max(at);
                self.settle(at, machine);
                let Some(done) = self.moving.pop_front() else {
                    return;
                };
                if let Some(event) = done.event {
                    let seen = base.floor_cycles(at).0 + 1;
                    self.posts.entry(event).or_default().push_back(seen);
                }
                let (command, kind) = (done.command, done.kind);
                let arrival = Arrival::Transfer { command, kind };
                self.state
                    .arrive(base.ceil_cycles(at).0 + completion, arrival);
            }
            NextEvent::Kernel(at) => {
                self.passed = self.passed.max(base.cycles(Cycles(at)));
                self.settle(base.cycles(Cycles(at)), machine);
                let Some(mut kernel) = self.kernel.take() else {
                    return;
                };
                let arrival = match kernel.step.mark {
                    Mark::Wait(event) => {
                        self.posts.get_mut(&event).and_then(VecDeque::pop_front);
                        None
                    }
                    Mark::Signal(event) => Some(Arrival::Signal { event, at }),
                    Mark::Stop => {
                        self.stops.push(at);
                        Some(Arrival::Kernel {
                            command: kernel.command,
                        })
                    }
                };
                if let Some(arrival) = arrival {
                    self.state.arrive(at + completion, arrival);
                }
                if kernel.step.mark != Mark::Stop {
                    self.open |= !kernel.go_on(at + 1);
                    self.kernel = Some(kernel);
                }
            }
        }
    }
}

impl Running {
    fn new(command: u64, mut steps: KernelSteps, first: u64) -> Option<Self> {
        let step = steps.next()?;
        Some(Self {
            command,
            steps,
            step,
            at: first as f64,
            left: step.cycles as f64,
        })
    }

    /// Begins the next step in cycle `at`; returns false if there is none.
    fn go_on(&mut self, at: u64) -> bool {
        let Some(step) = self.steps.next() else {
            return false;
        };
        (self.step, self.at, self.left) = (step, at as f64, step.cycles as f64);
        true
    }
}

impl Device {
    /// Creates a device that computes nothing and forecasts how long its commands take. Launches take the
    /// `kernels` in this order. Commands may be those of another device, because their addresses are not
    /// accessed.
    #[must_use]
    pub fn forecast(machine: Arc<Machine>, kernels: impl IntoIterator<Item = KernelSteps>) -> Self {
        let forecast = Forecast::new(kernels.into_iter().collect());
        Self {
            forecast: Some(Box::new(forecast)),
            ..Self::of_engine(DeviceEngine::idle(machine))
        }
    }

    /// Returns the cycles until each mark and until everything is complete, as the control CPU sees it. There
    /// is no forecast if computed data would decide how the run goes on, if a kernel waits for ever, or if
    /// the device computes.
    ///
    /// # Errors
    /// A command can never be carried out.
    pub fn expected(self) -> Result<Option<Vec<u64>>, HostError> {
        self.foreseen(|forecast| forecast.marks)
    }

    /// Returns the cycles until each kernel but the last has stopped, and until everything is complete.
    ///
    /// # Errors
    /// A command can never be carried out.
    pub fn expected_of_kernels(self) -> Result<Option<Vec<u64>>, HostError> {
        self.foreseen(|mut forecast| {
            forecast.stops.pop();
            forecast.stops
        })
    }

    /// Runs all commands, and returns the ends that `ends` selects, followed by the end of the run.
    fn foreseen(
        mut self,
        ends: impl FnOnce(Forecast) -> Vec<u64>,
    ) -> Result<Option<Vec<u64>>, HostError> {
        self.simulate(false)?;
        Ok(self.forecast.and_then(|forecast| {
            let (open, now) = (forecast.open, forecast.state.now);
            let mut ends = ends(*forecast);
            ends.push(now);
            (!open).then_some(ends)
        }))
    }
}

/// Returns true if the granules of a transfer are shared among the sections.
fn is_shared(transfer: &Movement) -> bool {
    match transfer {
        Movement::Strided(d) => matches!(d.target, Target::Deal | Target::Blocks { .. }),
        Movement::List(list) => list.target == ListTarget::Deal,
    }
}
