//! Texts of blocks: words in the order in which they usually run.

use super::branch_history::{BranchHistory, ReachProbability};
use super::portable::WordCall;
use super::translated_block::BlockEnd;
use crate::account::work::Work;
use crate::core::decoded::{Decoded, decode};
use crate::core::{Core, HardwareLoop};
use crate::semantics::action::{Action, ControlOp};
use cp2_asm::isa::{Inst, Op, Slot};
use cp2_machine::Machine;
use std::sync::Arc;

/// Maximum length in words of a block in a loop.
const LONGEST: usize = 1024;

/// Maximum length in words of a block outside loops. Such a block runs once at a time, however long it
/// is, and each interruption at another word makes one more block of the rest.
const STRAIGHT: usize = 128;

/// Words between two stored sums of work.
const SUMMED: usize = 32;

/// Maximum number of words of a block up to a branch that it continues behind, or up to a jump that
/// repeats it.
const TRACE: usize = 96;

/// Words of a block; none if the first one cannot be in a block.
#[derive(Debug, Default)]
pub(super) struct TraceWords {
    pub words: Vec<Decoded>,
    /// Words that do something, ready to run.
    pub steps: Arc<[WordCall]>,
    /// Address and surroundings of each word.
    pub places: Vec<WordPosition>,
    /// Work of one issue of each of the first 0, [`SUMMED`], 2 [`SUMMED`], .. words.
    sums: Vec<Work>,
    /// Turns of the words before the last one, in order.
    pub turns: Vec<TakenJump>,
    /// Lowest and highest target of the jumps outside calls.
    pub targets: Option<(u32, u32)>,
}

/// Address and surroundings of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct WordPosition {
    pub pc: u32,
    /// True if the block turns behind it: the next word of the block is not the one at the next
    /// address.
    pub turns: bool,
    /// Number of steps before it.
    pub steps: u32,
    /// Return address of the function that the word belongs to, if a word before it calls that
    /// function.
    pub back: Option<u32>,
}

/// A jump, call or return inside a block, or a branch that is usually taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenJump {
    pub word: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Jump,
    /// Call of a function that returns to this address.
    Call(u32),
    /// Return from the function that the word with this index called.
    Return(usize),
}

/// Hardware loops in program memory.
#[derive(Debug, Default)]
pub(crate) struct LoopEndMap {
    /// `[pc]`: true if the body of a hardware loop may end at the word.
    ends: Vec<bool>,
    /// First and last word of the bodies of all loops in program memory.
    bodies: Vec<(u32, u32)>,
}

impl LoopEndMap {
    /// Finds the words at which a hardware loop's body may end: those of the loops in program
    /// memory, and of the loops that are running.
    pub(crate) fn find(core: &Core) -> Self {
        let mut found = Self {
            ends: vec![false; core.program.len()],
            bodies: Vec::new(),
        };
        for (pc, bits) in core.loaded.loaded_prefix(&core.program).iter().enumerate() {
            // Few words begin loops: the others are not decoded.
            let may = Op::of(Slot::Mem, Slot::Mem.bits_of(*bits)).is_some_and(loops);
            if may
                && core.loaded.is(pc)
                && let Some(words) = body(*bits)
            {
                found.mark(pc + words);
                found.bodies.push((pc as u32 + 1, (pc + words) as u32));
            }
        }
        for running in &core.loops {
            found.mark(running.end as usize);
        }
        found
    }

    fn mark(&mut self, pc: usize) {
        if let Some(end) = self.ends.get_mut(pc) {
            *end = true;
        }
    }

    /// Returns the most words of a block that begins at `pc`.
    fn longest(&self, pc: u32) -> usize {
        let holds = |(first, last): &(u32, u32)| (*first..=*last).contains(&pc);
        match self.bodies.iter().any(holds) {
            true => LONGEST,
            false => STRAIGHT,
        }
    }

    /// True if every loop body that contains the word at `pc` also contains that at `target`.
    fn stays_in_loops(&self, pc: u32, target: u32) -> bool {
        let leaves = |(first, last): &(u32, u32)| {
            let holds = |word: u32| (*first..=*last).contains(&word);
            holds(pc) && !holds(target)
        };
        !self.bodies.iter().any(leaves)
    }
}

/// True if program memory sets up a running loop with exactly this body.
pub(crate) fn sets_up(core: &Core, running: &HardwareLoop) -> bool {
    let pc = running.start.wrapping_sub(1) as usize;
    let word = core.program.get(pc).filter(|_| core.loaded.is(pc));
    word.and_then(|bits| body(*bits))
        .is_some_and(|words| pc + words == running.end as usize)
}

/// True if an operation begins a hardware loop.
fn loops(op: Op) -> bool {
    matches!(op, Op::LoopI | Op::LoopX)
}

/// Returns the number of words in the loop body that follows a word, if it begins a loop: which arithmetic it has
/// beside, and whether the machine has that, is all the same.
fn body(bits: u64) -> Option<usize> {
    let inst = Inst::decode(Slot::Mem, Slot::Mem.bits_of(bits)).ok()?;
    loops(inst.op).then_some(usize::from(inst.target))
}

