//! The roofline of a procedure: ceilings, slopes and its points.
//!
//! Points lie at the procedure's expected time, under the ceilings of the system's units and the slopes of
//! its channels.

use crate::procedure::{Demand, Procedure};
use crate::{Estimate, ModelError, System, estimate};
use serde::Serialize;

/// All that a roofline picture shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// Name of the system.
    pub system: String,
    /// Name of the procedure.
    pub procedure: String,
    /// Peak rates, highest first.
    pub ceilings: Vec<Ceiling>,
    /// Bandwidths of the channels.
    pub slopes: Vec<Slope>,
    /// One point of the procedure for each channel that it uses.
    pub points: Vec<RooflinePoint>,
}

/// The peak rate of one class of operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// Name of the class.
    pub name: String,
    /// Flops per second.
    pub flops_per_second: f64,
}

/// The bandwidth of a channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// Name of the channel.
    pub name: String,
    /// Bytes per second.
    pub bytes_per_second: f64,
}

/// The point of the procedure for one channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RooflinePoint {
    /// Name of the channel.
    pub channel: String,
    /// Flops of the procedure per byte over the channel.
    pub intensity: f64,
    /// Flops per second at the expected time.
    pub flops_per_second: f64,
}

impl Roofline {
    /// Computes the roofline of `procedure` on `system`.
    ///
    /// Flops are counted from its operations, each with the full count of its class.
    ///
    /// # Errors
    /// The procedure asks for something the system does not have.
    pub fn new(procedure: &Procedure, system: &System) -> Result<Self, ModelError> {
        let Estimate { seconds, .. } = estimate(procedure, system)?;
        let mut roofline = Self::without_points(&procedure.name, system);
        let flops = flops(procedure, system);
        for channel in &system.channels {
            let bytes = bytes(procedure, &channel.name);
            roofline.add_point(&channel.name, flops, bytes, seconds);
        }
        Ok(roofline)
    }

    /// Computes ceilings and slopes of a system, without a point of the procedure that `procedure` names.
    #[must_use]
    pub fn without_points(procedure: &str, system: &System) -> Self {
        let mut ceilings: Vec<Ceiling> = Vec::new();
        for unit in &system.units {
            for (class, flops) in &unit.flops_per_operation {
                let rate = unit.operations_per_second.get(class).copied();
                let flops_per_second = flops * rate.unwrap_or(0.0);
                if flops_per_second > 0.0 {
                    ceilings.push(Ceiling {
                        name: class.clone(),
                        flops_per_second,
                    });
                }
            }
        }
        ceilings.sort_by(|a, b| b.flops_per_second.total_cmp(&a.flops_per_second));
        Self {
            system: system.name.clone(),
            procedure: procedure.to_owned(),
            ceilings,
            slopes: system
                .channels
                .iter()
                .map(|c| Slope {
                    name: c.name.clone(),
                    bytes_per_second: c.bytes_per_second,
                })
                .collect(),
            points: Vec::new(),
        }
    }

    /// Adds the point of so many flops and bytes over a channel in so many seconds. There is none where one of them
    /// is 0.
    pub fn add_point(&mut self, channel: &str, flops: f64, bytes: f64, seconds: f64) {
        if bytes > 0.0 && flops > 0.0 && seconds > 0.0 {
            self.points.push(RooflinePoint {
                channel: channel.to_owned(),
                intensity: flops / bytes,
                flops_per_second: flops / seconds,
            });
        }
    }
}

/// Iterates over the demands of all phases, each with its phase's number of repetitions.
fn demands(procedure: &Procedure) -> impl Iterator<Item = (f64, &Demand)> {
    procedure.phases.iter().flat_map(|phase| {
        let all = phase.branches.iter().flatten().chain(&phase.alone);
        all.map(|demand| (phase.times as f64, demand))
    })
}

fn flops(procedure: &Procedure, system: &System) -> f64 {
    demands(procedure)
        .map(|(times, demand)| match demand {
            Demand::Operations { unit, class, count } => {
                let unit = system.units.iter().find(|u| u.name == *unit);
                let flops = unit.and_then(|u| u.flops_per_operation.get(class));
                times * *count as f64 * flops.copied().unwrap_or(0.0)
            }
            Demand::Transfer { .. } | Demand::Action { .. } => 0.0,
        })
        .sum()
}

fn bytes(procedure: &Procedure, channel: &str) -> f64 {
    demands(procedure)
        .map(|(times, demand)| match demand {
            Demand::Transfer {
                channel: c, bytes, ..
            } if c == channel => times * *bytes as f64,
            _ => 0.0,
        })
        .sum()
}
