//! Kernels of long rows: a loop over a row, with several accumulators.

use super::super::kernel::VectorPageKernel;
use super::{DspError, QUAD, macros};
use cp2_machine::Machine;
use cp2_problems::vector::ReductionOp;

/// Most accumulators, each a quad: with so many none is needed again before its latency has passed.
const SUMS: usize = 8;
/// Fewest accumulators, for rows that need less padding then.
const FEWEST: usize = 5;
/// Words that add a row's accumulators to its result, besides one for each accumulator.
const TREE: usize = 4;
/// Number of candidates for the largest element, which need two quads each.
const MAXIMA: usize = 4;

/// Returns the number of quads of an iteration for rows of `n` floats: the one with the least padding.
fn quads(op: ReductionOp, n: usize) -> usize {
    let least = |quads: &usize| n.next_multiple_of(QUAD * quads);
    let sums = (FEWEST..=SUMS).rev().min_by_key(least);
    if op == ReductionOp::Max {
        MAXIMA
    } else {
        sums.unwrap_or(SUMS)
    }
}

/// Number of rows of a block of the pass that joins the sums of parts.
pub(super) const JOINED: usize = 16;

/// Assembles the kernel that joins the sums of so many parts of each row.
pub(super) fn build_join(parts: usize, machine: &Machine) -> Result<VectorPageKernel, DspError> {
    // The sums of parts are numbers of one array, whatever they are sums of.
    let text = format!(
        ".equ N, {}\n.equ PARTS, {parts}\n.equ ITERATIONS, {JOINED}\n{}join_parts\n",
        QUAD * parts,
        macros(ReductionOp::Sum)
    );
    VectorPageKernel::from_blocks("join", text, (&[JOINED], 0), machine)
}

/// Returns the number of floats of a padded row of `n`.
pub(super) fn wide(op: ReductionOp, n: usize) -> usize {
    n.next_multiple_of(QUAD * quads(op, n))
}

/// Assembles the kernel for rows of `n` floats.
pub(super) fn build(
    op: ReductionOp,
    n: usize,
    machine: &Machine,
) -> Result<VectorPageKernel, DspError> {
    let sums = quads(op, n);
    let iterations = n / (QUAD * sums);
    let text = format!(
        ".equ N, {n}\n.equ SUMS, {sums}\n.equ ITERATIONS, {iterations}\n{}long_rows\n",
        macros(op)
    );
    let blocks: (&[usize], usize) = match op {
        // A second linear block compares the candidates.
        ReductionOp::Max => (&[iterations, 1], 0),
        _ => (&[iterations], sums + TREE),
    };
    VectorPageKernel::from_blocks(op.name(), text, blocks, machine)
}
