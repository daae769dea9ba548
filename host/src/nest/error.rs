//! Errors of planning a sweep of arrays in blocks.

use super::March;
use crate::schedule::PlanError;

/// Reason why a sweep cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NestError {
    /// A rule that all paging jobs share.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is nothing to load and nothing to store.
    #[error("no input and no output: expected at least one of them")]
    NoStreams,
    /// Two streams have different numbers of blocks.
    #[error(
        "`{stream}` has {found} blocks along its {axis}, `{first}` has {expected}: all inputs and outputs of a sweep have the same grid of blocks"
    )]
    Grid {
        /// The stream.
        stream: String,
        /// The axis.
        axis: &'static str,
        /// Blocks of the stream.
        found: u64,
        /// The stream it is compared with.
        first: String,
        /// Blocks of that stream.
        expected: u64,
    },
    /// Blocks of a row do not begin at quads.
    #[error(
        "`{stream}`: blocks of {columns} columns of {element} B are {bytes} B wide, no multiple of {quad} B; kernels load quads: take {nearest} columns"
    )]
    Width {
        /// The stream.
        stream: String,
        /// Columns of the stream's blocks.
        columns: u64,
        /// Bytes of an element.
        element: u64,
        /// Bytes of a block's row.
        bytes: u64,
        /// Bytes of which the width must be a multiple.
        quad: u64,
        /// Next number of columns that is allowed.
        nearest: u64,
    },
    /// The DMA cannot reach the elements of a row where they lie.
    #[error(
        "`{stream}`: rows of {row} B and their edges are no whole granules of the DMA ({granule} B, D2): the array must be put into another layout first"
    )]
    Unaligned {
        /// The stream.
        stream: String,
        /// Bytes of a row.
        row: u64,
        /// The granule.
        granule: u64,
    },
    /// An output has a halo.
    #[error(
        "`{stream}` is an output: it has no halo but rows beside its blocks, which are not stored"
    )]
    OutputHalo {
        /// The stream.
        stream: String,
    },
    /// A stream cannot lie in the buffer of an input.
    #[error(
        "`{stream}` is to lie in the buffer of an input, in place, and has no room there: both have blocks of the same planes and columns, of elements of the same size, and its rows lie among those of the input's window"
    )]
    InPlace {
        /// The stream.
        stream: String,
    },
    /// Blocks leave rows to the next ones, and these do not belong to the same section.
    #[error(
        "blocks that leave rows to the next one are those of sections with shares of their own, a block a page"
    )]
    Shares,
    /// Pages cannot march in place.
    #[error(
        "pages that march along {march} find what the pages before them loaded: the kernel cannot leave its results there; take outputs of their own (not in place)"
    )]
    MarchInPlace {
        /// The axis.
        march: March,
    },
    /// No input has windows in common along the march.
    #[error(
        "pages cannot march along {march}: no input has a halo along them, so windows have none in common; give a halo, or do not march"
    )]
    MarchHalo {
        /// The axis.
        march: March,
    },
    /// A sweep that ends in one block stores one output.
    #[error("a reduction has one output; found {found}")]
    Reduction {
        /// Number of outputs.
        found: usize,
    },
    /// A reduction's result is larger than the block that the kernel makes.
    #[error(
        "`{stream}` is the result of a reduction and has {shape} elements (planes, rows, columns), more than its block of {block}: a reduction ends in one block, take one of the whole result"
    )]
    ReductionBlock {
        /// The stream.
        stream: String,
        /// Extents of the result.
        shape: String,
        /// Extents of the block.
        block: String,
    },
    /// No page fits.
    #[error(
        "a page of one block per section needs {needed} B of the {dmem} B of DMEM ({reserved} B of them program data) even without buffering; take smaller blocks"
    )]
    DoesNotFit {
        /// Bytes of windows, blocks, tables, scratch and arguments.
        needed: u64,
        /// Bytes of DMEM.
        dmem: u64,
        /// Bytes of program data.
        reserved: u64,
    },
}
