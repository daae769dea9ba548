//! Errors of communication.

use crate::communication::list;
use crate::{BlockedProcessor, Envelope, Picoseconds, Request, TransportError};

/// A process that could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("processor {processor} at {at}: {message}")]
pub struct ProcessFailure {
    /// The processor.
    pub processor: usize,
    /// Instant at which its last turn began.
    pub at: Picoseconds,
    /// Reason, as people read it.
    pub message: String,
    /// True if the computer is at fault, and not what the processor computes.
    pub of_host: bool,
}

/// Why processors cannot communicate, or not any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A processor's program has panicked on a thread of this host.
    #[error("a processor's program has panicked")]
    Panicked,
    /// A network of no processors, or of too many.
    #[error("a network of {found} processors: it has at least 1 and at most {most}")]
    Processors {
        /// Processors asked for.
        found: usize,
        /// Device numbers.
        most: usize,
    },
    /// A benchmark of messages between fewer than two processors.
    #[error("a benchmark of the network on {found} processor(s): expected at least 2")]
    NothingToMeasure {
        /// Processors asked for.
        found: usize,
    },
    /// A parameter with which no message can be timed.
    #[error("[network] of the machine file, {name}: expected {expected}")]
    Parameter {
        /// Its key or keys in a machine file, without `network.`.
        name: &'static str,
        /// Values that are right.
        expected: &'static str,
    },
    /// A message to or from a processor that is none.
    #[error(
        "processor {processor} at {at}: there is no processor {peer} to communicate with; \
         numbers are below {processors}"
    )]
    NoSuchPeer {
        /// Who named it.
        processor: usize,
        /// Instant of the record.
        at: Picoseconds,
        /// The number that is none.
        peer: usize,
        /// Processors of the network.
        processors: usize,
    },
    /// Records of a processor that does not run now.
    #[error(
        "records of processor {processor}, which does not run: apply them once for each wake of `advance`"
    )]
    NotActive {
        /// The processor.
        processor: usize,
    },
    /// A processor that runs, and of which no records came.
    #[error("no records of processor {processor}, which runs: apply them before `advance`")]
    NotApplied {
        /// The processor.
        processor: usize,
    },
    /// Records that do not end where a processor stops running.
    #[error(
        "records of processor {processor}: the last one, and no other, \
         is to be a wait, test, pause, end or failure"
    )]
    Unended {
        /// The processor.
        processor: usize,
    },
    /// A record before the one that precedes it, or within the least time of a command after a wake.
    #[error("processor {processor} did something at {at}, and cannot have before {earliest}")]
    Backwards {
        /// The processor.
        processor: usize,
        /// The instant of the record.
        at: Picoseconds,
        /// The first instant that is possible.
        earliest: Picoseconds,
    },
    /// A wait or test for a request that is none, or whose completion was given out.
    #[error(
        "processor {processor} at {at}: it waits for request {}, which was never made or is complete: \
         wait once for each request",
        .request.0
    )]
    NoSuchRequest {
        /// The processor.
        processor: usize,
        /// Instant of the record.
        at: Picoseconds,
        /// The request.
        request: Request,
    },
    /// A message longer than the memory that is to hold it.
    #[error(
        "{message}: longer than its receive, which takes {buffer} B at most: \
         make it longer, or the message shorter"
    )]
    Truncated {
        /// The message.
        message: Envelope,
        /// Bytes of the receive.
        buffer: u64,
    },
    /// Messages that nobody received before the end.
    #[error("never received: {}: post a receive for each message", list(.messages))]
    NeverReceived {
        /// The messages.
        messages: Vec<Envelope>,
    },
    /// All processors that have not ended wait for each other.
    #[error("deadlock: {}", list(.blocked))]
    Deadlock {
        /// The processors that wait.
        blocked: Vec<BlockedProcessor>,
    },
    /// Processes that could not go on, those of the first window in which one could not.
    #[error("{}", list(.failures))]
    Failed {
        /// The processes.
        failures: Vec<ProcessFailure>,
    },
    /// A time too large for 64 bits of picoseconds.
    #[error(
        "{message}: it would arrive after 2^64 ps (213 days), as far as time is counted: \
         send shorter messages, or take a faster network"
    )]
    TooLate {
        /// The message.
        message: Envelope,
    },
    /// Bytes that are no record.
    #[error(
        "records of rank {rank}, byte {offset}: expected {expected}; \
         do all ranks run one version?"
    )]
    Record {
        /// The rank that sent them.
        rank: usize,
        /// The place in the bytes.
        offset: usize,
        /// Description of what should stand there.
        expected: &'static str,
    },
    /// Ranks with another version, machine or input than rank 0.
    #[error("version, machine or input of {} differ from those of rank 0: \
         start all ranks with the same",
        rank_list(.ranks))]
    Fingerprints {
        /// The ranks.
        ranks: Vec<usize>,
    },
    /// Another number of processes than a rank's share.
    #[error(
        "rank {rank} was given {found} processes, and its share of the processors is {expected}"
    )]
    Share {
        /// The rank.
        rank: usize,
        /// Processes given.
        found: usize,
        /// Processors of the rank.
        expected: usize,
    },
    /// A transport that answers for another number of ranks, or with another number of bytes.
    #[error("transport {transport}: {found} {unit} came, and {expected} were to come")]
    Answer {
        /// Name of the transport.
        transport: &'static str,
        /// Ranks or bytes that came.
        found: usize,
        /// Ranks or bytes that should have.
        expected: usize,
        /// "ranks" or "bytes".
        unit: &'static str,
    },
    /// A message that arrived without its payload.
    #[error("{message}: its payload is not there; log a payload with every send")]
    NoPayload {
        /// The message.
        message: Envelope,
    },
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

fn rank_list(ranks: &[usize]) -> String {
    let names: Vec<String> = ranks.iter().map(|rank| format!("rank {rank}")).collect();
    names.join(", ")
}
