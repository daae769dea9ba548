//! Rows of an odd number of numbers, which the DMA cannot step by, to whole granules and back.

use super::assembly_text::AssemblyText;
use super::column_loop::{COMPLEX, ColumnLoop, PointerBase, PointerWalk};
use super::radix_constants::RadixConstant;
use crate::pipeline::{Reg, Unschedulable};
use cp2_machine::Machine;
use std::fmt;

/// Copies couples of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repitch {
    /// Numbers of a row.
    pub(super) length: usize,
    /// Numbers from a row to the next, where they are read and where they are written.
    pub(super) pitch: [usize; 2],
}

/// Rows of a couple: an even number of numbers, whatever a row has.
const ROWS: usize = 2;

impl Repitch {
    /// Bytes of a couple where it is read and where it is written.
    pub(super) fn bytes(&self) -> [u64; 2] {
        self.pitch
            .map(|pitch| (ROWS * pitch) as u64 * COMPLEX as u64)
    }

    /// Writes the loops over a couple; `name` is unique.
    pub(super) fn write(
        &self,
        (from, to): (u8, u8),
        text: &mut AssemblyText,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let gap = self.pitch[1] - self.length;
        let zero = RadixConstant::Complex(0.0);
        let gaps = if gap > 0 { vec![zero] } else { Vec::new() };
        let constants = text.constants(name, gaps);
        for row in 0..ROWS {
            let [from, to] = [(from, 0), (to, 1)].map(|(register, side): (u8, usize)| {
                let behind = (row * self.pitch[side]) as i64 * COMPLEX;
                (register, behind)
            });
            let mut looped = ColumnLoop::new();
            let [a, b] = [from, to].map(|(register, behind)| {
                looped.stream(
                    PointerBase::Register(register, behind),
                    PointerWalk::Bytes(COMPLEX),
                )
            });
            let x = looped.body.pair();
            looped.body.load(Reg::Whole(x), a, 0);
            looped.body.store(Reg::Whole(x), b, 0);
            let own = format!("{name}_{row}");
            looped.write(text, machine, &constants, self.length, &own)?;
            if gap > 0 {
                let mut looped = ColumnLoop::new();
                let behind = to.1 + self.length as i64 * COMPLEX;
                let b = looped.stream(
                    PointerBase::Register(to.0, behind),
                    PointerWalk::Bytes(COMPLEX),
                );
                looped.body.store(constants.register(zero), b, 0);
                looped.write(text, machine, &constants, gap, &format!("{own}_gap"))?;
            }
        }
        Ok(())
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
