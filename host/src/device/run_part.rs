//! Parts of a run, each with its cycles by cause.

use super::engine::DeviceEngine;
use cp2_emu::{Cause, Causes};
use serde::{Deserialize, Serialize};

/// A part of a run: from the mark before it, or the first cycle, to its own mark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPart {
    /// Name of the mark.
    pub name: String,
    /// Cycle in which the control CPU had seen everything of the part complete.
    pub until: u64,
    /// Cycles of the part.
    pub cycles: u64,
    /// Cycles by cause; they add up to `cycles`.
    pub causes: Causes,
}

impl DeviceEngine {
    /// Ends a part of the run, now that everything before is complete. It began at the mark before.
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
