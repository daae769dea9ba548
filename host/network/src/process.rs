//! A processor that runs alone until it waits, tests or ends.

use crate::{Picoseconds, ProcessFailure, Record, RecordedOperation, Request, Wake};

/// A processor's program and all that it computes with.
pub trait Process {
    /// Goes on from `resume` to the next wait, test, pause or end. Sends and receives on the way are told to
    /// `log`; whoever implements this charges set-up of sends, posts and completions: an instant in the log
    /// is that at which the CPU is done.
    ///
    /// # Errors
    /// The processor cannot go on: all ranks then end in the same window, with this error in the report.
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError>;
}

impl<P: Process + ?Sized> Process for Box<P> {
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
        (**self).run(resume, log)
    }
}

/// Time, completions and payloads with which a processor goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// Instant at which it goes on, and the requests that are complete. The first time: at 0, with none.
    pub wake: Wake,
    /// Bytes of each receive that is complete, by request, in the order of `wake.completions`.
    pub payloads: Vec<(Request, Vec<u8>)>,
}

/// Why a processor stops running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It goes on when all of these are complete.
    Wait {
        /// When the wait begins.
        at: Picoseconds,
        /// Requests that no wait or test has completed.
        requests: Vec<Request>,
    },
    /// It goes on at once with those of these that are complete.
    Test {
        /// Instant at which it stops running.
        at: Picoseconds,
        /// Requests that no wait or test has completed.
        requests: Vec<Request>,
    },
    /// It goes on at once, but lets what it sent be carried off: see [`ProcessLog::undelivered`].
    Pause {
        /// Instant at which it stops running.
        at: Picoseconds,
    },
    /// It is done.
    End {
        /// Instant at which it stops running.
        at: Picoseconds,
    },
}

impl From<Yield> for Record {
    fn from(end: Yield) -> Self {
        let (at, operation) = match end {
            Yield::Wait { at, requests } => (at, RecordedOperation::Wait { requests }),
            Yield::Test { at, requests } => (at, RecordedOperation::Test { requests }),
            Yield::Pause { at } => (at, RecordedOperation::Pause),
            Yield::End { at } => (at, RecordedOperation::End),
        };
        Self { at, operation }
    }
}

/// Why a process cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {at}: {message}")]
pub struct ProcessError {
    /// Instant at which it was noticed.
    pub at: Picoseconds,
    /// The place in the program, what was found there, what to do.
    pub message: String,
    /// True if the computer is at fault, and not what the processor computes.
    pub of_host: bool,
}

impl ProcessError {
    /// An error at an instant.
    pub fn new(at: Picoseconds, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            of_host: false,
        }
    }

    /// The error as one of the computer: no memory, no room on a disk.
    #[must_use]
    pub fn of_host(self) -> Self {
        Self {
            of_host: true,
            ..self
        }
    }
}

impl ProcessError {
    /// The error with the number of the processor.
    #[must_use]
    pub fn on(self, processor: usize) -> ProcessFailure {
        ProcessFailure {
            processor,
            at: self.at,
            message: self.message,
            of_host: self.of_host,
        }
    }
}

/// Notes of a processor's sends and receives since it went on.
#[derive(Clone, Debug, Default)]
pub struct ProcessLog {
    requests: u64,
    undelivered: u64,
    records: Vec<Record>,
    payloads: Vec<(usize, Vec<u8>)>,
}

impl ProcessLog {
    /// A log of nothing, for a processor that has done nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a send. The message enters the network at `at`, when the CPU is done with its set-up.
    pub fn send(
        &mut self,
        at: Picoseconds,
        destination: usize,
        tag: u32,
        payload: Vec<u8>,
    ) -> Request {
        let bytes = payload.len() as u64;
        self.undelivered = self.undelivered.saturating_add(bytes);
        self.note_send(at, destination, (tag, bytes), payload)
    }

    /// Notes a send of `bytes` bytes that nobody reads, where times alone are counted: a [`send`](Self::send) that
    /// takes no memory. Its receiver finds no bytes, or zeros if it is on another rank.
    pub fn send_unread(
        &mut self,
        at: Picoseconds,
        destination: usize,
        tag: u32,
        bytes: u64,
    ) -> Request {
        self.note_send(at, destination, (tag, bytes), Vec::new())
    }

    fn note_send(
        &mut self,
        at: Picoseconds,
        destination: usize,
        (tag, bytes): (u32, u64),
        payload: Vec<u8>,
    ) -> Request {
        self.payloads.push((destination, payload));
        self.note(
            at,
            RecordedOperation::Send {
                destination,
                tag,
                bytes,
            },
        )
    }

    /// Notes a receive of at most `bytes` bytes; `None` stands for any source, any tag. It is posted at `at`,
    /// when the CPU is done with it.
    pub fn receive(
        &mut self,
        at: Picoseconds,
        source: Option<usize>,
        tag: Option<u32>,
        bytes: u64,
    ) -> Request {
        self.note(at, RecordedOperation::Receive { source, tag, bytes })
    }

    /// Bytes sent since the process went on, which are kept in memory until it stops: one that sends much
    /// pauses after some MiB.
    #[must_use]
    pub fn undelivered(&self) -> u64 {
        self.undelivered
    }

    /// Takes the records and payloads (with their destinations) noted since it was last called.
    pub fn take(&mut self) -> (Vec<Record>, Vec<(usize, Vec<u8>)>) {
        self.undelivered = 0;
        (
            std::mem::take(&mut self.records),
            std::mem::take(&mut self.payloads),
        )
    }

    fn note(&mut self, at: Picoseconds, operation: RecordedOperation) -> Request {
        self.records.push(Record { at, operation });
        let request = Request(self.requests);
        self.requests += 1;
        request
    }
}
