//! Access to the register file by a word's operands.

use super::avx::LaneHost;
use super::section_lanes::{Four, floats};
use crate::core::layout::{COLUMNS, FILE_LANES, Lane, PAIR, RegisterFile};
use crate::semantics::arith::Registers;
use bytemuck::{cast_slice, cast_slice_mut};
use cp2_asm::isa::Inst;

/// Register file as seen by a word's operands, on a host.
pub(super) struct Operands<'a, H> {
    pub file: &'a mut RegisterFile,
    /// First lane of each operand.
    /// First lane of operand 1, see [`super::portable::WordCall`].
    pub rows: &'a [RegisterRow; 5],
    pub second: RegisterRow,
    pub host: H,
}

impl<H> Operands<'_, H> {
    /// Returns the lanes of an operand.
    #[inline(always)]
    fn lanes<const N: usize>(&self, operand: usize) -> &[Lane] {
        if operand == 1 {
            self.second.lanes::<N>(self.file)
        } else {
            self.rows[operand].lanes::<N>(self.file)
        }
    }
}

impl<H: LaneHost> Registers<Four> for Operands<'_, H> {
    #[inline(always)]
    fn read(&self, reg: u8, lane: u8) -> Four {
        let lanes = RegisterRow::from_pair(reg).lanes::<PAIR>(self.file);
        Four::new(lanes[usize::from(lane) % PAIR])
    }

    #[inline(always)]
    fn write(&mut self, reg: u8, lane: u8, value: Four) {
        let lanes = RegisterRow::from_pair(reg).lanes_mut::<PAIR>(self.file);
        lanes[usize::from(lane) % PAIR] = value.lane();
    }

    #[inline(always)]
    fn operand<const N: usize>(&self, _: &Inst, operand: usize) -> [Four; N] {
        let lanes = self.lanes::<N>(operand);
        // The last factor of a butterfly is also used with its lanes exchanged. A host exchanges
        // the halves of a loaded register in less time than it loads them again.
        match (self.host.avx(), lanes.first_chunk()) {
            (Some(avx), Some(two)) if operand == 4 && N == PAIR => {
                let two = avx.load(two);
                return std::array::from_fn(|i| Four::new(two[i % PAIR]));
            }
            _ => {}
        }
        std::array::from_fn(|i| Four::new(lanes[i]))
    }

    #[inline(always)]
    fn replace<const N: usize>(&mut self, _: &Inst, operand: usize, value: [Four; N]) {
        let lanes = if operand == 1 {
            self.second.lanes_mut::<N>(self.file)
        } else {
            self.rows[operand].lanes_mut::<N>(self.file)
        };
        for (to, i) in lanes.chunks_exact_mut(PAIR).zip((0..N).step_by(PAIR)) {
            let two = [value[i], value[(i + 1) % N]];
            match (self.host.avx(), to.first_chunk_mut()) {
                (Some(avx), Some(to)) => avx.store(to, floats(two)),
                _ => to.copy_from_slice(&two.map(Four::lane)),
            }
        }
    }
}

/// Position of a register's first lane in the register file, in units of half a lane: four times
/// the number of a pair register. Hosts multiply it by eight while they form an address. For any
/// byte, a quad from there on lies inside a [`RegisterFile`], and compilers know that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegisterRow(u8);

impl RegisterRow {
    /// Returns the position of a pair register.
    pub(super) fn from_pair(register: u8) -> Self {
        Self((usize::from(register) * PAIR % FILE_LANES * 2) as u8)
    }

    /// Returns the position of a quad register.
    pub(super) fn from_quad(register: u8) -> Self {
        Self::from_pair(register.wrapping_mul(2))
    }

    /// Returns the index of the first 32-bit word in the flattened file.
    #[inline(always)]
    fn word(self) -> usize {
        usize::from(self.0) * (COLUMNS / 2)
    }

    /// Returns `N` lanes from there on.
    #[inline(always)]
    pub(super) fn lanes<const N: usize>(self, file: &RegisterFile) -> &[Lane] {
        lanes::<N>(file, self.word())
    }

    /// Returns `N` lanes from there on, to be written.
    #[inline(always)]
    pub(super) fn lanes_mut<const N: usize>(self, file: &mut RegisterFile) -> &mut [Lane] {
        lanes_mut::<N>(file, self.word())
    }
}

#[inline(always)]
fn lanes<const N: usize>(file: &RegisterFile, word: usize) -> &[Lane] {
    cast_slice(&file.0.as_flattened()[word..word + N * COLUMNS])
}

#[inline(always)]
fn lanes_mut<const N: usize>(file: &mut RegisterFile, word: usize) -> &mut [Lane] {
    cast_slice_mut(&mut file.0.as_flattened_mut()[word..word + N * COLUMNS])
}
