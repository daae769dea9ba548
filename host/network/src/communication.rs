//! The knowledge of all ranks: messages under way, matching, and waits.

mod matching;
mod participant;
mod pool;

use cp2_machine::{Machine, NetworkParameters};
use std::collections::{BTreeMap, BTreeSet};

use crate::{LinkTurn, Links, NetworkError, NetworkReport, NetworkTrace};
use crate::{Picoseconds, ProcessFailure};
use crate::{Record, RecordedOperation, Request};
use matching::{Arrived, MatchedPair, Posted};
use participant::{Participant, ParticipantStatus};
use pool::{EventKey, Flight, PacketKind};

pub use matching::RESERVED_TAGS;
pub(crate) use participant::list;
pub use participant::{BlockedProcessor, Completion, Envelope, PendingRequest, RequestKind, Wake};

/// Bytes of a request to send, and of a clear-to-send.
pub const CONTROL_BYTES: u64 = 16;

/// All communication of a run, in simulated time.
///
/// [`Communication::apply`] takes what processors did, [`Communication::advance`] says who goes on. The same
/// calls have the same results on every computer, and the order in which processors are applied between two
/// calls of `advance` does not matter.
///
/// Network events are processed in the order of (time, injection, source, kind, number) over the whole run,
/// and never before something that could still come first: the module's functions are those of a sequential
/// simulation of everything, in another order.
#[derive(Debug)]
pub struct Communication {
    links: Links,
    turnaround: Picoseconds,
    eager: u64,
    least_overhead: Picoseconds,
    /// An arrival that is unknown lies at least so far behind every event and command that is known.
    to_arrival: Picoseconds,
    /// A completion that is unknown does.
    to_completion: Picoseconds,
    pool: BTreeMap<EventKey, Flight>,
    participants: Vec<Participant>,
    woken: BTreeMap<usize, Wake>,
    /// The first instant at which one that was woken may send or post.
    first_command: Option<Picoseconds>,
    questions: BTreeSet<OpenQuestion>,
    failures: Vec<ProcessFailure>,
    messages: u64,
    message_bytes: u64,
    windows: u64,
    trace: NetworkTrace,
}

/// Something that more of the network has to be known for, in the order in which questions are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OpenQuestion {
    time: Picoseconds,
    kind: QuestionKind,
    processor: usize,
    source: usize,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum QuestionKind {
    /// Is the message the first of those that a receive from any source may take?
    Offer,
    /// Are requests complete?
    Test,
}

/// Result of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advance {
    /// These go on; their records are to be applied.
    Run(Vec<Wake>),
    /// All have ended, and every message was received.
    Finished,
    /// No one can go on, and these have not ended.
    Deadlock(Vec<BlockedProcessor>),
}

impl Communication {
    /// Starts the communication of so many processors: the first call of [`Self::advance`] lets all of them
    /// run, from time 0.
    ///
    /// `least_overhead` is the least time that a processor needs from a wake to a send or a receive; zero is
    /// right, and more lets more of them run side by side.
    ///
    /// # Errors
    /// Parameters leave a message without time, or there are too many processors.
    pub fn new(
        parameters: &NetworkParameters,
        processors: usize,
        least_overhead: Picoseconds,
    ) -> Result<Self, NetworkError> {
        let links = Links::new(parameters, processors)?;
        let eager = parameters.eager.0;
        let wrong = |name, expected| NetworkError::Parameter { name, expected };
        let late = "a packet to take less than 2^64 ps";
        let to_arrival = links
            .least_latency()
            .ok_or(wrong("lanes, lane-rate, coding, header, hop", late))?;
        if to_arrival == Picoseconds::ZERO {
            return Err(wrong(
                "hop, header",
                "one of them above zero, for a message of no bytes takes time",
            ));
        }
        // A send that completes by itself is at once complete, one longer than the limit when it has left.
        let longer = links.occupancy(eager.saturating_add(1));
        let to_completion = longer.map_or(to_arrival, |longer| longer.min(to_arrival));
        let first = |processor| (processor, Wake::first(processor));
        Ok(Self {
            links,
            turnaround: Picoseconds(parameters.turnaround_ps),
            eager,
            least_overhead,
            to_arrival,
            to_completion,
            pool: BTreeMap::new(),
            participants: (0..processors).map(|_| Participant::default()).collect(),
            woken: (0..processors).map(first).collect(),
            first_command: Some(least_overhead),
            questions: BTreeSet::new(),
            failures: Vec::new(),
            messages: 0,
            message_bytes: 0,
            windows: 0,
            trace: NetworkTrace::default(),
        })
    }

