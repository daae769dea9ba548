//! Answers of a processor: notices, refusals and the quiet state.

use crate::core::fault::Fault;
use crate::transfers::TransferRecord;
use cp2_dma::{CopyError, DescriptorError, Movement};

/// Reason why a transfer was not accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SubmitError {
    /// The transfer breaks a rule of the DMA.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// The queue is full.
    #[error("the DMA queue already holds {queue} descriptors; wait for a completion first")]
    QueueFull {
        /// Capacity.
        queue: usize,
    },
}

/// Reason why a kernel was not launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A kernel is running.
    #[error("a kernel is still running; launch after its completion")]
    Busy,
    /// The entry point is no word of program memory.
    #[error("entry point {entry} lies outside the {words} words of program memory")]
    Entry {
        /// Word address.
        entry: u32,
        /// Words of program memory.
        words: usize,
    },
}

/// Refusal to post an event that the machine lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {event} does not exist: this machine has {events} events")]
pub struct NoEvent {
    /// The event.
    pub event: u32,
    /// Events of the machine.
    pub events: usize,
}

/// Reason why [`Processor::run_until`](super::Processor::run_until) returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice<T = Movement> {
    /// The limit was reached; components may still be at work.
    Limit,
    /// A transfer completed now.
    TransferDone(TransferRecord<T>),
    /// The kernel's last result landed now.
    KernelStopped,
    /// The kernel signalled this event now.
    Signal {
        /// The event.
        event: u32,
    },
    /// The kernel cannot go on.
    Fault(Fault),
    /// A transfer could not be carried out.
    Dma(CopyError),
}

/// State in which nothing can happen until the caller acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// No kernel runs, and no transfer.
    Idle,
    /// The kernel waits for an event that only the caller could post.
    Waiting {
        /// The event.
        event: u32,
        /// Word address of the `wait`.
        pc: u32,
    },
}
