//! Kernels of short rows: an iteration reduces four rows with their trees.
//!
//! The results of the four rows are adjacent. Rows are contiguous, wherever in a quad that leaves their ends,
//! see [`super::group`].

use super::super::kernel::{VectorPageKernel, VectorRecipe, pointer};
use super::extreme;
use super::group::{InputGroup, ROWS, RowGroup};
use super::{DspError, QUAD, QUAD_BYTES, width};
use crate::pipeline::Ops;
use cp2_asm::schedule::{DataOperand, Dataflow};
use cp2_machine::Machine;
use cp2_problems::vector::ReductionOp;

/// Number of floats of a block of each of the four rows of a group: 4 KiB in all.
const BLOCK: usize = 256;
/// Least number of quads of a row with which an iteration may wait for its tree: blocks have many shorter
/// rows, of which the last alone ends late.
const FEW: usize = 12;

/// Returns the number of floats of the longest row.
///
/// A longer row takes as long to move as a pass of its own; the largest element has the longest tree.
pub(super) const fn longest_row(op: ReductionOp) -> usize {
    match op {
        ReductionOp::Max => 512,
        _ => 256,
    }
}

/// Returns the cycles that an iteration waits in its tree, about the latencies of the chain.
///
/// Without the wait its last operations would be issued among those of the next iteration.
fn wait(op: ReductionOp) -> usize {
    match op {
        ReductionOp::Max => 16,
        ReductionOp::Norm => 48,
        // Arithmetic takes a quarter of the time of the transfers.
        ReductionOp::Sum | ReductionOp::Dot | ReductionOp::ComplexDot => 0,
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

/// Builds the kernel for rows of `n` floats, with blocks of at most `most` groups.
pub(super) fn build(
    op: ReductionOp,
    n: usize,
    most: usize,
    machine: &Machine,
) -> Result<ShortRows, DspError> {
    let group = RowGroup::new(n);
    if op == ReductionOp::Max {
        let spare = if group.units >= FEW { wait(op) } else { 0 };
        return extreme::build(
            group,
            iterations(2 * BLOCK, n, most, machine),
            spare,
            machine,
        );
    }
    // If there are more loads than operations, operations have to wait for them in order.
    let loads = op == ReductionOp::Dot && group.units > 0;
    let body = if loads || !n.is_multiple_of(QUAD) && group.units >= FEW {
        Dataflow::in_order()
    } else {
        Dataflow::default()
    };
    // The smallest and the largest positive finite number.
    let limits: &[u32] = match op {
        ReductionOp::Norm => &[1, f32::MAX.to_bits()],
        _ => &[],
    };
    let mut ops = Ops::from_body(body, limits);
    let to = pointer(&mut ops.body, 1, 16 * width(op) as i64);
    let mut inputs: Vec<InputGroup> = (0..op.inputs())
        .map(|i| InputGroup::new(group, i))
        .collect();
    let mut sums: [Vec<DataOperand>; ROWS] = Default::default();
    // Products need two sums a row to hide their latency.
    let products = matches!(op, ReductionOp::Dot | ReductionOp::Norm);
    let apart = if products && group.units > 1 { 2 } else { 1 };
    for unit in 0..group.units {
        for (row, sums) in sums.iter_mut().enumerate() {
            let load = |input: &mut InputGroup| input.unit(&mut ops.body, row, unit);
            let terms: Vec<DataOperand> = inputs.iter_mut().map(load).collect();
            let own = unit % apart;
            let next = accumulate(&mut ops, op, sums.get(own).copied(), &terms);
            match sums.get_mut(own) {
                Some(sum) => *sum = next,
                None => sums.push(next),
            }
        }
    }
    if group.units >= FEW {
        ops.body.spare = wait(op);
    }
    let all: Vec<DataOperand> = sums
        .iter()
        .filter_map(|row| row.iter().copied().reduce(|a, b| ops.q("add", &[a, b])))
        .collect();
    let mut halves: Vec<DataOperand> = all.chunks_exact(2).map(|s| ops.fold(s[0], s[1])).collect();
    if group.extra {
        let extra = [0, 1].map(|half| {
            let load = |input: &mut InputGroup| input.extra(&mut ops.body, half);
            let terms: Vec<DataOperand> = inputs.iter_mut().map(load).collect();
            accumulate(&mut ops, op, halves.get(half).copied(), &terms)
        });
        halves = extra.to_vec();
    }
    let results = if op == ReductionOp::ComplexDot {
        halves
    } else {
        let mut total = halves.first_chunk().map(|&[a, b]| {
            let (even, odd) = ops.split(a, b);
            ops.q("add", &[even, odd])
        });
        if group.odd {
            let load = |input: &mut InputGroup| input.odd(&mut ops.body);
            let terms: Vec<DataOperand> = inputs.iter_mut().map(load).collect();
            total = Some(accumulate(&mut ops, op, total, &terms));
        }
        if op == ReductionOp::Norm {
            let limits = (ops.constant(0), ops.constant(1));
            total = total.map(|total| ops.root(total, limits));
        }
        total.into_iter().collect()
    };
    for (i, result) in results.into_iter().enumerate() {
        ops.body.store(result, to, 16 * i as i64);
    }
    let iterations = iterations(BLOCK, n, most, machine);
    let pages = (
        inputs.iter().flat_map(InputGroup::pages).collect(),
        vec![(to, 0, 0)],
    );
    let recipe = VectorRecipe::streaming(op.name(), ops, pages, iterations);
    Ok(ShortRows {
        kernel: recipe.build(machine)?,
        rows: ROWS * iterations,
        lanes: [0, 1, 2, 3],
    })
}

/// Adds the terms of a quad of each input to a sum.
fn accumulate(
    ops: &mut Ops,
    op: ReductionOp,
    sum: Option<DataOperand>,
    terms: &[DataOperand],
) -> DataOperand {
    // With one input, terms are multiplied by themselves.
    let (a, b) = (terms[0], terms[terms.len() - 1]);
    match (op, sum) {
        (ReductionOp::Sum, None) => a,
        (ReductionOp::Sum, Some(sum)) => ops.q("add", &[sum, a]),
        (ReductionOp::ComplexDot, None) => ops.pairs("cmulc", &[a, b]),
        (ReductionOp::ComplexDot, Some(sum)) => ops.pairs("cmaddc", &[a, b, sum]),
        (_, None) => ops.q("mul", &[a, b]),
        (_, Some(sum)) => ops.q("madd", &[a, b, sum]),
    }
}