    /// Begins the communication of processors of a machine, whose `[network]` says what a send and a post
    /// take.
    ///
    /// # Errors
    /// Those of [`Communication::new`].
    pub fn of_machine(machine: &Machine, processors: usize) -> Result<Self, NetworkError> {
        let network = &machine.network;
        // After a wait a processor sends or receives no earlier than one of these takes.
        let least = network.send.min(network.post);
        let least = Picoseconds::from_cycles(least.0, machine.cp2.clock_hz);
        Self::new(network, processors, least)
    }

    /// Processors that communicate.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.participants.len()
    }

    /// Calls of [`Self::advance`] so far.
    #[must_use]
    pub fn windows(&self) -> u64 {
        self.windows
    }

    /// Messages and loads so far.
    #[must_use]
    pub fn report(&self) -> NetworkReport {
        NetworkReport {
            messages: self.messages,
            message_bytes: self.message_bytes,
            ends: self.participants.iter().map(|one| one.last).collect(),
            links: self.links.report(),
            trace: self.trace.clone(),
        }
    }

    /// Keeps so many messages and turns on links together for the report; none unless this is called.
    pub fn keep_trace(&mut self, limit: usize) {
        self.trace = NetworkTrace::new(limit);
    }

    /// Takes what a processor did since it was woken; the last record, and no other, ends its turn.
    ///
    /// # Errors
    /// The processor does not run, or could not have done that. The communication cannot go on then.
    pub fn apply(&mut self, processor: usize, records: &[Record]) -> Result<(), NetworkError> {
        let participant = self.participants.get(processor);
        if participant.is_none_or(|one| one.status != ParticipantStatus::Active) {
            return Err(NetworkError::NotActive { processor });
        }
        let Some((last, before)) = records.split_last() else {
            return Err(NetworkError::Unended { processor });
        };
        if !last.operation.ends_turn() || before.iter().any(|record| record.operation.ends_turn()) {
            return Err(NetworkError::Unended { processor });
        }
        records
            .iter()
            .try_for_each(|record| self.take(processor, record))
    }

    /// Processes all that is certain, and says who goes on; see [`Advance`].
    ///
    /// # Errors
    /// Records of a processor that runs were not applied, processes failed, a message is longer than its
    /// receive, or one was never received when all have ended.
    pub fn advance(&mut self) -> Result<Advance, NetworkError> {
        let active = |one: &Participant| one.status == ParticipantStatus::Active;
        if let Some(processor) = self.participants.iter().position(active) {
            return Err(NetworkError::NotApplied { processor });
        }
        if !self.failures.is_empty() {
            self.failures.sort_by_key(|failure| failure.processor);
            let failures = std::mem::take(&mut self.failures);
            return Err(NetworkError::Failed { failures });
        }
        self.windows += 1;
        loop {
            let event = self.pool.first_key_value().map(|(key, _)| key.time);
            let known = match (event, self.first_command) {
                (Some(event), Some(command)) => Some(event.min(command)),
                (event, command) => event.or(command),
            };
            if let Some(question) = self.questions.first().copied() {
                let ahead = match question.kind {
                    QuestionKind::Offer => self.to_arrival,
                    QuestionKind::Test => self.to_completion,
                };
                if known.is_none_or(|known| question.time < known + ahead) {
                    self.settle(question)?;
                    continue;
                }
            }
            match event {
                Some(event) if self.first_command.is_none_or(|command| event < command) => {
                    self.process_event()?;
                }
                _ => break,
            }
        }
        self.first_command = None;
        if self.woken.is_empty() {
            return self.finish();
        }
        let woken = std::mem::take(&mut self.woken);
        for (processor, wake) in &woken {
            if let Some(one) = self.participants.get_mut(*processor) {
                one.go_on(wake.at, self.least_overhead);
            }
        }
        Ok(Advance::Run(woken.into_values().collect()))
    }

    /// Decides what it means that nobody goes on.
    fn finish(&self) -> Result<Advance, NetworkError> {
        let all = self.participants.iter().enumerate();
        let blocked: Vec<BlockedProcessor> = all
            .filter_map(|(processor, one)| one.blocked(processor))
            .collect();
        if !blocked.is_empty() {
            return Ok(Advance::Deadlock(blocked));
        }
        let unmatched = self.participants.iter().map(|one| one.matching.unmatched());
        let messages: Vec<Envelope> = unmatched.flatten().collect();
        match messages.is_empty() {
            true => Ok(Advance::Finished),
            false => Err(NetworkError::NeverReceived { messages }),
        }
    }

    fn participant(&mut self, processor: usize) -> Result<&mut Participant, NetworkError> {
        let one = self.participants.get_mut(processor);
        one.ok_or(NetworkError::NotActive { processor })
    }

    /// Takes a single record.
    fn take(&mut self, processor: usize, record: &Record) -> Result<(), NetworkError> {
        let at = record.at;
        let one = self.participant(processor)?;
        let earliest = match record.operation.ends_turn() {
            true => one.last,
            false => one.first_command.max(one.last),
        };
        // A failure is told whenever it is noticed.
        if at < earliest && !matches!(record.operation, RecordedOperation::Fail { .. }) {
            return Err(NetworkError::Backwards {
                processor,
                at,
                earliest,
            });
        }
        one.last = at.max(one.last);
        match &record.operation {
            RecordedOperation::Send {
                destination,
                tag,
                bytes,
            } => self.send(processor, at, *destination, *tag, *bytes),
            RecordedOperation::Receive { source, tag, bytes } => {
                if let Some(peer) = source {
                    self.check_peer(processor, at, *peer)?;
                }
                let pending = PendingRequest::receive(*source, *tag, *bytes);
                let one = self.participant(processor)?;
                let posted = Posted {
                    request: one.open(pending),
                    at,
                    source: *source,
                    tag: *tag,
                    bytes: *bytes,
                };
                let pair = one.matching.post(posted);
                self.join(pair)?;
                self.ask(processor);
                Ok(())
            }
            RecordedOperation::Wait { requests } => {
                one.hold(processor, at, requests)?;
                one.status = ParticipantStatus::Waiting { at };
                self.wake_if_complete(processor);
                Ok(())
            }
            RecordedOperation::Test { requests } => {
                one.hold(processor, at, requests)?;
                one.status = ParticipantStatus::Testing { at };
                self.questions.insert(test_question(processor, at));
                Ok(())
            }
            RecordedOperation::Pause => {
                one.status = ParticipantStatus::Waiting { at };
                self.wake_if_complete(processor);
                Ok(())
            }
            RecordedOperation::End => {
                one.status = ParticipantStatus::Ended;
                Ok(())
            }
            RecordedOperation::Fail { message, of_host } => {
                one.status = ParticipantStatus::Ended;
                self.failures.push(ProcessFailure {
                    processor,
                    at,
                    message: message.clone(),
                    of_host: *of_host,
                });
                Ok(())
            }
        }
    }

    fn check_peer(
        &self,
        processor: usize,
        at: Picoseconds,
        peer: usize,
    ) -> Result<(), NetworkError> {
        let processors = self.processors();
        match peer < processors {
            true => Ok(()),
            false => Err(NetworkError::NoSuchPeer {
                processor,
                at,
                peer,
                processors,
            }),
        }
    }

    fn send(
        &mut self,
        source: usize,
        at: Picoseconds,
        destination: usize,
        tag: u32,
        bytes: u64,
    ) -> Result<(), NetworkError> {
        self.check_peer(source, at, destination)?;
        let eager = bytes <= self.eager;
        let one = self.participant(source)?;
        let message = Envelope {
            source,
            destination,
            tag,
            bytes,
            number: one.messages,
        };
        one.messages += 1;
        let request = one.open(PendingRequest::send(destination, tag, bytes));
        if eager {
            one.complete(request, at, message);
        }
        self.trace.send(message, at);
        self.messages += 1;
        self.message_bytes = self.message_bytes.saturating_add(bytes);
        self.inject(at, Flight::first(message, request, eager))
    }

    /// Puts a message or control packet before the first link of its route.
    fn inject(&mut self, at: Picoseconds, flight: Flight) -> Result<(), NetworkError> {
        let (source, destination) = flight.ends();
        let route = self.links.interconnect().route(source, destination);
        let message = flight.message;
        let route = route.ok_or(NetworkError::TooLate { message })?;
        let key = EventKey {
            time: at,
            injection: at,
            source,
            kind: flight.kind,
            number: flight.number(),
        };
        self.pool.insert(key, Flight { route, ..flight });
        Ok(())
    }

    /// Lets the first message of the pool through the link before which it is.
    fn process_event(&mut self) -> Result<(), NetworkError> {
        let Some((key, mut flight)) = self.pool.pop_first() else {
            return Ok(());
        };
        let message = flight.message;
        let late = NetworkError::TooLate { message };
        let link = flight.route.get(flight.passed).copied();
        let link = link.ok_or(late.clone())?;
        let length = match flight.kind {
            PacketKind::Data => message.bytes,
            PacketKind::Message if flight.eager => message.bytes,
            PacketKind::Message | PacketKind::Clear => CONTROL_BYTES,
        };
        let served = self.links.serve(link, key.time, length);
        let served = served.ok_or(late.clone())?;
        let occupied = self.links.occupancy(length).unwrap_or_default();
        self.trace.turn(LinkTurn {
            link,
            start: served.left.saturating_sub(occupied),
            end: served.left,
            message,
            is_control: flight.kind == PacketKind::Clear
                || (flight.kind == PacketKind::Message && !flight.eager),
        });
        if flight.passed == 0 && flight.kind == PacketKind::Data {
            self.complete(message.source, flight.send, served.left, message)?;
        }
        flight.passed += 1;
        if flight.passed < flight.route.len() {
            let time = served.head;
            self.pool.insert(EventKey { time, ..key }, flight);
            return Ok(());
        }
        let arrival = served.tail;
        match flight.kind {
            PacketKind::Message => {
                let receiver = self.participant(message.destination)?;
                let pair = receiver.matching.deliver(Arrived {
                    message,
                    arrival,
                    send: flight.send,
                    eager: flight.eager,
                });
                self.join(pair)?;
                self.ask(message.destination);
                Ok(())
            }
            PacketKind::Clear => {
                let at = arrival.checked_add(self.turnaround).ok_or(late)?;
                self.inject(at, flight.data())
            }
            PacketKind::Data => {
                self.complete(message.destination, flight.receive, arrival, message)
            }
        }
    }

    /// Gives messages to receives.
    fn join(&mut self, pairs: impl IntoIterator<Item = MatchedPair>) -> Result<(), NetworkError> {
        for MatchedPair { arrived, posted } in pairs {
            let message = arrived.message;
            if message.bytes > posted.bytes {
                let buffer = posted.bytes;
                return Err(NetworkError::Truncated { message, buffer });
            }
            let matched = arrived.arrival.max(posted.at);
            if arrived.eager {
                self.complete(message.destination, posted.request, matched, message)?;
            } else {
                let at = matched.checked_add(self.turnaround);
                let at = at.ok_or(NetworkError::TooLate { message })?;
                self.inject(at, Flight::clear(message, arrived.send, posted.request))?;
            }
        }
        Ok(())
    }

    fn complete(
        &mut self,
        processor: usize,
        request: Request,
        at: Picoseconds,
        message: Envelope,
    ) -> Result<(), NetworkError> {
        self.participant(processor)?.complete(request, at, message);
        self.wake_if_complete(processor);
        Ok(())
    }

    /// Wakes a processor whose wait is over.
    fn wake_if_complete(&mut self, processor: usize) {
        let Some(one) = self.participants.get_mut(processor) else {
            return;
        };
        if let ParticipantStatus::Waiting { at } = one.status
            && one.missing == 0
        {
            let completions = one.collect(None);
            let latest = completions.iter().map(|completion| completion.at);
            let at = latest.fold(at, Picoseconds::max);
            self.wake(processor, at, completions);
        }
    }

    fn wake(&mut self, processor: usize, at: Picoseconds, completions: Vec<Completion>) {
        self.trace.wake(at, &completions);
        if let Some(one) = self.participants.get_mut(processor) {
            one.status = ParticipantStatus::Woken;
        }
        let command = at + self.least_overhead;
        let first = self.first_command;
        self.first_command = Some(first.map_or(command, |first| first.min(command)));
        let wake = Wake {
            processor,
            at,
            completions,
        };
        self.woken.insert(processor, wake);
    }

    /// Replaces the question of a processor about messages that a receive from any source may want.
    fn ask(&mut self, processor: usize) {
        let Some(one) = self.participants.get_mut(processor) else {
            return;
        };
        let question = one.matching.question().map(|offer| OpenQuestion {
            time: offer.arrival,
            kind: QuestionKind::Offer,
            processor,
            source: offer.source,
            number: offer.number,
        });
        let before = std::mem::replace(&mut one.question, question);
        if before != question {
            before.map(|before| self.questions.remove(&before));
            self.questions.extend(question);
        }
    }

    /// Settles a question of which all is known.
    fn settle(&mut self, question: OpenQuestion) -> Result<(), NetworkError> {
        let processor = question.processor;
        let one = self.participant(processor)?;
        match question.kind {
            QuestionKind::Offer => {
                let pairs = one.matching.take_offer();
                self.join(pairs)?;
                self.ask(processor);
            }
            QuestionKind::Test => {
                let completions = one.collect(Some(question.time));
                self.questions.remove(&question);
                self.wake(processor, question.time, completions);
            }
        }
        Ok(())
    }
}

fn test_question(processor: usize, time: Picoseconds) -> OpenQuestion {
    OpenQuestion {
        time,
        kind: QuestionKind::Test,
        processor,
        source: 0,
        number: 0,
    }
}
