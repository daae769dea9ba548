//! Kernels of long rows: a loop over a row, with several accumulators.

use super::super::kernel::{VectorPageKernel, VectorRecipe, pointer};
use super::{DspError, QUAD};
use crate::pipeline::Ops;
use cp2_asm::schedule::{DataOperand, DataPointer};
use cp2_machine::Machine;
use cp2_problems::vector::ReductionOp;

/// Most accumulators, each a quad: with so many none is needed again before its latency has passed.
const SUMS: usize = 8;
/// Fewest accumulators, for rows that need less padding then.
const FEWEST: usize = 5;
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

/// Builds the kernel that joins the sums of so many parts of each row.
pub(super) fn build_join(parts: usize, machine: &Machine) -> Result<VectorPageKernel, DspError> {
    let mut ops = Ops::new(&[]);
    let from = pointer(&mut ops.body, 0, 16 * parts as i64);
    let to = pointer(&mut ops.body, 1, 16);
    let sums: Vec<DataOperand> = (0..parts)
        .map(|part| {
            let sum = ops.body.quad();
            ops.body
                .load(DataOperand::Whole(sum), from, 16 * part as i64);
            DataOperand::Whole(sum)
        })
        .collect();
    let total = sums.into_iter().reduce(|a, b| ops.q("add", &[a, b]));
    if let Some(total) = total {
        ops.body.store(total, to, 0);
    }
    let pages = (vec![(from, 0, 0)], vec![(to, 0, 0)]);
    VectorRecipe::streaming("join", ops, pages, JOINED).build(machine)
}

/// Returns the number of floats of a padded row of `n`.
pub(super) fn wide(op: ReductionOp, n: usize) -> usize {
    n.next_multiple_of(QUAD * quads(op, n))
}

/// Builds the kernel for rows of `n` floats.
pub(super) fn build(
    op: ReductionOp,
    n: usize,
    machine: &Machine,
) -> Result<VectorPageKernel, DspError> {
    if op == ReductionOp::Max {
        return build_max(n, machine);
    }
    // Zero; the smallest and the largest positive finite number.
    let mut ops = Ops::new(&[0, 1, f32::MAX.to_bits()]);
    let count = quads(op, n);
    let sums: Vec<u8> = (0..count).map(|_| ops.carry()).collect();
    let step = (16 * count) as i64;
    let x = pointer(&mut ops.body, 0, step);
    let y = (op.inputs() == 2).then(|| pointer(&mut ops.body, 2, step));
    let (first, second): (Vec<_>, Vec<_>) = (0..count)
        .map(|i| {
            let mut load = |from| {
                let value = ops.body.quad();
                ops.body
                    .load(DataOperand::Whole(value), from, 16 * i as i64);
                value
            };
            let first = load(x);
            (first, y.map_or(first, load))
        })
        .unzip();
    for (i, &sum) in sums.iter().enumerate() {
        let (a, b) = (first[i], second[i]);
        let (name, uses): (_, Vec<DataOperand>) = match op {
            ReductionOp::Sum => ("add", vec![DataOperand::Quad(sum), DataOperand::Whole(a)]),
            ReductionOp::ComplexDot => {
                let halves = [
                    (DataOperand::Lo(a), DataOperand::Lo(b)),
                    (DataOperand::Hi(a), DataOperand::Hi(b)),
                ];
                for ((a, b), pair) in halves.into_iter().zip([2 * sum, 2 * sum + 1]) {
                    let pair = DataOperand::Pair(pair);
                    ops.body.op("cmaddc", &[pair], &[a, b, pair]);
                }
                continue;
            }
            _ => (
                "madd",
                vec![
                    DataOperand::Whole(a),
                    DataOperand::Whole(b),
                    DataOperand::Quad(sum),
                ],
            ),
        };
        ops.body.op(name, &[DataOperand::Quad(sum)], &uses);
    }
    let zero = sums
        .iter()
        .map(|s| format!("    mov q{s}, q31\n"))
        .collect();
    let mut after = String::new();
    // The accumulators are added in pairs, then the halves of the quad, then its lanes.
    let mut width = count;
    while width > 1 {
        let half = width.div_ceil(2);
        for i in 0..width / 2 {
            after += &format!("    add q{0}, q{0}, q{1}\n", sums[i], sums[i + half]);
        }
        width = half;
    }
    let total = sums[0];
    after += &format!("    trnhi q0, q{total}, q{total}\n    add q0, q0, q{total}\n");
    if op != ReductionOp::ComplexDot {
        after += "    swap q1, q0\n    add q0, q0, q1\n";
    }
    if op == ReductionOp::Norm {
        after += "    max r2, r0, r60\n    min r2, r2, r58\n    rsqrt r2, r2\n    mul r0, r0, r2\n";
    }
    after += "    stq q0, [a1]+16\n";
    recipe(op, ops, x, y, n, zero, after).build(machine)
}

