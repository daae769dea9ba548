//! Measures how fast the emulator is on this computer, beside rustfft.
//!
//! A `Workload` is something that the emulator does again and again; where it is a transform, rustfft is
//! measured on the same transforms. [`measure`] interleaves all workloads and keeps the least time of each,
//! so that other load of the computer disturbs all alike. Simulated time and host time are never mixed: a
//! [`BenchFigures`] has simulated cycles and host seconds. [`ScaleLoad`] measures many processors.

mod error;
mod native;
mod program;
mod resident;
mod scale;
mod transform;

pub use error::BenchError;
pub use resident::Resident;
pub use scale::{ScaleFigures, ScaleLoad};

use cp2_emu::Engine;
use cp2_host::{DeviceOptions, Trace};
use cp2_machine::Machine;
use program::Endless;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transform::{PagedBatch, Transforms};

/// Lengths of the transforms.
const LENGTHS: [usize; 3] = [256, 1024, 4096];

/// Host time for which a workload, and then the native library, repeats before the
/// next one's turn: both find the host's caches and predictors as they left them.
const BURST: Duration = Duration::from_millis(10);

/// Figures of one repetition of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchSample {
    /// Words executed.
    pub words: u64,
    /// Simulated cycles.
    pub cycles: u64,
    /// Host seconds.
    pub seconds: f64,
}

/// A workload that is emulated again and again.
trait Workload {
    /// Returns the name in reports.
    fn name(&self) -> String;
    /// Runs the workload once.
    fn run(&mut self) -> Result<BenchSample, BenchError>;
    /// Returns the number of transforms in one repetition, if the workload consists of transforms.
    fn transforms(&self) -> Option<u64> {
        None
    }
    /// Runs the same transforms by the native library and returns the host seconds.
    fn native(&mut self) -> Option<f64> {
        None
    }
}

/// The figures of a measured workload.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchFigures {
    /// Name of the workload.
    pub name: String,
    /// Number of transforms in one repetition, if the workload consists of transforms.
    pub transforms: Option<u64>,
    /// Sample of the fastest repetition.
    pub best: BenchSample,
    /// Host seconds of rustfft for the same transforms, in the fastest repetition.
    pub native: Option<f64>,
    /// Number of repetitions.
    pub repetitions: u64,
}

impl BenchFigures {
    /// Returns the executed words per second of host time.
    #[must_use]
    pub fn words_per_second(&self) -> f64 {
        self.best.words as f64 / self.best.seconds
    }

    /// Returns the simulated seconds per second of host time.
    #[must_use]
    pub fn real_time_factor(&self, machine: &Machine) -> f64 {
        self.best.cycles as f64 / machine.cp2.clock_hz as f64 / self.best.seconds
    }

    /// Returns the host time of the emulation divided by that of rustfft.
    #[must_use]
    pub fn slowdown(&self) -> Option<f64> {
        self.native.map(|native| self.best.seconds / native)
    }
}

/// Measures every workload on `machine` with `engine`.
///
/// Measuring takes about `time` altogether or ends when `stop` returns true; each workload runs at least
/// once.
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

/// Returns the options of devices: this engine, and no timeline.
fn options(engine: Engine) -> DeviceOptions {
    DeviceOptions {
        engine,
        trace: Trace::none(),
        ..DeviceOptions::default()
    }
}

/// Makes the workloads, in the order of reports.
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
