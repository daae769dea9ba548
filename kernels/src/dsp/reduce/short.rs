//! Kernels of short rows: an iteration reduces four rows with their trees.
//!
//! The results of the four rows are adjacent. Rows are contiguous, wherever in a quad that leaves their ends,
//! see `rows.s`; the loops are in `reductions.s` and `largest.s`.

use super::super::kernel::VectorPageKernel;
use super::{DspError, QUAD_BYTES, ROWS, macros};
use cp2_machine::Machine;
use cp2_problems::vector::ReductionOp;

/// Number of floats of a block of each of the four rows of a group: 4 KiB in all.
const BLOCK: usize = 256;
/// Number of floats of the longest row that is transposed before its largest element is found: scanning by
/// quads takes fewer issues for longer ones.
const ACROSS: usize = 14;

/// Returns the number of floats of the longest row.
///
/// A longer row takes as long to move as a pass of its own; the largest element has the longest tree.
pub(super) const fn longest_row(op: ReductionOp) -> usize {
    match op {
        ReductionOp::Max => 512,
        _ => 256,
    }
}

/// Returns the number of groups of rows of a block, with about `block` floats of a row each, but at most
/// `most` groups; results are whole granules.
fn iterations(block: usize, n: usize, most: usize, machine: &Machine) -> usize {
    let granule = machine.dma.granule.0.div_ceil(QUAD_BYTES);
    (block / n)
        .min(most)
        .max(1)
        .next_multiple_of(usize::try_from(granule).unwrap_or(1))
}

/// The kernel of short rows and the layout of its blocks.
pub(super) struct ShortRows {
    pub(super) kernel: VectorPageKernel,
    /// Number of rows of a block.
    pub(super) rows: usize,
    /// For each of the four rows of a group, the lane of its result.
    pub(super) lanes: [usize; ROWS],
}

/// Assembles the kernel for rows of `n` floats, with blocks of at most `most` groups.
pub(super) fn build(
    op: ReductionOp,
    n: usize,
    most: usize,
    machine: &Machine,
) -> Result<ShortRows, DspError> {
    let block = match op {
        ReductionOp::Max => 2 * BLOCK,
        _ => BLOCK,
    };
    let iterations = iterations(block, n, most, machine);
    let (call, lanes) = match op {
        // Rows an even number apart are transposed together.
        ReductionOp::Max if n <= ACROSS => ("shortest_rows", [0, 2, 1, 3]),
        _ => ("short_rows", [0, 1, 2, 3]),
    };
    let text = format!(
        ".equ N, {n}\n.equ ITERATIONS, {iterations}\n{}{call}\n",
        macros(op)
    );
    Ok(ShortRows {
        kernel: VectorPageKernel::from_blocks(op.name(), text, (&[iterations], 0), machine)?,
        rows: ROWS * iterations,
        lanes,
    })
}
