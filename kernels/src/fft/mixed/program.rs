//! The page kernel of a transform of mixed radix.

use super::pass::{COMPLEX, Pass};
use super::text::Text;
use crate::fft::Direction;
use crate::pipeline::Unschedulable;
use cp2_machine::Machine;

/// Address registers of a block's input, output and scratch.
const INPUT: u8 = 8;
const OUTPUT: u8 = 9;
const SCRATCH: u8 = 11;

/// Cycles of a page beside its blocks: arguments, the loop over blocks, `stop`.
const PAGE: u64 = 12;

/// The source of a page kernel and what it costs.
#[derive(Clone, Debug)]
pub(in crate::fft) struct MixedProgram {
    /// Assembly.
    pub(in crate::fft) text: String,
    /// Words.
    pub(in crate::fft) words: u64,
    /// Cycles per page beside its blocks.
    pub(in crate::fft) page_cycles: u64,
    /// Cycles per block.
    pub(in crate::fft) cycles: u64,
    /// DMEM bytes of tables.
    pub(in crate::fft) tables: u64,
}

/// The kernel of 2 `pairs` transforms of `n` numbers by the radices in order.
///
/// An odd number of passes goes to the output page and back and forth; an even
/// one works in place with a scratch block.
pub(in crate::fft) fn mixed(
    n: usize,
    radices: &[usize],
    direction: Direction,
    pairs: usize,
    machine: &Machine,
) -> Result<MixedProgram, Unschedulable> {
    let mut text = Text::default();
    let other = if radices.len() % 2 == 0 {
        SCRATCH
    } else {
        OUTPUT
    };
    let (mut from, mut to, mut done) = (INPUT, other, 1);
    for (index, &radix) in radices.iter().enumerate() {
        let pass = Pass {
            n,
            pairs,
            radix,
            done,
            direction,
            index: index + 1,
            from,
            to,
        };
        pass.write(&mut text, machine)?;
        (from, to, done) = (to, from, done * radix);
    }
    let block = 2 * pairs as i64 * n as i64 * COMPLEX;
    for page in [INPUT, OUTPUT] {
        text.address(page, page, block);
    }
    let lines = text.words.lines().count();
    Ok(MixedProgram {
        text: format!(
            "; FFT of {n} numbers by {radices:?}, {direction}, {} transforms in a block: generated.\n\
             .program\n.entry start\nstart:\n    ldx2 a8, [a15]\n    ldx2 a10, [a15 + 8]\n    nop\n    nop\n    nop\n    nop\n    \
             mov c0, a10\n    loop c0 {{\n{}    }}\n    stop\n.dmem 0\n{}",
            2 * pairs,
            text.words,
            text.data
        ),
        words: lines as u64,
        page_cycles: PAGE,
        cycles: text.cycles,
        tables: text.bytes,
    })
}
