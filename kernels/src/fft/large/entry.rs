//! FFTs larger than DMEM in the registry of kernels.

use super::plan::LargeFft;
use crate::fft::{Direction, Fft as _};
use crate::random::Random;
use crate::registry::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::{Class, Machine};
use std::sync::Arc;

/// Complex transforms of powers of two in two passes over system memory.
#[derive(Clone, Copy, Debug)]
pub struct LargeFftKernel;

const NAME: &str = "fft-large";

impl Kernel for LargeFftKernel {
    fn name(&self) -> &'static str {
        NAME
    }

    fn summary(&self) -> &'static str {
        "complex FFTs of 2^11 to 2^20 numbers in two passes over system memory"
    }

    fn sources(&self) -> &'static [&'static str] {
        &["fft/large.s", "fft/blocks.s", "fft/shifted8.s"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter {
                name: "n",
                default: 65536,
                help: "length of a transform",
            },
            Parameter {
                name: "batch",
                default: 1,
                help: "number of transforms",
            },
        ]
    }

    fn sizes(&self) -> Vec<Size> {
        [(13, 4), (14, 4), (16, 4), (18, 1), (20, 1)]
            .into_iter()
            .map(|(log2, batch)| Size::new(&[("n", 1 << log2), ("batch", batch)]))
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
        let fft = LargeFft::new(n, Direction::Forward, machine.clone()).map_err(wrong)?;
        let found = n.saturating_mul(batch);
        fft.batch_of(found).map_err(wrong)?;
        let mut random = Random::new(1);
        let input: Vec<_> = (0..found).map(|_| random.complex()).collect();
        let (job, _) = fft.job(&input, options).map_err(wrong)?;
        let butterflies = |length: usize| {
            let all = (fft.len() / 2 * batch) as u64;
            (Class::Butterfly, all * u64::from(length.ilog2()))
        };
        let division = fft.division();
        // Eight products for the two columns of eight of an iteration: one for two numbers.
        let products = (Class::Madd, (fft.len() / 2 * batch) as u64);
        Ok(Prepared {
            job,
            least: fft.least(batch),
            operations: vec![
                vec![butterflies(division.columns().len())],
                vec![butterflies(division.rows().len()), products],
            ],
        })
    }
}
