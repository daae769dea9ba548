//! Assembles the page kernels of elementwise operations, see `map.s`.

use super::op::{Formula as _, Scheme};
use crate::dsp::error::DspError;
use crate::dsp::kernel::VectorPageKernel;
use crate::dsp::plan::{QUAD, padded};
use cp2_machine::Machine;
use cp2_problems::vector::MapOp;
use std::fmt::Write as _;

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

/// Assembles the page kernel of an operation for blocks of `block` floats, by the scheme with the fewest cycles.
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

/// Assembles the page kernel of an operation by one scheme.
fn build_scheme(
    scheme: Scheme,
    op: &MapOp,
    block: usize,
    machine: &Machine,
) -> Result<VectorPageKernel, DspError> {
    let quads = quads(op, block);
    let iterations = block / op.ratio() / QUAD / quads;
    let mut text = format!(
        ".equ QUADS, {quads}\n.equ ITERATIONS, {iterations}\n.equ ESTRIN, {}\n",
        i32::from(scheme == Scheme::Estrin)
    );
    match op {
        MapOp::Scale(a) | MapOp::Axpy(a) => {
            let _ = writeln!(text, ".equ FACTOR_BITS, {}", a.to_bits());
        }
        MapOp::Window(w) => {
            text += ".dmem 0\nwindow:\n";
            for x in padded(w, block) {
                let _ = writeln!(text, "    .int {}", x.to_bits());
            }
        }
        _ => {}
    }
    text += ".include \"map.s\"\n";
    text += op.program();
    VectorPageKernel::from_blocks(op.name(), text, (&[iterations], 0), machine)
}
