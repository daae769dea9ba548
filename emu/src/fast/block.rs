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
    /// Words of `text` before the block, and steps.
    skip: usize,
    skip_steps: usize,
    /// What follows.
    pub end: End,
    /// Address of the last word.
    pub last: u32,
    hot: Tier,
}

/// Where a branch leads that does not go the block's way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// Whether it is taken then.
    pub taken: bool,
    pub target: u32,
    /// Where the function that it stands in comes back to, where the block calls that.
    pub back: Option<u32>,
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
            skip_steps: 0,
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
            skip_steps: self.text.places[skip].steps as usize,
            hot: Tier::default(),
            ..*self
        })
    }

    /// The words.
    pub(crate) fn words(&self) -> &[Decoded] {
        &self.text.words[self.skip..]
    }

    /// The words that do something, ready to run.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.text.steps[self.skip_steps..]
    }

    /// The steps of the first `words` words.
    pub(crate) fn part(&self, words: usize) -> &[Step] {
        let steps = &self.text.steps;
        let next = self.text.places.get(self.skip + words);
        let end = next.map_or(steps.len(), |place| place.steps as usize);
        &steps[self.skip_steps..end]
    }

    /// The words before step `step`; all where there is none.
    #[inline(always)]
    pub(crate) fn words_before(&self, step: usize) -> usize {
        match self.steps().get(step) {
            Some(step) => step.word as usize - self.skip,
            None => self.text.words.len() - self.skip,
        }
    }

    /// Address of a word.
    pub(crate) fn pc(&self, word: usize) -> u32 {
        self.text.places[self.skip + word].pc
    }

    /// Whether the block turns behind a word.
    pub(crate) fn turns(&self, word: usize) -> bool {
        self.text.places[self.skip + word].turns
    }

    /// The ways out at the block's side, each with the word that takes it.
    pub(crate) fn sides(&self) -> impl Iterator<Item = (usize, Side)> {
        let words = self.words().iter().enumerate();
        words.filter_map(|(i, word)| {
            let Action::Control(ControlOp::Branch { target, .. }) = word.action else {
                return None;
            };
            let place = &self.text.places[self.skip + i];
            let taken = !word.expect?;
            let side = Side {
                taken,
                target: if taken { target } else { place.pc + 1 },
                back: place.back,
            };
            Some((i, side))
        })
    }

    /// The step that runs a word, and which of the block's guards it is, where
    /// the branch does not go the block's way.
    #[inline(always)]
    pub(crate) fn leaves(&self, core: &Core, word: usize) -> Option<(&Step, usize)> {
        let steps = self.steps();
        let at = self.text.places[self.skip + word].steps as usize - self.skip_steps;
        let step = steps
            .get(at)
            .filter(|step| step.word as usize == self.skip + word)?;
        let guard = step.guards - steps[0].guards;
        let leaves = step.guard && !step.goes_on(core.scalar(step.tested()));
        leaves.then_some((step, guard as usize))
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
        let steps = self.steps();
        if passes == 1 && (steps.len() as u64) < ENTRY {
            return self.words_before(portable::few(steps, guest)) as u64;
        }
        self.many(guest, frame, passes, emit)
    }

    fn many(&mut self, guest: &mut Guest<'_>, frame: &mut Frame, passes: u64, emit: bool) -> u64 {
        let text = &*self.text;
        let words = &text.words[self.skip..];
        let all = words.len() as u64;
        if emit && passes.saturating_mul(all) >= ENTRY {
            let looping = self.end == End::Body;
            let places = &text.places[self.skip..];
            let mut word = |i: usize, guest: &mut Guest<'_>| {
                let step = text.steps.get(places[i].steps as usize);
                let step = step.filter(|step| step.word as usize == self.skip + i);
                step.is_none_or(|step| portable::few(std::slice::from_ref(step), guest) == 1)
            };
            let hot = &mut self.hot;
            if let Some(done) = hot.run(words, looping, guest, frame, passes, &mut word) {
                return done;
            }
        }
        let steps = self.steps();
        for pass in 0..passes {
            let done = portable::once(steps, guest);
            if done < steps.len() {
                return pass * all + self.words_before(done) as u64;
            }
        }
        passes * all
    }
}
