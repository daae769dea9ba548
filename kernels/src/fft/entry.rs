//! The FFTs of local memory in the registry of kernels.

use super::recipe::{MAX_LENGTH, Recipe};
use super::{Direction, Fft, FftError, FftPlanner};
use crate::random::Random;
use crate::registry::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::Machine;
use num_complex::Complex32;
use std::sync::Arc;

/// Batches of complex transforms of powers of two that fit local memory.
#[derive(Clone, Copy, Debug)]
pub struct FftKernel;

const NAME: &str = "fft";

impl Kernel for FftKernel {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "complex FFTs of one length, 16 to 4096, in batches"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "fft/fft.s",
            "fft/frame4.s",
            "fft/frame8.s",
            "fft/fft4096.s",
            "fft/hooks4096.s",
        ]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter {
                name: "n",
                default: 1024,
                help: "length of a transform",
            },
            Parameter {
                name: "batch",
                default: 1024,
                help: "number of transforms",
            },
        ]
    }

    fn sizes(&self) -> Vec<Size> {
        (4..=12)
            .map(|log2| Size::new(&[("n", 1 << log2), ("batch", 1024)]))
            .collect()
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (n, batch) = (size.positive("n")?, size.positive("batch")?);
        let wrong = |e| KernelError::of(NAME, e);
        if Recipe::new(n, Direction::Forward).is_err() {
            return Err(wrong_length(n));
        }
        let fft = FftPlanner::new(machine.clone())
            .plan_local(n, Direction::Forward)
            .map_err(wrong)?;
        prepared(&*fft, batch, options).map_err(wrong)
    }
}

/// What to ask instead.
fn wrong_length(n: usize) -> KernelError {
    let others = "fft-mixed has products of 2, 3, 5 and 7, fft-bluestein other lengths, fft-large longer powers of two";
    let why = format!("n = {n}: expected a power of two from 16 to {MAX_LENGTH}; {others}");
    KernelError::of(NAME, why)
}

/// A batch of a complex transform.
pub(super) fn prepared(
    fft: &dyn Fft,
    batch: usize,
    options: Options,
) -> Result<Prepared, FftError> {
    let count = fft.len().saturating_mul(batch);
    fft.batch_of(count)?;
    let (job, _) = fft.job(&numbers(count), options)?;
    Ok(Prepared {
        job,
        least: fft.least(batch),
        operations: fft.operations(batch),
    })
}

/// Random numbers, always the same.
pub(super) fn numbers(count: usize) -> Vec<Complex32> {
    let mut random = Random::new(1);
    (0..count).map(|_| random.complex()).collect()
}
