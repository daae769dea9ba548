//! Straight-line stretches of program memory.

use super::portable::{self, Step};
use crate::core::{Core, Guest};
use crate::decoded::{Decoded, decode};
use crate::hot::{Frame, Tier};
use crate::semantics::action::{Action, ControlOp};
use cp2_asm::isa::{Inst, Op, Word};
use cp2_machine::Machine;

/// Words of the longest block.
const LONGEST: usize = 1024;

/// Words below which entering emitted code costs more than it gains.
const ENTRY: u64 = 8;

/// What follows a block's last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The word after it, whatever that is.
    Falls,
    /// The end of a hardware loop's body, if that loop runs.
    Body,
    /// The control operation in its memory slot decides.
    Control(ControlOp),
}

/// Words that run one after the other, from some word to the first that decides
/// what comes next. Every suffix of a block is a block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The words; none where the first one is not for a block.
    pub words: Vec<Decoded>,
    /// The same, ready to run.
    pub steps: Vec<Step>,
    /// What follows.
    pub end: End,
    hot: Tier,
}

/// Program memory as the translator sees it.
#[derive(Debug, Default)]
pub(crate) struct Ends(Vec<bool>);

impl Ends {
    /// Finds the words at which a hardware loop's body may end: those of the
    /// loops in program memory, and of the loops that run.
    pub(crate) fn find(core: &Core) -> Self {
        let mut ends = Self(vec![false; core.program.len()]);
        for (pc, bits) in core.program.iter().enumerate() {
            if let (true, Ok(word)) = (core.loaded[pc], Word::decode(*bits)) {
                if let Some(words) = body(&word.mem) {
                    ends.mark(pc + words);
                }
            }
        }
        for running in &core.loops {
            ends.mark(running.end as usize);
        }
        ends
    }

    fn mark(&mut self, pc: usize) {
        if let Some(end) = self.0.get_mut(pc) {
            *end = true;
        }
    }
}

/// Length of the loop body that follows.
fn body(inst: &Inst) -> Option<usize> {
    matches!(inst.op, Op::LoopI | Op::LoopX).then_some(usize::from(inst.target))
}

impl Block {
    /// The block at `pc`.
    pub(crate) fn translate(core: &Core, machine: &Machine, ends: &Ends, pc: u32) -> Self {
        let mut words = Vec::new();
        let mut end = End::Falls;
        for pc in pc as usize.. {
            if words.len() == LONGEST || !core.loaded.get(pc).is_some_and(|loaded| *loaded) {
                break;
            }
            let Ok(word) = decode(core.program[pc], machine) else {
                break;
            };
            let control = match word.action {
                Action::Control(
                    ControlOp::Stop | ControlOp::Wait { .. } | ControlOp::Signal { .. },
                ) => break,
                Action::Control(op) => Some(op),
                _ => None,
            };
            words.push(word);
            if let Some(op) = control {
                end = End::Control(op);
                break;
            }
            if ends.0[pc] {
                end = End::Body;
                break;
            }
        }
        Self {
            steps: words.iter().map(Step::new).collect(),
            words,
            end,
            hot: Tier::default(),
        }
    }

    /// Runs whole passes, until a word would fault: on the hot tier where that
    /// is worth it, else on the portable one.
    ///
    /// Returns the words executed: all, or up to the one that would fault, or
    /// fewer; the hot tier gives up early where it sees a fault coming.
    #[inline]
    pub(crate) fn run(
        &mut self,
        guest: &mut Guest<'_>,
        frame: &mut Frame,
        passes: u64,
        emit: bool,
    ) -> u64 {
        if emit && passes.saturating_mul(self.words.len() as u64) >= ENTRY {
            let looping = self.end == End::Body;
            let done = self.hot.run(&self.words, looping, guest, frame, passes);
            if let Some(done) = done {
                return done;
            }
        }
        portable::run(&self.steps, guest, passes)
    }
}
