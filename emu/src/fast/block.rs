//! Stretches of program memory that run from their first word to their last.

use super::habits::Habits;
use super::portable::{self, Step};
use super::text::{Ends, Text};
use crate::core::{Call, Core, Guest};
use crate::decoded::Decoded;
use crate::hot::{Frame, Tier};
use crate::semantics::action::{Action, ControlOp};
use cp2_machine::Machine;
use std::sync::Arc;

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
/// goes on behind them. It may also go on behind a branch the way that branch
/// usually goes; where it goes the other way, the block is left at its side.
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

impl Block {
    /// The block at `pc`.
    ///
    /// With the habits of branches, it goes on behind them.
    pub(crate) fn translate(
        core: &Core,
        machine: &Machine,
        ends: &Ends,
        habits: Option<&Habits>,
        pc: u32,
    ) -> Self {
        let (text, end) = Text::follow(core, machine, ends, habits, pc);
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
        self.text.places[skip].back.is_none().then(|| Self {
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

    /// Which way each branch goes that the block goes on behind, and its word.
    pub(crate) fn guards(&self) -> impl Iterator<Item = (usize, bool)> {
        let words = self.words().iter().enumerate();
        words.filter_map(|(i, word)| Some((i, word.expect?)))
    }

    /// Which of the block's guards a word is, and its branch, where that does
    /// not go the block's way.
    pub(crate) fn leaves(&self, core: &Core, word: usize) -> Option<(usize, ControlOp)> {
        let (at, places) = (self.skip + word, &self.text.places);
        let expect = self.text.words[at].expect?;
        let Action::Control(op) = self.text.words[at].action else {
            return None;
        };
        let ControlOp::Branch { condition, x, .. } = op else {
            return None;
        };
        let before = places[at].guards - places[self.skip].guards;
        (condition.holds(core.scalar(x)) != expect).then_some((before as usize, op))
    }

    /// Puts the core where it is after the first `words` words, but not all.
    pub(crate) fn leave(&self, core: &mut Core, words: usize) {
        core.pc = self.pc(words);
        if let Some(back) = self.text.places[self.skip + words].back {
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
