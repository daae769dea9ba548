//! Parts of a run, each with its cycles and where they went.

use super::engine::DeviceEngine;
use cp2_emu::{Cause, Causes};
use serde::{Deserialize, Serialize};

/// A part of a run: from the mark before it, or the first cycle, to its own mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPart {
    /// The mark's name.
    pub name: String,
    /// The cycle in which the control CPU had seen everything of it complete.
    pub until: u64,
    /// Its cycles.
    pub cycles: u64,
    /// Where they went; they add up to `cycles`.
    pub causes: Causes,
}

impl DeviceEngine {
    /// Everything before is complete, now: what came since the mark before is a part of the run.
    pub(super) fn mark(&mut self, name: &str) {
        let now = self.state.now;
        self.state.idle.end(now);
        let mut causes = self.state.idle.causes().clone();
        causes.merge(&self.with_taken(self.processor.counters()).causes);
        let mut own = Causes::default();
        for cause in Cause::all() {
            let earlier: u64 = self.parts.iter().map(|part| part.causes.get(cause)).sum();
            own.add(cause, causes.get(cause).saturating_sub(earlier));
        }
        let from = self.parts.last().map_or(0, |part| part.until);
        self.parts.push(RunPart {
            name: name.to_owned(),
            until: now,
            cycles: now.saturating_sub(from),
            causes: own,
        });
    }
}
