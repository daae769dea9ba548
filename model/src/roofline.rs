//! The roofline of a procedure: where its expected time lies under the
//! ceilings of the system's units and the slopes of its channels.

use crate::procedure::{Demand, Procedure};
use crate::{Estimate, ModelError, System, estimate};
use serde::Serialize;

/// Everything a roofline picture shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// System.
    pub system: String,
    /// Procedure.
    pub procedure: String,
    /// Peak rates, highest first.
    pub ceilings: Vec<Ceiling>,
    /// Channels.
    pub slopes: Vec<Slope>,
    /// The procedure against each channel it uses.
    pub points: Vec<RooflinePoint>,
}

/// The peak of one class of operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// `unit class`.
    pub name: String,
    /// Flops per second.
    pub flops_per_second: f64,
}

/// The bandwidth of a channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// The channel.
    pub name: String,
    /// Bytes per second.
    pub bytes_per_second: f64,
}

/// The procedure as one channel sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RooflinePoint {
    /// The channel.
    pub channel: String,
    /// Flops per byte of the channel.
    pub intensity: f64,
    /// Flops per second at the expected time.
    pub flops_per_second: f64,
}

impl Roofline {
    /// The roofline of `procedure` on `system`.
    ///
    /// Flops are those of its operations, each at its class's full count.
    ///
    /// # Errors
    /// The procedure asks for something the system does not have.
    pub fn new(procedure: &Procedure, system: &System) -> Result<Self, ModelError> {
        let Estimate { seconds, .. } = estimate(procedure, system)?;
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
        let flops = flops(procedure, system);
        let points = system
            .channels
            .iter()
            .map(|channel| (channel, bytes(procedure, &channel.name)))
            .filter(|(_, bytes)| *bytes > 0.0 && flops > 0.0 && seconds > 0.0)
            .map(|(channel, bytes)| RooflinePoint {
                channel: channel.name.clone(),
                intensity: flops / bytes,
                flops_per_second: flops / seconds,
            })
            .collect();
        Ok(Self {
            system: system.name.clone(),
            procedure: procedure.name.clone(),
            ceilings,
            slopes: system
                .channels
                .iter()
                .map(|c| Slope {
                    name: c.name.clone(),
                    bytes_per_second: c.bytes_per_second,
                })
                .collect(),
            points,
        })
    }
}

/// Demands of all phases with how often they happen.
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
