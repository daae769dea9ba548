//! What holds for the words of a program together: targets lie inside, hardware
//! loops end with a plain word, nest and do not share ends. The assembler and
//! the loader ask here.

use crate::isa::{Inst, Kind, Op, Word};

/// How the words of a program do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StructureError {
    /// A branch or loop leads beyond the program.
    #[error("word {pc:#06x} leads to word {target:#06x}, but the program has only {words}")]
    Target {
        /// Word address of the branch or loop.
        pc: usize,
        /// Where it leads.
        target: usize,
        /// Words of the program.
        words: usize,
    },
    /// The last word of a loop changes the flow itself.
    #[error(
        "the loop at word {pc:#06x} ends at word {end:#06x} with `{mnemonic}`, which cannot end a loop"
    )]
    LoopLast {
        /// Word address of the loop.
        pc: usize,
        /// Word address of its last word.
        end: usize,
        /// What stands there.
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
        /// Word address of that one's last word.
        outer_end: usize,
    },
}

impl StructureError {
    /// Word address of the branch or loop that is wrong.
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

/// Whether execution does not go on behind the operation.
pub(crate) fn ends_flow(inst: &Inst) -> bool {
    matches!(inst.op, Op::Stop | Op::Ret | Op::Jmp)
}

/// Whether the operation may not be the last of a loop.
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

/// Whether the operation begins a loop.
pub(crate) fn is_loop(inst: &Inst) -> bool {
    matches!(inst.op, Op::LoopI | Op::LoopX)
}

/// Where the operation branches to.
fn target(inst: &Inst) -> Option<usize> {
    let mut operands = inst.row().form.operands().iter();
    operands
        .any(|o| o.kind == Kind::Target)
        .then_some(usize::from(inst.target))
}

/// What is known of all words together.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    pub(crate) errors: Vec<StructureError>,
    /// Every loop's word address and how many are open with it.
    pub(crate) depths: Vec<(usize, usize)>,
}

impl Structure {
    /// Looks at all words in order; `None` stands for a word that is not known.
    pub(crate) fn of(all: &[Option<Word>]) -> Self {
        let mut found = Self::default();
        // First and last word of the loops that are open, outermost first.
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
    }
}
