//! Checks that the words of a program fit together.
//!
//! Branch targets lie inside the program; hardware loops end with a plain word, nest, and do not share their
//! last words. The assembler and the loader both use these checks.

use crate::isa::{Inst, Kind, Op, Word};

/// Reasons why the words of a program do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// A branch or loop leads beyond the end of the program.
    #[error("word {pc:#06x} leads to word {target:#06x}, but the program has only {words}")]
    Target {
        /// Word address of the branch or loop.
        pc: usize,
        /// Word address of the target, or of the loop's last word.
        target: usize,
        /// Number of words of the program.
        words: usize,
    },
    /// The last word of a loop changes the flow or waits for an event.
    #[error(
        "the loop at word {pc:#06x} ends at word {end:#06x} with `{mnemonic}`, which cannot end a loop"
    )]
    LoopLast {
        /// Word address of the loop.
        pc: usize,
        /// Word address of its last word.
        end: usize,
        /// Mnemonic of the last word.
        mnemonic: &'static str,
    },
    /// Two loops end at one word.
    #[error("the loops at words {outer:#06x} and {pc:#06x} end at the same word")]
    LoopShared {
        /// Word address of the inner loop.
        pc: usize,
        /// Word address of the outer loop.
        outer: usize,
    },
    /// A loop does not lie within the loop around it.
    #[error(
        "the loop at word {pc:#06x} ends at word {end:#06x}, after the loop at word {outer:#06x} around it"
    )]
    LoopOverlap {
        /// Word address of the inner loop.
        pc: usize,
        /// Word address of its last word.
        end: usize,
        /// Word address of the outer loop.
        outer: usize,
        /// Word address of the outer loop's last word.
        outer_end: usize,
    },
}

impl StructureError {
    /// Returns the word address of the branch or loop that is wrong.
    #[must_use]
    pub fn pc(&self) -> usize {
        match *self {
            Self::Target { pc, .. }
            | Self::LoopLast { pc, .. }
            | Self::LoopShared { pc, .. }
            | Self::LoopOverlap { pc, .. } => pc,
        }
    }
}

/// True if execution never continues with the next word.
pub(crate) fn ends_flow(inst: &Inst) -> bool {
    matches!(inst.op, Op::Stop | Op::Ret | Op::Jmp)
}

/// True for operations that may not stand in the last word of a loop.
fn no_last(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Stop
            | Op::Ret
            | Op::Jmp
            | Op::Call
            | Op::Bz
            | Op::Bnz
            | Op::Bneg
            | Op::Bpos
            | Op::LoopI
            | Op::LoopX
            | Op::Wait
    )
}

/// True if the operation begins a hardware loop.
pub(crate) fn is_loop(inst: &Inst) -> bool {
    matches!(inst.op, Op::LoopI | Op::LoopX)
}

/// Returns the word address that the operation branches to.
fn target(inst: &Inst) -> Option<usize> {
    let mut operands = inst.row().form.operands().iter();
    operands
        .any(|o| o.kind == Kind::Target)
        .then_some(usize::from(inst.target))
}

/// Loops of a program and violations of its structure.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    pub(crate) errors: Vec<StructureError>,
    /// Word address of every loop, and how many loops are open there, itself included.
    pub(crate) depths: Vec<(usize, usize)>,
    /// Word address of every loop, and of its last word.
    pub(crate) loops: Vec<(usize, usize)>,
}

impl Structure {
    /// Checks all words in order; `None` stands for a word that is not known.
    pub(crate) fn of(all: &[Option<Word>]) -> Self {
        let mut found = Self::default();
        // First and last word of each open loop, outermost first.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (pc, word) in all.iter().enumerate() {
            open.retain(|&(_, end)| end >= pc);
            let Some(word) = word else { continue };
            if let Some(target) = target(&word.mem).filter(|&t| t >= all.len()) {
                let words = all.len();
                found
                    .errors
                    .push(StructureError::Target { pc, target, words });
            }
            if is_loop(&word.mem) {
                found.open(all, &mut open, pc, pc + usize::from(word.mem.target));
            }
        }
        found
    }

    /// Enters the loop of words `pc + 1` to `end`.
    fn open(
        &mut self,
        words: &[Option<Word>],
        open: &mut Vec<(usize, usize)>,
        pc: usize,
        end: usize,
    ) {
        match words.get(end) {
            None => {
                let words = words.len();
                let target = end;
                self.errors
                    .push(StructureError::Target { pc, target, words });
                return;
            }
            Some(Some(last)) if no_last(&last.mem) => {
                let mnemonic = last.mem.row().mnemonic;
                self.errors
                    .push(StructureError::LoopLast { pc, end, mnemonic });
            }
            Some(_) => {}
        }
        match open.last() {
            Some(&(outer, outer_end)) if end == outer_end => {
                self.errors.push(StructureError::LoopShared { pc, outer });
            }
            Some(&(outer, outer_end)) if end > outer_end => {
                self.errors.push(StructureError::LoopOverlap {
                    pc,
                    end,
                    outer,
                    outer_end,
                });
            }
            _ => {}
        }
        open.push((pc, end));
        self.depths.push((pc, open.len()));
        self.loops.push((pc, end));
    }
}