/// Builds the kernel of the largest element with four candidates, each with a comparison and two selections.
fn build_max(n: usize, machine: &Machine) -> Result<VectorPageKernel, DspError> {
    let mut ops = Ops::new(&[0, f32::NEG_INFINITY.to_bits()]);
    let best: Vec<(u8, u8)> = (0..MAXIMA).map(|_| (ops.carry(), ops.carry())).collect();
    let step = (16 * MAXIMA) as i64;
    let x = pointer(&mut ops.body, 0, step);
    let places = pointer(&mut ops.body, 2, 16);
    let place = ops.body.quad();
    ops.body.load(DataOperand::Whole(place), places, 0);
    for (i, &(value, at)) in best.iter().enumerate() {
        let found = ops.body.quad();
        ops.body.load(DataOperand::Whole(found), x, 16 * i as i64);
        let (value, at, found) = (
            DataOperand::Quad(value),
            DataOperand::Quad(at),
            DataOperand::Whole(found),
        );
        // The first of equal values is kept.
        let larger = ops.q("cmplt", &[value, found]);
        ops.body.op("sel", &[value], &[found, value, larger]);
        ops.body
            .op("sel", &[at], &[DataOperand::Whole(place), at, larger]);
    }
    let start = best
        .iter()
        .map(|(value, at)| format!("    mov q{value}, q30\n    mov q{at}, q31\n"))
        .collect();
    // `place = 16 iteration + 4 candidate + lane`.
    let mut after = String::from("    movi a2, lanes\n    ldq q8, [a2]\n    ldq q9, [a2 + 16]\n");
    for (i, (_, at)) in best.iter().enumerate() {
        after += &format!("    iadd q{at}, q{at}, q8\n");
        if i + 1 < MAXIMA {
            after += "    iadd q8, q8, q9\n";
        }
    }
    // Words that select the larger of two candidates, and of equal ones the one with the lower place.
    let choose = |a: (u8, u8), b: (u8, u8)| {
        let ((v, p), (w, q)) = (a, b);
        format!(
            "    cmplt q0, q{v}, q{w}\n    cmpeq q1, q{v}, q{w}\n    icmplt q2, q{q}, q{p}\n    \
             and q1, q1, q2\n    or q0, q0, q1\n    sel q{v}, q{w}, q{v}, q0\n    sel q{p}, q{q}, q{p}, q0\n"
        )
    };
    after += &choose(best[0], best[1]);
    after += &choose(best[2], best[3]);
    after += &choose(best[0], best[2]);
    let ((v, p), (w, q)) = (best[0], best[1]);
    after += &format!("    trnhi q{w}, q{v}, q{v}\n    trnhi q{q}, q{p}, q{p}\n");
    after += &choose(best[0], best[1]);
    after += &format!("    swap q{w}, q{v}\n    swap q{q}, q{p}\n");
    after += &choose(best[0], best[1]);
    after += &format!("    trnlo q0, q{v}, q{p}\n    stq q0, [a1]+16\n");
    let iterations = n / (QUAD * MAXIMA);
    let mut data =
        String::from("    .align 16\nlanes:\n    .int 0, 1, 2, 3\n    .int 4, 4, 4, 4\nplaces:\n");
    data += &format!("    .rept {iterations}, i\n    .int 16*i, 16*i, 16*i, 16*i\n    .endr\n");
    let mut recipe = recipe(ReductionOp::Max, ops, x, None, n, start, after);
    recipe.tables.push((places, "places"));
    recipe.data = data;
    recipe.build(machine)
}

/// Describes the kernel of rows of `n` floats with words before and after the loop.
fn recipe<'a>(
    op: ReductionOp,
    ops: Ops,
    x: DataPointer,
    y: Option<DataPointer>,
    n: usize,
    before: String,
    after: String,
) -> VectorRecipe<'a> {
    let mut inputs = vec![(x, 0, 0)];
    inputs.extend(y.map(|y| (y, 1, 0)));
    let iterations = n / (QUAD * quads(op, n));
    VectorRecipe {
        results: Some(1),
        before,
        after,
        ..VectorRecipe::streaming(op.name(), ops, (inputs, Vec::new()), iterations)
    }
}
