//! Procedures as data: operations and bytes, counted by formulas.

use crate::ModelError;
use crate::system::printable;
use serde::{Deserialize, Serialize};

/// A computation as the model sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Procedure {
    /// Name in reports.
    pub name: String,
    /// Phases, one after the other.
    pub phases: Vec<Phase>,
}

/// A part of a procedure that begins when the part before it is complete.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Name in reports.
    pub name: String,
    /// Number of repetitions.
    #[serde(default = "once")]
    pub times: u64,
    /// Branches that overlap as far as the system allows; the demands of one
    /// branch follow one another.
    #[serde(default)]
    pub branches: Vec<Vec<Demand>>,
    /// Demands that nothing overlaps: launch, first load, last store.
    #[serde(default)]
    pub alone: Vec<Demand>,
}

/// Work that a phase demands from one part of the system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Demand {
    /// Operations on a unit.
    Operations {
        /// Name of the unit.
        unit: String,
        /// Name of the operations' class.
        class: String,
        /// Number of operations.
        count: u64,
    },
    /// Bytes over a channel.
    Transfer {
        /// Name of the channel.
        channel: String,
        /// Number of bytes.
        bytes: u64,
        /// Number of transfers that move them.
        #[serde(default)]
        transfers: u64,
        /// Number of contiguous runs besides each transfer's first.
        #[serde(default)]
        runs: u64,
        /// Number of start-ups of the channel that nothing hides.
        #[serde(default)]
        latencies: u64,
    },
    /// Single actions.
    Action {
        /// Name of the action.
        name: String,
        /// Number of actions.
        #[serde(default = "once")]
        count: u64,
    },
}

fn once() -> u64 {
    1
}

impl Demand {
    /// Returns `count` operations of `class` on `unit`.
    #[must_use]
    pub fn operations(unit: &str, class: &str, count: u64) -> Self {
        Self::Operations {
            unit: unit.to_owned(),
            class: class.to_owned(),
            count,
        }
    }

    /// Returns `bytes` over `channel` at its bandwidth, without start-ups, transfer and run costs.
    #[must_use]
    pub fn transfer(channel: &str, bytes: u64) -> Self {
        Self::Transfer {
            channel: channel.to_owned(),
            bytes,
            transfers: 0,
            runs: 0,
            latencies: 0,
        }
    }

    /// Returns `count` times the action `name`.
    #[must_use]
    pub fn action(name: &str, count: u64) -> Self {
        Self::Action {
            name: name.to_owned(),
            count,
        }
    }
}

impl Phase {
    /// Returns a phase that happens once and has no demands yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            times: 1,
            ..Self::default()
        }
    }

    /// Adds a branch: it overlaps with the other branches; its own demands follow one another.
    #[must_use]
    pub fn branch(mut self, demands: impl IntoIterator<Item = Demand>) -> Self {
        self.branches.push(demands.into_iter().collect());
        self
    }

    /// Adds demands that nothing overlaps.
    #[must_use]
    pub fn add_serial(mut self, demands: impl IntoIterator<Item = Demand>) -> Self {
        self.alone.extend(demands);
        self
    }

    /// Sets the number of repetitions.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = times;
        self
    }
}

impl Procedure {
    /// Returns a procedure without phases.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            phases: Vec::new(),
        }
    }

    /// Adds a phase.
    #[must_use]
    pub fn phase(mut self, phase: Phase) -> Self {
        self.phases.push(phase);
        self
    }

    /// Reads a procedure: `[[phases]]` with `branches`, a list of lists, and `alone`, a list of
    /// `{ operations = { unit, class, count } }`, `{ transfer = { channel, bytes } }`,
    /// `{ action = { name } }`.
    ///
    /// # Errors
    /// The text is no procedure; the error says where, and what was expected.
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        let procedure: Self = toml::from_str(text).map_err(|e| ModelError::file(&e))?;
        printable("procedure", &procedure.name)?;
        for phase in &procedure.phases {
            printable("phase", &phase.name)?;
        }
        Ok(procedure)
    }
}
