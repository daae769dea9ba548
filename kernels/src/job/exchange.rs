//! Jobs of several processors that exchange messages, in one simulated time.

use super::items::{CommandIssue, IssueEnd};
use super::price::Unpriced;
use super::{Job, JobError, Pass};
use cp2_emu::TranslationPool;
use cp2_host::{
    Device, DeviceOptions, FinishedRun, MessageArrival, MessageOperation, MessageRegion,
};
use cp2_machine::Machine;
use cp2_network::{
    Communication, NetworkError, NetworkReport, Picoseconds, Process, ProcessError, ProcessLog,
    Request, Resume, Transport, Yield, run_processes,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Reason why jobs of several processors cannot be carried out together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The exchange has failed: processors wait for each other, messages do not fit, ranks differ.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The run has ended early: at a limit or a fault, or because processors wait for each other.
    #[error("{}", .0.error)]
    Ended(Box<EndedJobs>),
    /// A job has no price, for a reason.
    #[error("the jobs have no price: {0}")]
    Unpriced(String),
}

/// Jobs that have ended early, as far as they came.
#[derive(Debug)]
pub struct EndedJobs {
    /// Reason, which is equal on all ranks.
    pub error: NetworkError,
    /// Network until then.
    pub network: NetworkReport,
    /// Runs of this rank's jobs.
    pub runs: Vec<ProcessorRun>,
}

/// The run of one processor's job.
#[derive(Debug)]
pub struct ProcessorRun {
    /// Report and memory.
    pub run: FinishedRun,
    /// Passes with their paging.
    pub passes: Vec<Pass>,
    /// Host time of the processor's own work, without waits for others.
    pub host_time: Duration,
}

impl ProcessorRun {
    /// Takes the run of a job that has come to its end, or was ended.
    pub(super) fn finish(job: Job, host_time: Duration) -> Result<Self, ExchangeError> {
        let started = Instant::now();
        let run = job.device.finish().map_err(JobError::from)?;
        Ok(Self {
            run,
            passes: job.passes,
            host_time: host_time + started.elapsed(),
        })
    }
}

/// Carries out the jobs of this rank's processors, a contiguous share of all processors in the order of their
/// numbers, together with those of the other ranks. Returns what happened on the network, which is equal on all ranks,
/// and the run of each job.
///
/// `fingerprint` is whatever has to be equal on all ranks: versions, machines, inputs. Jobs share `threads` host
/// threads, each of which keeps one translation of every program; nothing depends on their number.
///
/// # Errors
/// Ranks differ, a job fails, processors wait for each other, or a message does not fit its receive: the error is equal
/// on all ranks. One that simulated time has led to comes with the [runs until then](EndedJobs).
pub fn run_jobs(
    transport: &mut dyn Transport,
    machine: &Machine,
    processors: usize,
    mut jobs: Vec<Job>,
    threads: usize,
    fingerprint: &[u8],
) -> Result<(NetworkReport, Vec<ProcessorRun>), ExchangeError> {
    let mut communication = communication(machine, processors, &jobs)?;
    let translations = TranslationPool::new();
    let computed = jobs.iter_mut();
    let computed = computed.map(|job| JobProcess::compute(job, &translations));
    let mut processes: Vec<JobProcess<'_>> = computed.collect();
    let ran = run_processes(
        transport,
        &mut communication,
        &mut processes,
        threads,
        fingerprint,
    );
    let times = processes.into_iter().map(|process| process.host_time);
    let times: Vec<Duration> = times.collect();
    check_end(&ran)?;
    let runs = jobs.into_iter().zip(times);
    let runs = runs.map(|(job, host_time)| ProcessorRun::finish(job, host_time));
    let runs = runs.collect::<Result<Vec<_>, ExchangeError>>()?;
    match ran {
        Ok(report) => Ok((report, runs)),
        Err(error) => Err(ExchangeError::Ended(Box::new(EndedJobs {
            error,
            network: communication.report(),
            runs,
        }))),
    }
}

/// Refuses a run without figures: this computer or its user has ended it, and not simulated time.
pub(super) fn check_end(ran: &Result<NetworkReport, NetworkError>) -> Result<(), ExchangeError> {
    match ran {
        Err(error) if !is_of_guest(error) => Err(error.clone().into()),
        _ => Ok(()),
    }
}

