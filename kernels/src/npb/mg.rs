//! The benchmark MG: V-cycles of multigrid on a periodic cube.
//!
//! Every operator on a level is a pass over arrays in system memory, whose rows are lifted (`rows.rs`): pages
//! march through the planes of a level and load each of them once, blocks are rows of a plane that are dealt
//! to the sections. The user's right-hand side is first put into lifted rows, and the result finally back
//! into rows in natural order.
//!
//! Where their price is lower, several operators on a level are fused: kernels keep what the next plane needs
//! (`planes.rs`).
//!
//! A norm is a pass that leaves a quad of partial sums for each page, in single precision; the control CPU
//! adds them up in double precision.

mod decomposition;
mod exchange;
mod job;
mod kernel_choice;
mod kernels;
mod messages;
mod method;
mod page;
mod plan;
mod planes;
mod rows;
mod split_choice;
mod steps;
mod tune;

pub use decomposition::{MultigridSplit, NormSum};
pub use job::MultigridOutput;
pub(crate) use method::solve;
pub use plan::MultigridPlan;
pub use split_choice::{SplitPrice, SplitRequest, SplitTrial};
pub use tune::{PassPrice, PassShape, Trial, TuningError};

use crate::assembly::Unfit;
use crate::job::JobError;
use cp2_host::HostError;
use cp2_host::nest::NestError;
use cp2_machine::Machine;
use cp2_problems::Kind;
use cp2_problems::npb::Precision;

/// The reason why a machine cannot compute V-cycles.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MultigridError {
    /// The machine has too little of something for a kernel.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// A page does not fit, or the DMA cannot move it.
    #[error(transparent)]
    Nest(#[from] NestError),
    /// The DMA moves more than a quad at a time.
    #[error(
        "multigrid on {machine}: rows are kept in quads of 16 bytes, and the DMA moves whole granules of {granule} bytes; take a machine with a granule of at most 16 bytes"
    )]
    Granule {
        /// Name of the machine.
        machine: String,
        /// Bytes of a granule.
        granule: u64,
    },
    /// Local memory does not hold the smallest page of an operator.
    #[error(
        "multigrid on {machine}: the smallest page of {needed} bytes does not fit {dmem} bytes of DMEM; take a machine with more, or a smaller grid"
    )]
    NoRoom {
        /// Name of the machine.
        machine: String,
        /// Bytes of the smallest page in a section.
        needed: u64,
        /// Bytes of a section's local memory.
        dmem: u64,
    },
    /// The machine does not compute in the problem's precision.
    #[error(
        "multigrid in {precision} precision on {machine}: it needs the extension `{precision}`; take a machine with it, as vm7+{precision}, or single precision"
    )]
    LacksPrecision {
        /// Name of the machine.
        machine: String,
        /// Format of the problem's numbers.
        precision: Precision,
    },
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The network of the machine cannot join so many processors.
    #[error(transparent)]
    Network(#[from] cp2_network::NetworkError),
    /// The device refused an array or a command.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Planes and rows cannot be divided among processors in this way.
    #[error("multigrid on several processors: {reason}")]
    Split {
        /// The fault, the expectation and the remedy.
        reason: String,
    },
    /// The right-hand side has other numbers than the problem.
    #[error("the right-hand side is of {found}; expected {expected}")]
    Kind {
        /// Type of the numbers found.
        found: Kind,
        /// Type of the problem's numbers.
        expected: Kind,
    },
    /// The right-hand side has another length than the problem.
    #[error("the right-hand side holds {found} numbers; expected {expected}")]
    Length {
        /// Number of values found.
        found: usize,
        /// Number of points.
        expected: usize,
    },
}

impl MultigridError {
    /// Rephrases errors about pages for callers who ask for a cube: pages and layouts are not theirs to
    /// choose.
    fn rephrase_for_cube(self, machine: &Machine) -> Self {
        let name = || machine.name.clone();
        match self {
            Self::Nest(NestError::Unaligned { granule, .. }) => Self::Granule {
                machine: name(),
                granule,
            },
            Self::Nest(NestError::DoesNotFit { needed, dmem, .. }) => Self::NoRoom {
                machine: name(),
                needed,
                dmem,
            },
            other => other,
        }
    }
}
