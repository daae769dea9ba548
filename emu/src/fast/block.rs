//! Straight-line stretches of program memory.

use super::portable::{self, Step};
use crate::core::{Call, Core, Guest};
use crate::decoded::{Decoded, decode};
use crate::hot::{Frame, Tier};
use crate::semantics::action::{Action, ControlOp};
use cp2_asm::isa::{Inst, Op, Word};
use cp2_machine::Machine;
use std::sync::Arc;

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
/// what comes next. Jumps, and calls that come back, decide nothing: the block
/// goes on behind them.
#[derive(Debug)]
pub(crate) struct Block {
    /// Shared with the block's suffixes: a block may be left and entered at any word.
    text: Arc<Text>,
    /// Words of `text` before the block.
    skip: usize,
    /// What follows.
    pub end: End,
    /// Address of the last word.
    pub last: u32,
    hot: Tier,
}

/// The words of a block; none where the first one is not for a block.
#[derive(Debug, Default)]
struct Text {
    words: Vec<Decoded>,
    /// The same, ready to run.
    steps: Vec<Step>,
    /// Where they are.
    places: Vec<Place>,
    /// The turns that words before the last one take, in order.
    turns: Vec<Turn>,
    /// First and last target of the jumps outside calls.
    targets: Option<(u32, u32)>,
    /// Last words that the engine runs alone: a control operation without arithmetic.
    idle: usize,
}

/// Where a word is.
#[derive(Clone, Copy, Debug)]
struct Place {
    pc: u32,
    /// Whether the block turns behind it.
    turns: bool,
}

/// A jump, call or return inside a block.
#[derive(Clone, Copy, Debug)]
struct Turn {
    word: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Jump,
    /// To a function that comes back to this address.
    Call(u32),
    /// From the function that this word called.
    Return(usize),
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

impl Text {
    /// Follows the words from `pc` on; also what comes behind them.
    fn follow(core: &Core, machine: &Machine, ends: &Ends, mut pc: u32) -> (Self, End) {
        let mut text = Self::default();
        let mut open = None;
        let mut end = loop {
            let at = pc as usize;
            if text.words.len() == LONGEST || !core.loaded.get(at).is_some_and(|loaded| *loaded) {
                break End::Falls;
            }
            let Ok(word) = decode(core.program[at], machine) else {
                break End::Falls;
            };
            let control = match word.action {
                Action::Control(op) => Some(op),
                _ => None,
            };
            use ControlOp as C;
            if matches!(control, Some(C::Stop | C::Wait { .. } | C::Signal { .. })) {
                break End::Falls;
            }
            let index = text.words.len();
            text.words.push(word);
            text.places.push(Place { pc, turns: false });
            let mut turn = |kind| text.turns.push(Turn { word: index, kind });
            match (control, open) {
                (Some(C::Jump { target }), _) if !text.places.iter().any(|p| p.pc == target) => {
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
                (Some(op), _) => break End::Control(op),
                (None, _) if ends.0[at] => break End::Body,
                (None, _) => pc += 1,
            }
        };
        // What is not followed to a word behind it is for the engine: a call
        // that does not come back here, or whatever turn is last.
        let last = text.turns.last().filter(|t| t.word + 1 == text.words.len());
        let cut = match (open, last.map(|t| (t.word, t.kind))) {
            (Some((call, _)), _) | (None, Some((_, Kind::Return(call)))) => Some(call),
            (None, Some((word, _))) => Some(word),
            (None, None) => None,
        };
        if let Some(cut) = cut {
            text.words.truncate(cut + 1);
            text.places.truncate(cut + 1);
            text.turns.retain(|t| t.word < cut);
            if let Some(Action::Control(op)) = text.words.last().map(|w| w.action) {
                end = End::Control(op);
            }
        }
        text.settle();
        (text, end)
    }

    /// Works out what running the block needs to know of its turns.
    fn settle(&mut self) {
        let mut called = false;
        for turn in &self.turns {
            self.places[turn.word].turns = true;
            // Nothing is left to do.
            self.words[turn.word].action = Action::Nop;
            called = match turn.kind {
                Kind::Call(_) => true,
                Kind::Return(_) => false,
                Kind::Jump if called => true,
                Kind::Jump => {
                    let target = self.places[turn.word + 1].pc;
                    let (first, last) = self.targets.unwrap_or((target, target));
                    self.targets = Some((first.min(target), last.max(target)));
                    false
                }
            };
        }
        self.steps = self.words.iter().map(Step::new).collect();
        let idle = |w: &Decoded| matches!(w.action, Action::Control(_)) && !w.computes;
        self.idle = usize::from(self.words.last().is_some_and(idle));
    }

    /// Where the function called before the first `words` words comes back to.
    fn called(&self, words: usize) -> Option<u32> {
        let before = self.turns.iter().filter(|t| t.word < words);
        before.fold(None, |open, turn| match turn.kind {
            Kind::Call(back) => Some(back),
            Kind::Return(_) => None,
            Kind::Jump => open,
        })
    }
}

impl Block {
    /// The block at `pc`.
    pub(crate) fn translate(core: &Core, machine: &Machine, ends: &Ends, pc: u32) -> Self {
        let (text, end) = Text::follow(core, machine, ends, pc);
        Self {
            last: text.places.last().map_or(pc, |place| place.pc),
            text: Arc::new(text),
            skip: 0,
            end,
            hot: Tier::default(),
        }
    }