impl TraceWords {
    /// Follows the words from `pc` on, and behind branches in their usual direction. Returns them
    /// and the continuation after the last one.
    pub(super) fn follow_words(
        core: &Core,
        machine: &Machine,
        ends: &LoopEndMap,
        habits: Option<&BranchHistory>,
        mut pc: u32,
    ) -> (Self, BlockEnd) {
        let mut text = Self::default();
        let longest = ends.longest(pc);
        let mut certainty = ReachProbability::default();
        let mut open = None;
        let end = loop {
            let at = pc as usize;
            if text.words.len() == longest || !core.loaded.is(at) {
                break BlockEnd::Falls;
            }
            let Ok(word) = decode(core.program[at], machine) else {
                break BlockEnd::Falls;
            };
            let control = match word.action {
                Action::Control(op) => Some(op),
                _ => None,
            };
            use ControlOp as C;
            let leaves = matches!(control, Some(C::Stop | C::Wait { .. } | C::Signal { .. }));
            if leaves || matches!(word.action, Action::Mask(_) | Action::Vote(_)) {
                break BlockEnd::Falls;
            }
            let index = text.words.len();
            let more = habits.is_some() && index < TRACE;
            let new = |target| !text.places.iter().any(|place| place.pc == target);
            let goes = match control {
                Some(C::Jump { target }) => more || target != pc && new(target),
                _ => false,
            };
            text.words.push(word);
            text.places.push(WordPosition {
                pc,
                turns: false,
                steps: 0,
                back: open.map(|(_, back)| back),
            });
            let mut turn = |kind| text.turns.push(TakenJump { word: index, kind });
            match (control, open) {
                (Some(C::Jump { target }), _) if goes => {
                    turn(Kind::Jump);
                    pc = target;
                }
                (Some(C::Call { target }), None) => {
                    turn(Kind::Call(pc + 1));
                    open = Some((index, pc + 1));
                    pc = target;
                }
                (Some(C::Return), Some((call, back))) => {
                    turn(Kind::Return(call));
                    open = None;
                    pc = back;
                }
                (Some(op @ C::Branch { target, .. }), _) if more && !ends.ends[at] => {
                    let usual = habits.and_then(|habits| habits.usual_direction(pc));
                    let usual = usual.filter(|usual| certainty.admit_branch(usual));
                    let Some(usual) = usual else {
                        break BlockEnd::Control(op);
                    };
                    if usual.taken && open.is_none() && !ends.stays_in_loops(pc, target) {
                        break BlockEnd::Control(op);
                    }
                    text.words[index].expect = Some(usual.taken);
                    if usual.taken {
                        turn(Kind::Jump);
                    }
                    pc = if usual.taken { target } else { pc + 1 };
                }
                (Some(op), _) => break BlockEnd::Control(op),
                (None, _) if ends.ends[at] => break BlockEnd::Body,
                (None, _) => pc += 1,
            }
        };
        let end = text.cut(open.map(|(call, _)| call)).unwrap_or(end);
        text.compute_sums();
        (text, end)
    }

    /// Ends the text at a word that the engine executes where no word was followed behind it: at a
    /// call that does not return within the text (`open`), or at a turn or guard that is the last
    /// word.
    fn cut(&mut self, open: Option<usize>) -> Option<BlockEnd> {
        let last = self.words.len().checked_sub(1)?;
        let turn = self.turns.last().filter(|turn| turn.word == last);
        let cut = match (open, turn.map(|turn| turn.kind)) {
            (Some(call), _) | (None, Some(Kind::Return(call))) => call,
            (None, Some(_)) => last,
            (None, None) if self.words[last].expect.is_some() => last,
            (None, None) => return None,
        };
        self.words.truncate(cut + 1);
        self.places.truncate(cut + 1);
        self.turns.retain(|turn| turn.word < cut);
        let word = self.words.last_mut()?;
        word.expect = None;
        match word.action {
            Action::Control(op) => Some(BlockEnd::Control(op)),
            _ => None,
        }
    }

    /// Returns the work of one issue of each word before `word`.
    pub(super) fn work(&self, word: usize) -> Work {
        let whole = word / SUMMED;
        let mut sum = self.sums.get(whole).copied().unwrap_or_default();
        let rest = &self.words[whole * SUMMED..word];
        rest.iter().for_each(|word| sum.issued(&word.amount));
        sum
    }

    /// Computes sums of work, targets and steps once turns and guards are known.
    fn compute_sums(&mut self) {
        let mut sum = Work::default();
        for some in self.words.chunks(SUMMED) {
            self.sums.push(sum);
            some.iter().for_each(|word| sum.issued(&word.amount));
        }
        self.sums.push(sum);
        for turn in &self.turns {
            self.places[turn.word].turns = true;
            let word = &mut self.words[turn.word];
            if word.expect.is_none() {
                // The jump itself is part of the order of words: nothing is left to execute.
                word.action = Action::Nop;
            }
            if turn.kind == Kind::Jump && self.places[turn.word].back.is_none() {
                let target = self.places[turn.word + 1].pc;
                let (first, last) = self.targets.unwrap_or((target, target));
                self.targets = Some((first.min(target), last.max(target)));
            }
        }
        let (mut steps, mut guards) = (Vec::new(), 0);
        for (i, (place, word)) in self.places.iter_mut().zip(&self.words).enumerate() {
            place.steps = steps.len() as u32;
            let acts = match word.action {
                Action::Memory(_) | Action::Scalar(_) | Action::Exchange(_) => true,
                // A branch at the end is executed by the engine, masks and votes by its reference step.
                Action::Control(_) | Action::Mask(_) | Action::Vote(_) | Action::Nop => {
                    word.expect.is_some()
                }
            };
            if acts || word.computes {
                steps.push(WordCall::new(word, i, guards));
            }
            guards += usize::from(word.expect.is_some());
        }
        self.steps = steps.into();
    }
}
