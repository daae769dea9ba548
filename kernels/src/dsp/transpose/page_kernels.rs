//! Page kernels of transpositions, and the cycles of a block.

use super::super::error::DspError;
use super::super::kernel::VectorPageKernel;
use super::{COMPLEX, TransposeBlock};
use cp2_machine::Machine;
use std::fmt::Write as _;

/// Cycles of two columns of a block besides those of their numbers: a pipeline that fills and drains, four
/// pointers.
const COLUMN_PAIR: usize = 20;
/// Cycles of a matrix besides those of its numbers: a loop and a pointer.
const MATRIX: usize = 6;
/// Number of pair registers.
const PAIRS: usize = 64;
/// Least number of loads of a turn, so that no store waits for its load.
const LOADS: usize = 6;

/// Returns the cycles of a block.
pub(super) fn cycles(block: &TransposeBlock) -> u64 {
    count_quad_cycles(block).map_or(count_pair_cycles(block), |cycles| {
        cycles.min(count_pair_cycles(block))
    }) as u64
}

/// Returns the cycles with two rows of two columns in an iteration, if the sides are even.
fn count_quad_cycles(block: &TransposeBlock) -> Option<usize> {
    let even = block.band.is_multiple_of(2) && block.strip.is_multiple_of(2) && block.each == 1;
    even.then(|| block.strip / 2 * (block.band + COLUMN_PAIR))
}

/// Returns the cycles with a load and a store for each number.
fn count_pair_cycles(block: &TransposeBlock) -> usize {
    block.each * (2 * block.band * block.strip + MATRIX)
}

/// Builds the faster of the two kernels of a block.
pub(super) fn kernel(
    block: &TransposeBlock,
    machine: &Machine,
) -> Result<VectorPageKernel, DspError> {
    match count_quad_cycles(block) {
        Some(cycles) if cycles < count_pair_cycles(block) => {
            quads(block.band, block.strip, machine)
        }
        _ => pairs(block, machine),
    }
}

/// Builds the kernel that moves number by number, down the columns: for small or odd blocks.
fn pairs(block: &TransposeBlock, machine: &Machine) -> Result<VectorPageKernel, DspError> {
    let TransposeBlock { band, strip, each } = *block;
    let row = strip as u64 * COMPLEX;
    let (down, back) = (
        row as i64,
        COMPLEX as i64 - (band as u64 - 1) as i64 * row as i64,
    );
    let behind = (band as u64 - 1) * row;
    let mut text = format!(
        "; transpose: generated.\n.include \"page.s\"\n.macro body\n    ldx2 c4, [a15]\n    \
         ldx2 c6, [a15 + 8]\n    mov a0, c4\n    mov a1, c5\n    movi s0, {down}\n    \
         movi s1, {back}\n    movi s2, {behind}\n    loop c6 {{\n"
    );
    if each > 1 {
        let _ = writeln!(text, "    loop {each} {{");
    }
    let columns = (1..=LOADS.div_ceil(band)).rev();
    let columns = columns.into_iter().find(|n| strip % n == 0).unwrap_or(1);
    let _ = writeln!(text, "    loop {} {{", strip / columns);
    let places: Vec<usize> = (0..columns * band).collect();
    for part in places.chunks(PAIRS) {
        for place in part {
            // The last number of a column is followed by the first of the next.
            let step = u8::from(place % band + 1 == band);
            let _ = writeln!(text, "    ldp r{}, [a0]+s{step}", place % PAIRS);
        }
        for place in part {
            let _ = writeln!(text, "    stp r{}, [a1]+{COMPLEX}", place % PAIRS);
        }
    }
    text += "    }\n    add a0, a0, s2\n";
    if each > 1 {
        text += "    }\n    nop\n";
    }
    text += "    }\n.endm\n.program\n.entry start\nstart:\n    page_begin\n    body\n    page_end\n    stop\n";
    VectorPageKernel::assemble("transpose", text, count_pair_cycles(block) as u64, machine)
}

/// Builds the kernel that moves two rows and two columns in an iteration, down the columns.
fn quads(band: usize, strip: usize, machine: &Machine) -> Result<VectorPageKernel, DspError> {
    let text = format!(".include \"transpose.s\"\n    transpose_quads {band}, {strip}\n");
    // Around a block, two words go on to the next columns, and two to the next block.
    let turns = strip as u64 / 2;
    VectorPageKernel::from_known_blocks("transpose", text, (&[turns], 2 * turns + 2), machine)
}
