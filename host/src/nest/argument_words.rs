//! The argument words of a page (`docs/abi.md`), and those a kernel reads.

use cp2_asm::Program;
use cp2_asm::isa::{AddressOperand, Kind, Mode, Op, Role};
use serde::{Deserialize, Serialize};

/// Offsets of the words in bytes from the argument block's address, with the names of `page.s`.
pub(super) const NEXT: i64 = -16;
pub(super) const OPENS: i64 = -12;
pub(super) const PAGES: i64 = -8;
pub(super) const MARCHED: i64 = -4;
pub(super) const INDEX: i64 = -32;
pub(super) const FLAGS: i64 = -28;
pub(super) const QUADS: i64 = -24;
pub(super) const COLUMNS: i64 = -20;
pub(super) const ROWS: i64 = -48;
pub(super) const PLANES: i64 = -44;
pub(super) const SECTION_FILLED: i64 = -64;
pub(super) const SECTION_ORIGIN: i64 = -80;
pub(super) const PITCH: i64 = -96;
/// Bytes of the arguments for a line: its address, and that of the next line.
pub(super) const LINE: u64 = 8;

/// Flags of a page.
pub(super) const FIRST: u32 = 1;
pub(super) const LAST: u32 = 2;

/// Layout of an argument block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentLayout {
    /// Bytes before the address that the kernel gets.
    pub before: u32,
    /// Bytes from that address on.
    pub behind: u32,
}

impl ArgumentLayout {
    /// Creates the layout for so many inputs and outputs, `lines` lines of sliding windows, and `words` words
    /// from the kernel's address on. Both parts are whole `quad`s.
    pub(super) fn new([inputs, outputs]: [usize; 2], lines: u64, words: usize, quad: u64) -> Self {
        let before = Self::pitched(inputs, outputs) + LINE * lines;
        let bytes = |n: u64| u32::try_from(n.next_multiple_of(quad)).unwrap_or(u32::MAX);
        Self {
            before: bytes(before),
            behind: bytes(4 * words as u64),
        }
    }

    /// Returns the bytes of a block.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.before.saturating_add(self.behind)
    }

    /// Returns the index of the word `at` bytes from the kernel's address.
    pub(super) fn word(self, at: i64) -> usize {
        ((i64::from(self.before) + at) / 4) as usize
    }

    /// Returns the bytes before the kernel's address, down to the last pitches.
    fn pitched(inputs: usize, outputs: usize) -> u64 {
        let further = inputs.saturating_sub(1) + outputs.saturating_sub(1);
        -PITCH as u64 + 8 * further as u64
    }

    /// Returns the offset of the words for line `line` of the sliding windows, counted over all inputs:
    /// downwards below the pitches.
    pub(super) fn line([inputs, outputs]: [usize; 2], line: u64) -> i64 {
        -((Self::pitched(inputs, outputs) + LINE * (line + 1)) as i64)
    }

    /// Returns the offset of the pitches of stream `index`; outputs are counted behind the `inputs` inputs.
    pub(super) fn pitch(index: usize, inputs: usize) -> i64 {
        // Streams are in the order input 0, output 0, further inputs, further outputs. Pairs of words lie at
        // ascending addresses, as elsewhere in the arguments.
        let order = match index {
            0 if inputs > 0 => 0,
            i if i == inputs => 1,
            i if i < inputs => i + 1,
            i => i + usize::from(inputs == 0),
        };
        match order {
            0 => PITCH,
            1 => PITCH + 8,
            n => PITCH - 8 * (n as i64 - 1),
        }
    }
}

/// Argument words that a kernel reads, as far as its program shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reads {
    /// Ranges of bytes from the arguments' address on; none if the kernel may read all.
    ranges: Option<Vec<(i64, i64)>>,
}

impl Reads {
    /// Returns the set of all words.
    #[must_use]
    pub fn all() -> Self {
        Self { ranges: None }
    }

    /// Finds the words that a program loads from `a15` with an offset. If the program uses `a15` in any other
    /// way than to store, the set is that of all words.
    #[must_use]
    pub fn from_program(program: &Program) -> Self {
        let Ok(words) = program.decode() else {
            return Self::all();
        };
        let a15 = cp2_asm::isa::Scalar::address(15).reg();
        let mut ranges = Vec::new();
        for word in words {
            let inst = word.mem;
            if !inst.reads().iter().any(|reg| reg == a15) {
                continue;
            }
            let mut operands = inst.row().form.operands().iter();
            let bytes = operands.find_map(|operand| match operand.kind {
                Kind::Mem { bytes, .. } | Kind::OwnMem { bytes } => Some(bytes),
                _ => None,
            });
            // A load of one scalar uses the first word of the pair that is accessed.
            let bytes = match inst.op {
                Op::LdX => Some(4),
                _ => bytes,
            };
            let mut registers = inst.row().form.operands().iter();
            let stored = registers.any(|o| o.kind.is_register() && o.role != Role::Out);
            let offset = match inst.place {
                AddressOperand::Shared(address) if address.base == 15 => match address.mode {
                    Mode::Offset(offset) => Some(offset),
                    _ => None,
                },
                _ => None,
            };
            match (bytes, offset) {
                // A store reads no argument word.
                (Some(_), Some(_)) if stored => {}
                (Some(bytes), Some(offset)) => {
                    ranges.push((i64::from(offset), i64::from(offset) + i64::from(bytes)));
                }
                _ => return Self::all(),
            }
        }
        Self {
            ranges: Some(ranges),
        }
    }

    /// Returns true if the kernel may read where its blocks lie in the array, or the number of its page.
    #[must_use]
    pub fn reads_place(&self) -> bool {
        let place = (SECTION_ORIGIN..SECTION_ORIGIN + 12).chain(INDEX..FLAGS + 4);
        place.step_by(4).any(|at| self.is_read(at))
    }

    /// Returns true if the word `at` bytes from the arguments' address is read.
    pub(super) fn is_read(&self, at: i64) -> bool {
        match &self.ranges {
            None => true,
            Some(ranges) => ranges.iter().any(|&(from, to)| (from..to).contains(&at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_asm::{Options, Source, assemble};

    /// Words before the arguments' address are recognised like those behind it.
    #[test]
    fn a_kernel_reads_what_its_words_load() {
        let text =
            ".program\n ldx2 c0, [a15 + 8]\n ldx c2, [a15 - 104]\n ldq q0, [a15 - 64]\n stop\n";
        let assembly = assemble(&Source::new("reads", text), &Options::default()).unwrap();
        let reads = Reads::from_program(&assembly.program);
        let read = [-104, -64, -52, 8, 12];
        let all = (-120..32).step_by(4).filter(|&at| reads.is_read(at));
        let all: Vec<i64> = all.collect();
        for at in read {
            assert!(all.contains(&at), "{at}: {all:?}");
        }
        for at in [-120, -112, -100, -92, -48, -16, 0, 4, 16] {
            assert!(!all.contains(&at), "{at}: {all:?}");
        }
        // A program that uses the address in another way may read every word.
        let moved = assemble(
            &Source::new("moved", ".program\n mov a0, a15\n stop\n"),
            &Options::default(),
        )
        .unwrap();
        assert!(Reads::from_program(&moved.program).is_read(-120));
        assert!(Reads::from_program(&moved.program).reads_place());
    }
}
