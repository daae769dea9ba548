//! A kernel of the registry as data.

use super::{Kernel, KernelError, Parameter, Prepared, Seeded, Size};
use crate::random::Random;
use cp2_host::{Element, Options};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::cell::RefCell;
use std::sync::Arc;

/// Seeds from those of an array to those of the next.
const SEEDS: u64 = 1 << 32;

/// A kernel by its description and the function that puts its jobs together.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// See [`Kernel::sources`].
    pub(crate) sources: &'static [&'static str],
    pub(crate) parameters: &'static [Parameter],
    /// For every size of the tables a value of each parameter.
    pub(crate) sizes: &'static [&'static [u64]],
    pub(crate) prepare: fn(&Request<'_>) -> Result<Prepared, KernelError>,
}

/// What a job is wanted for.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) kernel: &'static str,
    pub(crate) size: &'a Size,
    pub(crate) machine: &'a Arc<Machine>,
    pub(crate) options: Options,
    /// Of the random data.
    seed: u64,
    /// Their bytes, array by array.
    data: RefCell<Vec<Vec<u8>>>,
}

impl Request<'_> {
    /// An array of random complex numbers.
    pub(crate) fn complexes(&self, count: usize) -> Vec<Complex32> {
        self.array(|random| random.complexes(count))
    }

    /// What `make` makes of random numbers, as an array of the user: those of each are others.
    pub(crate) fn array<T: Element>(&self, make: impl FnOnce(&mut Random) -> Vec<T>) -> Vec<T> {
        let mut data = self.data.borrow_mut();
        let values = make(&mut Random::new(self.seed + (data.len() as u64) * SEEDS));
        let mut bytes = vec![0; values.len() * T::BYTES];
        for (value, bytes) in values.iter().zip(bytes.chunks_exact_mut(T::BYTES.max(1))) {
            value.put(bytes);
        }
        data.push(bytes);
        values
    }

    /// Values of parameters as lengths that are not zero.
    pub(crate) fn positive<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<[usize; N], KernelError> {
        let mut values = [0; N];
        for (value, name) in values.iter_mut().zip(names) {
            *value = self.size.positive(name)?;
        }
        Ok(values)
    }

    /// The kernel's own refusal as one of the registry's.
    pub(crate) fn refused(
        &self,
        why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> KernelError {
        KernelError::of(self.kernel, why)
    }

    /// The number of elements of an array of these sides, unless no memory holds it.
    pub(crate) fn elements(&self, sides: &[usize]) -> Result<usize, KernelError> {
        let all = sides.iter().try_fold(1usize, |p, &n| p.checked_mul(n));
        let all = all.filter(|&p| p < usize::MAX / 64);
        all.ok_or_else(|| self.refused("the arrays are larger than any memory"))
    }
}

impl Kernel for Entry {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn sources(&self) -> &'static [&'static str] {
        self.sources
    }

    fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    fn sizes(&self) -> Vec<Size> {
        let size = |values: &&[u64]| {
            let names = self.parameters.iter().map(|p| p.name);
            let named: Vec<_> = names.zip(values.iter().copied()).collect();
            Size::new(&named)
        };
        self.sizes.iter().map(size).collect()
    }

    fn prepare_seeded(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
        seed: u64,
    ) -> Result<Seeded, KernelError> {
        let request = Request {
            kernel: self.name,
            size,
            machine,
            options,
            seed,
            data: RefCell::default(),
        };
        let prepared = (self.prepare)(&request)?;
        let data = request.data.into_inner();
        Ok(Seeded { prepared, data })
    }
}
