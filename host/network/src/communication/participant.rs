//! A processor as communication sees it: its requests, and what it waits for.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

use super::OpenQuestion;
use super::matching::Matching;
use crate::{NetworkError, Picoseconds, Request};

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Envelope {
    /// Sender.
    pub source: usize,
    /// Processor that receives it.
    pub destination: usize,
    /// Its tag.
    pub tag: u32,
    /// Its length.
    pub bytes: u64,
    /// Number among the messages of its sender, from 0 on.
    pub number: u64,
}

impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "message {} from processor {} to processor {}, tag {}, {} B",
            self.number, self.source, self.destination, self.tag, self.bytes
        )
    }
}

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// A send: complete when the message is in the network (short ones) or has left (long ones).
    Send,
    /// A receive: complete when the message is there.
    Receive,
}

/// A request that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub request: Request,
    /// Kind of it.
    pub kind: RequestKind,
    /// When it completed.
    pub at: Picoseconds,
    /// The message that was sent or received.
    pub message: Envelope,
}

/// A processor that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// The processor.
    pub processor: usize,
    /// Instant: for a wait, when the last of its requests completed, or the wait began.
    pub at: Picoseconds,
    /// Requests of the wait, or those of the test that were complete, in the order in which they were named.
    pub completions: Vec<Completion>,
}

impl Wake {
    /// The start of a processor.
    pub(super) fn first(processor: usize) -> Self {
        Self {
            processor,
            ..Self::default()
        }
    }
}

/// A request that is not complete, as its record described it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    /// The request.
    pub request: Request,
    /// Kind of it.
    pub kind: RequestKind,
    /// Receiver of a send; source of a receive, or `None` for any.
    pub peer: Option<usize>,
    /// Tag, or `None` for any.
    pub tag: Option<u32>,
    /// Length of the message, or of the memory for it.
    pub bytes: u64,
}

impl PendingRequest {
    pub(super) fn send(destination: usize, tag: u32, bytes: u64) -> Self {
        Self {
            request: Request(0),
            kind: RequestKind::Send,
            peer: Some(destination),
            tag: Some(tag),
            bytes,
        }
    }

    pub(super) fn receive(source: Option<usize>, tag: Option<u32>, bytes: u64) -> Self {
        Self {
            request: Request(0),
            kind: RequestKind::Receive,
            peer: source,
            tag,
            bytes,
        }
    }
}

impl fmt::Display for PendingRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.kind {
            RequestKind::Send => "send to",
            RequestKind::Receive => "receive from",
        };
        write!(f, "{verb} ")?;
        match self.peer {
            Some(peer) => write!(f, "processor {peer}")?,
            None => write!(f, "any processor")?,
        }
        match self.tag {
            Some(tag) => write!(f, ", tag {tag}")?,
            None => write!(f, ", any tag")?,
        }
        write!(f, ", {} B (request {})", self.bytes, self.request.0)
    }
}

/// A processor that nobody will wake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedProcessor {
    /// The processor.
    pub processor: usize,
    /// When its wait began.
    pub since: Picoseconds,
    /// Requests of the wait that are not complete.
    pub pending: Vec<PendingRequest>,
    /// Messages that came to it, and that no receive takes.
    pub unmatched: Vec<Envelope>,
}

impl fmt::Display for BlockedProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "processor {} waits since {} for {}",
            self.processor,
            self.since,
            list(&self.pending)
        )?;
        match self.unmatched.is_empty() {
            true => Ok(()),
            false => write!(f, ", and has no receive for {}", list(&self.unmatched)),
        }
    }
}

/// Items as text: all where they are few.
pub(crate) fn list<T: fmt::Display>(items: &[T]) -> String {
    const MOST: usize = 8;
    let named: Vec<String> = items.iter().take(MOST).map(T::to_string).collect();
    let more = items.len().saturating_sub(MOST);
    match more {
        0 => named.join("; "),
        _ => format!("{}; and {more} more", named.join("; ")),
    }
}

