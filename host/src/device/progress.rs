//! Which commands are complete, in memory that does not grow with their number.

use std::collections::{BTreeMap, BTreeSet};

/// What kind of completion a kernel may have waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    // In ascending priority between completions seen in the same cycle.
    Host,
    Store,
    Load,
    Kernel,
}

/// Completions remembered with their time, for the account of idle cycles.
const REMEMBERED: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Commands from here on have not been given yet.
    given: u64,
    /// Given and not complete. A kernel may stay here while thousands of
    /// later commands come and go.
    open: BTreeSet<u64>,
    /// When the latest were seen complete.
    seen: BTreeMap<u64, (u64, Kind)>,
}

impl Progress {
    /// The number of the next command, which is given now.
    pub(crate) fn give(&mut self) -> u64 {
        let number = self.given;
        self.open.insert(number);
        self.given += 1;
        number
    }

    /// The number that the next command will have.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    pub(crate) fn complete(&mut self, command: u64, cycle: u64, kind: Kind) {
        self.open.remove(&command);
        self.seen.insert(command, (cycle, kind));
        if self.seen.len() > REMEMBERED {
            self.seen.pop_first();
        }
    }

    pub(crate) fn is_complete(&self, command: u64) -> bool {
        command < self.given && !self.open.contains(&command)
    }

    /// Whether every command given is complete.
    pub(crate) fn all_complete(&self) -> bool {
        self.open.is_empty()
    }

    /// When and how a recent command was seen complete.
    pub(crate) fn seen(&self, command: u64) -> Option<(u64, Kind)> {
        self.seen.get(&command).copied()
    }
}
