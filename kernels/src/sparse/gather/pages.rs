//! The pages of a packed matrix: words, values, segments of the vector, results.

use super::slot_assignment::LaneMask;
use cp2_asm::isa::{Inst, Op, Scalar, Word};

/// Pages that are there at a time: one that is computed, the next, and one that comes.
pub(super) const BUFFERS: usize = 3;

/// Bytes of values that a step takes, and a little more.
pub(super) const STEP: usize = 64;

/// Rows and columns that are multiplied with one segment of the vector in local memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatrixTile {
    /// Blocks of rows.
    pub(super) blocks: std::ops::Range<usize>,
    /// Columns.
    pub(super) columns: std::ops::Range<usize>,
    /// Whether no columns of these rows come before, and none behind.
    pub(super) first: bool,
    pub(super) last: bool,
    /// Whether the segment is that of the tile before.
    pub(super) loaded: bool,
}

/// A page, with nothing in it that depends on where arrays lie in system memory.
#[derive(Clone, Debug, Default)]
pub(super) struct GatherPage {
    /// Its words.
    pub(super) words: Vec<u64>,
    /// Its values, section after section.
    pub(super) values: Vec<f32>,
    /// The values that each section alone needs.
    pub(super) alone: Vec<Vec<f32>>,
    /// A segment of the vector: its columns, and where in local memory it goes.
    pub(super) segment: Option<(std::ops::Range<usize>, u32)>,
    /// Dealt units of the result that are complete: which, and where the first lies in local memory.
    pub(super) results: Option<(std::ops::Range<usize>, u32)>,
}

/// Where everything lies in local and program memory; local memory begins with the masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GatherLayout {
    pub(super) values: [u32; BUFFERS],
    pub(super) results: [u32; 2],
    pub(super) segment: u32,
    pub(super) shifted: u32,
    /// Bytes of each buffer of values, and how many of them, at its end, are for those that one section alone needs.
    pub(super) value_bytes: usize,
    pub(super) alone: usize,
    /// Blocks whose results a buffer holds.
    pub(super) blocks: usize,
    /// Where words of pages begin, by turns, and how many there are at most.
    pub(super) code: [u16; BUFFERS],
    pub(super) most_words: usize,
}

impl GatherPage {
    /// Numbers of 4 bytes that it has values in.
    pub(super) fn values(&self) -> usize {
        self.values.len() + self.alone.iter().map(Vec::len).sum::<usize>()
    }
}

impl GatherLayout {
    /// Where the values that one section alone needs lie, if they lie apart.
    pub(super) fn single_section_address(&self, page: usize) -> Option<u32> {
        let first = self.values[page % BUFFERS] + (self.value_bytes - self.alone) as u32;
        (self.alone > 0).then_some(first)
    }
}

/// A control operation as a word.
pub(super) fn control(inst: Inst) -> Word {
    Word {
        arith: Inst::new(Op::Nop),
        mem: inst,
    }
}

/// `register = value`.
pub(super) fn movi(register: Scalar, value: i32) -> Word {
    let mut inst = Inst::new(Op::Movi);
    inst.r[0] = register.0;
    inst.imm = value;
    control(inst)
}

/// A jump or call.
pub(super) fn branch(op: Op, target: u16) -> Word {
    control(Inst {
        target,
        ..Inst::new(op)
    })
}

/// `wait` or `signal`.
pub(super) fn event(op: Op, event: i32) -> Word {
    control(Inst {
        imm: event,
        ..Inst::new(op)
    })
}

/// The masks of sections, one after the other: all ones in the lanes of the places.
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
