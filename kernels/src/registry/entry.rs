//! A kernel of the registry as data: name, sizes, problem and planner.

use super::{Kernel, KernelError, Size, SizeParameter};
use crate::backend::{Method, PlanProblem};
use cp2_machine::{Extensions, Machine};
use cp2_problems::{MakeProblem, Problem, ProblemError};
use std::sync::Arc;

/// A kernel as its description, its problem, and the function that plans it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// See [`Kernel::sources`].
    pub(crate) sources: &'static [&'static str],
    pub(crate) parameters: &'static [SizeParameter],
    /// Sizes in the tables, as numbers and words, see [`Size::from_row`].
    pub(crate) sizes: &'static [&'static str],
    /// See [`Kernel::explain_low_efficiency`].
    pub(crate) below: Option<&'static str>,
    /// See [`Kernel::extensions`].
    pub(crate) extensions: Extensions,
    /// Function that makes the problem of a size, given the kernel's name.
    pub(crate) problem: MakeProblem,
    /// Function that plans the problem; it returns none for a problem of another type.
    pub(crate) plan: PlanProblem,
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

    fn parameters(&self) -> &'static [SizeParameter] {
        self.parameters
    }

    fn sizes(&self) -> Vec<Size> {
        let rows = self.sizes.iter();
        rows.flat_map(|row| Size::from_row(self.parameters, row))
            .collect()
    }

    fn explain_low_efficiency(&self) -> Option<&'static str> {
        self.below
    }

    fn extensions(&self) -> Extensions {
        self.extensions
    }

    fn problem(&self, size: &Size) -> Result<Arc<dyn Problem>, KernelError> {
        (self.problem)(self.name, size).map_err(|e| match e {
            ProblemError::Size(e) => e.into(),
            e => KernelError::wrap_error(self.name, e),
        })
    }

    fn method(&self, problem: &dyn Problem, machine: &Arc<Machine>) -> Result<Method, KernelError> {
        let method = (self.plan)(machine, problem).ok_or(KernelError::OtherProblem {
            kernel: self.name,
            problem: problem.name(),
        })?;
        method.map_err(|e| KernelError::wrap_error(self.name, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_row_of_a_table_is_a_size() {
        for entry in registry::entries() {
            for row in entry.sizes {
                let size = Size::from_row(entry.parameters, row);
                assert!(size.is_ok(), "{}: {size:?}", entry.name);
            }
        }
    }
}
