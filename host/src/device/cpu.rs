//! Execution of commands by the control CPU, and their cost.

use super::command::{Command, HostAction};
use super::control_state::{Busy, RunningKernel, Submitted};
use super::engine::DeviceEngine;
use super::error::{CommandError, HostError};
use super::messages::{busy_until, message_cost};
use super::progress::Kind;
use super::report::RunEnd;
use crate::timeline::{Category, Slice, Track};
use cp2_dma::{Movement, transfer_time};
use cp2_emu::SubmitError;
use cp2_machine::Machine;
use std::collections::VecDeque;

/// Cycles that one command costs at most.
pub(crate) const MAX_COST: u64 = 1 << 48;

impl DeviceEngine {
    /// Begins the oldest ready command, if any.
    pub(super) fn take_ready(&mut self) -> Result<bool, HostError> {
        let Some((command, what)) = self.state.take_ready(&self.machine) else {
            return Ok(false);
        };
        if let Some(stage) = self.stages.taken(command) {
            self.state.idle.begin(self.state.now, stage);
        }
        let cost = cost(&self.machine, &what.action);
        self.host.commands += 1;
        self.host.busy += cost;
        self.state.busy = Some(Busy {
            command,
            until: busy_until(self.state.now, &what.action, cost),
            what,
            from: self.state.now,
        });
        Ok(true)
    }

    /// Ends the CPU's part of its command, now.
    pub(super) fn finish_work(&mut self) -> Result<(), HostError> {
        let Some(Busy {
            command,
            what,
            from,
            ..
        }) = self.state.busy.take()
        else {
            return Ok(());
        };
        let Command {
            name,
            page,
            action,
            after,
        } = *what;
        let fail = |name: &str, reason: CommandError| HostError::Command {
            command,
            name: name.to_string(),
            reason: Box::new(reason),
        };
        let mut done = true;
        let (category, bytes) = match action {
            HostAction::Dma(descriptor) => {
                let bytes = if self.timeline.is_full() {
                    0
                } else {
                    moved(&self.machine, &descriptor)
                };
                self.processor.submit(descriptor, command).map_err(|e| {
                    fail(
                        &name,
                        match e {
                            SubmitError::Descriptor(e) => CommandError::Descriptor(e),
                            SubmitError::QueueFull { queue } => CommandError::QueueFull { queue },
                        },
                    )
                })?;
                self.state.transfers.push(Submitted {
                    command,
                    name: name.clone(),
                    page,
                });
                self.state.release(command, true);
                done = false;
                (Category::Descriptor, bytes)
            }
            HostAction::Launch {
                entry,
                args,
                protection,
            } => {
                let stage = self.stages.find_stage(command).unwrap_or_default();
                let stage = u32::try_from(stage).unwrap_or(u32::MAX);
                let launched = protection.clone();
                let first = self
                    .processor
                    .launch_protected(entry, args, launched, stage);
                let first = first.map_err(|e| fail(&name, e.into()))?.0;
                let last = after
                    .iter()
                    .filter_map(|d| self.state.progress.seen(d.0))
                    .max();
                self.state.idle.launch(self.state.now, first, last);
                self.state.kernel = Some(RunningKernel {
                    command,
                    name: name.clone(),
                    page,
                    first,
                    protection,
                });
                self.state.cp2_taken = true;
                self.state.paged = self.ticks(first);
                done = false;
                (Category::Work, 0)
            }
            HostAction::Work { bytes, .. } => (Category::Work, bytes),
            HostAction::Write { address, bytes } => {
                self.processor.memory_mut().write(address, &bytes)?;
                (Category::Work, bytes.len() as u64)
            }
            HostAction::Read {
                address,
                bytes,
                decided,
            } => {
                self.state.fenced = false;
                if let Some(decided) = decided {
                    let found = super::memory::read(self.processor.memory(), address, bytes)?;
                    self.diverged = (!decided.holds(&found)).then(|| RunEnd::Diverged {
                        command,
                        name: name.to_string(),
                    });
                }
                // Everything before is complete, as at the end of a run. The account is closed here, because
                // a host program may go on by what it read, and a recorded one may have.
                self.state.idle.end(self.state.now);
                (Category::Work, bytes)
            }
            HostAction::Step(step) => {
                step.run(self.processor.memory_mut())?;
                (Category::Work, step.counts().0)
            }
            HostAction::Mark => {
                self.state.fenced = false;
                self.mark(&name);
                (Category::Work, 0)
            }
            HostAction::Send { .. } | HostAction::Receive { .. } => {
                self.log_message(&action)?;
                (Category::Message, 0)
            }
            HostAction::Await {
                until, arrivals, ..
            } => {
                self.end_wait(from, until, &arrivals)?;
                let bytes = arrivals.iter().map(|arrival| arrival.bytes.len() as u64);
                (Category::Wait, bytes.sum())
            }
            HostAction::Post { event } => {
                self.processor
                    .post(event)
                    .map_err(|e| fail(&name, e.into()))?;
                (Category::Work, 0)
            }
            HostAction::WaitSignal { event } => {
                let signals = self.state.signals.get_mut(&event);
                if let (Some(at), Some(page)) = (signals.and_then(VecDeque::pop_front), page) {
                    self.page_done(command, &name, page, at);
                }
                (Category::Work, 0)
            }
        };
        if done {
            self.state.complete(command, self.state.now, Kind::Host);
        }
        if self.state.now > from {
            let (start, end) = (self.ticks(from), self.ticks(self.state.now));
            self.timeline.push(start, end, || Slice {
                track: Track::Host,
                category,
                name: name.to_string(),
                page,
                command,
                start,
                end,
                bytes,
            });
        }
        Ok(())
    }
}

/// Returns the cycles for which the CPU is busy with a command.
pub(crate) fn cost(machine: &Machine, action: &HostAction) -> u64 {
    let touch = |bytes: u64| {
        let rate = machine.host.copy;
        let cycles =
            (u128::from(bytes) * u128::from(rate.den)).div_ceil(u128::from(rate.num.max(1)));
        u64::try_from(cycles).unwrap_or(u64::MAX)
    };
    match action {
        HostAction::Dma(_) => machine.host.descriptor.0,
        HostAction::Work { cycles, bytes } => cycles.saturating_add(touch(*bytes)),
        HostAction::Write { bytes, .. } => touch(bytes.len() as u64),
        HostAction::Read { bytes, .. } => touch(*bytes),
        HostAction::Step(step) => {
            let (bytes, computed) = step.counts();
            let computed = machine.host.scalar.0.saturating_mul(computed);
            touch(bytes).saturating_add(computed)
        }
        HostAction::Launch { .. }
        | HostAction::Mark
        | HostAction::Post { .. }
        | HostAction::WaitSignal { .. } => 0,
        HostAction::Send { .. } | HostAction::Receive { .. } | HostAction::Await { .. } => {
            message_cost(machine, action)
        }
    }
}

/// Returns the bytes that a transfer moves over the channel to system memory.
fn moved(machine: &Machine, descriptor: &Movement) -> u64 {
    let granules = transfer_time(descriptor, machine).granules;
    granules.saturating_mul(machine.dma.granule.0)
}
