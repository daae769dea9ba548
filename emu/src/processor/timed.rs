//! A machine and its time base.

use cp2_machine::{Machine, TimeBase};
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::Arc;

/// A machine whose time base is worked out once: it takes divisions, and is asked for at every stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Arc<Machine>", into = "Arc<Machine>")]
pub(super) struct Timed {
    machine: Arc<Machine>,
    base: TimeBase,
}

impl Timed {
    pub(super) fn all(&self) -> &Arc<Machine> {
        &self.machine
    }

    pub(super) fn time_base(&self) -> TimeBase {
        self.base
    }
}

impl From<Arc<Machine>> for Timed {
    fn from(machine: Arc<Machine>) -> Self {
        let base = machine.time_base();
        Self { machine, base }
    }
}

impl From<Timed> for Arc<Machine> {
    fn from(timed: Timed) -> Self {
        timed.machine
    }
}

impl Deref for Timed {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        &self.machine
    }
}
