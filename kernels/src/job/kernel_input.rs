//! Arrays that kernels of a job read: the user's, or results of earlier kernels.

use super::{Job, JobError};
use cp2_host::{Buffer, MemoryElement};

/// An array that a kernel of a job reads.
#[derive(Clone, Copy, Debug)]
pub enum KernelInput<'a, T> {
    /// Values of the user, which become an input of the job.
    Values(&'a [T]),
    /// An array in system memory: an input of the job, or a result of an earlier kernel of it.
    Array(Buffer<T>),
}

impl<'a, T> From<&'a [T]> for KernelInput<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self::Values(values)
    }
}

impl<T> From<Buffer<T>> for KernelInput<'_, T> {
    fn from(array: Buffer<T>) -> Self {
        Self::Array(array)
    }
}

impl<T: MemoryElement> KernelInput<'_, T> {
    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Array(array) => usize::try_from(array.len()).unwrap_or(usize::MAX),
        }
    }

    /// Returns true if there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the array in system memory.
    ///
    /// Values of the user become an input of the job with `name` and `shape`.
    pub(crate) fn place(
        self,
        job: &mut Job,
        name: &str,
        shape: &[u64],
    ) -> Result<Buffer<T>, JobError> {
        match self {
            Self::Values(values) => job.input(name, values, shape),
            Self::Array(array) => Ok(array),
        }
    }
}
