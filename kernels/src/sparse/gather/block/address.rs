//! Addresses of the vector in local memory, and how words reach them.

use super::ColumnLanes;
use cp2_asm::isa::{Address, Mode};
use cp2_machine::Machine;

/// Bytes that a pair access reaches on either side of an address register.
const PAIR_REACH_BYTES: u32 = 16_384;

/// Returns a DMEM address as an offset from the register of the stretch that contains it: register k points
/// to the middle of stretch k.
pub(super) fn split_address(address: u32) -> Address {
    let base = address / (2 * PAIR_REACH_BYTES);
    Address {
        base: u8::try_from(base).unwrap_or(u8::MAX),
        mode: Mode::Offset(
            address as i32 - (base * 2 * PAIR_REACH_BYTES + PAIR_REACH_BYTES) as i32,
        ),
    }
}

/// Number of stretches that words reach: `movi` sets an address register to 18 bits with a sign.
const MOST_STRETCHES: u64 = 4;

/// Returns the bytes of local memory that words of a page reach: all of it, or those of `MOST_STRETCHES`
/// stretches.
pub(in crate::sparse::gather) fn reachable(machine: &Machine) -> u64 {
    let most = MOST_STRETCHES * u64::from(2 * PAIR_REACH_BYTES);
    machine.cp2.dmem.0.min(most)
}

/// Returns the number of address registers for so much local memory.
pub(in crate::sparse::gather) fn bases(reachable: u64) -> u64 {
    reachable.div_ceil(u64::from(2 * PAIR_REACH_BYTES))
}

/// Addresses of the vector's pairs in local memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::sparse::gather) struct VectorPlace {
    /// Address of the first pair of the segment.
    pub(in crate::sparse::gather) own: u32,
    /// Address of the first pair of the segment shifted by one number.
    pub(in crate::sparse::gather) shifted: u32,
    pub(in crate::sparse::gather) lanes: ColumnLanes,
}

impl VectorPlace {
    /// Returns the address of the pair that begins with a column.
    pub(super) fn pair(&self, column: u32) -> u32 {
        match self.lanes {
            ColumnLanes::Both => self.own + 8 * column,
            _ if column % 2 == 1 => self.shifted + 8 * (column / 2),
            _ => self.own + 8 * (column / 2),
        }
    }
}
