//! Where the vector lies in local memory, and how words reach it.

use super::Lanes;
use cp2_asm::isa::{Address, Mode};

/// Bytes that an address register reaches in both directions with a pair.
const REACH: u32 = 16_384;

/// An address in local memory, by the register whose stretch it is in: register k points into the middle of stretch k.
pub(super) fn at(address: u32) -> Address {
    let base = address / (2 * REACH);
    Address {
        base: u8::try_from(base).unwrap_or(u8::MAX),
        mode: Mode::Offset(address as i32 - (base * 2 * REACH + REACH) as i32),
    }
}

/// Address registers that are needed for so much local memory, and what each points at.
pub(in crate::sparse::gather) fn bases(dmem: u64) -> impl Iterator<Item = i64> {
    let stretches = dmem.div_ceil(u64::from(2 * REACH));
    (0..stretches).map(|k| (k * u64::from(2 * REACH) + u64::from(REACH)) as i64)
}

/// Where the pairs of the vector lie.
#[derive(Clone, Copy, Debug)]
pub(in crate::sparse::gather) struct VectorPlace {
    /// The first pair of the segment.
    pub(in crate::sparse::gather) own: u32,
    /// The first pair of the segment shifted by one number.
    pub(in crate::sparse::gather) shifted: u32,
    pub(in crate::sparse::gather) lanes: Lanes,
}

impl VectorPlace {
    /// The address of the pair that begins with a column.
    pub(super) fn pair(&self, column: u32) -> u32 {
        match self.lanes {
            Lanes::Both => self.own + 8 * column,
            _ if column % 2 == 1 => self.shifted + 8 * (column / 2),
            _ => self.own + 8 * (column / 2),
        }
    }
}
