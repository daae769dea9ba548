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
        "no block of {points} points fits the local memory of {machine}, {dmem} bytes; expected fewer points, or a machine with more"
    )]
    NoBlock {
        /// Points of the stencil.
        points: usize,
        /// The machine.
        machine: String,
        /// Bytes of a section's local memory.
        dmem: u64,
    },
    /// Rows are too long to be blocks as wholes, and parts of them with a quad on either side are no whole granules.
    #[error(
        "no kernel of whole rows of {row} bytes fits {machine}, and its DMA moves whole granules of {granule} bytes, so that rows cannot be cut into parts with a quad on either side; take shorter rows, fewer points, or a machine with a granule of at most 16 bytes"
    )]
    Granule {
        /// Bytes of a row, filled up to quads.
        row: usize,
        /// The machine.
        machine: String,
        /// Bytes of a granule.
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
