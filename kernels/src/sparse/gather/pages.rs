//! Pages: words, values, segments of the vector, results.

use super::slot_assignment::LaneMask;
use cp2_asm::isa::{Inst, Op, Scalar, Word};

/// Number of pages in memory at a time: one that is computed, the next, and one that is loaded.
pub(super) const PAGE_BUFFERS: usize = 3;

/// Bytes of values that a step takes, with a margin.
pub(super) const STEP_VALUE_BYTES: usize = 64;

/// Rows and columns that are multiplied with one segment of the vector in local memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatrixTile {
    /// Blocks of rows.
    pub(super) blocks: std::ops::Range<usize>,
    /// Columns.
    pub(super) columns: std::ops::Range<usize>,
    /// True if no columns of these rows come before.
    pub(super) first: bool,
    /// True if no columns of these rows follow.
    pub(super) last: bool,
    /// True if the segment is that of the tile before.
    pub(super) loaded: bool,
}

/// A page. Nothing in it depends on the addresses of arrays in system memory.
#[derive(Clone, Debug, Default)]
pub(super) struct GatherPage {
    /// Words of the page.
    pub(super) words: Vec<u64>,
    /// Bits of the values, section after section.
    pub(super) values: Vec<u32>,
    /// Bits of the values that each section alone needs.
    pub(super) alone: Vec<Vec<u32>>,
    /// Segment of the vector that the page brings: its columns, and its address in local memory.
    pub(super) segment: Option<(std::ops::Range<usize>, u32)>,
    /// Dealt units of the result that are complete, and the address of the first in local memory.
    pub(super) results: Option<(std::ops::Range<usize>, u32)>,
}

/// Addresses in local and program memory; local memory begins with the masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GatherLayout {
    pub(super) values: [u32; PAGE_BUFFERS],
    pub(super) results: [u32; 2],
    pub(super) segment: u32,
    pub(super) shifted: u32,
    /// Bytes of each buffer of values.
    pub(super) value_bytes: usize,
    /// Bytes at the end of each buffer for values that one section alone needs.
    pub(super) alone: usize,
    /// Number of blocks whose results a buffer holds.
    pub(super) blocks: usize,
    /// First words of the buffers of pages in program memory.
    pub(super) code: [u16; PAGE_BUFFERS],
    /// Most words of a page.
    pub(super) most_words: usize,
}

impl GatherPage {
    /// Returns the number of words of values (4 bytes each) of the page.
    pub(super) fn values(&self) -> usize {
        self.values.len() + self.alone.iter().map(Vec::len).sum::<usize>()
    }
}

impl GatherLayout {
    /// Returns the address of the values that one section alone needs, if they lie apart.
    pub(super) fn single_section_address(&self, page: usize) -> Option<u32> {
        let first = self.values[page % PAGE_BUFFERS] + (self.value_bytes - self.alone) as u32;
        (self.alone > 0).then_some(first)
    }
}

/// Returns a word of one control operation.
pub(super) fn control(inst: Inst) -> Word {
    Word {
        arith: Inst::new(Op::Nop),
        mem: inst,
    }
}

/// Returns the word for `register = value`.
pub(super) fn movi(register: Scalar, value: i32) -> Word {
    let mut inst = Inst::new(Op::Movi);
    inst.r[0] = register.0;
    inst.imm = value;
    control(inst)
}

/// Returns the word of a jump or call.
pub(super) fn branch(op: Op, target: u16) -> Word {
    control(Inst {
        target,
        ..Inst::new(op)
    })
}

/// Returns the word of a `wait` or `signal`.
pub(super) fn event(op: Op, event: i32) -> Word {
    control(Inst {
        imm: event,
        ..Inst::new(op)
    })
}

/// Returns the masks of all sections, one section after the other: all ones in the lanes of the places.
pub(super) fn mask_table(sets: &[LaneMask], sections: usize, bytes: usize) -> Vec<u32> {
    let mut table = Vec::new();
    for section in 0..sections {
        let begin = table.len();
        for set in sets {
            for lane in 0..2 {
                let chosen = set >> (2 * section + lane) & 1 != 0;
                table.push(if chosen { u32::MAX } else { 0 });
            }
        }
        table.resize(begin + bytes / 4, 0);
    }
    table
}
