//! Short rows: four are reduced side by side, sums, tree and all, in an
//! iteration; their results lie side by side too. Rows follow one another without gaps,
//! wherever that leaves their ends: see `group`.

use super::super::kernel::{VectorPageKernel, VectorRecipe, pointer};
use super::extreme;
use super::group::{InputGroup, ROWS, RowGroup};
use super::{DspError, QUAD, QUAD_BYTES, width};
use crate::pipeline::Ops;
use crate::pipeline::{Body, Reg};
use cp2_machine::Machine;
use cp2_problems::vector::ReductionOp;

/// Floats of a row of a block, all rows together: 4 KiB.
const BLOCK: usize = 256;
/// Quads of a row from which on an iteration may wait for its tree: of shorter rows a
/// block has many, of which the last alone ends late.
const FEW: usize = 12;

/// Floats of the longest row. A longer one takes as long to move as a pass of its own;
/// the largest element has the longest tree.
pub(super) const fn most(op: ReductionOp) -> usize {
    match op {
        ReductionOp::Max => 512,
        _ => 256,
    }
}

/// Cycles that an iteration waits in its tree: else what comes last would end among the
/// operations of the next. About the latencies of the chain.
fn wait(op: ReductionOp) -> usize {
    match op {
        ReductionOp::Max => 16,
        ReductionOp::Norm => 48,
        // They take a quarter of the time of their transfers.
        ReductionOp::Sum | ReductionOp::Dot | ReductionOp::ComplexDot => 0,
    }
}

/// Groups of rows of `n` floats in a block of about so many floats of a row each, but no more than
/// `most`, whose results are whole granules.
fn iterations(block: usize, n: usize, most: usize, machine: &Machine) -> usize {
    let granule = machine.dma.granule.0.div_ceil(QUAD_BYTES);
    (block / n)
        .min(most)
        .max(1)
        .next_multiple_of(usize::try_from(granule).unwrap_or(1))
}

/// The kernel of short rows.
pub(super) struct ShortRows {
    pub(super) kernel: VectorPageKernel,
    /// Rows of a block.
    pub(super) rows: usize,
    /// The lane of the result in which each of four rows is.
    pub(super) lanes: [usize; ROWS],
}

/// The kernel for rows of `n` floats, blocks of `most` groups at most.
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
    // Where loads are more than operations, these have to wait for their turn.
    let loads = op == ReductionOp::Dot && group.units > 0;
    let body = if loads || !n.is_multiple_of(QUAD) && group.units >= FEW {
        Body::in_order()
    } else {
        Body::default()
    };
    // The smallest and the largest number whose root is a number.
    let limits: &[u32] = match op {
        ReductionOp::Norm => &[1, f32::MAX.to_bits()],
        _ => &[],
    };
    let mut ops = Ops::of(body, limits);
    let to = pointer(&mut ops.body, 1, 16 * width(op) as i64);
    let mut inputs: Vec<InputGroup> = (0..op.inputs())
        .map(|i| InputGroup::new(group, i))
        .collect();
    let mut sums: [Vec<Reg>; ROWS] = Default::default();
    // As latencies ask.
    let products = matches!(op, ReductionOp::Dot | ReductionOp::Norm);
    let apart = if products && group.units > 1 { 2 } else { 1 };
    for unit in 0..group.units {
        for (row, sums) in sums.iter_mut().enumerate() {
            let load = |input: &mut InputGroup| input.unit(&mut ops.body, row, unit);
            let terms: Vec<Reg> = inputs.iter_mut().map(load).collect();
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
    let all: Vec<Reg> = sums
        .iter()
        .filter_map(|row| row.iter().copied().reduce(|a, b| ops.q("add", &[a, b])))
        .collect();
    let mut halves: Vec<Reg> = all.chunks_exact(2).map(|s| ops.fold(s[0], s[1])).collect();
    if group.extra {
        let extra = [0, 1].map(|half| {
            let load = |input: &mut InputGroup| input.extra(&mut ops.body, half);
            let terms: Vec<Reg> = inputs.iter_mut().map(load).collect();
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
            let terms: Vec<Reg> = inputs.iter_mut().map(load).collect();
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

/// A sum with the terms of a quad of each input added.
fn accumulate(ops: &mut Ops, op: ReductionOp, sum: Option<Reg>, terms: &[Reg]) -> Reg {
    // Of one input, each with itself.
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
