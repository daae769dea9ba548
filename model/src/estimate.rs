//! The expected time of a procedure and the balance criterion.

use crate::procedure::{Demand, Phase, Procedure};
use crate::{ModelError, System};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Add as _;

/// The expected time of a procedure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Expected time in seconds.
    pub seconds: f64,
    /// The largest part of it: a unit, a channel, or `actions`.
    pub limit: String,
    /// Busy time of each unit and channel, overlapped and serial together.
    pub terms: Vec<BusyTerm>,
    /// Seconds of single actions and start-ups.
    pub actions: f64,
    /// Balance factor of every channel that is used.
    pub balance: Vec<Balance>,
    /// Phase by phase.
    pub phases: Vec<PhaseEstimate>,
}

/// The busy time of one resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusyTerm {
    /// Name of the unit or channel.
    pub resource: String,
    /// Its busy time in seconds.
    pub seconds: f64,
}

/// Compares a channel with the busiest computing unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// The channel.
    pub channel: String,
    /// Busy time of the channel divided by that of the busiest computing unit: how many times faster the
    /// channel would have to be for balance. At most 1 is balanced. None if nothing computes.
    ///
    /// A unit computes if the system gives flops for it; if it does so for no unit, every unit counts.
    pub factor: Option<f64>,
}

/// The expected time of one phase, all its repetitions together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseEstimate {
    /// The phase.
    pub name: String,
    /// Its time in seconds: `alone` and the longest branch, or more if branches share resources or use some
    /// that exclude one another.
    pub seconds: f64,
    /// Seconds of the demands that nothing overlaps.
    pub alone: f64,
    /// The largest part of the overlapped time: a unit, a channel, or `actions`.
    pub limit: String,
    /// Overlapped busy time of each resource.
    pub terms: Vec<BusyTerm>,
}

/// Computes the expected time of `procedure` on `system`.
///
/// A phase takes the time of its `alone` demands and that of its longest branch. A resource that several
/// branches use, and resources that exclude one another, serve their demands one after the other, which may
/// take longer than any branch: `time = alone + max(branches, shared resources, exclusive lists)`.
///
/// # Errors
/// The procedure has no phases, asks for something that the system does not have, or its time is not finite.
pub fn estimate(procedure: &Procedure, system: &System) -> Result<Estimate, ModelError> {
    system.check()?;
    if procedure.phases.is_empty() {
        return Err(ModelError::Empty(procedure.name.clone()));
    }
    let mut all = BusyTimes::new(system);
    let mut shares = BusyTimes::new(system);
    let mut phases = Vec::new();
    for phase in &procedure.phases {
        let times = phase.times as f64;
        let mut alone = BusyTimes::new(system);
        for demand in &phase.alone {
            alone.add(demand, phase, system)?;
        }
        alone.scale(times);
        let mut branches = Vec::new();
        for branch in &phase.branches {
            let mut sum = BusyTimes::new(system);
            for demand in branch {
                sum.add(demand, phase, system)?;
            }
            sum.scale(times);
            branches.push(sum);
        }
        let mut overlapped = BusyTimes::new(system);
        branches.iter().for_each(|b| overlapped.join(b));
        let critical = critical(branches, &overlapped, system).settled();
        let (overlapped, alone) = (overlapped.settled(), alone.settled());
        all.join(&overlapped);
        all.join(&alone);
        shares.join(&alone);
        shares.join(&critical);
        phases.push(PhaseEstimate {
            name: phase.name.clone(),
            seconds: alone.sum() + critical.sum(),
            alone: alone.sum(),
            limit: critical.largest(system),
            terms: overlapped.terms(system),
        });
    }
    let seconds = phases.iter().map(|p| p.seconds).fold(0.0, f64::add);
    if !seconds.is_finite() {
        return Err(ModelError::Endless {
            procedure: procedure.name.clone(),
            system: system.name.clone(),
        });
    }
    Ok(Estimate {
        seconds,
        limit: shares.largest(system),
        terms: all.terms(system),
        actions: all.actions,
        balance: balance(&all, system),
        phases,
    })
}

/// Computes the balance factor of every channel that is used: `busy(channel) / max busy(computing unit)`.
fn balance(all: &BusyTimes, system: &System) -> Vec<Balance> {
    let no_flops = system
        .units
        .iter()
        .all(|u| u.flops_per_operation.is_empty());
    let computing = system
        .units
        .iter()
        .enumerate()
        .filter(|(_, unit)| no_flops || !unit.flops_per_operation.is_empty());
    let busiest = computing.map(|(i, _)| all.busy(i)).fold(0.0, f64::max);
    let channels = system.channels.iter().zip(system.units.len()..);
    channels
        .map(|(channel, i)| (channel, all.busy(i)))
        .filter(|(_, seconds)| *seconds > 0.0)
        .map(|(channel, seconds)| Balance {
            channel: channel.name.clone(),
            factor: (busiest > 0.0).then(|| seconds / busiest),
        })
        .collect()
}

