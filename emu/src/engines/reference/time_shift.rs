//! Moves the coprocessor's state in time, for guesses of later states.

use super::Coprocessor;
use super::Status;
use crate::account::counters::Counters;
use cp2_machine::Ticks;

impl Coprocessor {
    /// Takes over the state of `other`, with counters at zero. The engine and its translations
    /// stay.
    pub(crate) fn adopt_state(&mut self, other: &Self) {
        self.programs.fast_mut().uncount();
        self.programs.changed();
        self.core.clone_from(&other.core);
        self.status = other.status.clone();
        self.port = other.port.clone();
        self.counters = Counters {
            sections: other.counters.sections,
            ..Counters::default()
        };
        self.board = other.board();
        self.waited = other.waited.clone();
        self.now = other.now;
    }

    /// Moves all times later by `cycles` cycles, which are `ticks` ticks.
    pub(crate) fn shift_times(&mut self, cycles: u64, ticks: Ticks) {
        self.programs.fast_mut().leave(&mut self.board, self.now);
        let pending = self.board.relative(self.now);
        self.now = self.now.saturating_add(cycles);
        self.board.resume(&pending, self.now);
        self.port.shift_times(cycles, ticks);
        self.waited.shift_times(cycles);
        if let Status::Waiting { since, .. } = &mut self.status {
            *since = since.saturating_add(cycles);
        }
        for (_, seen) in self.core.events.iter_mut().flatten() {
            *seen = seen.saturating_add(cycles);
        }
    }

    /// Adds to the counters.
    pub(crate) fn count(&mut self, more: &Counters) {
        self.counters.merge(more);
    }
}
