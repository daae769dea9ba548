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
//! let (report, sums) = run_programs(&mut InProcess, &vm7, 5, b"ring", ring)?;
//! assert_eq!(sums, [10; 5]);
//! assert_eq!(report.messages, 4 + 4);
//! # Ok::<(), NetworkError>(())
//! ```

mod collectives;
mod communicator;
mod message;
mod value;
mod window;

pub use communicator::Communicator;
pub use message::MessageHandle;
pub use value::MessageValue;
pub use window::{PutNotification, Window};

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use cp2_machine::Machine;

use crate::{
    Communication, Completion, NetworkError, NetworkReport, Picoseconds, Process, ProcessError,
    ProcessLog, Request, Resume, Transport, Yield, run_processes, share_of,
};

/// Times that messages take a control CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageCosts {
    pub(crate) send: Picoseconds,
    pub(crate) post: Picoseconds,
    pub(crate) completion: Picoseconds,
}

impl MessageCosts {
    pub(crate) fn new(machine: &Machine) -> Self {
        let hertz = machine.cp2.clock_hz;
        let network = &machine.network;
        let time = |cycles: u64| Picoseconds::from_cycles(cycles, hertz);
        Self {
            send: time(network.send.0),
            post: time(network.post.0),
            completion: time(network.completion.0),
        }
    }
}

/// A request that is complete, and the contents of a message that was received.
#[derive(Debug)]
struct CompletedRequest {
    completion: Completion,
    payload: Option<Vec<u8>>,
}

/// State that a program shares with the process that polls it.
#[derive(Debug, Default)]
struct ProgramState {
    clock: Picoseconds,
    log: ProcessLog,
    /// Reason why the program stops, once it has one.
    stop: Option<Yield>,
    /// Completions that are paid for at least when it goes on.
    least_completions: u64,
    /// Results of the wait or test that it goes on from.
    resumed: Option<Vec<CompletedRequest>>,
    failure: Option<String>,
    windows: u32,
}

impl ProgramState {
    /// Keeps the first reason why the program cannot go on.
    fn fail(&mut self, message: String) {
        self.failure.get_or_insert(message);
    }

    /// Stops the program; it pays for so many completions at least when it goes on.
    fn stop(&mut self, end: Yield, least_completions: u64) {
        if self.stop.is_some() || self.resumed.is_some() {
            self.fail(
                "the program waits in two places at once: wait for several messages with `wait_all`"
                    .to_owned(),
            );
        }
        self.stop = Some(end);
        self.least_completions = least_completions;
    }

    /// Takes up what is complete, and charges the control CPU for it.
    fn go_on(&mut self, resume: Resume, costs: &MessageCosts) {
        self.clock = resume.wake.at;
        let waited = self.stop.take().is_some();
        let complete = resume.wake.completions.len() as u64;
        let paid = complete.max(std::mem::take(&mut self.least_completions));
        let time = costs.completion.get().saturating_mul(paid);
        self.clock = self.clock + Picoseconds(time);
        let mut payloads = resume.payloads.into_iter().peekable();
        let mut completed = Vec::with_capacity(resume.wake.completions.len());
        for completion in resume.wake.completions {
            let own = |(request, _): &(Request, Vec<u8>)| *request == completion.request;
            let payload = payloads.next_if(own).map(|(_, bytes)| bytes);
            completed.push(CompletedRequest {
                completion,
                payload,
            });
        }
        self.resumed = waited.then_some(completed);
    }
}

/// The state, shared by the process and the program's communicator.
#[derive(Clone, Debug, Default)]
struct SharedState(Arc<Mutex<ProgramState>>);

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, ProgramState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The future of a program: it may go on on another host thread.
type ProgramFuture<'a, R> = Pin<Box<dyn Future<Output = Result<R, String>> + Send + 'a>>;

/// A program as a process, on a processor that does nothing else.
pub struct ProgramProcess<'a, R> {
    state: SharedState,
    costs: MessageCosts,
    future: ProgramFuture<'a, R>,
    result: Option<R>,
}

impl<R> std::fmt::Debug for ProgramProcess<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgramProcess")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl<'a, R: 'a> ProgramProcess<'a, R> {
    /// Makes a process of a program: that of processor `rank` among `size`, on a machine whose `[network]` says
    /// what messages cost its control CPU.
    pub fn new<F, E>(
        machine: &Machine,
        (rank, size): (usize, usize),
        program: impl FnOnce(Communicator) -> F,
    ) -> Self
    where
        F: Future<Output = Result<R, E>> + Send + 'a,
        E: Display,
    {
        let state = SharedState::default();
        let costs = MessageCosts::new(machine);
        let hertz = machine.cp2.clock_hz;
        let future = program(Communicator::new((rank, size), hertz, costs, state.clone()));
        let future = async move { future.await.map_err(|error| error.to_string()) };
        Self {
            state,
            costs,
            future: Box::pin(future),
            result: None,
        }
    }

    /// Returns the program's result, once it has ended.
    pub fn into_result(self) -> Option<R> {
        self.result
    }
}

impl<R> Process for ProgramProcess<'_, R> {
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
        let began = resume.wake.at;
        {
            let mut state = self.state.lock();
            std::mem::swap(log, &mut state.log);
            state.go_on(resume, &self.costs);
        }
        let mut context = Context::from_waker(Waker::noop());
        let polled = self.future.as_mut().poll(&mut context);
        let mut state = self.state.lock();
        std::mem::swap(log, &mut state.log);
        if let Some(message) = state.failure.take() {
            return Err(ProcessError::new(began, message));
        }
        match polled {
            Poll::Ready(Ok(result)) => {
                self.result = Some(result);
                Ok(Yield::End { at: state.clock })
            }
            Poll::Ready(Err(message)) => Err(ProcessError::new(began, message)),
            Poll::Pending => state.stop.clone().ok_or_else(|| {
                let message = "the program awaits what no message completes: \
                               await nothing but what its communicator gives";
                ProcessError::new(began, message)
            }),
        }
    }
}

/// Runs a program on every processor, those of this rank here, and returns what happened on the network and the
/// results of this rank's processors, in their order.
///
/// All ranks call this. `fingerprint` is anything that has to be equal on all of them: version, machine, input.
///
/// # Errors
/// A program fails, and those of [`run_processes`]: processors wait for each other, messages do not fit, ranks
/// differ.
pub fn run_programs<'a, R: Send + 'a, E, F>(
    transport: &mut dyn Transport,
    machine: &Machine,
    processors: usize,
    fingerprint: &[u8],
    program: impl Fn(Communicator) -> F,
) -> Result<(NetworkReport, Vec<R>), NetworkError>
where
    F: Future<Output = Result<R, E>> + Send + 'a,
    E: Display,
{
    let mut communication = Communication::of_machine(machine, processors)?;
    let share = share_of(processors, transport.ranks(), transport.rank());
    let mut own: Vec<ProgramProcess<'a, R>> = share
        .map(|rank| ProgramProcess::new(machine, (rank, processors), &program))
        .collect();
    let report = run_processes(transport, &mut communication, &mut own, 1, fingerprint)?;
    let results = own.into_iter().filter_map(ProgramProcess::into_result);
    Ok((report, results.collect()))
}
