use crate::assembly::Unfit;
use crate::job::JobError;
use crate::pipeline::Unschedulable;

/// Why an operation cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DspError {
    /// A size that the operation does not have.
    #[error("{what}: {found} is not possible; expected {expected}")]
    Size {
        /// The operation and the size.
        what: &'static str,
        /// What was asked for.
        found: usize,
        /// What is possible.
        expected: String,
    },
    /// An array of another length.
    #[error("{what} holds {found} numbers; expected {expected}")]
    Length {
        /// The array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// What was expected.
        expected: String,
    },
    /// The arrays do not fit the machine's system memory.
    #[error("{bytes} bytes of arrays do not fit the system memory of {machine}; at most {most} do")]
    OutOfMemory {
        /// What the arrays take.
        bytes: u64,
        /// What they may take.
        most: u64,
        /// The machine.
        machine: String,
    },
    /// What is moved alone is no whole number of the DMA's granules.
    #[error(
        "{what} has {bytes} bytes, but the DMA of {machine} moves {granule} at a time; a granule that divides them is needed"
    )]
    Granule {
        /// What is moved.
        what: &'static str,
        /// Its bytes.
        bytes: u64,
        /// Bytes of a granule.
        granule: u64,
        /// The machine.
        machine: String,
    },
    /// No schedule for the machine.
    #[error(transparent)]
    Schedule(#[from] Unschedulable),
    /// The machine has too little of something for the kernel.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
}
