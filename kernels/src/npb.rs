//! The NAS Parallel Benchmarks CG, FT and MG on CP2.
//!
//! Their definitions, classes and official values are in [`cp2_problems::npb`].

mod cg;
mod ft;
pub mod mg;

use crate::catalogue::KernelFolder;
pub use cg::InverseIterations;
pub(crate) use cg::cg;
pub use ft::FT_OPERATORS;
pub(crate) use ft::ft;

use crate::registry::{Entry, SizeParameter};
use cp2_machine::Extensions;
use cp2_problems::npb::cg::CgProblem;
use cp2_problems::npb::mg::MgProblem;
use cp2_problems::npb::{FtProblem, Precision};
use cp2_reference::NumberFormat;
use std::sync::Arc;

/// Returns the format of numbers by which references of a precision count.
#[must_use]
pub fn number_format(precision: Precision) -> NumberFormat {
    match precision {
        Precision::Single => NumberFormat::Binary32,
        Precision::DoubleSingle => NumberFormat::DoubleSingle,
        Precision::Double => NumberFormat::Binary64,
    }
}

/// Returns the extensions that a machine needs to compute in a precision. An extension has the name of its precision.
pub(crate) fn needed_extensions(precision: Precision) -> Extensions {
    match precision {
        Precision::Single => Extensions::empty(),
        Precision::DoubleSingle => Extensions::DOUBLE_SINGLE,
        Precision::Double => Extensions::DOUBLE,
    }
}

/// Planners and registry entries of this folder.
pub(crate) const ENTRIES: KernelFolder = KernelFolder {
    planners: &[mg::solve, ft, cg],
    entries: &KERNELS,
};

/// Format of a benchmark's numbers, as a parameter of sizes.
const PRECISION: SizeParameter = Precision::PARAMETER;

/// Registry entries of the benchmarks.
const KERNELS: [Entry; 3] = [
    Entry {
        name: "npb-cg",
        summary: "NAS benchmark CG: the eigenvalue of a sparse matrix by inverse iterations of conjugate gradients",
        sources: &["sparse/vector_passes.s", "sparse/gather/resident.s"],
        parameters: &CgProblem::PARAMETERS,
        sizes: &["1400 7 1 10", "2800 8 1 10"],
        below: Some(
            "94 % of the time of class S on vm7 are products by generated code: a load and a selection for nearly every entry, since no section has addresses of its own, and words and all values that cross the channel again for every product, while the reference has one triangle of the values, once where local memory holds them",
        ),
        extensions: Extensions::SECTION_ADDRESSING
            .union(Extensions::WORD_ADDRESSING)
            .union(Extensions::DOUBLE)
            .union(Extensions::DOUBLE_SINGLE),
        problem: |_, size| Ok(Arc::new(CgProblem::from_size(size)?)),
        plan: cg,
    },
    Entry {
        name: "npb-ft",
        summary: "NAS benchmark FT: diffusion by transforms over three axes, a checksum each step",
        sources: &[
            "fft/four_step.s",
            "fft/weighted_columns.s",
            "fft/double_lines.s",
        ],
        parameters: &[
            SizeParameter::new("planes", 64, "length of the axis z, a power of two"),
            SizeParameter::new("rows", 64, "length of the axis y"),
            SizeParameter::new("columns", 64, "length of the axis x, the contiguous one"),
            SizeParameter::new("steps", 6, "steps, each with a checksum"),
            PRECISION,
        ],
        sizes: &["32 64 64 2", "64 64 64 6"],
        below: None,
        extensions: Extensions::EXCHANGE.union(Extensions::DOUBLE),
        problem: |_, size| Ok(Arc::new(FtProblem::from_size(size)?)),
        plan: ft,
    },
    Entry {
        name: "npb-mg",
        summary: "NAS benchmark MG: V-cycles of multigrid on a periodic cube, and the norm of the residual",
        sources: &[
            "npb/mg/interpolation.s",
            "npb/mg/lifted_rows.s",
            "npb/mg/lifted_turn.s",
            "npb/mg/numbers.s",
            "npb/mg/plane_projection.s",
            "npb/mg/plane_residual.s",
            "npb/mg/plane_smoother.s",
            "npb/mg/projection.s",
            "npb/mg/residual.s",
            "npb/mg/smoother.s",
            "npb/mg/squares.s",
        ],
        parameters: &[
            SizeParameter::new("n", 32, "points along each axis: a power of two"),
            SizeParameter::new("cycles", 4, "V-cycles"),
            PRECISION,
        ],
        sizes: &["64 2", "128 2"],
        below: None,
        extensions: Extensions::DOUBLE.union(Extensions::DOUBLE_SINGLE),
        problem: |_, size| Ok(Arc::new(MgProblem::from_size(size)?)),
        plan: mg::solve,
    },
];
