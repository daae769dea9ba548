//! Blocks of guest words that run from their first word to their last.

use super::branch_history::BranchHistory;
use super::portable::{self, WordCall};
use super::trace_words::{LoopEndMap, TraceWords};
use crate::account::coverage::Account;
use crate::account::work::Work;
use crate::core::decoded::Decoded;
use crate::core::{Call, Core, Guest};
use crate::engines::jit::{CodeFrame, Tier};
use crate::semantics::action::{Action, ControlOp};
use cp2_machine::Machine;
use std::ops::Range;
use std::sync::Arc;

/// Continuation after a block's last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    /// The next word, whatever it is.
    Falls,
    /// The end of a hardware loop's body, if that loop is running.
    Body,
    /// The control operation in the last word's memory slot decides.
    Control(ControlOp),
}

/// Words that run one after the other, from some word to the first that decides what comes next.
/// Jumps, and calls that return, decide nothing: the block continues behind them (it *turns*
/// there). It may also continue behind a branch in that branch's usual direction; where the branch
/// goes the other way, the block is left through a side exit.
#[derive(Debug)]
pub(crate) struct TranslatedBlock {
    /// Shared with the block's suffixes: a block may be left and entered at any word.
    text: Arc<TraceWords>,
    /// Words of `text` before the block.
    skip: usize,
    /// Steps of `text` before the block.
    skip_steps: usize,
    /// Index in a tally of the first count of the text's words.
    pub counts: usize,
    /// Continuation, and the other conditions for all words to run.
    pub needs: BlockNeeds,
    /// Address of the last word.
    pub last: u32,
    hot: Tier,
}

/// Exit of a block at a branch that does not go the block's way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideExit {
    /// Index of the branch in the block.
    pub word: usize,
    /// True if the branch is taken at this exit.
    pub taken: bool,
    pub target: u32,
    /// Return address of the function that the branch is in, if the block itself calls that
    /// function.
    pub back: Option<u32>,
}

impl TranslatedBlock {
    /// Translates the block at `pc`. If habits are given, it continues behind branches.
    pub(crate) fn translate(
        core: &Core,
        machine: &Machine,
        ends: &LoopEndMap,
        habits: Option<&BranchHistory>,
        pc: u32,
    ) -> Self {
        let (text, end) = TraceWords::follow_words(core, machine, ends, habits, pc);
        Self {
            last: text.places.last().map_or(pc, |place| place.pc),
            needs: BlockNeeds {
                end,
                turns: !text.turns.is_empty(),
                targets: text.targets,
            },
            text: Arc::new(text),
            skip: 0,
            skip_steps: 0,
            counts: 0,
            hot: Tier::default(),
        }
    }

    /// Returns the block without its first `words` words, unless that begins inside a call.
    pub(crate) fn suffix(&self, words: usize) -> Option<Self> {
        let skip = self.skip + words;
        self.text.places[skip].back.is_none().then(|| Self {
            text: self.text.clone(),
            needs: BlockNeeds {
                turns: self.text.turns.iter().any(|turn| turn.word >= skip),
                ..self.needs
            },
            skip,
            skip_steps: self.text.places[skip].steps as usize,
            hot: Tier::default(),
            ..*self
        })
    }

    /// True if the block begins with the first word of its text; other blocks that share the text
    /// are its suffixes.
    pub(crate) fn is_whole(&self) -> bool {
        self.skip == 0
    }

    /// Returns the index in a tally of a word's count.
    pub(crate) fn count(&self, word: usize) -> usize {
        self.counts + self.skip + word
    }

    /// Returns the words that the block turns behind.
    pub(crate) fn turning(&self) -> impl Iterator<Item = usize> {
        let turns = self.text.turns.iter();
        turns.filter_map(|turn| turn.word.checked_sub(self.skip))
    }

    /// Returns the words.
    pub(crate) fn words(&self) -> &[Decoded] {
        &self.text.words[self.skip..]
    }

    /// Returns the words that do something, ready to run.
    pub(crate) fn steps(&self) -> &[WordCall] {
        &self.text.steps[self.skip_steps..]
    }

    /// Returns the steps of the whole text, and how many of them are before the block's.
    pub(crate) fn shared(&self) -> (Arc<[WordCall]>, usize) {
        (self.text.steps.clone(), self.skip_steps)
    }

    /// Returns the steps of the first `words` words.
    pub(crate) fn part(&self, words: usize) -> &[WordCall] {
        let steps = &self.text.steps;
        let next = self.text.places.get(self.skip + words);
        let end = next.map_or(steps.len(), |place| place.steps as usize);
        &steps[self.skip_steps..end]
    }

    /// Returns the number of words before step `step`; all words if there is no such step.
    #[inline(always)]
    pub(crate) fn words_before(&self, step: usize) -> usize {
        match self.steps().get(step) {
            Some(step) => step.word as usize - self.skip,
            None => self.text.words.len() - self.skip,
        }
    }

    /// Returns the address of a word.
    pub(crate) fn pc(&self, word: usize) -> u32 {
        self.text.places[self.skip + word].pc
    }

    /// Returns the addresses of some of the words.
    pub(super) fn places(&self, words: Range<usize>) -> impl ExactSizeIterator<Item = u32> {
        let places = &self.text.places[self.skip + words.start..self.skip + words.end];
        places.iter().map(|place| place.pc)
    }

