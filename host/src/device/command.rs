//! Commands as plain data.

use super::messages::{MessageArrival, MessageRegion};
use crate::step::HostStep;
use cp2_dma::Movement;
use cp2_emu::Protection;
use cp2_machine::{Cycles, Machine};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Stands for the completion of a command, as the control CPU sees it.
///
/// Commands are numbered in the order they are given to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Event(pub(crate) u64);

impl Event {
    /// Returns the number of the command.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl Event {
    /// Returns the event of the command that is given next.
    #[must_use]
    pub fn following(self) -> Self {
        self.advance_by(1)
    }

    /// Returns the event of the command that is given `commands` commands later.
    #[must_use]
    pub fn advance_by(self, commands: u64) -> Self {
        Self(self.0.saturating_add(commands))
    }

    #[cfg(test)]
    pub(crate) fn from_number(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "command {}", self.0)
    }
}

/// Data by which a host program decided how to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decided {
    /// All bytes that it read.
    By(Vec<u8>),
    /// True if any of the bytes was not 0.
    More(bool),
}

impl Decided {
    /// Returns true if `bytes` lead to the same decision.
    pub(crate) fn holds(&self, bytes: &[u8]) -> bool {
        match self {
            Self::By(all) => all == bytes,
            Self::More(more) => *more == bytes.iter().any(|byte| *byte != 0),
        }
    }
}

impl HostAction {
    /// Returns the cycles for which the control CPU is busy with the action.
    #[must_use]
    pub fn cost(&self, machine: &Machine) -> Cycles {
        Cycles(super::cpu::cost(machine, self))
    }
}

/// Action of the control CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostAction {
    /// Build a descriptor and queue it. Complete when the transfer is.
    Dma(Movement),
    /// Launch a kernel. Complete at its `stop`.
    Launch {
        /// Word address of the first word.
        entry: u32,
        /// DMEM byte address of the argument block, in `a15` at launch.
        args: u32,
        /// Areas of DMEM that belong to the kernel, where they are known; the checkers object to other
        /// accesses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protection: Option<Arc<Protection>>,
    },
    /// Work of the control CPU that changes nothing the device can see.
    Work {
        /// Cycles of computation.
        cycles: u64,
        /// Bytes touched in system memory.
        bytes: u64,
    },
    /// The control CPU writes system memory itself, at its own rate.
    Write {
        /// Byte address.
        address: u64,
        /// Bytes to write.
        bytes: Vec<u8>,
    },
    /// The control CPU reads system memory, after everything before is
    /// complete and before anything after begins.
    Read {
        /// Byte address.
        address: u64,
        /// Number of bytes.
        bytes: u64,
        /// Data by which the recorded host program decided how to go on; a replay that finds other data ends
        /// here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decided: Option<Decided>,
    },
    /// The control CPU reads words of system memory, computes, and writes words.
    Step(Arc<HostStep>),
    /// Ends a part of the run, which the report names: after everything before is complete and before
    /// anything after begins.
    Mark,
    /// Post a CP2 event.
    Post {
        /// The event.
        event: u32,
    },
    /// Hand a message to the port, with its bytes as they are then.
    Send {
        /// Number by which the program waits for it.
        request: u64,
        /// Processor that it goes to.
        to: u64,
        /// Tag by which receives tell messages apart.
        tag: u32,
        /// Memory that holds it.
        region: MessageRegion,
    },
    /// Say where a message goes that will come.
    Receive {
        /// Number by which the program waits for it.
        request: u64,
        /// Processor that it comes from; any without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Tag of the message; any without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tag: Option<u32>,
        /// Memory for the message.
        region: MessageRegion,
    },
    /// Wait for messages, after everything before is complete and before anything after begins. A recording holds
    /// what came, so that the run of one processor can be repeated alone.
    Await {
        /// First cycle in which all that is waited for is there.
        until: u64,
        /// Sends and receives that are complete then.
        requests: u64,
        /// Messages that appear in memory.
        arrivals: Vec<MessageArrival>,
    },
    /// Complete when the kernel has signalled the event; consumes one signal.
    WaitSignal {
        /// The event.
        event: u32,
    },
}

/// Events that a command waits for, stored inside the command as long as there are few.
pub type After = SmallVec<[Event; 4]>;

/// An action, what it waits for, and its name on the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Name on the timeline: a kernel, a stream, a purpose.
    pub name: Arc<str>,
    /// Page that the command belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u64>,
    /// Action of the command.
    #[serde(flatten)]
    pub action: HostAction,
    /// Earlier commands that must be complete.
    #[serde(default, skip_serializing_if = "After::is_empty")]
    pub after: After,
}

impl Command {
    /// Creates a command that waits for nothing.
    #[must_use]
    pub fn new(name: &str, action: HostAction) -> Self {
        Self {
            name: name.into(),
            page: None,
            action,
            after: After::new(),
        }
    }

    /// Adds `events` to those that the command waits for.
    #[must_use]
    pub fn wait_for(mut self, events: &[Event]) -> Self {
        self.after.extend_from_slice(events);
        self
    }

    /// Assigns the command to a page.
    #[must_use]
    pub fn page(mut self, page: u64) -> Self {
        self.page = Some(page);
        self
    }

    /// Returns true if no other command may overtake this one in either direction.
    pub(crate) fn is_fence(&self) -> bool {
        matches!(
            self.action,
            HostAction::Read { .. } | HostAction::Mark | HostAction::Await { .. }
        )
    }
}
