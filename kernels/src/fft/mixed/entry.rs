//! The FFTs of mixed radix and of real numbers in the registry of kernels.

use super::{BluesteinFft, BluesteinRecipe, LongBluestein};
use crate::fft::entry::{numbers, prepared};
use crate::fft::planner::mixed;
use crate::fft::{Direction, Fft, FftError, FftPlanner};
use crate::registry::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::Machine;
use std::sync::Arc;

/// Transforms in the batches of the tables.
const BATCH: u64 = 1024;

const fn parameters(n: u64, help: &'static str) -> [Parameter; 2] {
    [
        Parameter {
            name: "n",
            default: n,
            help,
        },
        Parameter {
            name: "batch",
            default: BATCH,
            help: "number of transforms",
        },
    ]
}

fn sizes(lengths: &[u64]) -> Vec<Size> {
    let size = |&n| Size::new(&[("n", n), ("batch", BATCH)]);
    lengths.iter().map(size).collect()
}

/// Long transforms in shorter batches: lengths and batches.
fn long(sizes: &[(u64, u64)]) -> Vec<Size> {
    let size = |&(n, batch)| Size::new(&[("n", n), ("batch", batch)]);
    sizes.iter().map(size).collect()
}

/// Batches of complex transforms of lengths 2^a 3^b 5^c 7^d.
#[derive(Clone, Copy, Debug)]
pub struct MixedKernel;

static MIXED: [Parameter; 2] = parameters(1000, "length of a transform: 2^a 3^b 5^c 7^d");

impl Kernel for MixedKernel {
    fn name(&self) -> &'static str {
        "fft-mixed"
    }

    fn summary(&self) -> &'static str {
        "complex FFTs of radix 2, 3, 5 and 7, in batches"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &MIXED
    }

    fn sizes(&self) -> Vec<Size> {
        let mut all = sizes(&[343, 625, 840, 1000, 1536, 2000]);
        all.extend(long(&[(10_000, 16), (100_000, 1)]));
        all
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (n, batch) = (size.positive("n")?, size.positive("batch")?);
        let wrong = |e| KernelError::of(self.name(), e);
        let made = mixed(n, Direction::Forward, machine).into_iter();
        let priced = made.filter_map(|fft| {
            let fft = fft.ok()?;
            Some((fft.expected(batch).ok()?, fft))
        });
        let best = priced.min_by_key(|(cycles, _)| cycles.0);
        let (_, fft) = best.ok_or_else(|| wrong(FftError::Length { n }))?;
        prepared(&*fft, batch, options).map_err(wrong)
    }
}

/// The longest transforms whose convolution is done in local memory on every machine.
const LOCAL: usize = 500;

/// Batches of complex transforms of lengths with other prime factors.
#[derive(Clone, Copy, Debug)]
pub struct BluesteinKernel;

static ANY: [Parameter; 2] = parameters(251, "length of a transform: any");

impl Kernel for BluesteinKernel {
    fn name(&self) -> &'static str {
        "fft-bluestein"
    }

    fn summary(&self) -> &'static str {
        "complex FFTs of any length by convolutions, in batches"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &ANY
    }

    fn sizes(&self) -> Vec<Size> {
        let mut all = sizes(&[127, 251]);
        all.extend(long(&[(1009, 64), (10_007, 4), (100_003, 1)]));
        all
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (n, batch) = (size.positive("n")?, size.positive("batch")?);
        let wrong = |e| KernelError::of(self.name(), e);
        let fft: Box<dyn Fft> = match BluesteinRecipe::new(n, Direction::Forward) {
            Some(recipe) if n <= LOCAL => {
                Box::new(BluesteinFft::new(recipe, machine.clone()).map_err(wrong)?)
            }
            _ => Box::new(LongBluestein::new(n, Direction::Forward, machine).map_err(wrong)?),
        };
        prepared(&*fft, batch, options).map_err(wrong)
    }
}

/// Batches of transforms of real numbers, in a direction.
#[derive(Clone, Copy, Debug)]
pub struct RealKernel(pub Direction);

static REAL: [Parameter; 2] =
    parameters(1024, "real numbers of a transform: even, 2^a 3^b 5^c 7^d");

impl Kernel for RealKernel {
    fn name(&self) -> &'static str {
        match self.0 {
            Direction::Forward => "fft-real",
            Direction::Inverse => "fft-real-inverse",
        }
    }

    fn summary(&self) -> &'static str {
        match self.0 {
            Direction::Forward => "FFTs of real numbers to half spectra, in batches",
            Direction::Inverse => "inverse FFTs of half spectra to real numbers, in batches",
        }
    }

    fn sources(&self) -> &'static [&'static str] {
        &[]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &REAL
    }

    fn sizes(&self) -> Vec<Size> {
        // A short transform's first load and last store weigh less in a long batch.
        let mut all = long(&[(128, 4 * BATCH), (256, 4 * BATCH)]);
        all.extend(sizes(&[512, 1024, 2048]));
        all.extend(long(&[(4096, BATCH), (16_384, 16), (65_536, 4)]));
        all
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (n, batch) = (size.positive("n")?, size.positive("batch")?);
        let wrong = |e| KernelError::of(self.name(), e);
        let (job, least, operations) = match self.0 {
            Direction::Forward => {
                let fft = FftPlanner::new(machine.clone())
                    .plan_real_forward(n)
                    .map_err(wrong)?;
                let count = n.saturating_mul(batch);
                fft.batch_of(count).map_err(wrong)?;
                let input: Vec<f32> = numbers(count).iter().map(|z| z.re).collect();
                let (job, ..) = fft.job(&input, options).map_err(wrong)?;
                (job, fft.least(batch), fft.operations(batch))
            }
            Direction::Inverse => {
                let fft = FftPlanner::new(machine.clone())
                    .plan_real_inverse(n)
                    .map_err(wrong)?;
                let count = (n / 2 + 1).saturating_mul(batch);
                fft.batch_of(count).map_err(wrong)?;
                let (job, ..) = fft.job(&numbers(count), options).map_err(wrong)?;
                (job, fft.least(batch), fft.operations(batch))
            }
        };
        Ok(Prepared {
            job,
            least,
            operations,
        })
    }
}
