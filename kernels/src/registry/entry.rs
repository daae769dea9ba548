//! A kernel of the registry as data.

use super::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::Machine;
use std::sync::Arc;

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
}

impl Request<'_> {
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

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        (self.prepare)(&Request {
            kernel: self.name,
            size,
            machine,
            options,
        })
    }
}
