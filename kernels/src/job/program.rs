//! Programs with jobs: straight code beside the parts of a job.

use super::exchange::{
    EndedJobs, ExchangeError, ProcessorRun, check_end, communication, describe_failure,
};
use super::items::CommandIssue;
use super::{Job, JobError};
use cp2_emu::TranslationPool;
use cp2_host::{
    Buffer, Device, Event, MemoryElement, MessageArrival, MessageOperation, MessageRegion,
};
use cp2_machine::Machine;
use cp2_network::{
    Communicator, CompletedMessage, Envelope, MessageTicket, NetworkReport, Picoseconds, Process,
    ProcessError, ProcessLog, ProgramOperation, ProgramStop, Request, Resume, SuspendedProgram,
    Transport, Yield, run_processes,
};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Passes, steps and loops of a job that its program carries out, as often as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobPart(usize);

impl Job {
    /// Makes a part of what `body` adds to the job: it is carried out where the program of the job says so
    /// ([`JobCommunicator::carry_out`]). What stands outside of parts is carried out before the program begins.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn part<E>(&mut self, body: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<JobPart, E> {
        let before = std::mem::take(&mut self.items);
        let made = body(self);
        let items = std::mem::replace(&mut self.items, before);
        made?;
        self.parts.push(items);
        Ok(JobPart(self.parts.len() - 1))
    }
}

/// Reads values of a device's memory, and keeps them for the program.
type ReadStep = Box<dyn FnOnce(&mut Device) -> Result<(), JobError> + Send>;

/// Step that a program asks its job for.
enum JobStep {
    Part(JobPart),
    Send(MessageTicket, (usize, u32), MessageRegion),
    Receive(MessageTicket, (Option<usize>, Option<u32>), MessageRegion),
    Read(ReadStep),
}

/// Steps that were asked for and not carried out, by their numbers.
#[derive(Clone, Default)]
struct JobSteps(Arc<Mutex<(u64, BTreeMap<u64, JobStep>)>>);

impl JobSteps {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, JobStep>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Handle of a program on its job and on messages.
///
/// Rows of system memory go from job to job with [`start_send`](Self::start_send) and
/// [`start_receive`](Self::start_receive). Values of the program itself, collective operations and puts go through
/// [`messages`](Self::messages): they belong to the control CPU, and come from no system memory. The device is busy
/// with parts while the program goes on; a send and a receive of rows wait for all parts before them, and a wait
/// ends when everything before it is done.
pub struct JobCommunicator {
    messages: Communicator,
    steps: JobSteps,
}

/// A send or receive of rows of system memory that was begun.
///
/// Dropped, it is sent, or received and thrown away: rows change at the end of a wait alone. Nothing may use the rows
/// of a receive before, which no compiler checks, since the device's memory is not that of the program.
#[must_use = "a message that nobody waits for is received and thrown away"]
#[derive(Debug)]
pub struct RegionHandle(MessageTicket);

impl JobCommunicator {
    /// Returns the communicator for values of the program itself.
    #[must_use]
    pub fn messages(&self) -> &Communicator {
        &self.messages
    }

    /// Returns the number of this processor.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.messages.rank()
    }

    /// Returns the number of processors.
    #[must_use]
    pub fn size(&self) -> usize {
        self.messages.size()
    }

    /// Lets the device carry out a part of the job behind everything before. The program goes on at once.
    pub fn carry_out(&self, part: JobPart) {
        self.ask(JobStep::Part(part));
    }

    /// Begins to send rows of system memory when everything before is complete.
    pub fn start_send(&self, region: MessageRegion, destination: usize, tag: u32) -> RegionHandle {
        let ticket = self.messages.take_ticket();
        self.ask(JobStep::Send(ticket, (destination, tag), region));
        RegionHandle(ticket)
    }