/// Returns whether simulated time has led to an error, and not this computer or its user.
fn is_of_guest(error: &NetworkError) -> bool {
    match error {
        NetworkError::Failed { failures } => failures.iter().all(|failure| !failure.of_host),
        NetworkError::Deadlock { .. }
        | NetworkError::Truncated { .. }
        | NetworkError::NeverReceived { .. } => true,
        _ => false,
    }
}

/// Returns what happens on the network if the jobs of this rank's processors take what they should: their prices under
/// the exchange that [`run_jobs`] carries out.
///
/// # Errors
/// A job has no price; and those of [`run_jobs`].
pub fn price_jobs(
    transport: &mut dyn Transport,
    machine: &Machine,
    processors: usize,
    jobs: &[Job],
    threads: usize,
    fingerprint: &[u8],
) -> Result<NetworkReport, ExchangeError> {
    let mut communication = communication(machine, processors, jobs)?;
    let priced = jobs.iter().map(JobProcess::forecast);
    let priced = priced.collect::<Result<Vec<_>, _>>();
    // No rank begins alone: what one has no price for, none has.
    let all = transport.all_gather(vec![u8::from(priced.is_ok())]);
    let all = all.map_err(NetworkError::from)?;
    let mut processes = match priced {
        Ok(processes) if all.iter().all(|own| own == &[1]) => processes,
        Ok(_) => {
            return Err(ExchangeError::Unpriced(
                "a job of another rank has none".to_owned(),
            ));
        }
        Err(reason) => return Err(ExchangeError::Unpriced(reason.to_string())),
    };
    Ok(run_processes(
        transport,
        &mut communication,
        &mut processes,
        threads,
        fingerprint,
    )?)
}

/// Begins the communication of so many processors of a machine. The network keeps as much of the timeline as all
/// processors do together.
pub(super) fn communication<'a>(
    machine: &Machine,
    processors: usize,
    jobs: impl IntoIterator<Item = &'a Job>,
) -> Result<Communication, NetworkError> {
    let mut communication = Communication::of_machine(machine, processors)?;
    let limits = jobs.into_iter().map(|job| job.device.options().trace.limit);
    communication.keep_trace(limits.min().unwrap_or(0).saturating_mul(processors));
    Ok(communication)
}

/// A job as a process among others.
struct JobProcess<'a> {
    machine: Arc<Machine>,
    device: ProcessDevice<'a>,
    job: JobItems<'a>,
    progress: JobProgress,
    /// Host time that it has run for.
    host_time: Duration,
}

/// Place of a job up to which it was carried out, and what it waits for.
#[derive(Default)]
struct JobProgress {
    issue: CommandIssue,
    /// Requests of the network, by those of the device.
    requests: BTreeMap<u64, Request>,
    /// Memory of the receives that are not complete.
    regions: BTreeMap<Request, MessageRegion>,
}

/// A device that computes, or one that counts time alone.
enum ProcessDevice<'a> {
    Computes(&'a mut Device, &'a TranslationPool),
    Counts(Box<Device>, &'a DeviceOptions),
}

/// Passes and items of a job.
struct JobItems<'a> {
    passes: &'a [Pass],
    items: &'a [super::items::JobItem],
}

impl<'a> JobProcess<'a> {
    /// A job that is carried out.
    fn compute(job: &'a mut Job, translations: &'a TranslationPool) -> Self {
        for input in &job.inputs {
            job.device.input(input.clone());
        }
        for output in &job.outputs {
            job.device.output(output.clone());
        }
        let machine = job.device.machine().clone();
        let (passes, items) = (&job.passes[..], &job.items[..]);
        Self::new(
            machine,
            ProcessDevice::Computes(&mut job.device, translations),
            JobItems { passes, items },
        )
    }

    /// A job of which the time is counted.
    fn forecast(job: &'a Job) -> Result<Self, Unpriced> {
        let device = job.forecast_device()?;
        let (passes, items) = (&job.passes[..], &job.items[..]);
        Ok(Self::new(
            job.machine().clone(),
            ProcessDevice::Counts(Box::new(device), job.device.options()),
            JobItems { passes, items },
        ))
    }

    fn new(machine: Arc<Machine>, device: ProcessDevice<'a>, job: JobItems<'a>) -> Self {
        Self {
            machine,
            device,
            job,
            progress: JobProgress::default(),
            host_time: Duration::ZERO,
        }
    }

