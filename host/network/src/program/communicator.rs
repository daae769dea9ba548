//! Handle of a program on the messages of its processor.

use std::future::poll_fn;
use std::sync::MutexGuard;
use std::task::Poll;

use super::message::MessageHandle;
use super::value::bytes_of;
use super::{
    CompletedMessage, MessageCosts, MessageTicket, MessageValue, ProgramOperation, ProgramState,
    ProgramStop, SharedState,
};
use crate::{Envelope, Picoseconds, RESERVED_TAGS};

/// Messages of a processor, as its program sends and receives them.
///
/// Terms, order and matching are those of MPI: a receive names its source and tag, or leaves one open (`None`);
/// messages of a pair of processors do not overtake each other; messages of collective operations and puts match
/// no receive of a program. Set-up of sends, receives and completions takes the control CPU the cycles of
/// `[network]` in its machine file, and a test those of a completion, even if nothing is complete.
///
/// Errors of communication (a deadlock, a message longer than its receive, a processor that is none) end the run
/// on all ranks, so that no operation returns them. A program waits in one place at a time.
#[derive(Debug)]
pub struct Communicator {
    rank: usize,
    size: usize,
    /// Times of operations, where the program's own clock counts them.
    costs: Option<MessageCosts>,
    state: SharedState,
}

impl Communicator {
    pub(super) fn new(
        (rank, size): (usize, usize),
        costs: Option<MessageCosts>,
        state: SharedState,
    ) -> Self {
        Self {
            rank,
            size,
            costs,
            state,
        }
    }

    /// Returns the number of this processor.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of processors.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the instant that the processor has come to; with a job, that at which it went on last.
    #[must_use]
    pub fn now(&self) -> Picoseconds {
        self.state().clock
    }

    /// Lets the processor compute for so many cycles. With a job its passes and steps say what takes time.
    pub fn compute(&self, cycles: u64) {
        match &self.costs {
            Some(costs) => {
                self.advance(Picoseconds::from_cycles(cycles, costs.hertz));
            }
            None => {
                self.fail("the program counts cycles beside a job: carry out its parts".to_owned())
            }
        }
    }