/// State of a processor: it runs, or waits, or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ParticipantStatus {
    /// It will run as soon as the window is over.
    #[default]
    Woken,
    /// Its records are to come.
    Active,
    /// It waits for requests.
    Waiting { at: Picoseconds },
    /// It asks which requests are complete.
    Testing { at: Picoseconds },
    /// It has ended, or failed.
    Ended,
}

/// A request whose completion was not given out.
#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    pending: PendingRequest,
    completion: Option<Completion>,
    /// Set while a wait or test names it.
    held: bool,
}

/// The state of a processor.
#[derive(Debug, Default)]
pub(super) struct Participant {
    pub(super) status: ParticipantStatus,
    /// Instant of the last record or wake.
    pub(super) last: Picoseconds,
    /// The first instant at which it may send or post.
    pub(super) first_command: Picoseconds,
    /// Messages that it has sent.
    pub(super) messages: u64,
    pub(super) matching: Matching,
    /// Requests held that are not complete.
    pub(super) missing: usize,
    /// Its question about messages from any source.
    pub(super) question: Option<OpenQuestion>,
    requests: BTreeMap<Request, OpenRequest>,
    made: u64,
    held: Vec<Request>,
}

impl Participant {
    pub(super) fn go_on(&mut self, at: Picoseconds, least_overhead: Picoseconds) {
        self.status = ParticipantStatus::Active;
        self.last = at;
        self.first_command = at + least_overhead;
    }

    /// Makes a request.
    pub(super) fn open(&mut self, pending: PendingRequest) -> Request {
        let request = Request(self.made);
        self.made += 1;
        let open = OpenRequest {
            pending: PendingRequest { request, ..pending },
            completion: None,
            held: false,
        };
        self.requests.insert(request, open);
        request
    }

    /// Notes that a request is complete.
    pub(super) fn complete(&mut self, request: Request, at: Picoseconds, message: Envelope) {
        if let Some(open) = self.requests.get_mut(&request) {
            open.completion = Some(Completion {
                request,
                kind: open.pending.kind,
                at,
                message,
            });
            self.missing -= usize::from(open.held);
        }
    }

    /// Begins a wait or a test.
    pub(super) fn hold(
        &mut self,
        processor: usize,
        at: Picoseconds,
        requests: &[Request],
    ) -> Result<(), NetworkError> {
        for request in requests {
            let request = *request;
            match self.requests.get_mut(&request) {
                Some(open) if !open.held => {
                    open.held = true;
                    self.missing += usize::from(open.completion.is_none());
                    self.held.push(request);
                }
                _ => {
                    return Err(NetworkError::NoSuchRequest {
                        processor,
                        at,
                        request,
                    });
                }
            }
        }
        Ok(())
    }

    /// Ends a wait, or a test at an instant: takes the requests that are complete (by then).
    pub(super) fn collect(&mut self, by: Option<Picoseconds>) -> Vec<Completion> {
        self.missing = 0;
        let mut taken = Vec::new();
        for request in std::mem::take(&mut self.held) {
            let Some(open) = self.requests.get_mut(&request) else {
                continue;
            };
            open.held = false;
            let done = open.completion;
            if let Some(completion) = done.filter(|done| by.is_none_or(|by| done.at <= by)) {
                self.requests.remove(&request);
                taken.push(completion);
            }
        }
        taken
    }

    /// The processor where it is one that waits.
    pub(super) fn blocked(&self, processor: usize) -> Option<BlockedProcessor> {
        let (ParticipantStatus::Waiting { at } | ParticipantStatus::Testing { at }) = self.status
        else {
            return None;
        };
        let open = self.held.iter().filter_map(|held| self.requests.get(held));
        let pending = open.filter(|open| open.completion.is_none());
        Some(BlockedProcessor {
            processor,
            since: at,
            pending: pending.map(|open| open.pending).collect(),
            unmatched: self.matching.unmatched().collect(),
        })
    }
}
