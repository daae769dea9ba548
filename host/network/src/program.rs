//! Programs as straight code: `async` functions that processes poll.
//!
//! A program gets a [`Communicator`] and awaits messages with it. No runtime takes part: a program goes on when
//! what it awaits is complete, as the communication of all ranks says, and its clock is simulated time. A
//! program that waits takes the memory of its future, about a KiB and what it keeps; recursion is boxed
//! (`Box::pin`), as in every `async` function.
//!
//! ```
//! use cp2_machine::Machine;
//! use cp2_network::{Communicator, InProcess, NetworkError, run_programs};
//! use std::convert::Infallible;
//!
//! /// Passes a sum round a ring: each processor adds its number.
//! async fn ring(communicator: Communicator) -> Result<u64, Infallible> {
//!     let (own, size) = (communicator.rank(), communicator.size());
//!     let mut sum = [0u64];
//!     if own > 0 {
//!         communicator.receive(&mut sum, own - 1, 0).await;
//!     }
//!     communicator.compute(100);
//!     sum[0] += own as u64;
//!     if own + 1 < size {
//!         communicator.send(&sum, own + 1, 0).await;
//!     }
//!     communicator.broadcast(&mut sum, size - 1).await;
//!     Ok(sum[0])
//! }
//!
//! let vm7 = Machine::builtin("vm7").unwrap();
//! let (report, sums) = run_programs(&mut InProcess, &vm7, 5, 1, b"ring", ring)?;
//! assert_eq!(sums, [10; 5]);
//! assert_eq!(report.messages, 4 + 4);
//! # Ok::<(), NetworkError>(())
//! ```

mod collectives;
mod communicator;
mod message;
mod process;
mod value;
mod window;

pub use communicator::Communicator;
pub use message::MessageHandle;
pub(crate) use process::MessageCosts;
pub use process::run_programs;
pub use value::MessageValue;
pub use window::{PutNotification, Window};

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::{Envelope, Picoseconds};

/// A send or receive of a program: these have numbers from 0 on, in the order in which it asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageTicket(pub u64);

/// Operation that a program asks for. Whoever runs it carries operations out in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramOperation {
    /// Sends values.
    Send {
        /// Its number.
        ticket: MessageTicket,
        /// Processor that receives them.
        destination: usize,
        /// Tag, by which the receiver may choose.
        tag: u32,
        /// The values' bytes.
        payload: Vec<u8>,
    },
    /// Posts a receive.
    Receive {
        /// Its number.
        ticket: MessageTicket,
        /// Sender, or `None` for any.
        source: Option<usize>,
        /// Tag, or `None` for any.
        tag: Option<u32>,
        /// Most bytes of the message.
        bytes: u64,
    },
    /// Does something that only whoever runs the program knows, by a number that it gave.
    Step(u64),
}

/// Reason why a program stops, behind all its operations so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramStop {
    /// It waits until all of these are complete.
    Wait(Vec<MessageTicket>),
    /// It asks which of these are complete; it pays for one completion at least.
    Test(Vec<MessageTicket>),
    /// It goes on at once, when its operations are carried out.
    Pause,
    /// It has ended.
    End,
}

/// A send or receive that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletedMessage {
    /// The send or receive.
    pub ticket: MessageTicket,
    /// The message.
    pub message: Envelope,
    /// Contents of a message that was received as values.
    pub payload: Option<Vec<u8>>,
}

/// State that a program shares with whoever runs it.
#[derive(Debug, Default)]
struct ProgramState {
    /// Instant that it has come to, as far as set-up of messages and computing say.
    clock: Picoseconds,
    tickets: u64,
    operations: Vec<(Picoseconds, ProgramOperation)>,
    /// Reason why the program stops, once it has one.
    stop: Option<ProgramStop>,
    /// Results of the wait or test that it goes on from.
    resumed: Option<Vec<CompletedMessage>>,
    failure: Option<String>,
    windows: u32,
}

