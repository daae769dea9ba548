//! How fast the emulator is on this computer, beside a native library.
//!
//! A `Workload` is something the emulator does again and again; for a
//! transform, rustfft does the same beside it. [`measure`] interleaves all
//! workloads and keeps the least time of each, so that what else the computer
//! does disturbs all alike. Simulated time and host time are never mixed: a
//! [`BenchFigures`] has cycles of the one and seconds of the other.

mod error;
mod native;
mod program;
mod resident;
mod transform;

pub use error::BenchError;
pub use resident::Resident;

use cp2_emu::Engine;
use cp2_host::{DeviceOptions, Trace};
use cp2_machine::Machine;
use program::Endless;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transform::{PagedBatch, Transforms};

/// The lengths of the transforms.
const LENGTHS: [usize; 3] = [256, 1024, 4096];

/// Host time for which a workload, and then the native library, repeats before the
/// next one's turn: both find the host's caches and predictors as they left them.
const BURST: Duration = Duration::from_millis(10);

/// What one repetition did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchSample {
    /// Words executed.
    pub words: u64,
    /// Simulated cycles.
    pub cycles: u64,
    /// Host seconds.
    pub seconds: f64,
}

/// Something to emulate again and again.
trait Workload {
    /// Its name in reports.
    fn name(&self) -> String;
    /// Does it once.
    fn run(&mut self) -> Result<BenchSample, BenchError>;
    /// Transforms in one repetition, if it is of transforms.
    fn transforms(&self) -> Option<u64> {
        None
    }
    /// Host seconds in which the native library does the same.
    fn native(&mut self) -> Option<f64> {
        None
    }
}

/// A workload measured.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchFigures {
    /// The workload.
    pub name: String,
    /// Transforms in one repetition, if it is of transforms.
    pub transforms: Option<u64>,
    /// The fastest repetition.
    pub best: BenchSample,
    /// Host seconds of rustfft for the same transforms, the fastest repetition.
    pub native: Option<f64>,
    /// Repetitions.
    pub repetitions: u64,
}

impl BenchFigures {
    /// Executed words per second of host time.
    #[must_use]
    pub fn words_per_second(&self) -> f64 {
        self.best.words as f64 / self.best.seconds
    }

    /// Simulated seconds per second of host time.
    #[must_use]
    pub fn real_time_factor(&self, machine: &Machine) -> f64 {
        self.best.cycles as f64 / machine.cp2.clock_hz as f64 / self.best.seconds
    }

    /// Host time of the emulation by rustfft's.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        self.native.map(|native| self.best.seconds / native)
    }
}

/// Measures every workload on `machine` with `engine` for about `time`
/// altogether or until `stop` says so, each at least once.
///
/// # Errors
/// A workload does not run on the machine.
pub fn measure(
    machine: &Arc<Machine>,
    engine: Engine,
    time: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<BenchFigures>, BenchError> {
    let mut workloads = workloads(machine, &options(engine))?;
    let mut figures = Vec::new();
    for workload in &mut workloads {
        figures.push(BenchFigures {
            name: workload.name(),
            transforms: workload.transforms(),
            best: workload.run()?,
            native: workload.native(),
            repetitions: 1,
        });
    }
    let started = Instant::now();
    while started.elapsed() < time && !stop() {
        for (workload, figures) in workloads.iter_mut().zip(&mut figures) {
            if stop() {
                break;
            }
            let burst = Instant::now();
            while burst.elapsed() < BURST {
                let sample = workload.run()?;
                if sample.seconds < figures.best.seconds {
                    figures.best = sample;
                }
                figures.repetitions += 1;
            }
            let burst = Instant::now();
            while let (Some(best), Some(native)) = (&mut figures.native, workload.native()) {
                *best = best.min(native);
                if burst.elapsed() >= BURST {
                    break;
                }
            }
        }
    }
    Ok(figures)
}

/// How devices run: with this engine, without a timeline.
fn options(engine: Engine) -> DeviceOptions {
    DeviceOptions {
        engine,
        trace: Trace::none(),
        ..DeviceOptions::default()
    }
}

/// The workloads, in the order of reports.
fn workloads(
    machine: &Arc<Machine>,
    options: &DeviceOptions,
) -> Result<Vec<Box<dyn Workload>>, BenchError> {
    let mut workloads: Vec<Box<dyn Workload>> = Vec::new();
    for n in LENGTHS {
        workloads.push(Box::new(Transforms::new(machine, options, n)?));
    }
    for n in LENGTHS {
        workloads.push(Box::new(PagedBatch::new(machine, options, n)?));
    }
    workloads.push(Box::new(Endless::control(machine, options)?));
    workloads.push(Box::new(Endless::butterflies(machine, options)?));
    Ok(workloads)
}