    /// Returns the work of one issue of each of some words.
    pub(super) fn work(&self, words: Range<usize>) -> Work {
        let before = |word| self.text.work(self.skip + word);
        before(words.end).work_since(&before(words.start))
    }

    /// True if the block turns behind a word.
    pub(crate) fn turns(&self, word: usize) -> bool {
        self.text.places[self.skip + word].turns
    }

    /// Returns the side exits of the block.
    pub(crate) fn sides(&self) -> impl Iterator<Item = SideExit> {
        let words = self.words().iter().enumerate();
        words.filter_map(|(i, word)| {
            let Action::Control(ControlOp::Branch { target, .. }) = word.action else {
                return None;
            };
            let place = &self.text.places[self.skip + i];
            let taken = !word.expect?;
            Some(SideExit {
                word: i,
                taken,
                target: if taken { target } else { place.pc + 1 },
                back: place.back,
            })
        })
    }

    /// Sets the core's control state to that after the first `words` words, which are not all of
    /// them.
    pub(crate) fn leave(&self, core: &mut Core, words: usize) {
        core.pc = self.pc(words);
        if let Some(back) = self.text.places[self.skip + words].back {
            let loops = core.loops.len();
            core.calls.push(Call { back, loops });
        }
    }

    /// True if all words can run in any state, and there is at least one.
    pub(crate) fn plain(&self) -> bool {
        use ControlOp as C;
        let faults = [
            matches!(
                self.needs.end,
                BlockEnd::Control(C::Loop { .. } | C::Call { .. } | C::Return)
            ),
            self.needs.turns,
            self.words().is_empty(),
        ];
        !faults.contains(&true)
    }

    /// Returns how many words can run whatever they compute: all but a last one that would fault,
    /// and none behind a turn that would leave a loop or could fault.
    pub(crate) fn safe(&self, core: &Core, machine: &Machine) -> usize {
        let certain = self.words().len() - usize::from(!self.needs.ends(core, machine));
        if self.needs.turn(core, machine) {
            return certain;
        }
        let ahead = self.text.turns.iter().find(|t| t.word >= self.skip);
        ahead.map_or(certain, |turn| turn.word - self.skip)
    }

    /// Runs whole passes in emitted code, up to a word that faults or leaves the block, or to a few
    /// words before one that faults. Returns the passes completed, and the steps after them.
    ///
    /// Returns `None`, and does nothing, if there is no such code, or if it sees a fault at once.
    pub(crate) fn emitted(
        &mut self,
        guest: &mut Guest<'_>,
        frame: &mut CodeFrame,
        passes: u64,
        ran: &mut Account,
    ) -> Option<(u64, usize)> {
        let text = &*self.text;
        let words = &text.words[self.skip..];
        let places = &text.places[self.skip..];
        let looping = self.needs.end == BlockEnd::Body;
        let mut word = |i: usize, guest: &mut Guest<'_>| {
            let step = text.steps.get(places[i].steps as usize);
            let step = step.filter(|step| step.word as usize == self.skip + i);
            let whole = step.is_none_or(|step| {
                portable::run_words_once(std::slice::from_ref(step), guest) == 1
            });
            if whole {
                ran.not_emitted(&words[i]);
            }
            whole
        };
        let hot = &mut self.hot;
        let done = hot.run(words, looping, guest, frame, passes, &mut word)?;
        let all = words.len() as u64;
        if done == passes * all {
            return Some((passes, 0));
        }
        // The division is slow; most runs are one pass.
        let (whole, rest) = match passes {
            1 => (0, done),
            _ => (done / all, done % all),
        };
        let step = places[rest as usize].steps as usize - self.skip_steps;
        Some((whole, step))
    }
}

/// Conditions under which a block can run to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockNeeds {
    /// Continuation after the last word.
    pub end: BlockEnd,
    /// True if the block turns behind any word.
    turns: bool,
    /// Lowest and highest target of its jumps outside calls.
    targets: Option<(u32, u32)>,
}

impl BlockNeeds {
    /// True if all words can run, provided that there are any.
    #[inline]
    pub(crate) fn are_met(&self, core: &Core, machine: &Machine) -> bool {
        self.ends(core, machine) && self.turn(core, machine)
    }

    /// True if the control operation at the end will not fault.
    #[inline]
    fn ends(&self, core: &Core, machine: &Machine) -> bool {
        match self.end {
            BlockEnd::Control(ControlOp::Loop { .. }) => core.loops.len() < machine.cp2.loop_depth,
            BlockEnd::Control(ControlOp::Call { .. }) => core.calls.len() < machine.cp2.call_depth,
            BlockEnd::Control(ControlOp::Return) => !core.calls.is_empty(),
            _ => true,
        }
    }

    /// True if no turn will fault or leave a loop.
    #[inline]
    fn turn(&self, core: &Core, machine: &Machine) -> bool {
        let inside = |(first, last): (u32, u32)| {
            let top = core.loops[core.callers_loops()..].last();
            top.is_none_or(|top| top.start <= first && last <= top.end)
        };
        !self.turns || core.calls.len() < machine.cp2.call_depth && self.targets.is_none_or(inside)
    }
}
