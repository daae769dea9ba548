//! The FFTs of mixed radix and of real numbers in the registry of kernels.

use super::real_plan::{ComplexToReal, RealToComplex};
use super::{BluesteinFft, BluesteinRecipe, MixedFft, MixedRecipe};
use crate::fft::{Direction, FftError};
use crate::random::Random;
use crate::registry::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
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

fn numbers(count: usize) -> Vec<Complex32> {
    let mut random = Random::new(1);
    (0..count).map(|_| random.complex()).collect()
}

/// Slots of the words that a batch takes, two transforms at a time. Where memory
/// operations are more than arithmetic ones they count in its place.
fn operations(batch: usize, slots_of_two: u64) -> Vec<Vec<(Class, u64)>> {
    vec![vec![(Class::Butterfly, batch as u64 * slots_of_two / 2)]]
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
        sizes(&[343, 625, 840, 1000])
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (n, batch) = (size.positive("n")?, size.positive("batch")?);
        let wrong = |e| KernelError::of(self.name(), e);
        let recipe =
            MixedRecipe::new(n, Direction::Forward).ok_or_else(|| wrong(FftError::Length { n }))?;
        let slots = recipe.slots();
        let fft = MixedFft::new(recipe, machine.clone()).map_err(wrong)?;
        let count = n.saturating_mul(batch);
        fft.batch_of(count).map_err(wrong)?;
        let (job, _) = fft.job(&numbers(count), options).map_err(wrong)?;
        Ok(Prepared {
            job,
            least: fft.least(batch),
            operations: operations(batch, slots),
        })
    }
}

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
        sizes(&[127, 251])
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (n, batch) = (size.positive("n")?, size.positive("batch")?);
        let wrong = |e| KernelError::of(self.name(), e);
        let recipe = BluesteinRecipe::new(n, Direction::Forward)
            .ok_or_else(|| wrong(FftError::Length { n }))?;
        let fft = BluesteinFft::new(recipe, machine.clone()).map_err(wrong)?;
        let count = n.saturating_mul(batch);
        fft.batch_of(count).map_err(wrong)?;
        let (job, _) = fft.job(&numbers(count), options).map_err(wrong)?;
        let slots = fft.bluestein_recipe().slots();
        Ok(Prepared {
            job,
            least: fft.least(batch),
            operations: operations(batch, slots),
        })
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
        let mut all = vec![Size::new(&[("n", 256), ("batch", 4 * BATCH)])];
        all.extend(sizes(&[512, 1024, 2048]));
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
        let (job, least, slots) = match self.0 {
            Direction::Forward => {
                let fft = RealToComplex::new(n, machine.clone()).map_err(wrong)?;
                let count = n.saturating_mul(batch);
                fft.batch_of(count).map_err(wrong)?;
                let input: Vec<f32> = numbers(count).iter().map(|z| z.re).collect();
                let (job, _) = fft.job(&input, options).map_err(wrong)?;
                (job, fft.least(batch), fft.recipe().slots())
            }
            Direction::Inverse => {
                let fft = ComplexToReal::new(n, machine.clone()).map_err(wrong)?;
                let count = (n / 2 + 1).saturating_mul(batch);
                fft.batch_of(count).map_err(wrong)?;
                let (job, _) = fft.job(&numbers(count), options).map_err(wrong)?;
                (job, fft.least(batch), fft.recipe().slots())
            }
        };
        Ok(Prepared {
            job,
            least,
            operations: operations(batch, slots),
        })
    }
}
