//! Completed commands, in memory that does not grow with their number.

use std::collections::VecDeque;

/// Kind of completion that a kernel may have waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    // In ascending priority between completions seen in the same cycle.
    Host,
    Store,
    Load,
    Kernel,
}

/// Number of completions that are remembered with their time, for the account of idle cycles.
const REMEMBERED: usize = 1024;

/// Command number, cycle and kind of completions, ordered by command.
pub(crate) type Completions = VecDeque<(u64, u64, Kind)>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    /// Number of the first command that has not been given yet.
    given: u64,
    /// Commands given and not complete, ascending. A kernel may stay here while thousands of later commands
    /// come and go.
    open: Vec<u64>,
    /// Latest completions that were seen, ordered by command.
    seen: Completions,
}

impl Progress {
    /// Forgets all commands.
    pub(crate) fn clear(&mut self) {
        self.given = 0;
        self.open.clear();
        self.seen.clear();
    }

    /// Returns the number of the next command, which is given now.
    pub(crate) fn take_number(&mut self) -> u64 {
        let number = self.given;
        self.open.push(number);
        self.given += 1;
        number
    }

    /// Returns the number that the next command will have.
    pub(crate) fn next_number(&self) -> u64 {
        self.given
    }

    pub(crate) fn complete(&mut self, command: u64, cycle: u64, kind: Kind) {
        if let Ok(at) = self.open.binary_search(&command) {
            self.open.remove(at);
        }
        self.remember((command, cycle, kind));
    }

    fn remember(&mut self, completion: (u64, u64, Kind)) {
        let at = self.seen.partition_point(|seen| seen.0 < completion.0);
        self.seen.insert(at, completion);
        if self.seen.len() > REMEMBERED {
            self.seen.pop_front();
        }
    }

    /// Takes the completions that are remembered.
    pub(crate) fn take_seen(&mut self) -> Completions {
        std::mem::take(&mut self.seen)
    }

    /// Adds completions noted elsewhere, in any order; those of the latest commands are kept.
    pub(crate) fn add_seen(&mut self, seen: Completions) {
        seen.into_iter().for_each(|s| self.remember(s));
    }

    /// Moves on by `commands` commands; `number` maps the number of each open command.
    pub(crate) fn moved(&mut self, commands: u64, number: impl Fn(u64) -> u64) {
        self.given = self.given.saturating_add(commands);
        self.open.iter_mut().for_each(|open| *open = number(*open));
    }

    pub(crate) fn is_complete(&self, command: u64) -> bool {
        command < self.given && self.open.binary_search(&command).is_err()
    }

    /// Returns true if every command given is complete.
    pub(crate) fn all_complete(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the cycle and the kind of a recent command's completion.
    pub(crate) fn seen(&self, command: u64) -> Option<(u64, Kind)> {
        let at = self
            .seen
            .binary_search_by_key(&command, |seen| seen.0)
            .ok()?;
        Some((self.seen[at].1, self.seen[at].2))
    }
}