    /// Begins to send values. The port gets them as they are now; the handle keeps them borrowed until it is
    /// waited for, as the buffer of a send belongs to MPI.
    pub fn start_send<'a, T: MessageValue>(
        &'a self,
        values: &'a [T],
        destination: usize,
        tag: u32,
    ) -> MessageHandle<'a, T> {
        self.check_tag(Some(tag));
        let request = self.log_send(destination, tag, bytes_of(values));
        MessageHandle::sent(self, request, values)
    }

    /// Posts a receive for a message of at most as many values, from a source and with a tag, or from any and
    /// with any. The values appear at the end of the wait for it:
    ///
    /// ```
    /// # use cp2_network::Communicator;
    /// # async fn program(communicator: Communicator) {
    /// let mut halo = [0.0f32; 8];
    /// let coming = communicator.start_receive(&mut halo, 1, 0);
    /// coming.wait().await;
    /// println!("{}", halo[0]);
    /// # }
    /// ```
    ///
    /// Until then nobody can touch them, which the compiler checks:
    ///
    /// ```compile_fail,E0502
    /// # use cp2_network::Communicator;
    /// # async fn program(communicator: Communicator) {
    /// let mut halo = [0.0f32; 8];
    /// let coming = communicator.start_receive(&mut halo, 1, 0);
    /// println!("{}", halo[0]);
    /// coming.wait().await;
    /// # }
    /// ```
    pub fn start_receive<'a, T: MessageValue>(
        &'a self,
        values: &'a mut [T],
        source: impl Into<Option<usize>>,
        tag: impl Into<Option<u32>>,
    ) -> MessageHandle<'a, T> {
        let tag = tag.into();
        self.check_tag(tag);
        let bytes = values.len().saturating_mul(T::BYTES);
        let request = self.log_receive(source.into(), tag, bytes);
        MessageHandle::receiving(self, request, values)
    }

    /// Sends values, and waits until they have left.
    pub async fn send<T: MessageValue>(&self, values: &[T], destination: usize, tag: u32) {
        self.start_send(values, destination, tag).wait().await;
    }

    /// Receives a message into the first values, and returns its description.
    pub async fn receive<T: MessageValue>(
        &self,
        values: &mut [T],
        source: impl Into<Option<usize>>,
        tag: impl Into<Option<u32>>,
    ) -> Envelope {
        self.start_receive(values, source, tag).wait().await
    }

    /// Receives a message and sends one at once, as neighbours do with each other.
    pub async fn send_receive<T: MessageValue>(
        &self,
        (values, destination, tag): (&[T], usize, u32),
        (into, source, expected): (&mut [T], Option<usize>, Option<u32>),
    ) -> Envelope {
        let coming = self.start_receive(into, source, expected);
        let sent = self.start_send(values, destination, tag);
        let mut done = self.wait_all([coming, sent]).await;
        done.swap_remove(0)
    }

    /// Waits until all of these are complete, and returns what each one was.
    pub async fn wait_all<'a, T: MessageValue + 'a>(
        &'a self,
        handles: impl IntoIterator<Item = MessageHandle<'a, T>>,
    ) -> Vec<Envelope> {
        let handles: Vec<_> = handles.into_iter().collect();
        let tickets = handles.iter().map(MessageHandle::ticket).collect();
        let done = self.wait_tickets(tickets).await;
        let ends = handles.into_iter().zip(done);
        ends.map(|(handle, done)| handle.complete(done)).collect()
    }

    /// Lets what was sent be carried off: for a program that sends many MiB and never waits, so that they are not
    /// kept in memory. It takes no time.
    pub async fn pause(&self) {
        self.stop(ProgramStop::Pause).await;
    }

    /// Ends the run with a message, on all ranks.
    pub(super) fn fail(&self, message: String) {
        self.state().fail(message);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ProgramState> {
        self.state.lock()
    }

    fn advance(&self, time: Picoseconds) -> Picoseconds {
        let mut state = self.state();
        state.clock = state.clock + time;
        state.clock
    }

    fn check_tag(&self, tag: Option<u32>) {
        if let Some(tag) = tag.filter(|tag| *tag >= RESERVED_TAGS) {
            self.fail(format!(
                "a message with tag {tag}: tags of programs are below {RESERVED_TAGS}"
            ));
        }
    }

    /// Notes a send, without a look at its tag.
    pub(super) fn log_send(&self, destination: usize, tag: u32, payload: Vec<u8>) -> MessageTicket {
        let time = self.costs.map_or(Picoseconds::ZERO, |costs| costs.send);
        self.log(time, |ticket| ProgramOperation::Send {
            ticket,
            destination,
            tag,
            payload,
        })
    }

    /// Notes a receive, without a look at its tag.
    pub(super) fn log_receive(
        &self,
        source: Option<usize>,
        tag: Option<u32>,
        bytes: usize,
    ) -> MessageTicket {
        let time = self.costs.map_or(Picoseconds::ZERO, |costs| costs.post);
        self.log(time, |ticket| ProgramOperation::Receive {
            ticket,
            source,
            tag,
            bytes: bytes as u64,
        })
    }

    fn log(
        &self,
        time: Picoseconds,
        operation: impl FnOnce(MessageTicket) -> ProgramOperation,
    ) -> MessageTicket {
        let at = self.advance(time);
        let mut state = self.state();
        let ticket = state.next_ticket();
        state.operations.push((at, operation(ticket)));
        ticket
    }

    /// Asks whoever runs the program for a step, by a number that the two have agreed on. It is carried out in
    /// order with sends and receives.
    pub fn step(&self, number: u64) {
        let at = self.now();
        let step = ProgramOperation::Step(number);
        self.state().operations.push((at, step));
    }

    /// Returns a ticket for a send or receive that a step stands for.
    #[must_use]
    pub fn take_ticket(&self) -> MessageTicket {
        self.state().next_ticket()
    }

    /// Waits until all of these are complete, and returns what each one was, in their order. Each is waited for once.
    pub async fn wait_tickets(&self, tickets: Vec<MessageTicket>) -> Vec<CompletedMessage> {
        match tickets.is_empty() {
            true => Vec::new(),
            false => self.stop(ProgramStop::Wait(tickets)).await,
        }
    }

    /// Asks whether one is complete.
    pub(super) async fn test_ticket(&self, ticket: MessageTicket) -> Option<CompletedMessage> {
        self.stop(ProgramStop::Test(vec![ticket])).await.pop()
    }

    /// Waits for one, and returns the contents of its message.
    pub(super) async fn wait_payload(&self, ticket: MessageTicket) -> (Envelope, Vec<u8>) {
        loop {
            if let Some(done) = self.wait_tickets(vec![ticket]).await.pop() {
                return (done.message, done.payload.unwrap_or_default());
            }
        }
    }

    /// Stops the program, and returns what is complete when it goes on.
    async fn stop(&self, stop: ProgramStop) -> Vec<CompletedMessage> {
        let mut stop = Some(stop);
        poll_fn(|_| {
            let mut state = self.state();
            match stop.take() {
                Some(stop) => state.stop(stop),
                None => {
                    if let Some(done) = state.resumed.take() {
                        return Poll::Ready(done);
                    }
                }
            }
            Poll::Pending
        })
        .await
    }
}
