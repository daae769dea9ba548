//! Short rows: four are reduced side by side, sums, tree and all, in an
//! iteration; their results lie side by side too.

use super::super::kernel::{Kernel, Recipe, pointer};
use super::super::ops::Ops;
use super::{DspError, QUAD, ReductionOp};
use crate::pipeline::{Body, Reg};
use cp2_machine::Machine;

/// Rows of an iteration.
pub(super) const ROWS: usize = 4;
/// Quads of a row of a block, all rows together: 4 KiB.
const BLOCK: usize = 64;
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

/// Sums of a row that are kept apart: as latencies ask.
fn apart(op: ReductionOp, quads: usize) -> usize {
    let products = matches!(op, ReductionOp::Dot | ReductionOp::Norm);
    if products && quads > 1 { 2 } else { 1 }
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

/// Arithmetic issues for four rows: the formula's, and the tree's.
pub(super) fn issues(op: ReductionOp, quads: usize) -> u64 {
    let rows = ROWS * quads;
    // Halves of quads; their transposition; the halves of that.
    let (halves, lanes) = (ROWS, ROWS + 1);
    let joined = ROWS * (apart(op, quads) - 1);
    let all = match op {
        ReductionOp::Sum => rows - ROWS + halves + lanes,
        ReductionOp::Dot => rows + joined + halves + lanes,
        ReductionOp::ComplexDot => 2 * rows + halves,
        // Two limits, two pairs of roots, a product.
        ReductionOp::Norm => rows + joined + halves + lanes + 5,
        // Three choices of seven issues, what is chosen from transposed.
        ReductionOp::Max => 3 * (rows - ROWS) + 2 * (4 + 7) + 8 + 7,
    };
    all as u64
}

/// The kernel for rows of `n` floats, and the rows of a block.
pub(super) fn build(
    op: ReductionOp,
    n: usize,
    machine: &Machine,
) -> Result<(Kernel, usize), DspError> {
    let quads = n / QUAD;
    // The smallest and the largest number whose root is a number.
    let limits = [1, f32::MAX.to_bits()];
    let mut ops = match op {
        // Two loads for an operation: it has to wait for its turn.
        ReductionOp::Dot => Ops::of(Body::in_order()),
        ReductionOp::Norm => Ops::new(&limits),
        _ => Ops::new(&[]),
    };
    let step = (4 * ROWS * n) as i64;
    let x = pointer(&mut ops.body, 0, step);
    let to = pointer(&mut ops.body, 1, 16 * op.results() as i64);
    let y = (op.inputs() == 2).then(|| pointer(&mut ops.body, 2, step));
    let places = (op == ReductionOp::Max).then(|| pointer(&mut ops.body, 3, 0));
    let load = |ops: &mut Ops, from, offset: usize| {
        let value = ops.body.quad();
        ops.body.load(Reg::Whole(value), from, offset as i64);
        Reg::Whole(value)
    };
    let mut best: [Option<(Reg, Reg)>; ROWS] = [None; ROWS];
    let mut sums: [Vec<Reg>; ROWS] = Default::default();
    for quad in 0..quads {
        let place = places.map(|from| load(&mut ops, from, 16 * quad));
        for (row, (best, sums)) in best.iter_mut().zip(&mut sums).enumerate() {
            let offset = 4 * n * row + 16 * quad;
            let a = load(&mut ops, x, offset);
            if let Some(place) = place {
                *best = Some(match *best {
                    None => (a, place),
                    Some((value, at)) => {
                        // The first of equals stays.
                        let larger = ops.q("cmplt", &[value, a]);
                        let value = ops.q("sel", &[a, value, larger]);
                        (value, ops.q("sel", &[place, at, larger]))
                    }
                });
                continue;
            }
            let b = y.map_or(a, |from| load(&mut ops, from, offset));
            let own = quad % apart(op, quads);
            let before = sums.get(own).copied();
            let next = match (op, before) {
                (ReductionOp::Sum, None) => a,
                (ReductionOp::Sum, Some(sum)) => ops.q("add", &[sum, a]),
                (ReductionOp::ComplexDot, None) => ops.pairs("cmulc", &[a, b]),
                (ReductionOp::ComplexDot, Some(sum)) => ops.pairs("cmaddc", &[a, b, sum]),
                (_, None) => ops.q("mul", &[a, b]),
                (_, Some(sum)) => ops.q("madd", &[a, b, sum]),
            };
            match sums.get_mut(own) {
                Some(sum) => *sum = next,
                None => sums.push(next),
            }
        }
    }
    if quads >= FEW {
        ops.body.spare = wait(op);
    }
    let results = if op == ReductionOp::Max {
        let best: Vec<(Reg, Reg)> = best.into_iter().flatten().collect();
        let (values, at) = tree(&mut ops, &best);
        vec![values, at]
    } else {
        totals(&mut ops, op, &sums)
    };
    for (i, result) in results.into_iter().enumerate() {
        ops.body.store(result, to, 16 * i as i64);
    }
    let block = ROWS * (BLOCK * if op == ReductionOp::Max { 2 } else { 1 } / quads).max(1);
    let lines = (0..quads).map(|quad| {
        let first = QUAD * quad;
        format!(
            "    .int {first}, {}, {}, {}\n",
            first + 1,
            first + 2,
            first + 3
        )
    });
    let mut inputs = vec![(x, 0, 0)];
    inputs.extend(y.map(|y| (y, 1, 0)));
    let pages = (inputs, vec![(to, 0, 0)]);
    let recipe = Recipe {
        tables: places
            .map(|places| (places, "places"))
            .into_iter()
            .collect(),
        data: match places {
            Some(_) => format!("    .align 16\nplaces:\n{}", lines.collect::<String>()),
            None => String::new(),
        },
        ..Recipe::streaming(op.name(), ops, pages, block / ROWS)
    };
    Ok((recipe.build(machine)?, block))
}

/// The sums of four rows side by side.
fn totals(ops: &mut Ops, op: ReductionOp, sums: &[Vec<Reg>]) -> Vec<Reg> {
    let mut all = Vec::new();
    for row in sums {
        let joined = row.iter().copied().reduce(|a, b| ops.q("add", &[a, b]));
        all.extend(joined);
    }
    let halves: Vec<Reg> = all.chunks_exact(2).map(|s| ops.fold(s[0], s[1])).collect();
    if op == ReductionOp::ComplexDot {
        return halves;
    }
    let (even, odd) = ops.split(halves[0], halves[1]);
    let total = ops.q("add", &[even, odd]);
    if op != ReductionOp::Norm {
        return vec![total];
    }
    let limits = (ops.constant(0), ops.constant(1));
    vec![ops.root(total, limits)]
}

/// The largest elements of four rows and their places, side by side.
fn tree(ops: &mut Ops, best: &[(Reg, Reg)]) -> (Reg, Reg) {
    let mut halves = Vec::new();
    for rows in best.chunks_exact(2) {
        let [lower, upper] = ["trnlo", "trnhi"].map(|half| {
            let values = ops.q(half, &[rows[0].0, rows[1].0]);
            (values, ops.q(half, &[rows[0].1, rows[1].1]))
        });
        halves.push(choose(ops, lower, upper));
    }
    let (even, odd) = ops.split(halves[0].0, halves[1].0);
    let (even_at, odd_at) = ops.split(halves[0].1, halves[1].1);
    choose(ops, (even, even_at), (odd, odd_at))
}

/// Of two candidates the larger; of equals the one whose place is less.
fn choose(ops: &mut Ops, (a, at): (Reg, Reg), (b, other_at): (Reg, Reg)) -> (Reg, Reg) {
    let less = ops.q("cmplt", &[a, b]);
    let equal = ops.q("cmpeq", &[a, b]);
    let earlier = ops.q("icmplt", &[other_at, at]);
    let both = ops.q("and", &[equal, earlier]);
    let other = ops.q("or", &[less, both]);
    let value = ops.q("sel", &[b, a, other]);
    (value, ops.q("sel", &[other_at, at, other]))
}