    /// Posts a receive for rows of system memory when everything before is complete, from a source and with a tag, or
    /// from any and with any.
    pub fn start_receive(
        &self,
        region: MessageRegion,
        source: impl Into<Option<usize>>,
        tag: impl Into<Option<u32>>,
    ) -> RegionHandle {
        let ticket = self.messages.take_ticket();
        let matching = (source.into(), tag.into());
        self.ask(JobStep::Receive(ticket, matching, region));
        RegionHandle(ticket)
    }

    /// Waits until all of these are complete; what was received is in memory then. Returns what each one was.
    pub async fn wait_all(&self, handles: impl IntoIterator<Item = RegionHandle>) -> Vec<Envelope> {
        let tickets = handles.into_iter().map(|handle| handle.0).collect();
        let done = self.messages.wait_tickets(tickets).await;
        done.into_iter().map(|done| done.message).collect()
    }

    /// Waits until everything before is complete, and lets the control CPU read values of system memory.
    pub async fn read<T: MemoryElement + Send + 'static>(&self, buffer: Buffer<T>) -> Vec<T> {
        let slot = Arc::new(Mutex::new(Vec::new()));
        let into = slot.clone();
        self.ask(JobStep::Read(Box::new(move |device| {
            let values = device.host_read("read", buffer)?.unwrap_or_default();
            *into.lock().unwrap_or_else(PoisonError::into_inner) = values;
            Ok(())
        })));
        self.messages.pause().await;
        std::mem::take(&mut *slot.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn ask(&self, step: JobStep) {
        let mut steps = self.steps.lock();
        let number = steps.0;
        steps.0 += 1;
        steps.1.insert(number, step);
        drop(steps);
        self.messages.step(number);
    }
}

/// A job with the program that carries it out.
pub struct JobProgram<'a, R> {
    machine: Arc<Machine>,
    job: Job,
    program: SuspendedProgram<'a, R>,
    steps: JobSteps,
    issue: CommandIssue,
    /// Event of the send or receive that was given last.
    last_message: Option<Event>,
    /// True once what stands outside of parts was carried out.
    begun: bool,
    /// True if the program goes on from a test.
    tested: bool,
    /// Requests of the network, by the program's tickets.
    requests: BTreeMap<MessageTicket, Request>,
    /// Tickets and memory of sends and receives that are not complete.
    pending: BTreeMap<Request, (MessageTicket, Option<MessageRegion>)>,
    /// Values that were sent, until the device hands them to the port.
    payloads: BTreeMap<MessageTicket, Vec<u8>>,
    /// Most bytes of receives of values, until the device has posted them.
    lengths: BTreeMap<MessageTicket, u64>,
    /// Translations that programs of the same rank share.
    translations: Arc<TranslationPool>,
    /// Host time that it has run for.
    host_time: Duration,
}

/// Memory of a message that consists of the program's values: none.
fn nowhere() -> MessageRegion {
    MessageRegion::contiguous(0, 0)
}

