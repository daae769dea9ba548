//! Transforms: in DMEM, and paged through it.

use super::native::Native;
use super::{BenchError, Resident, Sample, Workload};
use crate::fft::{Direction, Fft as _, FftPlanner, LocalFft};
use crate::random::Random;
use cp2_host::Options;
use cp2_machine::Machine;
use num_complex::Complex32;
use std::sync::Arc;
use std::time::Instant;

fn noise(len: usize) -> Vec<Complex32> {
    let mut random = Random::new(1);
    (0..len).map(|_| random.complex()).collect()
}

/// As many transforms as fit DMEM, which stay there.
pub(super) struct Transforms {
    name: String,
    resident: Resident,
    batch: usize,
    native: Native,
}

impl Transforms {
    pub(super) fn new(
        machine: &Arc<Machine>,
        options: &Options,
        n: usize,
    ) -> Result<Self, BenchError> {
        let name = format!("fft-{n}");
        let fft = FftPlanner::new(machine.clone()).plan_local(n, Direction::Forward)?;
        let (resident, batch) = fft.resident(&name, options.clone())?;
        Ok(Self {
            name,
            resident,
            batch,
            native: Native::new(n, &noise(n * batch)),
        })
    }
}

impl Workload for Transforms {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn run(&mut self) -> Result<Sample, BenchError> {
        self.resident.run()
    }

    fn transforms(&self) -> Option<u64> {
        Some(self.batch as u64)
    }

    fn native(&mut self) -> Option<f64> {
        Some(self.native.seconds())
    }
}

/// A batch from system memory and back: what a user calls.
pub(super) struct Paged {
    name: String,
    fft: Arc<LocalFft>,
    options: Options,
    input: Vec<Complex32>,
    native: Native,
}

/// Host seconds that a repetition should take at least.
const LEAST: f64 = 4e-3;
/// Numbers in the largest batch.
const MOST: usize = 1 << 19;

impl Paged {
    pub(super) fn new(
        machine: &Arc<Machine>,
        options: &Options,
        n: usize,
    ) -> Result<Self, BenchError> {
        let fft = FftPlanner::new(machine.clone()).plan_local(n, Direction::Forward)?;
        let mut batch = 64;
        // Twice as many until the start of a run no longer counts.
        while n * batch < MOST && sample(&fft, &noise(n * batch), options)?.seconds < LEAST {
            batch *= 2;
        }
        let input = noise(n * batch);
        Ok(Self {
            name: format!("fft-{n}-paged"),
            native: Native::new(n, &input),
            options: options.clone(),
            fft,
            input,
        })
    }
}

fn sample(fft: &LocalFft, input: &[Complex32], options: &Options) -> Result<Sample, BenchError> {
    let started = Instant::now();
    let done = fft.process_with(input, options.clone())?;
    let seconds = started.elapsed().as_secs_f64();
    let report = &done.run.report;
    if !report.end.is_finished() {
        return Err(BenchError::Unfinished {
            workload: fft.recipe(),
            reason: report.end.to_string(),
        });
    }
    Ok(Sample {
        words: report.counters.words,
        cycles: report.cycles,
        seconds,
    })
}

impl Workload for Paged {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn run(&mut self) -> Result<Sample, BenchError> {
        sample(&self.fft, &self.input, &self.options)
    }

    fn transforms(&self) -> Option<u64> {
        Some((self.input.len() / self.fft.len()) as u64)
    }

    fn native(&mut self) -> Option<f64> {
        Some(self.native.seconds())
    }
}
