//! Programs as processes, on processors that do nothing else.

use std::fmt::Display;
use std::future::Future;

use cp2_machine::Machine;

use super::{CompletedMessage, MessageTicket, ProgramOperation, ProgramStop, SuspendedProgram};
use crate::{
    Communication, Communicator, NetworkError, NetworkReport, Picoseconds, Process, ProcessError,
    ProcessLog, Request, Resume, Transport, Yield, run_processes, share_of,
};

/// Times that messages take a control CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageCosts {
    pub(crate) hertz: u64,
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
            hertz,
            send: time(network.send.0),
            post: time(network.post.0),
            completion: time(network.completion.0),
        }
    }
}

/// A program as a process.
struct ProgramProcess<'a, R> {
    costs: MessageCosts,
    program: SuspendedProgram<'a, R>,
    /// Completions that are paid for at least when it goes on: one after a test.
    least_completions: u64,
}

impl<'a, R: 'a> Process for ProgramProcess<'a, R> {
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
        let began = resume.wake.at;
        let complete = resume.wake.completions.len() as u64;
        let paid = complete.max(std::mem::take(&mut self.least_completions));
        let time = self.costs.completion.get().saturating_mul(paid);
        let mut payloads = resume.payloads.into_iter().peekable();
        let completed = resume.wake.completions.into_iter().map(|completion| {
            let own = |(request, _): &(Request, Vec<u8>)| *request == completion.request;
            CompletedMessage {
                ticket: MessageTicket(completion.request.0),
                message: completion.message,
                payload: payloads.next_if(own).map(|(_, bytes)| bytes),
            }
        });
        let now = began + Picoseconds(time);
        let turn = self.program.go_on(now, completed.collect());
        let (operations, stop) = turn.map_err(|message| ProcessError::new(began, message))?;
        for (at, operation) in operations {
            // A log counts its requests as a program its tickets.
            match operation {
                ProgramOperation::Send {
                    destination,
                    tag,
                    payload,
                    ..
                } => {
                    log.send(at, destination, tag, payload);
                }
                ProgramOperation::Receive {
                    source, tag, bytes, ..
                } => {
                    log.receive(at, source, tag, bytes);
                }
                ProgramOperation::Step(_) => {
                    let message = "a step on a processor that only sends and receives";
                    return Err(ProcessError::new(began, message));
                }
            }
        }
        let at = self.program.clock();
        let requests = |tickets: Vec<MessageTicket>| {
            let tickets = tickets.into_iter();
            tickets.map(|ticket| Request(ticket.0)).collect()
        };
        Ok(match stop {
            ProgramStop::Wait(tickets) => Yield::Wait {
                at,
                requests: requests(tickets),
            },
            ProgramStop::Test(tickets) => {
                self.least_completions = 1;
                Yield::Test {
                    at,
                    requests: requests(tickets),
                }
            }
            ProgramStop::Pause => Yield::Pause { at },
            ProgramStop::End => Yield::End { at },
        })
    }
}

/// Runs a program on every processor, those of this rank here, and returns what happened on the network and the
/// results of this rank's processors, in their order. Set-up of messages takes the time that `[network]` of the
/// machine says.
///
/// All ranks call this. `fingerprint` is anything that has to be equal on all of them: version, machine, input.
/// Programs share `threads` host threads; nothing depends on their number.
///
/// # Errors
/// A program fails, and those of [`run_processes`]: processors wait for each other, messages do not fit, ranks
/// differ.
pub fn run_programs<'a, R: Send + 'a, E, F>(
    transport: &mut dyn Transport,
    machine: &Machine,
    processors: usize,
    threads: usize,
    fingerprint: &[u8],
    program: impl Fn(Communicator) -> F,
) -> Result<(NetworkReport, Vec<R>), NetworkError>
where
    F: Future<Output = Result<R, E>> + Send + 'a,
    E: Display,
{
    let mut communication = Communication::of_machine(machine, processors)?;
    let costs = MessageCosts::new(machine);
    let share = share_of(processors, transport.ranks(), transport.rank());
    let mut own: Vec<ProgramProcess<'a, R>> = share
        .map(|rank| ProgramProcess {
            costs,
            program: SuspendedProgram::new(
                |state| Communicator::new((rank, processors), Some(costs), state),
                &program,
            ),
            least_completions: 0,
        })
        .collect();
    let report = run_processes(
        transport,
        &mut communication,
        &mut own,
        threads,
        fingerprint,
    )?;
    let results = own.into_iter().filter_map(|one| one.program.into_result());
    Ok((report, results.collect()))
}
