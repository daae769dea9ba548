use crate::assembly::Unfit;
use crate::job::JobError;
use crate::pipeline::Unschedulable;
use cp2_problems::DataError;

/// Why a stencil cannot be computed on a machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StencilError {
    /// No block of any width fits.
    #[error(
        "no block of {points} points with rows of whole granules of {granule} bytes fits the local memory of {machine}, {dmem} bytes; expected fewer points, or a machine with more memory or smaller granules"
    )]
    NoBlock {
        /// Points of the stencil.
        points: usize,
        /// The machine.
        machine: String,
        /// Bytes of a section's local memory.
        dmem: u64,
        /// Bytes of a granule of the DMA.
        granule: u64,
    },
    /// The arrays do not fit system memory.
    #[error("{bytes} bytes of arrays do not fit the system memory of {machine}; at most {most} do")]
    OutOfMemory {
        /// What the arrays take.
        bytes: u64,
        /// What they may take.
        most: u64,
        /// The machine.
        machine: String,
    },
    /// No schedule for the machine.
    #[error(transparent)]
    Schedule(#[from] Unschedulable),
    /// The machine has too little of something for the kernel.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// An input is not the problem's.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
}
