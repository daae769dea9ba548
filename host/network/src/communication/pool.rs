//! Messages and control packets under way, in the order of events.

use crate::{Envelope, Picoseconds, Request};

/// Place of an event in the order of all. No two are equal: a processor injects one thing of a kind and
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventKey {
    /// When the head comes to the link.
    pub(super) time: Picoseconds,
    /// When it entered the network.
    pub(super) injection: Picoseconds,
    /// The processor from which it comes.
    pub(super) source: usize,
    /// Kind of it.
    pub(super) kind: PacketKind,
    /// Number of the message among those of its sender; of a clear-to-send, that of the receive.
    pub(super) number: u64,
}

/// Kinds of what is under way; events that are equal in time, injection and source are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PacketKind {
    /// A short message, or a long one's request to send: one kind, so that none overtakes the other.
    Message,
    /// The answer to a request, when its receive is posted.
    Clear,
    /// The long message.
    Data,
}

/// Something on its way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) message: Envelope,
    pub(super) kind: PacketKind,
    /// Set for a short message, which goes at once.
    pub(super) eager: bool,
    /// Request of the sender.
    pub(super) send: Request,
    /// Request of the receiver, once there is one.
    pub(super) receive: Request,
    /// Links to pass.
    pub(super) route: Vec<usize>,
    /// Links that it has passed.
    pub(super) passed: usize,
}

impl Flight {
    /// Makes what a send puts into the network.
    pub(super) fn first(message: Envelope, send: Request, eager: bool) -> Self {
        Self {
            message,
            kind: PacketKind::Message,
            eager,
            send,
            receive: Request(0),
            route: Vec::new(),
            passed: 0,
        }
    }

    /// Makes the answer of a receiver to a request.
    pub(super) fn clear(message: Envelope, send: Request, receive: Request) -> Self {
        Self {
            kind: PacketKind::Clear,
            receive,
            ..Self::first(message, send, false)
        }
    }

    /// Makes the answer of a sender to a clear-to-send.
    pub(super) fn data(self) -> Self {
        Self {
            kind: PacketKind::Data,
            passed: 0,
            ..self
        }
    }

    /// Processors between which it goes.
    pub(super) fn ends(&self) -> (usize, usize) {
        match self.kind {
            PacketKind::Clear => (self.message.destination, self.message.source),
            _ => (self.message.source, self.message.destination),
        }
    }

    /// Number in the key of its events.
    pub(super) fn number(&self) -> u64 {
        match self.kind {
            PacketKind::Clear => self.receive.0,
            _ => self.message.number,
        }
    }
}
