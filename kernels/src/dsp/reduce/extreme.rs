//! Largest element of short rows and its first place, four rows an iteration.
//!
//! Up to [`ACROSS`] floats, rows are transposed first, so that a selection compares two places of four rows
//! at a time; of equal values the earlier place is kept: 5 n - 3 issues. Longer rows are scanned by quads,
//! three issues each; then the lanes are transposed, the largest value is found, and the least place at which
//! it occurs.

use super::super::kernel::{VectorRecipe, pointer};
use super::group::{InputGroup, ROWS, RowGroup};
use super::short::ShortRows;
use super::{DspError, QUAD};
use crate::pipeline::{Ops, half};
use cp2_asm::schedule::{DataOperand, DataPointer};
use cp2_machine::Machine;
use cp2_problems::vector::ReductionOp;
use std::fmt::Write as _;

/// Number of floats of the longest row that is transposed first: scanning by quads takes fewer issues for
/// longer ones.
const ACROSS: usize = 14;
/// Larger than any place, and as a float a finite number. Places are compared as floats: they are positive,
/// and so have the order of integers.
const BEYOND: u32 = 0x7f00_0000;

/// Builds the kernel for blocks of so many groups of rows.
pub(super) fn build(
    group: RowGroup,
    iterations: usize,
    spare: usize,
    machine: &Machine,
) -> Result<ShortRows, DspError> {
    if group.n <= ACROSS {
        return build_transposed(group, iterations, machine);
    }
    let last = group.n - 1;
    let extra = (QUAD * group.units) as u32;
    let mut ops = Ops::new(&[BEYOND, extra, extra + 1]);
    let mut x = InputGroup::new(group, 0);
    let to = pointer(&mut ops.body, 1, 32);
    let places = pointer(&mut ops.body, 5, 0);
    let odd_places = group.odd.then(|| pointer(&mut ops.body, 6, 0));
    let quad = |ops: &mut Ops, from, offset| {
        let value = DataOperand::Whole(ops.body.quad());
        ops.body.load(value, from, offset);
        value
    };
    let mut best: [Option<(DataOperand, DataOperand)>; ROWS] = [None; ROWS];
    for unit in 0..group.units {
        let place = quad(&mut ops, places, 16 * unit as i64);
        for (row, best) in best.iter_mut().enumerate() {
            let a = x.unit(&mut ops.body, row, unit);
            *best = Some(match *best {
                None => (a, place),
                // The first of equal values is kept.
                Some(before) => ops.larger(before, (a, place)),
            });
        }
    }
    ops.body.spare = spare;
    let row = |row: usize| best[row].unwrap_or((DataOperand::Quad(0), DataOperand::Quad(0)));
    let values = ops.lanes([0, 1, 2, 3].map(|r| row(r).0));
    let at = ops.lanes([0, 1, 2, 3].map(|r| row(r).1));
    let mut all: Vec<(DataOperand, DataOperand)> = values.into_iter().zip(at).collect();
    if group.extra {
        let [a, b] = [0, 1].map(|half| x.extra(&mut ops.body, half));
        let (even, odd) = ops.split(a, b);
        all.extend([(even, ops.constant(1)), (odd, ops.constant(2))]);
    }
    let odd = odd_places.map(|places| {
        let value = x.odd(&mut ops.body);
        let [later, at] = [0, 16].map(|offset| quad(&mut ops, places, offset));
        (value, later, at)
    });
    let candidates: Vec<DataOperand> = all.iter().map(|c| c.0).chain(odd.map(|o| o.0)).collect();
    let largest = ops.tournament("max", &candidates);
    let beyond = ops.constant(0);
    let stands = |ops: &mut Ops, (value, at): (DataOperand, DataOperand)| {
        let here = ops.q("cmpeq", &[value, largest]);
        ops.q("sel", &[at, beyond, here])
    };
    let found: Vec<DataOperand> = all.iter().map(|&c| stands(&mut ops, c)).collect();
    let mut place = ops.tournament("min", &found);
    if let Some((value, later, at)) = odd {
        // Rows 1 and 3 begin with their odd float, so the places of their other elements are one higher.
        place = ops.q("iadd", &[place, later]);
        let at = stands(&mut ops, (value, at));
        place = ops.q("min", &[place, at]);
    }
    for (i, result) in [largest, place].into_iter().enumerate() {
        ops.body.store(result, to, 16 * i as i64);
    }
    let mut data = String::from("    .align 16\nplaces:\n");
    let mut line = |[a, b, c, d]: [usize; 4]| {
        let _ = writeln!(data, "    .int {a}, {b}, {c}, {d}");
    };
    (0..group.units).for_each(|unit| line([0, 1, 2, 3].map(|lane| QUAD * unit + lane)));
    line([0, 1, 0, 1]);
    line([last, 0, last, 0]);
    let odd_label = format!("places + {}", 16 * group.units);
    let mut tables: Vec<(DataPointer, &str)> = vec![(places, "places")];
    tables.extend(odd_places.map(|p| (p, odd_label.as_str())));
    let pages = (x.pages().collect(), vec![(to, 0, 0)]);
    let recipe = VectorRecipe {
        tables,
        data,
        ..VectorRecipe::streaming(ReductionOp::Max.name(), ops, pages, iterations)
    };
    Ok(ShortRows {
        kernel: recipe.build(machine)?,
        rows: ROWS * iterations,
        lanes: [0, 1, 2, 3],
    })
}

