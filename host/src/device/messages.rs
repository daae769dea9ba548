//! Messages to other processors, as the control CPU of one sees them.
//!
//! The port to the network reads and writes system memory by a path of its own \[A\]. A processor runs alone
//! until it waits: sends and receives are noted down in a log, and whoever runs the processors decides when
//! they are complete. Bytes that arrive appear in memory at the end of the wait that is for them.

use super::Device;
use super::command::{After, Command, Event, HostAction};
use super::engine::DeviceEngine;
use super::error::HostError;
use super::memory;
use super::report::RunEnd;
use cp2_machine::Machine;
use serde::{Deserialize, Serialize};

/// Rows of bytes in system memory: the contents of a message, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageRegion {
    /// Byte address of the first row.
    pub address: u64,
    /// Bytes of a row.
    pub row: u64,
    /// Number of rows.
    pub rows: u64,
    /// Bytes from the beginning of a row to that of the next one.
    pub pitch: u64,
}

impl MessageRegion {
    /// Describes bytes that lie one behind the other.
    #[must_use]
    pub fn contiguous(address: u64, bytes: u64) -> Self {
        Self {
            address,
            row: bytes,
            rows: 1,
            pitch: bytes,
        }
    }

    /// Returns the bytes of the message.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.row.saturating_mul(self.rows)
    }

    /// Returns the address and the bytes of the memory between the first and the last byte.
    pub(super) fn extent(&self) -> (u64, u64) {
        let span = self.pitch.saturating_mul(self.rows.saturating_sub(1));
        match self.bytes() {
            0 => (self.address, 0),
            _ => (self.address, span.saturating_add(self.row)),
        }
    }

    /// Returns the address of each row and the place of its bytes in the message.
    fn rows(&self) -> impl Iterator<Item = (u64, u64)> {
        let (address, row, pitch) = (self.address, self.row, self.pitch);
        (0..self.rows).map(move |i| {
            let at = address.saturating_add(i.saturating_mul(pitch));
            (at, i.saturating_mul(row))
        })
    }
}

/// A message that a wait puts into memory: its first bytes fill the rows of a region in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageArrival {
    /// Memory that the message was received into.
    pub region: MessageRegion,
    /// Contents, at most as many bytes as the region has.
    pub bytes: Vec<u8>,
}

/// A message that was sent, or a receive that was posted, as it stands in a device's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Cycle in which the control CPU was done with the command.
    pub cycle: u64,
    /// Number by which the program waits for it.
    pub request: u64,
    /// The send or the receive.
    pub operation: MessageOperation,
}

/// Operation on messages that a control CPU has carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageOperation {
    /// A message was handed to the port.
    Send {
        /// Processor that it goes to.
        to: u64,
        /// Tag by which receives tell messages apart.
        tag: u32,
        /// Number of bytes.
        bytes: u64,
        /// Contents; nothing on a device that computes nothing.
        contents: Vec<u8>,
    },
    /// A receive was posted.
    Receive {
        /// Processor that the message comes from; any without one.
        from: Option<u64>,
        /// Tag of the message; any without one.
        tag: Option<u32>,
        /// Memory for the message.
        region: MessageRegion,
    },
}

/// Returns the operation of a command on messages, and its request; `contents` reads a message from memory.
pub(super) fn describe_operation<E>(
    action: &HostAction,
    contents: impl FnOnce(&MessageRegion) -> Result<Vec<u8>, E>,
) -> Result<Option<(u64, MessageOperation)>, E> {
    Ok(match action {
        HostAction::Send {
            request,
            to,
            tag,
            region,
        } => Some((
            *request,
            MessageOperation::Send {
                to: *to,
                tag: *tag,
                bytes: region.bytes(),
                contents: contents(region)?,
            },
        )),
        HostAction::Receive {
            request,
            from,
            tag,
            region,
        } => Some((
            *request,
            MessageOperation::Receive {
                from: *from,
                tag: *tag,
                region: *region,
            },
        )),
        _ => None,
    })
}

/// Returns the cycle until which the control CPU is busy with a command that it begins at `now`, given its cost.
pub(super) fn busy_until(now: u64, action: &HostAction, cost: u64) -> u64 {
    let from = match action {
        HostAction::Await { until, .. } => now.max(*until),
        _ => now,
    };
    from.saturating_add(cost)
}

/// Cycles of the control CPU for a command on messages; none for any other command.
pub(super) fn message_cost(machine: &Machine, action: &HostAction) -> u64 {
    let network = &machine.network;
    match action {
        HostAction::Send { .. } => network.send.0,
        HostAction::Receive { .. } => network.post.0,
        HostAction::Await { requests, .. } => network.completion.0.saturating_mul(*requests),
        _ => 0,
    }
}

