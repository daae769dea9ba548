//! A command's jobs on several processors: made, priced and run by the ranks.

use super::options::{check_options, device_options, memory_beside_arrays};
use super::report::{JobRuns, expected_cycles};
use crate::interrupt;
use crate::outcome::CommandFailure;
use crate::progress;
use crate::simulation::SimulationArgs;
use cp2_host::{DeviceOptions, MemoryElement};
use cp2_kernels::{Job, price_jobs, run_jobs};
use cp2_machine::Machine;
use cp2_network::{NetworkReport, Transport, share_of};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Jobs of several processors, those of this rank among them.
pub(crate) struct JobSession<'a> {
    pub(crate) transport: &'a mut dyn Transport,
    machine: &'a Arc<Machine>,
    simulation: &'a SimulationArgs,
    processors: usize,
    quiet: bool,
    /// Cycles of the first processor of this rank.
    cycles: Arc<AtomicU64>,
    began: Instant,
}

impl<'a> JobSession<'a> {
    /// Begins with so many processors; a quiet one shows no progress.
    ///
    /// # Errors
    /// There are more ranks than processors, or an option has no report for them.
    pub(crate) fn new(
        transport: &'a mut dyn Transport,
        machine: &'a Arc<Machine>,
        simulation: &'a SimulationArgs,
        processors: u16,
        quiet: bool,
    ) -> Result<Self, CommandFailure> {
        let processors = usize::from(processors);
        super::check_ranks(transport.ranks(), processors)?;
        check_options(simulation, processors, transport.ranks())?;
        Ok(Self {
            quiet: quiet || transport.rank() > 0,
            transport,
            machine,
            simulation,
            processors,
            cycles: Arc::default(),
            began: Instant::now(),
        })
    }

    /// Returns the number of processors of all ranks.
    pub(crate) fn processors(&self) -> usize {
        self.processors
    }

    /// Returns true if this rank shows no progress.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns the processors of this rank.
    pub(crate) fn own(&self) -> Range<usize> {
        let transport = &self.transport;
        share_of(self.processors, transport.ranks(), transport.rank())
    }

    /// Returns the bytes of host memory that this rank's processors take beside their arrays.
    pub(crate) fn memory_beside_arrays(&self) -> u64 {
        memory_beside_arrays(self.own().len(), self.threads())
    }

    fn threads(&self) -> usize {
        self.simulation.host.threads()
    }

    /// Makes the jobs of this rank's processors, several at a time: `make` makes that of a processor, and what belongs
    /// to it. The order of the results is that of the processors.
    ///
    /// # Errors
    /// That of the first processor whose job cannot be made, or an interrupt.
    pub(crate) fn make_jobs<T: Send>(
        &mut self,
        make: impl Fn(usize, DeviceOptions) -> Result<(Job, T), CommandFailure> + Sync,
    ) -> Result<(Vec<Job>, Vec<T>), CommandFailure> {
        let own = self.own();
        let options = device_options(self.simulation, self.processors, self.cycles.clone());
        let followed = DeviceOptions {
            progress: None,
            ..options.clone()
        };
        let bar = progress::steps(own.len() as u64, self.quiet);
        bar.begin("jobs");
        self.began = Instant::now();
        let make_one = |at: usize| {
            interrupt::check()?;
            let options = if at == 0 { &options } else { &followed };
            let made = make(own.start + at, options.clone())?;
            bar.count_step();
            Ok::<_, CommandFailure>(made)
        };
        let made = share_out(own.len(), self.threads(), make_one)?;
        Ok(made.into_iter().unzip())
    }

    /// Counts the cycles that the jobs should take; none if they depend on what is computed.
    pub(crate) fn price_jobs(
        &mut self,
        jobs: &[Job],
        fingerprint: &[u8],
        about: Option<u64>,
    ) -> Option<NetworkReport> {
        let _progress = progress::watch("pricing", self.cycles.clone(), about, self.quiet);
        let (machine, threads) = (self.machine, self.threads());
        let transport = &mut *self.transport;
        price_jobs(
            transport,
            machine,
            self.processors,
            jobs,
            threads,
            fingerprint,
        )
        .ok()
    }

    /// Runs the jobs, which should take so many cycles, and returns the host's seconds since they were begun too.
    ///
    /// # Errors
    /// Ranks differ in what they carry out, or a rank cannot be reached.
    pub(crate) fn run_jobs(
        &mut self,
        jobs: Vec<Job>,
        fingerprint: &[u8],
        about: Option<u64>,
    ) -> Result<(JobRuns, f64), CommandFailure> {
        let progress = progress::watch("simulating", self.cycles.clone(), about, self.quiet);
        let (machine, threads) = (self.machine, self.threads());
        let transport = &mut *self.transport;
        let ran = run_jobs(
            transport,
            machine,
            self.processors,
            jobs,
            threads,
            fingerprint,
        );
        let ran = JobRuns::new(ran)?;
        drop(progress);
        Ok((ran, self.began.elapsed().as_secs_f64()))
    }

    /// Returns the cycles of the processor that ends last in a priced run.
    pub(crate) fn expected_cycles(&self, priced: Option<&NetworkReport>) -> Option<u64> {
        expected_cycles(priced?, self.machine)
    }
}

/// Does `count` pieces of work on so many host threads, or on as many as can be started, and returns the results in
/// order.
///
/// # Errors
/// The first piece's that fails; pieces behind it may be left out.
fn share_out<T: Send, E: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let serve = || {
        loop {
            let at = next.fetch_add(1, Relaxed);
            if at >= count {
                return;
            }
            let result = work(at);
            if result.is_err() {
                // Pieces before this one are being done already.
                next.store(count, Relaxed);
            }
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((at, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            // If no thread can be started, there is more for the others.
            let _ = thread::Builder::new().spawn_scoped(scope, serve);
        }
        serve();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Returns the bytes of values between ranks.
pub(crate) fn encode_values<T: MemoryElement>(values: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * T::BYTES];
    for (value, bytes) in values.iter().zip(bytes.chunks_exact_mut(T::BYTES)) {
        value.put(bytes);
    }
    bytes
}

/// Returns the values of the bytes of [`encode_values`].
pub(crate) fn decode_values<T: MemoryElement>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::BYTES).map(T::get).collect()
}

#[cfg(test)]
mod tests {
    use super::share_out;

    #[test]
    fn results_are_in_order_whatever_the_threads() {
        for threads in [1, 2, 7] {
            let squares = share_out(100, threads, |at| Ok::<_, ()>(at * at)).unwrap();
            assert!(squares.into_iter().eq((0..100).map(|at| at * at)));
        }
    }

    #[test]
    fn the_error_is_that_of_the_first_piece() {
        for threads in [1, 3] {
            let failed = share_out(50, threads, |at| if at < 20 { Ok(at) } else { Err(at) });
            assert_eq!(failed, Err(20));
        }
    }
}