    /// The block without its first `words` words, where these are not in the
    /// middle of a call.
    pub(crate) fn suffix(&self, words: usize) -> Option<Self> {
        let skip = self.skip + words;
        self.text.called(skip).is_none().then(|| Self {
            text: self.text.clone(),
            skip,
            hot: Tier::default(),
            ..*self
        })
    }

    /// The words.
    pub(crate) fn words(&self) -> &[Decoded] {
        &self.text.words[self.skip..]
    }

    /// The words, ready to run.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.text.steps[self.skip..]
    }

    /// Address of a word.
    pub(crate) fn pc(&self, word: usize) -> u32 {
        self.text.places[self.skip + word].pc
    }

    /// Whether the block turns behind a word.
    pub(crate) fn turns(&self, word: usize) -> bool {
        self.text.places[self.skip + word].turns
    }

    /// Puts the core where it is after the first `words` words, but not all.
    pub(crate) fn leave(&self, core: &mut Core, words: usize) {
        core.pc = self.pc(words);
        if let Some(back) = self.text.called(self.skip + words) {
            let loops = core.loops.len();
            core.calls.push(Call { back, loops });
        }
    }

    /// Whether all of the words can run always; there is one at least.
    pub(crate) fn plain(&self) -> bool {
        use ControlOp as C;
        let faults = [
            matches!(
                self.end,
                End::Control(C::Loop { .. } | C::Call { .. } | C::Return)
            ),
            !self.text.turns.is_empty(),
            self.words().is_empty(),
        ];
        !faults.contains(&true)
    }

    /// How many of the words can run whatever they compute: all, unless a turn
    /// would leave a loop or could fault.
    #[inline]
    pub(crate) fn safe(&self, core: &Core, machine: &Machine) -> usize {
        let all = self.text.words.len() - self.skip;
        let calls = core.calls.len() < machine.cp2.call_depth;
        let good = match self.end {
            End::Control(ControlOp::Loop { .. }) => core.loops.len() < machine.cp2.loop_depth,
            End::Control(ControlOp::Call { .. }) => calls,
            End::Control(ControlOp::Return) => !core.calls.is_empty(),
            _ => true,
        };
        let certain = all - usize::from(!good);
        if !self.text.turns.is_empty() {
            let inside = |(first, last): (u32, u32)| {
                let top = core.loops[core.callers_loops()..].last();
                top.is_none_or(|top| top.start <= first && last <= top.end)
            };
            if !(calls && self.text.targets.is_none_or(inside)) {
                let ahead = self.text.turns.iter().find(|t| t.word >= self.skip);
                return ahead.map_or(certain, |turn| turn.word - self.skip);
            }
        }
        certain
    }

    /// Runs whole passes, until a word would fault: on the hot tier where that
    /// is worth it, else on the portable one.
    ///
    /// Returns the words executed: all, or up to the one that would fault, or
    /// fewer; the hot tier gives up early where it sees a fault coming.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        guest: &mut Guest<'_>,
        frame: &mut Frame,
        passes: u64,
        emit: bool,
    ) -> u64 {
        let text = &*self.text;
        let steps = &text.steps[self.skip..];
        if passes == 1 && (steps.len() as u64) < ENTRY {
            let busy = steps.len().saturating_sub(text.idle);
            let done = portable::few(&steps[..busy], guest);
            return if done == busy as u64 {
                steps.len() as u64
            } else {
                done
            };
        }
        self.many(guest, frame, passes, emit)
    }

    fn many(&mut self, guest: &mut Guest<'_>, frame: &mut Frame, passes: u64, emit: bool) -> u64 {
        let text = &*self.text;
        let steps = &text.steps[self.skip..];
        if emit && passes.saturating_mul(steps.len() as u64) >= ENTRY {
            let (words, looping) = (&text.words[self.skip..], self.end == End::Body);
            let mut word =
                |i: usize, guest: &mut Guest<'_>| portable::few(&steps[i..=i], guest) == 1;
            let hot = &mut self.hot;
            if let Some(done) = hot.run(words, looping, guest, frame, passes, &mut word) {
                return done;
            }
        }
        portable::run(steps, guest, passes)
    }
}