    /// Gives the device what it has waited for, and lets it go on to the next wait or the end.
    fn go_on(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, JobError> {
        let (machine, job, progress) = (&self.machine, &self.job, &mut self.progress);
        match &mut self.device {
            ProcessDevice::Computes(device, translations) => device
                .lend_translations(translations, |device| {
                    progress.go_on(machine, (device, false), job, resume, log)
                }),
            ProcessDevice::Counts(device, _) => {
                progress.go_on(machine, (device, true), job, resume, log)
            }
        }
    }
}

impl JobProgress {
    /// Lets a device go on with a job; one that counts time alone sends and receives no contents.
    fn go_on(
        &mut self,
        machine: &Machine,
        (device, counts): (&mut Device, bool),
        job: &JobItems<'_>,
        resume: Resume,
        log: &mut ProcessLog,
    ) -> Result<Yield, JobError> {
        let Self {
            issue,
            requests,
            regions,
        } = self;
        let hertz = machine.cp2.clock_hz;
        let complete = resume.wake.completions.len() as u64;
        if complete > 0 {
            let until = resume.wake.at.to_cycles(hertz);
            let payloads = resume.payloads.into_iter();
            let arrivals = payloads.filter_map(|(request, bytes)| {
                let region = regions.remove(&request)?;
                Some(MessageArrival { region, bytes })
            });
            let arrivals = match counts {
                true => Vec::new(),
                false => arrivals.collect(),
            };
            device.await_messages("messages", until, complete, arrivals)?;
        }
        let end = issue.submit(device, job.passes, job.items)?;
        let Some(now) = device.drain()? else {
            return Err(JobError::OtherProcessors);
        };
        for record in device.take_messages() {
            let at = Picoseconds::from_cycles(record.cycle, hertz);
            let request = match record.operation {
                MessageOperation::Send {
                    to,
                    tag,
                    bytes,
                    contents,
                } => {
                    let to = usize::try_from(to).unwrap_or(usize::MAX);
                    match counts {
                        true => log.send_unread(at, to, tag, bytes),
                        false => log.send(at, to, tag, contents),
                    }
                }
                MessageOperation::Receive { from, tag, region } => {
                    let from = from.map(|from| usize::try_from(from).unwrap_or(usize::MAX));
                    let request = log.receive(at, from, tag, region.bytes());
                    regions.insert(request, region);
                    request
                }
            };
            requests.insert(record.request, request);
        }
        let at = Picoseconds::from_cycles(now, hertz);
        Ok(match end {
            IssueEnd::Waits(waited) => {
                let waited = waited.into_iter();
                let requests = waited.filter_map(|request| requests.remove(&request));
                Yield::Wait {
                    at,
                    requests: requests.collect(),
                }
            }
            IssueEnd::Done | IssueEnd::Stopped => Yield::End { at },
        })
    }
}

/// Describes why the processor of a device cannot go on from the turn that began at an instant.
///
/// A run that has ended says more than that it has: at which cycle, and why. Other errors are of this computer, but for
/// those of programs.
pub(super) fn describe_failure(
    device: &Device,
    began: Picoseconds,
    error: &JobError,
) -> ProcessError {
    let machine = device.machine();
    let now = Picoseconds::from_cycles(device.current_cycle(), machine.cp2.clock_hz);
    let (at, name) = (began.max(now), &machine.name);
    match (device.run_end(), error) {
        (Some(end), _) => ProcessError::new(at, format!("{name}: {end}")),
        (None, JobError::Program(_)) => ProcessError::new(at, format!("{name}: {error}")),
        (None, _) => ProcessError::new(at, format!("{name}: {error}")).of_host(),
    }
}

impl Process for JobProcess<'_> {
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
        let (began, started) = (resume.wake.at, Instant::now());
        if let ProcessDevice::Counts(_, options) = &self.device {
            let interrupt = options.interrupt.as_ref();
            if interrupt.is_some_and(|flag| flag.load(Relaxed)) {
                return Err(ProcessError::new(began, "interrupted"));
            }
            if let Some(progress) = &options.progress {
                progress.store(began.to_cycles(self.machine.cp2.clock_hz), Relaxed);
            }
        }
        let end = self.go_on(resume, log);
        self.host_time += started.elapsed();
        end.map_err(|error| {
            let device = match &self.device {
                ProcessDevice::Computes(device, _) => &**device,
                ProcessDevice::Counts(device, _) => device,
            };
            describe_failure(device, began, &error)
        })
    }
}
