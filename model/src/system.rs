//! Hybrid systems as data: compute units, channels and actions.

use crate::ModelError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A hybrid system; all quantities are in seconds, bytes and operations per second.
///
/// The TOML form:
///
/// ```toml
/// name = "one GPU and its host"
/// clock_hz = 1.3e9
/// # Whatever shares a list waits for one another; all else overlaps.
/// exclusive = [["pcie", "network"]]
///
/// [[units]]
/// name = "gpu"
/// operations_per_second = { flop = 933e9 }
/// flops_per_operation = { flop = 1.0 }
///
/// [[channels]]
/// name = "memory"
/// bytes_per_second = 102.4e9
///
/// [[channels]]
/// name = "pcie"
/// bytes_per_second = 2e9
/// latency_seconds = 10e-6
///
/// [actions_seconds]
/// launch = 5e-6
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Name in reports.
    pub name: String,
    /// Frequency in Hz of the clock in whose cycles times are reported.
    pub clock_hz: f64,
    /// Compute units.
    #[serde(default)]
    pub units: Vec<ComputeUnit>,
    /// Channels between memories.
    #[serde(default)]
    pub channels: Vec<Channel>,
    /// Names of units and channels that exclude one another, list by list.
    #[serde(default)]
    pub exclusive: Vec<Vec<String>>,
    /// Seconds of single actions (a launch, a completion), which nothing overlaps.
    #[serde(default)]
    pub actions_seconds: BTreeMap<String, f64>,
}

/// A compute unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeUnit {
    /// Name.
    pub name: String,
    /// Peak rate of each class of operation.
    pub operations_per_second: BTreeMap<String, f64>,
    /// Operations that the unit begins in a second, whatever their class. With it the classes overlap as in a
    /// pipelined processor; without it they follow one another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issues_per_second: Option<f64>,
    /// Most floating-point operations that one operation of the class does.
    #[serde(default)]
    pub flops_per_operation: BTreeMap<String, f64>,
}

/// A channel: DMA, a bus to an accelerator, a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Name.
    pub name: String,
    /// Bandwidth, both directions together.
    pub bytes_per_second: f64,
    /// Start-up time of a transfer that nothing hides.
    #[serde(default)]
    pub latency_seconds: f64,
    /// Time that each transfer occupies the channel besides its bytes.
    #[serde(default)]
    pub transfer_seconds: f64,
    /// Time that each contiguous run after a transfer's first takes.
    #[serde(default)]
    pub run_seconds: f64,
}

impl System {
    /// Reads and checks a system.
    ///
    /// # Errors
    /// The text is no system; the error says where, and what was expected.
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        let system: Self = toml::from_str(text).map_err(|e| ModelError::file(&e))?;
        system.check()?;
        Ok(system)
    }

    /// Checks the rules that the types do not express.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), ModelError> {
        let wrong = |problem: String| ModelError::System {
            system: self.name.clone(),
            problem,
        };
        positive(self.clock_hz, || format!("{}: clock_hz", self.name))?;
        let mut names = BTreeSet::new();
        printable("system", &self.name)?;
        for name in self.resources() {
            printable("unit or channel", name)?;
            if !names.insert(name) {
                return Err(wrong(format!(
                    "`{name}` stands twice; expected one unit or channel of a name"
                )));
            }
        }
        for unit in &self.units {
            if let Some(rate) = unit.issues_per_second {
                positive(rate, || format!("unit `{}`, issues_per_second", unit.name))?;
            }
            for (class, &rate) in &unit.operations_per_second {
                positive(rate, || format!("unit `{}`, class `{class}`", unit.name))?;
            }
            for (class, &flops) in &unit.flops_per_operation {
                if !unit.operations_per_second.contains_key(class) {
                    return Err(wrong(format!(
                        "unit `{}` gives flops for `{class}`, which has no rate",
                        unit.name
                    )));
                }
                not_negative(flops, || {
                    format!("unit `{}`, flops of `{class}`", unit.name)
                })?;
            }
        }
        for channel in &self.channels {
            positive(channel.bytes_per_second, || {
                format!("channel `{}`, bytes_per_second", channel.name)
            })?;
            for (key, value) in [
                ("latency_seconds", channel.latency_seconds),
                ("transfer_seconds", channel.transfer_seconds),
                ("run_seconds", channel.run_seconds),
            ] {
                not_negative(value, || format!("channel `{}`, {key}", channel.name))?;
            }
        }
        for (name, &seconds) in &self.actions_seconds {
            not_negative(seconds, || format!("action `{name}`"))?;
        }
        for name in self.exclusive.iter().flatten() {
            if !names.contains(name.as_str()) {
                return Err(wrong(format!(
                    "`exclusive` names `{name}`, which is no unit or channel"
                )));
            }
        }
        Ok(())
    }

    /// Iterates over the names of the units, then of the channels.
    pub fn resources(&self) -> impl Iterator<Item = &str> {
        let units = self.units.iter().map(|u| u.name.as_str());
        units.chain(self.channels.iter().map(|c| c.name.as_str()))
    }

    /// Converts seconds to cycles of the system's clock, rounded to a thousandth: the conversion through
    /// seconds makes later digits meaningless.
    #[must_use]
    pub fn cycles(&self, seconds: f64) -> f64 {
        (seconds * self.clock_hz * 1e3).round() / 1e3
    }
}

/// Checks that a name can be printed, as names go to terminals and into pictures.
pub(crate) fn printable(kind: &'static str, name: &str) -> Result<(), ModelError> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(ModelError::Name {
            kind,
            name: name.to_owned(),
        });
    }
    Ok(())
}

fn positive(value: f64, place: impl FnOnce() -> String) -> Result<(), ModelError> {
    number(value, value > 0.0, "positive finite", place)
}

fn not_negative(value: f64, place: impl FnOnce() -> String) -> Result<(), ModelError> {
    number(value, value >= 0.0, "finite, not negative", place)
}

fn number(
    value: f64,
    holds: bool,
    expected: &'static str,
    place: impl FnOnce() -> String,
) -> Result<(), ModelError> {
    if holds && value.is_finite() {
        return Ok(());
    }
    Err(ModelError::Number {
        place: place(),
        value,
        expected,
    })
}
