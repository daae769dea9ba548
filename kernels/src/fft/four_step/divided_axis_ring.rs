//! Columns along two axes in eighths of a page through a DMEM ring.
//!
//! Columns have 1024 or 2048 numbers (`four_step_ring.s`): two axes in place after the rows, or the rest of a divided
//! axis with another.

use super::column_and_row_ring::{self, BLOCKS};
use super::divided_axis::DividedAxisShape;
use super::line_batch::{COMPLEX, LineBatch, transfer};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::program::parts_columns_program;
use cp2_asm::{Assembly, Program};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;
use cp2_machine::Machine;
use std::sync::Arc;

/// Axis, 0 or 1, of each pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassAxes {
    of: [usize; 4],
    /// True if the first pass, of radix 4, is one of radix 2 along its axis and one of radix 2 along the
    /// other.
    crossed: bool,
}

/// Returns the axes of the passes along axes of `sides` numbers; none if no choice of radices has these
/// products.
pub(super) fn axes(lines: &LineBatch, sides: [u64; 2]) -> Option<PassAxes> {
    let choices = (0..16_usize).map(|chosen| [0, 1, 2, 3].map(|i| chosen >> i & 1));
    let choices = choices.map(|of| PassAxes { of, crossed: false });
    // With a crossed first pass the numbers of a block are consecutive along one axis, but for a digit of the
    // other.
    let crossed = [[0, 0, 1, 1], [1, 1, 0, 0]].map(|of| PassAxes { of, crossed: true });
    choices.chain(crossed).find(|axes| {
        let digits = axes.digits(lines);
        let product = |axis| {
            let own = digits.iter().filter(|(_, of)| *of == axis);
            own.map(|(radix, _)| radix).product::<u64>()
        };
        [0, 1].map(product) == sides
    })
}

impl PassAxes {
    /// Returns the digits of a line in the order in which they are transformed: their radices and axes.
    fn digits(&self, lines: &LineBatch) -> Vec<(u64, usize)> {
        let radices = lines.radices().iter().map(|&radix| radix as u64);
        let mut digits: Vec<(u64, usize)> = radices.zip(self.of).collect();
        if self.crossed {
            digits.splice(..1, [(2, self.of[0]), (2, 1 - self.of[0])]);
        }
        digits
    }

    /// Assembles the program for the columns of part `shift[0]` of `shift[1]` parts.
    pub(super) fn program(
        &self,
        lines: &LineBatch,
        shift: [u64; 2],
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Assembly, FftError> {
        parts_columns_program(lines, (self.of, self.crossed), shift, direction, machine)
    }
}

/// Pages of the columns of one part of arrays.
#[derive(Debug)]
pub(super) struct DividedAxisRingPages {
    pub arrays: DividedAxisShape,
    pub lines: LineBatch,
    /// Sections of the machine: a power of two.
    pub sections: u64,
    pub axes: PassAxes,
    pub batch: u64,
    pub part: u64,
    /// Address of the arrays as the first pass leaves them: part k1 of the frequencies where part n1 = k1 of
    /// the input was.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
}

impl DividedAxisRingPages {
    /// Assembles the program, whose tables are the factors of this part.
    pub(super) fn program(
        &self,
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Arc<Program>, FftError> {
        let shift = [self.part, self.arrays.parts];
        let assembly = self.axes.program(&self.lines, shift, direction, machine)?;
        Ok(Arc::new(assembly.program))
    }

    fn couples(&self) -> u64 {
        self.lines.per_section() as u64 / 2
    }

    /// Returns the bytes of a run in system memory: one row of a page's columns.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * self.sections * COMPLEX
    }

    fn tiles(&self) -> u64 {
        self.arrays.width * COMPLEX / self.run()
    }

    /// Returns the byte offset of a block's array and tile of columns, without those of its part and its
    /// digit.
    fn block_offset_bytes(&self, block: u64) -> u64 {
        let page = block / BLOCKS;
        let (array, tile) = (page / self.tiles(), page % self.tiles());
        array * self.arrays.numbers() * COMPLEX + tile * self.run()
    }

    /// Makes the transfer of all rows of a block. Numbers along both axes are `apart` bytes apart in system
    /// memory, and `make` makes the transfer of a row from the bytes between blocks there. The first digits
    /// of the input weigh most, and the last digits of the `results`.
    fn block(
        &self,
        apart: [u64; 2],
        results: bool,
        make: impl Fn(u64) -> Descriptor,
    ) -> Vec<Descriptor> {
        let digits = self.axes.digits(&self.lines);
        let weight = |i: usize| {
            let others = if results {
                &digits[..i]
            } else {
                &digits[i + 1..]
            };
            let own = others.iter().filter(|(_, axis)| *axis == digits[i].1);
            own.map(|(radix, _)| radix).product::<u64>() * apart[digits[i].1]
        };
        let own = 16 * self.couples();
        // Bytes in DMEM for each digit: those of the first pass, then n1, which is the block itself (0), n2
        // and n3.
        let local: &[u64] = match (self.axes.crossed, results) {
            (false, _) => &[1024, 0, 8 * own, own],
            (true, false) => &[2048, 1024, 0, 8 * own, own],
            (true, true) => &[1024, 2048, 0, 8 * own, own],
        };
        let (mut each, mut levels) = (0, Vec::<(u64, u64, u64)>::new());
        for (i, (&(radix, _), &place)) in digits.iter().zip(local).enumerate().rev() {
            match (place, levels.last_mut()) {
                (0, _) => each = weight(i),
                // This digit continues the level before it.
                (_, Some((system, count, inner)))
                    if [*system * *count, *inner * *count] == [weight(i), place] =>
                {
                    *count *= radix;
                }
                _ => levels.push((weight(i), radix, place)),
            }
        }
        vec![transfer(make(each), &levels)]
    }
}

impl RingPages for DividedAxisRingPages {
    fn count(&self) -> u64 {
        self.batch * self.tiles() * BLOCKS
    }

    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let left = self.arrays.divided / self.arrays.parts;
        let strides = self.arrays.strides();
        let from = self.from + self.block_offset_bytes(block) + self.part * left * strides[0];
        self.block(strides, false, |each| {
            Descriptor::load(
                Target::Deal,
                from + block % BLOCKS * each,
                local,
                self.run(),
            )
        })
    }

    /// Stores result k of part k1 as number k1 + parts k of the divided axis.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let [divided, joined] = self.arrays.strides();
        let to = self.to + self.block_offset_bytes(block) + self.part * divided;
        self.block([self.arrays.parts * divided, joined], true, |each| {
            Descriptor::store(Target::Deal, to + block % BLOCKS * each, local, self.run())
        })
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    fn arithmetic_cycles(&self, block: u64) -> u64 {
        column_and_row_ring::column_issues(&self.lines, block)
    }
}
