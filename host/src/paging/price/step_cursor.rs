//! A place among the steps of a kernel.

use cp2_emu::cycles::{Counted, KernelInterval};

/// A place among the steps of a kernel: the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepCursor {
    stretch: usize,
    turn: u64,
    step: usize,
}

impl StepCursor {
    /// The next step, from which it goes on; none behind the last.
    pub(crate) fn next(&mut self, kernel: &Counted) -> Option<KernelInterval> {
        let stretch = kernel.stretches.get(self.stretch)?;
        let step = stretch.steps.get(self.step).copied();
        self.step += 1;
        if self.step >= stretch.steps.len() {
            self.step = 0;
            self.turn += 1;
        }
        if self.turn >= stretch.times {
            (self.stretch, self.turn, self.step) = (self.stretch + 1, 0, 0);
        }
        step
    }

    /// How often what lies between an earlier place and this one comes again behind it.
    pub(super) fn rounds(&self, before: &Self, kernel: &Counted) -> u64 {
        let same = (self.stretch, self.step) == (before.stretch, before.step);
        let turns = self.turn.saturating_sub(before.turn);
        let stretch = kernel.stretches.get(self.stretch).filter(|_| same);
        stretch.map_or(0, |stretch| {
            let left = (stretch.times - 1).saturating_sub(self.turn);
            left.checked_div(turns).unwrap_or(0)
        })
    }

    /// Goes on by so many times what lies between an earlier place and this one.
    pub(super) fn skip(&mut self, before: &Self, rounds: u64) {
        self.turn += rounds * self.turn.saturating_sub(before.turn);
    }
}
