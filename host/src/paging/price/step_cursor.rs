//! Position among the counted steps of a kernel.

use cp2_emu::cycles::{Counted, KernelInterval};

/// Position among the steps of a kernel: that of the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepCursor {
    stretch: usize,
    turn: u64,
    step: usize,
}

impl StepCursor {
    /// Returns the next step and moves behind it, or nothing behind the last.
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

    /// Returns how often the steps between an earlier position and this one repeat behind it.
    pub(super) fn rounds(&self, before: &Self, kernel: &Counted) -> u64 {
        let same = (self.stretch, self.step) == (before.stretch, before.step);
        let turns = self.turn.saturating_sub(before.turn);
        let stretch = kernel.stretches.get(self.stretch).filter(|_| same);
        stretch.map_or(0, |stretch| {
            let left = (stretch.times - 1).saturating_sub(self.turn);
            left.checked_div(turns).unwrap_or(0)
        })
    }

    /// Skips `rounds` repetitions of the steps between an earlier position and this one.
    pub(super) fn skip(&mut self, before: &Self, rounds: u64) {
        self.turn += rounds * self.turn.saturating_sub(before.turn);
    }
}
