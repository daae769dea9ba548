//! The FFTs of local memory in the registry of kernels.

use super::{Direction, FftPlanner, FftProblem};
use crate::backend::Problem as _;
use crate::registry::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::{Class, Machine};
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
            "fft/radix8.s",
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
        let fft = FftPlanner::new(machine.clone())
            .plan_local(n, Direction::Forward)
            .map_err(wrong)?;
        let problem = FftProblem::new(n, Direction::Forward, batch).map_err(wrong)?;
        fft.batch_of(n.saturating_mul(batch)).map_err(wrong)?;
        let (job, _) = fft.job(&problem.random(1), options).map_err(wrong)?;
        let butterflies = batch as u64 * fft.local_recipe().butterflies();
        Ok(Prepared {
            job,
            least: fft.least(batch),
            operations: vec![vec![(Class::Butterfly, butterflies)]],
        })
    }
}
