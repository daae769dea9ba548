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
    /// Every command below is complete.
    low: u64,
    /// Complete commands from `low` on.
    done: BTreeSet<u64>,
    /// When the latest were seen complete.
    seen: BTreeMap<u64, (u64, Kind)>,
}

impl Progress {
    pub(crate) fn complete(&mut self, command: u64, cycle: u64, kind: Kind) {
        self.done.insert(command);
        while self.done.remove(&self.low) {
            self.low += 1;
        }
        self.seen.insert(command, (cycle, kind));
        if self.seen.len() > REMEMBERED {
            self.seen.pop_first();
        }
    }

    pub(crate) fn is_complete(&self, command: u64) -> bool {
        command < self.low || self.done.contains(&command)
    }

    /// Number of leading commands that are all complete.
    pub(crate) fn low(&self) -> u64 {
        self.low
    }

    /// When and how a recent command was seen complete.
    pub(crate) fn seen(&self, command: u64) -> Option<(u64, Kind)> {
        self.seen.get(&command).copied()
    }
}