impl ProgramState {
    /// Keeps the first reason why the program cannot go on.
    fn fail(&mut self, message: String) {
        self.failure.get_or_insert(message);
    }

    fn stop(&mut self, stop: ProgramStop) {
        if self.stop.is_some() || self.resumed.is_some() {
            self.fail(
                "the program waits in two places at once: wait for several messages with `wait_all`"
                    .to_owned(),
            );
        }
        self.stop = Some(stop);
    }

    fn next_ticket(&mut self) -> MessageTicket {
        let ticket = MessageTicket(self.tickets);
        self.tickets += 1;
        ticket
    }
}

/// The state, shared by a program's communicator and whoever runs it.
#[derive(Clone, Debug, Default)]
struct SharedState(Arc<Mutex<ProgramState>>);

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, ProgramState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The future of a program: it may go on on another host thread.
type ProgramFuture<'a, R> = Pin<Box<dyn Future<Output = Result<R, String>> + Send + 'a>>;

/// A program that is suspended: it goes on to its next stop when it is polled.
pub struct SuspendedProgram<'a, R> {
    state: SharedState,
    future: ProgramFuture<'a, R>,
    result: Option<R>,
}

impl<R> std::fmt::Debug for SuspendedProgram<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SuspendedProgram")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Operations of a program with the instants at which they are done, and why it stopped.
pub type ProgramTurn = (Vec<(Picoseconds, ProgramOperation)>, ProgramStop);

impl<'a, R: 'a> SuspendedProgram<'a, R> {
    fn new<F, E>(
        communicator: impl FnOnce(SharedState) -> Communicator,
        program: impl FnOnce(Communicator) -> F,
    ) -> Self
    where
        F: Future<Output = Result<R, E>> + Send + 'a,
        E: Display,
    {
        let state = SharedState::default();
        let future = program(communicator(state.clone()));
        let future = async move { future.await.map_err(|error| error.to_string()) };
        Self {
            state,
            future: Box::pin(future),
            result: None,
        }
    }

    /// Makes the program of processor `rank` among `size`, for whoever carries its operations out: set-up of
    /// messages takes no time in its own clock, which shows the instant at which it went on last.
    pub fn on_processor<F, E>(
        (rank, size): (usize, usize),
        program: impl FnOnce(Communicator) -> F,
    ) -> Self
    where
        F: Future<Output = Result<R, E>> + Send + 'a,
        E: Display,
    {
        let make = |state| Communicator::new((rank, size), None, state);
        Self::new(make, program)
    }

    /// Lets the program go on at an instant with what is complete, up to its next stop.
    ///
    /// # Errors
    /// The program has failed, waits in two places, or awaits something else than messages.
    pub fn go_on(
        &mut self,
        at: Picoseconds,
        completed: Vec<CompletedMessage>,
    ) -> Result<ProgramTurn, String> {
        {
            let mut state = self.state.lock();
            state.clock = at;
            let waited = state.stop.take().is_some();
            state.resumed = waited.then_some(completed);
        }
        let mut context = Context::from_waker(Waker::noop());
        let polled = self.future.as_mut().poll(&mut context);
        let mut state = self.state.lock();
        if let Some(message) = state.failure.take() {
            return Err(message);
        }
        let stop = match polled {
            Poll::Ready(Ok(result)) => {
                self.result = Some(result);
                ProgramStop::End
            }
            Poll::Ready(Err(message)) => return Err(message),
            Poll::Pending => state.stop.clone().ok_or_else(|| {
                "the program awaits what no message completes: \
                 await nothing but what its communicator gives"
                    .to_owned()
            })?,
        };
        Ok((std::mem::take(&mut state.operations), stop))
    }

    /// Returns the program's result, once it has ended.
    pub fn into_result(self) -> Option<R> {
        self.result
    }

    /// Returns the instant that the program has come to.
    fn clock(&self) -> Picoseconds {
        self.state.lock().clock
    }
}