/// Returns the critical work of overlapped branches: of each branch, each resource that branches share, and
/// each exclusive list, the one that takes longest.
fn critical(branches: Vec<BusyTimes>, overlapped: &BusyTimes, system: &System) -> BusyTimes {
    let names: Vec<&str> = system.resources().collect();
    let only = |keep: &dyn Fn(&str) -> bool| {
        let mut times = BusyTimes::new(system);
        for (i, _) in names.iter().enumerate().filter(|(_, name)| keep(name)) {
            times.work[i] = overlapped.work[i].clone();
        }
        times
    };
    let shared = names.iter().map(|&one| only(&|name| name == one));
    let exclusive = system
        .exclusive
        .iter()
        .map(|group| only(&|name| group.iter().any(|g| g == name)));
    let mut longest = BusyTimes::new(system);
    for times in branches.into_iter().chain(shared).chain(exclusive) {
        if times.sum() > longest.sum() {
            longest = times;
        }
    }
    longest
}

/// Work of one resource.
#[derive(Clone, Debug, Default)]
struct ResourceWork {
    /// Seconds of demands that follow one another.
    serial: f64,
    /// Seconds of each class, if the classes overlap; the longest counts.
    classes: BTreeMap<String, f64>,
}

impl ResourceWork {
    fn seconds(&self) -> f64 {
        self.classes.values().copied().fold(self.serial, f64::max)
    }
}

/// Work of every unit and channel, in the system's order.
struct BusyTimes {
    work: Vec<ResourceWork>,
    actions: f64,
}

impl BusyTimes {
    fn new(system: &System) -> Self {
        Self {
            work: vec![ResourceWork::default(); system.resources().count()],
            actions: 0.0,
        }
    }

    /// Returns the busy seconds of a resource.
    fn busy(&self, resource: usize) -> f64 {
        self.work[resource].seconds()
    }

    fn add(&mut self, demand: &Demand, phase: &Phase, system: &System) -> Result<(), ModelError> {
        match demand {
            Demand::Operations { unit, class, count } => {
                let names = || system.units.iter().map(|u| u.name.clone()).collect();
                let at = system.units.iter().position(|u| u.name == *unit);
                let at = at.ok_or_else(|| unknown(phase, system, "unit", unit, names()))?;
                let unit = &system.units[at];
                let rates = &unit.operations_per_second;
                let rate = rates.get(class).ok_or_else(|| {
                    let known = rates.keys().cloned().collect();
                    unknown(phase, system, "operation class", class, known)
                })?;
                let (work, count) = (&mut self.work[at], *count as f64);
                match unit.issues_per_second {
                    None => work.serial += count / rate,
                    Some(issues) => {
                        work.serial += count / issues;
                        *work.classes.entry(class.clone()).or_default() += count / rate;
                    }
                }
            }
            Demand::Transfer {
                channel,
                bytes,
                transfers,
                runs,
                latencies,
            } => {
                let names = || system.channels.iter().map(|c| c.name.clone()).collect();
                let at = system.channels.iter().position(|c| c.name == *channel);
                let at = at.ok_or_else(|| unknown(phase, system, "channel", channel, names()))?;
                let c = &system.channels[at];
                self.work[system.units.len() + at].serial += *bytes as f64 / c.bytes_per_second
                    + *transfers as f64 * c.transfer_seconds
                    + *runs as f64 * c.run_seconds;
                self.actions += *latencies as f64 * c.latency_seconds;
            }
            Demand::Action { name, count } => {
                let known = &system.actions_seconds;
                let seconds = known.get(name).ok_or_else(|| {
                    let known = known.keys().cloned().collect();
                    unknown(phase, system, "action", name, known)
                })?;
                self.actions += *count as f64 * seconds;
            }
        }
        Ok(())
    }

    fn sum(&self) -> f64 {
        self.work
            .iter()
            .map(ResourceWork::seconds)
            .fold(self.actions, f64::add)
    }

    /// Returns the name of the largest term; of equal terms the first.
    fn largest(&self, system: &System) -> String {
        let named = system
            .resources()
            .zip(self.work.iter().map(ResourceWork::seconds));
        let best = named.fold(("actions", self.actions), |best, term| {
            if term.1 > best.1 { term } else { best }
        });
        best.0.to_owned()
    }

    fn scale(&mut self, times: f64) {
        for work in &mut self.work {
            work.serial *= times;
            work.classes.values_mut().for_each(|s| *s *= times);
        }
        self.actions *= times;
    }

    fn join(&mut self, other: &Self) {
        for (mine, more) in self.work.iter_mut().zip(&other.work) {
            mine.serial += more.serial;
            for (class, seconds) in &more.classes {
                *mine.classes.entry(class.clone()).or_default() += seconds;
            }
        }
        self.actions += other.actions;
    }

    /// Converts overlapped classes to serial time, so that nothing later overlaps with them.
    fn settled(mut self) -> Self {
        for work in &mut self.work {
            work.serial = work.seconds();
            work.classes.clear();
        }
        self
    }

    fn terms(&self, system: &System) -> Vec<BusyTerm> {
        let named = system.resources().zip(&self.work);
        named
            .map(|(resource, work)| BusyTerm {
                resource: resource.to_owned(),
                seconds: work.seconds(),
            })
            .collect()
    }
}

fn unknown(
    phase: &Phase,
    system: &System,
    kind: &'static str,
    name: &str,
    known: Vec<String>,
) -> ModelError {
    ModelError::Unknown {
        phase: phase.name.clone(),
        system: system.name.clone(),
        kind,
        name: name.to_owned(),
        known,
    }
}
