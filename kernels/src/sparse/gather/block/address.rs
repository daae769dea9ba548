//! Where the vector lies in local memory, and how words reach it.

use super::ColumnLanes;
use cp2_asm::isa::{Address, Mode};
use cp2_machine::Machine;

/// Bytes that an address register reaches in both directions with a pair.
const REACH: u32 = 16_384;

/// An address in local memory, by the register whose stretch it is in: register k points into the middle of stretch k.
pub(super) fn split_address(address: u32) -> Address {
    let base = address / (2 * REACH);
    Address {
        base: u8::try_from(base).unwrap_or(u8::MAX),
        mode: Mode::Offset(address as i32 - (base * 2 * REACH + REACH) as i32),
    }
}

/// Stretches that words reach: `movi` points an address register at most so far (18 bits with a sign).
const MOST_STRETCHES: u64 = 4;

/// Bytes of local memory that words of a page reach: all of it, or what `MOST_STRETCHES` hold.
pub(in crate::sparse::gather) fn reachable(machine: &Machine) -> u64 {
    let most = MOST_STRETCHES * u64::from(2 * REACH);
    machine.cp2.dmem.0.min(most)
}

/// Address registers that are needed for so much local memory.
pub(in crate::sparse::gather) fn bases(reachable: u64) -> u64 {
    reachable.div_ceil(u64::from(2 * REACH))
}

/// Where the pairs of the vector lie.
#[derive(Clone, Copy, Debug)]
pub(in crate::sparse::gather) struct VectorPlace {
    /// The first pair of the segment.
    pub(in crate::sparse::gather) own: u32,
    /// The first pair of the segment shifted by one number.
    pub(in crate::sparse::gather) shifted: u32,
    pub(in crate::sparse::gather) lanes: ColumnLanes,
}

impl VectorPlace {
    /// The address of the pair that begins with a column.
    pub(super) fn pair(&self, column: u32) -> u32 {
        match self.lanes {
            ColumnLanes::Both => self.own + 8 * column,
            _ if column % 2 == 1 => self.shifted + 8 * (column / 2),
            _ => self.own + 8 * (column / 2),
        }
    }
}
