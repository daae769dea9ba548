//! Columns along two axes that go through DMEM in eighths of a page (`parts.s`), of 1024 or 2048 numbers: in place behind rows, or
//! what is left of a divided axis with another.

use super::joint::Joint;
use super::lines::{COMPLEX, Lines};
use super::parts::{self, BLOCKS};
use crate::fft::error::FftError;
use crate::fft::program::parts_columns_program;
use crate::fft::recipe::Direction;
use crate::ring::Pages;
use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
use cp2_machine::Machine;
use std::sync::Arc;

/// Which of two axes of so many numbers each pass is along; none if the radices do not make them.
pub(super) fn axes(lines: &Lines, [first, second]: [u64; 2]) -> Option<[usize; 4]> {
    let radices: [usize; 4] = lines.radices().try_into().ok()?;
    let mut choices = (0..16_usize).map(|chosen| [0, 1, 2, 3].map(|i| chosen >> i & 1));
    let product = |axes: &[usize; 4], axis| {
        let own = radices.iter().zip(axes).filter(|(_, of)| **of == axis);
        own.map(|(radix, _)| *radix as u64).product::<u64>()
    };
    choices.find(|axes| product(axes, 0) == first && product(axes, 1) == second)
}

/// The columns of one part of arrays.
#[derive(Debug)]
pub(super) struct JointParts {
    pub arrays: Joint,
    pub lines: Lines,
    pub axes: [usize; 4],
    pub batch: u64,
    pub part: u64,
    /// Address of the arrays, as the first pass leaves them: parts where parts were.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
}

impl JointParts {
    /// The program, whose tables are the factors of this part.
    pub(super) fn program(
        &self,
        direction: Direction,
        machine: &Machine,
    ) -> Result<Arc<Program>, FftError> {
        let shift = [self.part, self.arrays.parts];
        let assembly = parts_columns_program(&self.lines, self.axes, shift, direction, machine)?;
        Ok(Arc::new(assembly.program))
    }

    fn couples(&self) -> u64 {
        self.lines.per_section() as u64 / 2
    }

    /// Bytes of a run in system memory: the columns of a page.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * parts::SECTIONS * COMPLEX
    }

    fn tiles(&self) -> u64 {
        self.arrays.width * COMPLEX / self.run()
    }

    /// Bytes from the first number of all to where the columns of a block begin, but for its part and its digit.
    fn at(&self, block: u64) -> u64 {
        let page = block / BLOCKS;
        let (array, tile) = (page / self.tiles(), page % self.tiles());
        array * self.arrays.numbers() * COMPLEX + tile * self.run()
    }

    /// Bytes from a digit to the next in system memory, where numbers along both axes are so far `apart`: of the numbers, whose
    /// first digits weigh most, or of the results, whose last ones do.
    fn digits(&self, apart: [u64; 2], results: bool) -> [u64; 4] {
        let radices = self.lines.radices();
        [0, 1, 2, 3].map(|i: usize| {
            let others = if results { 0..i } else { i + 1..4 };
            let own = others.filter(|&j| self.axes[j] == self.axes[i]);
            own.map(|j| radices[j] as u64).product::<u64>() * apart[self.axes[i]]
        })
    }

    /// A row of a block with all its others.
    fn rows(&self, row: Descriptor, digits: [u64; 4]) -> Descriptor {
        let (couples, radices) = (self.couples() as i64, self.lines.radices());
        let local = [1024, 0, 128 * couples, 16 * couples];
        [3, 2, 0].into_iter().fold(row, |all, i: usize| {
            all.level(radices[i] as u32, digits[i] as i64, local[i])
        })
    }
}

impl Pages for JointParts {
    fn count(&self) -> u64 {
        self.batch * self.tiles() * BLOCKS
    }

    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let digits = self.digits(self.arrays.strides(), false);
        let left = self.arrays.divided / self.arrays.parts;
        let at = self.at(block) + self.part * left * self.arrays.strides()[0];
        let from = self.from + at + block % BLOCKS * digits[1];
        vec![self.rows(
            Descriptor::load(Target::Deal, from, local, self.run()),
            digits,
        )]
    }

    /// Result k of part k1 is number k1 + parts k of the divided axis.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let [divided, joined] = self.arrays.strides();
        let digits = self.digits([self.arrays.parts * divided, joined], true);
        let to = self.to + self.at(block) + self.part * divided + block % BLOCKS * digits[1];
        vec![self.rows(
            Descriptor::store(Target::Deal, to, local, self.run()),
            digits,
        )]
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    fn issues(&self, block: u64) -> u64 {
        parts::column_issues(&self.lines, block)
    }

    fn group(&self) -> u64 {
        BLOCKS
    }

    fn head(&self, _block: u64) -> u64 {
        parts::column_head(&self.lines)
    }

    fn overhead(&self, _block: u64) -> u64 {
        parts::column_overhead(&self.lines)
    }
}
