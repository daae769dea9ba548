//! Errors of signal processing plans and their runs.

use crate::assembly::Unfit;
use crate::job::JobError;

/// The reason why an operation cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DspError {
    /// The operation does not have this size.
    #[error("{what}: {found} is not possible; expected {expected}")]
    Size {
        /// Name of the size.
        what: &'static str,
        /// Size that was asked for.
        found: usize,
        /// Sizes that are possible.
        expected: String,
    },
    /// An array has another length than the plan.
    #[error("{what} holds {found} numbers; expected {expected}")]
    Length {
        /// Name of the array.
        what: &'static str,
        /// Number of values found.
        found: usize,
        /// Number of values expected.
        expected: String,
    },
    /// The arrays do not fit the machine's system memory.
    #[error("{bytes} bytes of arrays do not fit the system memory of {machine}; at most {most} do")]
    OutOfMemory {
        /// Bytes of the arrays.
        bytes: u64,
        /// Bytes that arrays may have.
        most: u64,
        /// Name of the machine.
        machine: String,
    },
    /// A unit of a transfer is no whole number of the DMA's granules.
    #[error(
        "{what} has {bytes} bytes, but the DMA of {machine} moves {granule} at a time; a granule that divides them is needed"
    )]
    Granule {
        /// Unit that is transferred.
        what: &'static str,
        /// Bytes of the unit.
        bytes: u64,
        /// Bytes of a granule.
        granule: u64,
        /// Name of the machine.
        machine: String,
    },
    /// The machine has too little of something for the kernel.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
}
