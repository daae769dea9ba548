//! Workloads of transforms: resident in DMEM, and paged through it.

use super::native::NativeBatch;
use super::{BenchError, BenchSample, Resident, Workload};
use crate::fft::{Fft as _, FftPlanner, TransformDirection};
use crate::job::PreparedJob;
use cp2_host::DeviceOptions;
use cp2_machine::Machine;
use cp2_problems::Random;
use num_complex::Complex32;
use std::sync::Arc;
use std::time::Instant;

/// Returns random complex numbers, always the same ones.
fn noise(len: usize) -> Vec<Complex32> {
    let mut random = Random::new(1);
    (0..len).map(|_| random.complex()).collect()
}

/// A batch of as many transforms as fit DMEM, where they stay.
pub(super) struct Transforms {
    name: String,
    resident: Resident,
    batch: usize,
    native: NativeBatch,
}

impl Transforms {
    pub(super) fn new(
        machine: &Arc<Machine>,
        options: &DeviceOptions,
        n: usize,
    ) -> Result<Self, BenchError> {
        let name = format!("fft-{n}");
        let fft = FftPlanner::new(machine.clone()).plan_local(n, TransformDirection::Forward)?;
        let (resident, batch) = fft.resident(&name, options.clone())?;
        Ok(Self {
            name,
            resident,
            batch,
            native: NativeBatch::new(n, &noise(n * batch)),
        })
    }
}

impl Workload for Transforms {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn run(&mut self) -> Result<BenchSample, BenchError> {
        self.resident.run()
    }

    fn transforms(&self) -> Option<u64> {
        Some(self.batch as u64)
    }

    fn native(&mut self) -> Option<f64> {
        Some(self.native.seconds())
    }
}

/// A batch paged from the machine's system memory and back.
///
/// The job is prepared once, as rustfft's plan is. The host time measured is from the first to the last
/// simulated cycle, with the reset of the device and the report. Copying the input is not counted, as for
/// rustfft.
pub(super) struct PagedBatch {
    name: String,
    job: PreparedJob,
    batch: usize,
    native: NativeBatch,
}

/// Numbers in a batch: input and output stay in a host's second-level cache, as
/// they do for a library that works in place.
const NUMBERS: usize = 1 << 16;

impl PagedBatch {
    pub(super) fn new(
        machine: &Arc<Machine>,
        options: &DeviceOptions,
        n: usize,
    ) -> Result<Self, BenchError> {
        let fft = FftPlanner::new(machine.clone()).plan_local(n, TransformDirection::Forward)?;
        let batch = NUMBERS / n;
        let input = noise(n * batch);
        let name = format!("fft-{n}-paged");
        let mut job = fft.prepare(&input, options.clone())?;
        let mut output = vec![Complex32::default(); input.len()];
        let end = job.run()?.end;
        if !end.is_finished() {
            return Err(BenchError::Unfinished {
                workload: name,
                reason: end.to_string(),
            });
        }
        job.read("y", &mut output)?;
        BenchError::judge(&name, (n, TransformDirection::Forward), &input, &output)?;
        Ok(Self {
            name,
            job,
            batch,
            native: NativeBatch::new(n, &input),
        })
    }
}

impl Workload for PagedBatch {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn run(&mut self) -> Result<BenchSample, BenchError> {
        let started = Instant::now();
        let report = self.job.run()?;
        let seconds = started.elapsed().as_secs_f64();
        if !report.end.is_finished() {
            return Err(BenchError::Unfinished {
                workload: self.name.clone(),
                reason: report.end.to_string(),
            });
        }
        Ok(BenchSample {
            words: report.counters.words,
            cycles: report.cycles,
            seconds,
        })
    }

    fn transforms(&self) -> Option<u64> {
        Some(self.batch as u64)
    }

    fn native(&mut self) -> Option<f64> {
        Some(self.native.seconds())
    }
}