/// Builds the kernel that transposes rows first.
///
/// A quad has one place of four rows, in the order 0, 2, 1, 3: rows an even number apart have their floats in
/// the same halves of pairs.
fn build_transposed(
    group: RowGroup,
    iterations: usize,
    machine: &Machine,
) -> Result<ShortRows, DspError> {
    let n = group.n;
    let firsts: Vec<u32> = (0..n as u32).step_by(2).collect();
    let mut ops = Ops::new(&firsts);
    let to = pointer(&mut ops.body, 1, 32);
    let mut x = InputGroup::new(group, 0);
    let quads: Vec<DataOperand> = (0..n).map(|quad| x.quad(&mut ops.body, quad)).collect();
    let column = |ops: &mut Ops, place: usize| {
        let value = ops.body.quad();
        for (to, row) in [(DataOperand::Lo(value), 0), (DataOperand::Hi(value), 1)] {
            let at = [row, row + 2].map(|row| row * n + place);
            let from = at.map(|at| half(quads[at / QUAD], at / 2 % 2));
            let name = if at[0] % 2 == 0 { "trnlo" } else { "trnhi" };
            ops.body.op(name, &[to], &from);
        }
        DataOperand::Whole(value)
    };
    let mut all: Vec<(DataOperand, DataOperand)> = (0..n)
        .step_by(2)
        .enumerate()
        .map(|(i, place)| {
            let (a, at) = (column(&mut ops, place), ops.constant(i));
            if place + 1 == n {
                return (a, at);
            }
            let b = column(&mut ops, place + 1);
            let larger = ops.q("cmplt", &[a, b]);
            // The mask of `cmplt` is -1, so `at - mask` is the next place.
            (ops.q("sel", &[b, a, larger]), ops.q("isub", &[at, larger]))
        })
        .collect();
    // Adjacent candidates are compared, so that of equal values the first is kept.
    while all.len() > 1 {
        let pairs = all.chunks(2);
        all = pairs
            .map(|pair| match *pair {
                [a, b] => ops.larger(a, b),
                _ => pair[0],
            })
            .collect();
    }
    for &(value, place) in &all {
        ops.body.store(value, to, 0);
        ops.body.store(place, to, 16);
    }
    let pages = (x.pages().collect(), vec![(to, 0, 0)]);
    let recipe = VectorRecipe::streaming(ReductionOp::Max.name(), ops, pages, iterations);
    Ok(ShortRows {
        kernel: recipe.build(machine)?,
        rows: ROWS * iterations,
        lanes: [0, 2, 1, 3],
    })
}