impl<'a, R: 'a> JobProgram<'a, R> {
    /// Gives the job of processor `rank` among `size` to a program.
    pub fn new<F, E>(
        job: Job,
        (rank, size): (usize, usize),
        program: impl FnOnce(JobCommunicator) -> F,
    ) -> Self
    where
        F: Future<Output = Result<R, E>> + Send + 'a,
        E: Display,
    {
        let steps = JobSteps::default();
        let own = steps.clone();
        let program = SuspendedProgram::on_processor((rank, size), |messages| {
            program(JobCommunicator {
                messages,
                steps: own,
            })
        });
        Self {
            machine: job.machine().clone(),
            job,
            program,
            steps,
            issue: CommandIssue::default(),
            last_message: None,
            begun: false,
            tested: false,
            requests: BTreeMap::new(),
            pending: BTreeMap::new(),
            payloads: BTreeMap::new(),
            lengths: BTreeMap::new(),
            translations: Arc::default(),
            host_time: Duration::ZERO,
        }
    }

    /// Ends a wait or test, and returns what is complete.
    fn resume(&mut self, resume: Resume) -> Result<Vec<CompletedMessage>, JobError> {
        let complete = resume.wake.completions.len() as u64;
        let paid = complete.max(u64::from(std::mem::take(&mut self.tested)));
        let mut payloads: BTreeMap<Request, Vec<u8>> = resume.payloads.into_iter().collect();
        let (mut completed, mut arrivals) = (Vec::new(), Vec::new());
        for completion in resume.wake.completions {
            let Some((ticket, region)) = self.pending.remove(&completion.request) else {
                continue;
            };
            self.requests.remove(&ticket);
            let mut payload = payloads.remove(&completion.request);
            if let Some(region) = region {
                let bytes = payload.take().unwrap_or_default();
                arrivals.push(MessageArrival { region, bytes });
            }
            completed.push(CompletedMessage {
                ticket,
                message: completion.message,
                payload,
            });
        }
        if paid > 0 {
            let until = resume.wake.at.to_cycles(self.machine.cp2.clock_hz);
            let device = &mut self.job.device;
            device.await_messages("messages", until, paid, arrivals)?;
        }
        Ok(completed)
    }

    /// Gives the commands of an operation to the device.
    fn carry_out(&mut self, operation: ProgramOperation) -> Result<(), JobError> {
        let device = &mut self.job.device;
        // Messages go in the order of the program; those of rows also wait for the parts before.
        let before: Vec<Event> = self.last_message.into_iter().collect();
        let behind_parts = [self.issue.events(), &before].concat();
        match operation {
            ProgramOperation::Send {
                ticket,
                destination,
                tag,
                payload,
            } => {
                self.payloads.insert(ticket, payload);
                let to = (destination as u64, tag);
                let sent = device.send_message("values", ticket.0, to, nowhere(), &before)?;
                self.last_message = Some(sent);
            }
            ProgramOperation::Receive {
                ticket,
                source,
                tag,
                bytes,
            } => {
                self.lengths.insert(ticket, bytes);
                let from = (source.map(|source| source as u64), tag);
                let posted =
                    device.receive_message("values", ticket.0, from, nowhere(), &before)?;
                self.last_message = Some(posted);
            }
            ProgramOperation::Step(number) => {
                let Some(step) = self.steps.lock().1.remove(&number) else {
                    return Ok(());
                };
                match step {
                    JobStep::Part(part) => self.part(Some(part))?,
                    JobStep::Send(ticket, (to, tag), region) => {
                        let to = (to as u64, tag);
                        let sent =
                            device.send_message("rows", ticket.0, to, region, &behind_parts)?;
                        self.last_message = Some(sent);
                    }
                    JobStep::Receive(ticket, (from, tag), region) => {
                        let from = (from.map(|from| from as u64), tag);
                        let posted = device.receive_message(
                            "rows",
                            ticket.0,
                            from,
                            region,
                            &behind_parts,
                        )?;
                        self.last_message = Some(posted);
                    }
                    JobStep::Read(read) => device.lend_translations(&self.translations, read)?,
                }
            }
        }
        Ok(())
    }

    /// Gives the commands of a part, or of what stands outside of parts.
    fn part(&mut self, part: Option<JobPart>) -> Result<(), JobError> {
        let job = &mut self.job;
        let items = match part {
            None => Some(&job.items),
            Some(JobPart(number)) => job.parts.get(number),
        };
        let items = items.map_or(&[][..], Vec::as_slice);
        let (issue, passes) = (&mut self.issue, &job.passes);
        job.device.lend_translations(&self.translations, |device| {
            issue.submit_part(device, passes, items)
        })
    }

    fn go_on(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, JobError> {
        let hertz = self.machine.cp2.clock_hz;
        if !self.begun {
            self.begun = true;
            let job = &mut self.job;
            job.inputs.iter().for_each(|x| job.device.input(x.clone()));
            job.outputs
                .iter()
                .for_each(|y| job.device.output(y.clone()));
            self.part(None)?;
        }
        let completed = self.resume(resume)?;
        let began = self.drain()?;
        let turn = self
            .program
            .go_on(Picoseconds::from_cycles(began, hertz), completed);
        let (operations, stop) = turn.map_err(JobError::Program)?;
        for (_, operation) in operations {
            self.carry_out(operation)?;
        }
        let at = Picoseconds::from_cycles(self.drain()?, hertz);
        for record in self.job.device.take_messages() {
            let instant = Picoseconds::from_cycles(record.cycle, hertz);
            let ticket = MessageTicket(record.request);
            let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
            let (request, region) = match record.operation {
                MessageOperation::Send {
                    to, tag, contents, ..
                } => {
                    let values = self.payloads.remove(&ticket);
                    let payload = values.unwrap_or(contents);
                    (log.send(instant, number(to), tag, payload), None)
                }
                MessageOperation::Receive { from, tag, region } => {
                    let values = self.lengths.remove(&ticket);
                    let bytes = values.unwrap_or_else(|| region.bytes());
                    let request = log.receive(instant, from.map(number), tag, bytes);
                    (request, values.is_none().then_some(region))
                }
            };
            self.requests.insert(ticket, request);
            self.pending.insert(request, (ticket, region));
        }
        let requests = |tickets: Vec<MessageTicket>| {
            let tickets = tickets.into_iter();
            let found = tickets.filter_map(|ticket| self.requests.get(&ticket).copied());
            found.collect()
        };
        Ok(match stop {
            ProgramStop::Wait(tickets) => Yield::Wait {
                at,
                requests: requests(tickets),
            },
            ProgramStop::Test(tickets) => {
                let requests = requests(tickets);
                self.tested = true;
                Yield::Test { at, requests }
            }
            ProgramStop::Pause => Yield::Pause { at },
            ProgramStop::End => Yield::End { at },
        })
    }

    /// Returns the cycle in which everything so far is complete.
    fn drain(&mut self) -> Result<u64, JobError> {
        let device = &mut self.job.device;
        let end = device.lend_translations(&self.translations, Device::drain)?;
        end.ok_or(JobError::OtherProcessors)
    }
}

