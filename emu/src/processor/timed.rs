//! A machine together with its time base.

use cp2_machine::{Machine, TimeBase};
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::Arc;

/// A machine whose time base is computed once: that takes divisions, and it is needed at every
/// stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Arc<Machine>", into = "Arc<Machine>")]
pub(super) struct TimedMachine {
    machine: Arc<Machine>,
    base: TimeBase,
}

impl TimedMachine {
    pub(super) fn all(&self) -> &Arc<Machine> {
        &self.machine
    }

    pub(super) fn time_base(&self) -> TimeBase {
        self.base
    }
}

impl From<Arc<Machine>> for TimedMachine {
    fn from(machine: Arc<Machine>) -> Self {
        let base = machine.time_base();
        Self { machine, base }
    }
}

impl From<TimedMachine> for Arc<Machine> {
    fn from(timed: TimedMachine) -> Self {
        timed.machine
    }
}

impl Deref for TimedMachine {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.machine
    }
}
