//! Builds the page kernels of elementwise operations.

use super::op::{Formula as _, Scheme};
use crate::dsp::error::DspError;
use crate::dsp::kernel::{VectorPageKernel, VectorRecipe, pointer};
use crate::dsp::plan::{QUAD, padded};
use crate::pipeline::Ops;
use cp2_asm::schedule::{DataOperand, DataPointer, DataValue};
use cp2_machine::Machine;
use cp2_problems::vector::MapOp;
use std::fmt::Write as _;

/// Number of table entries that one pointer loads.
const GROUP: usize = 4;
/// Labels of the groups of table entries.
const TABLES: [&str; 4] = ["table0", "table1", "table2", "table3"];

/// Returns the number of output quads of an iteration: enough to hide what is not pipelined.
fn quads(op: &MapOp, block: usize) -> usize {
    let whole = block / op.ratio() / QUAD;
    match op {
        MapOp::Power | MapOp::Magnitude | MapOp::Phase | MapOp::Decibels => 1,
        _ => [4, 2]
            .into_iter()
            .find(|q| whole.is_multiple_of(*q))
            .unwrap_or(1),
    }
}

/// Builds the page kernel of an operation for blocks of `block` floats, by the scheme with the shortest
/// schedule.
pub(super) fn build(
    op: &MapOp,
    block: usize,
    machine: &Machine,
) -> Result<VectorPageKernel, DspError> {
    let made = op
        .schemes()
        .iter()
        .map(|&scheme| build_scheme(scheme, op, block, machine));
    // A refused scheme counts as longer than any schedule.
    let length =
        |kernel: &Result<VectorPageKernel, _>| kernel.as_ref().map_or(u64::MAX, |k| k.cycles);
    let best = made.min_by_key(length);
    best.unwrap_or_else(|| build_scheme(Scheme::Horner, op, block, machine))
}

/// Builds the page kernel of an operation by one scheme.
fn build_scheme(
    scheme: Scheme,
    op: &MapOp,
    block: usize,
    machine: &Machine,
) -> Result<VectorPageKernel, DspError> {
    let mut ops = Ops::new(&op.constants());
    let (quads, ratio) = (quads(op, block), op.ratio());
    let step = (16 * quads) as i64;
    let x = pointer(&mut ops.body, 0, step * ratio as i64);
    let out = pointer(&mut ops.body, 1, step);
    let windowed = matches!(op, MapOp::Window(_));
    let two = windowed || op.inputs() == 2;
    let y = two.then(|| pointer(&mut ops.body, 2, step));
    // All accesses through a pointer must lie within an interval, so each pointer has only a few.
    let groups = op.table().len().div_ceil(GROUP);
    let coefficients: Vec<DataPointer> = (0..groups)
        .map(|i| pointer(&mut ops.body, 3 + i, 0))
        .collect();
    let mut results = Vec::new();
    for q in 0..quads {
        let load = |ops: &mut Ops, from, index: usize| {
            let value = ops.body.quad();
            ops.body
                .load(DataOperand::Whole(value), from, 16 * index as i64);
            value
        };
        let values: Vec<DataValue> = (0..ratio)
            .map(|i| load(&mut ops, x, q * ratio + i))
            .collect();
        let second = y.map(|y| load(&mut ops, y, q));
        let table: Vec<DataValue> = (0..op.table().len())
            .map(|i| load(&mut ops, coefficients[i / GROUP], i % GROUP))
            .collect();
        results.push(op.formula(&mut ops, &values, second, &table, scheme));
    }
    for (q, result) in results.into_iter().enumerate() {
        ops.body.store(result, out, 16 * q as i64);
    }
    let mut data = String::new();
    if let MapOp::Window(w) = op {
        data += "    .align 16\nwindow:\n";
        for x in padded(w, block) {
            let _ = writeln!(data, "    .int {}", x.to_bits() as i32);
        }
    }
    let mut inputs = vec![(x, 0, 0)];
    let mut tables = Vec::new();
    for (i, (&from, group)) in coefficients
        .iter()
        .zip(op.table().chunks(GROUP))
        .enumerate()
    {
        let label = TABLES[i % TABLES.len()];
        let _ = writeln!(data, "    .align 16\n{label}:");
        for &bits in group {
            let bits = bits as i32;
            let _ = writeln!(data, "    .int {bits}, {bits}, {bits}, {bits}");
        }
        tables.push((from, label));
    }
    match y {
        Some(y) if windowed => tables.push((y, "window")),
        Some(y) => inputs.push((y, 1, 0)),
        None => {}
    }
    let pages = (inputs, vec![(out, 0, 0)]);
    VectorRecipe {
        tables,
        data,
        ..VectorRecipe::streaming(op.name(), ops, pages, block / ratio / QUAD / quads)
    }
    .build(machine)
}