impl<'a, R: 'a> Process for JobProgram<'a, R> {
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
        let (began, started) = (resume.wake.at, Instant::now());
        let end = self.go_on(resume, log);
        self.host_time += started.elapsed();
        end.map_err(|error| describe_failure(&self.job.device, began, &error))
    }
}

/// Runs the programs of this rank's processors, a contiguous share of all processors in the order of their numbers,
/// together with those of the other ranks. Returns what happened on the network, which is equal on all ranks, and the
/// run and the result of each program.
///
/// `fingerprint` is whatever has to be equal on all ranks: versions, machines, inputs. Programs share `threads` host
/// threads, each of which keeps one translation of every program of a device; nothing depends on their number.
///
/// # Errors
/// Ranks differ, a program or its job fails, processors wait for each other, or a message does not fit its receive: the
/// error is equal on all ranks. One that simulated time has led to comes with the [runs until then](EndedJobs).
pub fn run_job_programs<'a, R: Send + 'a>(
    transport: &mut dyn Transport,
    machine: &Machine,
    processors: usize,
    mut programs: Vec<JobProgram<'a, R>>,
    threads: usize,
    fingerprint: &[u8],
) -> Result<(NetworkReport, Vec<(ProcessorRun, R)>), ExchangeError> {
    let jobs = programs.iter().map(|program| &program.job);
    let mut communication = communication(machine, processors, jobs)?;
    let translations = Arc::new(TranslationPool::new());
    for program in &mut programs {
        program.translations = translations.clone();
    }
    let ran = run_processes(
        transport,
        &mut communication,
        &mut programs,
        threads,
        fingerprint,
    );
    check_end(&ran)?;
    let (mut runs, mut results) = (Vec::new(), Vec::new());
    for program in programs {
        runs.push(ProcessorRun::finish(program.job, program.host_time)?);
        results.extend(program.program.into_result());
    }
    match ran {
        // Every program has ended, and has a result.
        Ok(report) => Ok((report, runs.into_iter().zip(results).collect())),
        Err(error) => Err(ExchangeError::Ended(Box::new(EndedJobs {
            error,
            network: communication.report(),
            runs,
        }))),
    }
}
