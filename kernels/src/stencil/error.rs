//! Errors of planned stencils.

use crate::assembly::Unfit;
use crate::job::JobError;
use cp2_problems::DataError;

/// Reason why a stencil cannot be computed on a machine.
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
        /// Bytes of the arrays.
        bytes: u64,
        /// Most bytes possible.
        most: u64,
        /// The machine.
        machine: String,
    },
    /// The edges of the array cannot be cut into slabs.
    #[error(
        "several processors take arrays with fixed edges, and these edges are {edge}; expected fixed edges, or one processor"
    )]
    SlabEdge {
        /// Name of the edges.
        edge: &'static str,
    },
    /// There are not as many planes as processors.
    #[error(
        "{processors} processors cannot share {planes} {unit}; expected 1 to {planes} processors"
    )]
    SlabCount {
        /// Number of processors.
        processors: usize,
        /// Planes of the array, rows where it has two axes.
        planes: usize,
        /// Name of these.
        unit: &'static str,
    },
    /// A plan that is to be one pass has others.
    #[error(
        "passes of {steps:?} steps, where a single step with the same coefficients for all elements is expected: plan a problem of one step"
    )]
    NotOneStep {
        /// Steps of each pass.
        steps: Vec<usize>,
    },
    /// The problem of a slab is none.
    #[error(transparent)]
    Problem(#[from] cp2_problems::ProblemError),
    /// The program of a kernel does not fit the machine.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// An input does not fit the problem.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
}