impl DeviceEngine {
    /// Carries out a send or a receive, now: it goes to the log.
    pub(super) fn log_message(&mut self, action: &HostAction) -> Result<(), HostError> {
        let memory = self.processor.memory();
        let contents = |region: &MessageRegion| {
            let mut bytes = Vec::new();
            for (address, _) in region.rows() {
                bytes.extend(memory::read(memory, address, region.row)?);
            }
            Ok::<_, HostError>(bytes)
        };
        if let Some((request, operation)) = describe_operation(action, contents)? {
            self.messages.push(MessageRecord {
                cycle: self.state.now,
                request,
                operation,
            });
        }
        Ok(())
    }

    /// Ends a wait for messages that began in a cycle with everything before it complete, and lasted until another.
    pub(super) fn end_wait(
        &mut self,
        from: u64,
        until: u64,
        arrivals: &[MessageArrival],
    ) -> Result<(), HostError> {
        self.state.fenced = false;
        self.state.idle.end(from);
        self.state.idle.wait_message(until);
        self.state.idle.end(self.state.now);
        for arrival in arrivals {
            let (region, all) = (&arrival.region, &arrival.bytes);
            for (address, at) in region.rows() {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let row = usize::try_from(region.row).unwrap_or(usize::MAX);
                let Some(rest) = all.get(from..).filter(|rest| !rest.is_empty()) else {
                    break;
                };
                let row = &rest[..row.min(rest.len())];
                self.processor.memory_mut().write(address, row)?;
            }
        }
        Ok(())
    }
}

impl Device {
    /// Sends a message once `after` are complete: the port gets its bytes as they are when the control CPU is done
    /// with the command. `request` is the number by which the program waits for the send.
    ///
    /// # Errors
    /// The region leaves system memory.
    pub fn send_message(
        &mut self,
        name: &str,
        request: u64,
        (to, tag): (u64, u32),
        region: MessageRegion,
        after: &[Event],
    ) -> Result<Event, HostError> {
        let action = HostAction::Send {
            request,
            to,
            tag,
            region,
        };
        self.command(Command::new(name, action).wait_for(after))
    }

    /// Posts a receive once `after` are complete. `request` is the number by which the program waits for the message.
    ///
    /// # Errors
    /// The region leaves system memory.
    pub fn receive_message(
        &mut self,
        name: &str,
        request: u64,
        (from, tag): (Option<u64>, Option<u32>),
        region: MessageRegion,
        after: &[Event],
    ) -> Result<Event, HostError> {
        let action = HostAction::Receive {
            request,
            from,
            tag,
            region,
        };
        self.command(Command::new(name, action).wait_for(after))
    }

    /// Carries out every command that was given, and returns the cycle in which the control CPU has seen all of them
    /// complete; nothing if the run has ended early.
    ///
    /// # Errors
    /// A command could not be carried out.
    pub fn drain(&mut self) -> Result<Option<u64>, HostError> {
        if let Some(forecast) = &mut self.forecast {
            self.started = true;
            let mut commands = std::mem::take(&mut self.queue).into_iter();
            forecast.run(&self.machine, &mut commands, true)?;
            return Ok(forecast.current_cycle());
        }
        self.simulate(true)?;
        Ok(self.end.is_none().then_some(self.engine.state.now))
    }

    /// Takes the sends and receives since the last call, in the order of their cycles.
    pub fn take_messages(&mut self) -> Vec<MessageRecord> {
        let log = match &mut self.forecast {
            Some(forecast) => forecast.messages_mut(),
            None => &mut self.engine.messages,
        };
        std::mem::take(log)
    }

    /// Lets the control CPU wait for messages until a cycle, and puts those that have arrived into memory then.
    /// `requests` of them are complete, sends included: each takes the control CPU some cycles.
    ///
    /// # Errors
    /// A region leaves system memory.
    pub fn await_messages(
        &mut self,
        name: &str,
        until: u64,
        requests: u64,
        arrivals: Vec<MessageArrival>,
    ) -> Result<Event, HostError> {
        let action = HostAction::Await {
            until,
            requests,
            arrivals,
        };
        self.command(Command {
            name: name.into(),
            page: None,
            action,
            after: After::new(),
        })
    }

    /// Returns the cycle up to which commands have been carried out.
    #[must_use]
    pub fn current_cycle(&self) -> u64 {
        match &self.forecast {
            Some(forecast) => forecast.current_cycle().unwrap_or(0),
            None => self.engine.state.now,
        }
    }

    /// Returns how the run ended, if it has ended.
    #[must_use]
    pub fn run_end(&self) -> Option<&RunEnd> {
        self.end.as_ref()
    }
}
