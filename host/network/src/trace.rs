//! A record of messages and of the links that carried them, for timelines.

use serde::Serialize;

use crate::{Completion, Envelope, Picoseconds, RequestKind};

/// Messages and their turns on links, as many as were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NetworkTrace {
    /// Messages that were received, in the order in which the waits for them ended.
    pub messages: Vec<MessageTransit>,
    /// Turns on links, in the order in which they were served.
    pub turns: Vec<LinkTurn>,
    /// Messages and turns beyond the limit.
    pub dropped: u64,
    #[serde(skip)]
    limit: usize,
    /// Instants of sends whose messages were not received yet.
    #[serde(skip)]
    sent: std::collections::BTreeMap<(usize, u64), Picoseconds>,
}

/// A message from its send to the end of the wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MessageTransit {
    /// Sender, receiver, tag and length.
    #[serde(flatten)]
    pub message: Envelope,
    /// When the sender was done with the send.
    pub sent: Picoseconds,
    /// When it was there, and a receive for it.
    pub arrived: Picoseconds,
    /// When the receiver went on with it.
    pub taken: Picoseconds,
}

/// A packet's turn on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkTurn {
    /// Number of the link.
    pub link: usize,
    /// When its head entered the link.
    pub start: Picoseconds,
    /// When its tail had entered it.
    pub end: Picoseconds,
    /// The message that it is, or that it announces or answers.
    pub message: Envelope,
    /// True for the packets by which a long message is announced and answered.
    pub is_control: bool,
}

impl NetworkTrace {
    /// Creates a trace that keeps so many messages and turns together.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Notes a send.
    pub(crate) fn send(&mut self, message: Envelope, at: Picoseconds) {
        if self.has_room() {
            self.sent.insert((message.source, message.number), at);
        }
    }

    /// Notes the receives among requests with which a processor goes on.
    pub(crate) fn wake(&mut self, at: Picoseconds, completions: &[Completion]) {
        if self.limit == 0 {
            return;
        }
        for completion in completions {
            let message = completion.message;
            if completion.kind != RequestKind::Receive {
                continue;
            }
            let sent = self.sent.remove(&(message.source, message.number));
            match sent.filter(|_| self.has_room()) {
                Some(sent) => self.messages.push(MessageTransit {
                    message,
                    sent,
                    arrived: completion.at,
                    taken: at,
                }),
                None => self.dropped += 1,
            }
        }
    }

    /// Notes a turn on a link.
    pub(crate) fn turn(&mut self, turn: LinkTurn) {
        match self.has_room() {
            true => self.turns.push(turn),
            false => self.dropped += u64::from(self.limit > 0),
        }
    }

    fn has_room(&self) -> bool {
        self.messages.len() + self.turns.len() < self.limit
    }
}
