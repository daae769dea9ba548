//! Products of sparse matrices in the registry of kernels.

use super::{power, product, solve};
use crate::catalogue::KernelFolder;
use crate::registry::Entry;
use cp2_machine::Extensions;
use cp2_problems::sparse::SpmvProblem;
use std::sync::Arc;

/// Planners of this folder, and its kernels.
pub(crate) const ENTRIES: KernelFolder = KernelFolder {
    planners: &[product, solve, power],
    entries: &KERNELS,
};

/// Kernels of the registry.
const KERNELS: [Entry; 1] = [Entry {
    name: "spmv",
    summary: "a sparse matrix times a vector, packed in the format that is the fastest",
    sources: &[
        "sparse/gather/resident.s",
        "sparse/diagonal/resident.s",
        "sparse/sell/resident.s",
        "sparse/shifted_segment.s",
    ],
    parameters: &SpmvProblem::PARAMETERS,
    sizes: &[
        "random 1400 0 56 0 real 1 1",
        "random 10000 0 8 0 real 1 1",
        "fem 3000 0 6 0 real 1 1",
        "fem 2000 0 4 0 complex 1 1",
        "grid5 110 0 5 0 real 1 1",
        "grid27 24 0 27 0 real 1 1",
    ],
    below: Some(
        "the reference moves values and vectors once; the product of a pattern without regularity is generated code, whose words cross the channel beside the values, 8 bytes a place or a distinct address of the vector, and take a load and a selection for nearly every entry, since no section has addresses of its own",
    ),
    extensions: Extensions::SECTION_ADDRESSING.union(Extensions::WORD_ADDRESSING),
    problem: |_, size| Ok(Arc::new(SpmvProblem::from_size(size)?)),
    plan: product,
}];
