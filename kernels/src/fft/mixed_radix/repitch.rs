//! Copies rows of odd length to whole DMA granules and back.

use super::assembly_text::AssemblyText;
use super::column_loop::{COMPLEX, ColumnLoop, PointerBase, PointerWalk};
use super::radix_constants::RadixConstant;
use crate::pipeline::BodyOperand;
use std::fmt;

/// Copy of pairs of rows from one distance to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repitch {
    /// Numbers of a row.
    pub(super) length: usize,
    /// Numbers from a row to the next, in the source and in the copy.
    pub(super) pitch: [usize; 2],
}

/// Rows that are copied at a time: two of them have an even number of numbers.
const ROWS: usize = 2;

impl Repitch {
    /// Returns the bytes of two rows in the source and in the copy.
    pub(super) fn bytes(&self) -> [u64; 2] {
        self.pitch
            .map(|pitch| (ROWS * pitch) as u64 * COMPLEX as u64)
    }

    /// Writes the loops over two rows, which fill gaps in the copy with zeros; `name` is unique.
    pub(super) fn write(&self, (from, to): (u8, u8), text: &mut AssemblyText, name: &str) {
        let gap = self.pitch[1] - self.length;
        let zero = RadixConstant::Complex(0.0);
        for row in 0..ROWS {
            let [from, to] = [(from, 0), (to, 1)].map(|(register, side): (u8, usize)| {
                let behind = (row * self.pitch[side]) as i64 * COMPLEX;
                (register, behind)
            });
            let mut looped = ColumnLoop::default();
            let [a, b] = [from, to].map(|(register, behind)| {
                looped.stream(
                    PointerBase::Register(register, behind),
                    PointerWalk::Bytes(COMPLEX),
                )
            });
            let x = looped.body.pair();
            looped.body.load(BodyOperand::Whole(x), a, 0);
            looped.body.store(BodyOperand::Whole(x), b, 0);
            let own = format!("{name}_{row}");
            looped.write(text, self.length, &own);
            if gap > 0 {
                let mut looped = ColumnLoop::default();
                let behind = to.1 + self.length as i64 * COMPLEX;
                let b = looped.stream(
                    PointerBase::Register(to.0, behind),
                    PointerWalk::Bytes(COMPLEX),
                );
                let zero = looped.constants(vec![zero]).operand(zero);
                looped.body.store(zero, b, 0);
                looped.write(text, gap, &format!("{own}_gap"));
            }
        }
    }
}

impl fmt::Display for Repitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = self.pitch;
        write!(
            f,
            "rows of {} numbers, {from} apart, to {to} apart",
            self.length
        )
    }
}
