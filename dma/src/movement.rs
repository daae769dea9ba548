//! Movements: the kinds of transfers that host programs issue.

use crate::{
    Bounds, Combine, Descriptor, DescriptorError, Direction, ListTransfer, Places, Run, Schedule,
    Sweep, Transfer,
};
use cp2_machine::Machine;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// A transfer of either kind. In files it is written as its kind is: only a list has `entries`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Movement {
    /// Runs at equal distances.
    Strided(Descriptor),
    /// Elements at the addresses of a list.
    List(ListTransfer),
}

/// Calls a function of the kind's own.
macro_rules! of_kind {
    ($movement:expr, $one:ident => $call:expr) => {
        match $movement {
            Movement::Strided($one) => $call,
            Movement::List($one) => $call,
        }
    };
}

impl Movement {
    /// Posts a CP2 event at completion.
    pub fn post(&mut self, event: u32) {
        of_kind!(self, one => one.event = Some(event));
    }

    /// Returns the strided descriptor, if it is one.
    #[must_use]
    pub fn as_strided(&self) -> Option<&Descriptor> {
        match self {
            Self::Strided(d) => Some(d),
            Self::List(_) => None,
        }
    }
}

impl From<Descriptor> for Movement {
    fn from(descriptor: Descriptor) -> Self {
        Self::Strided(descriptor)
    }
}

impl From<ListTransfer> for Movement {
    fn from(list: ListTransfer) -> Self {
        Self::List(list)
    }
}

impl Transfer for Movement {
    fn direction(&self) -> Direction {
        of_kind!(self, one => one.direction)
    }

    fn event(&self) -> Option<u32> {
        of_kind!(self, one => one.event)
    }

    fn combine(&self) -> Combine {
        of_kind!(self, one => one.combine())
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        let (strided, listed) = match self {
            Self::Strided(d) => (Some(d.runs(machine)), None),
            Self::List(list) => (None, Some(list.runs(machine))),
        };
        let strided = strided.into_iter().flatten();
        strided.chain(listed.into_iter().flatten())
    }

    fn check(&self, machine: &Machine) -> Result<(), DescriptorError> {
        of_kind!(self, one => one.check(machine))
    }

    fn bounds(&self, machine: &Machine) -> Bounds {
        of_kind!(self, one => one.bounds(machine))
    }

    fn places(&self, machine: &Machine) -> Places {
        of_kind!(self, one => one.places(machine))
    }

    fn schedule(&self, machine: &Machine) -> Schedule {
        of_kind!(self, one => one.schedule(machine))
    }

    fn packed(&self, machine: &Machine) -> Option<Self> {
        of_kind!(self, one => one.packed(machine).map(Self::from))
    }

    fn sweep(&self, machine: &Machine) -> Option<(Range<u64>, Sweep)> {
        of_kind!(self, one => one.sweep(machine))
    }
}

impl fmt::Display for Movement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        of_kind!(self, one => one.fmt(f))
    }
}
