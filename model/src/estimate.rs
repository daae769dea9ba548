//! The expected time and the balance criterion.

use crate::procedure::{Demand, Phase, Procedure};
use crate::{ModelError, System};
use serde::Serialize;

/// The expected time of a procedure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Expected time.
    pub seconds: f64,
    /// What takes the largest part of it: a unit, a channel, or `actions`.
    pub limit: String,
    /// Busy time of each unit and channel, overlapped and alone.
    pub terms: Vec<Term>,
    /// Time of single actions and start-ups.
    pub actions: f64,
    /// The balance criterion, for every channel that is used.
    pub balance: Vec<Balance>,
    /// Phase by phase.
    pub phases: Vec<PhaseEstimate>,
}

/// The busy time of one resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Term {
    /// Unit or channel.
    pub resource: String,
    /// Its busy time.
    pub seconds: f64,
}

/// A channel against the compute term.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// The channel.
    pub channel: String,
    /// Its time over the time of the busiest unit: how many times faster it
    /// would have to be for balance; at most 1 is balanced.
    pub factor: f64,
}

/// The expected time of one phase, all its repetitions together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseEstimate {
    /// The phase.
    pub name: String,
    /// Its time: `alone` and the longest branch, or more where branches share
    /// resources or use some that exclude one another.
    pub seconds: f64,
    /// What nothing overlaps.
    pub alone: f64,
    /// What most of the overlapped time goes to.
    pub limit: String,
    /// Overlapped time of each resource.
    pub terms: Vec<Term>,
}

/// What `procedure` should take on `system`.
///
/// A phase takes the time of its `alone` demands and that of its longest
/// branch; a resource that several branches use, and resources that exclude
/// one another, serve them one after the other.
///
/// # Errors
/// The procedure asks for something the system does not have.
pub fn estimate(procedure: &Procedure, system: &System) -> Result<Estimate, ModelError> {
    system.check()?;
    let mut all = Times::new(system);
    let mut shares = Times::new(system);
    let mut phases = Vec::new();
    for phase in &procedure.phases {
        let times = phase.times as f64;
        let mut alone = Times::new(system);
        for demand in &phase.alone {
            alone.add(demand, phase, system)?;
        }
        alone.scale(times);
        let mut branches = Vec::new();
        for branch in &phase.branches {
            let mut sum = Times::new(system);
            for demand in branch {
                sum.add(demand, phase, system)?;
            }
            sum.scale(times);
            branches.push(sum);
        }
        let mut overlapped = Times::new(system);
        branches.iter().for_each(|b| overlapped.join(b));
        all.join(&overlapped);
        all.join(&alone);
        shares.join(&alone);
        let critical = critical(branches, &overlapped, system);
        shares.join(&critical);
        phases.push(PhaseEstimate {
            name: phase.name.clone(),
            seconds: alone.sum() + critical.sum(),
            alone: alone.sum(),
            limit: critical.largest(system),
            terms: overlapped.terms(system),
        });
    }
    let compute = system.units.len();
    let busiest = all.busy[..compute].iter().copied().fold(0.0, f64::max);
    let balance = system
        .channels
        .iter()
        .zip(&all.busy[compute..])
        .filter(|(_, seconds)| **seconds > 0.0)
        .map(|(channel, &seconds)| Balance {
            channel: channel.name.clone(),
            factor: seconds / busiest,
        })
        .collect();
    Ok(Estimate {
        seconds: phases.iter().map(|p| p.seconds).sum(),
        limit: shares.largest(system),
        terms: all.terms(system),
        actions: all.actions,
        balance,
        phases,
    })
}

/// What decides how long the branches take together: the longest branch, or
/// resources that several branches share, or that exclude one another.
fn critical(branches: Vec<Times>, overlapped: &Times, system: &System) -> Times {
    let names: Vec<&str> = system.resources().collect();
    let only = |keep: &dyn Fn(&str) -> bool| {
        let mut times = Times::new(system);
        for (i, _) in names.iter().enumerate().filter(|(_, name)| keep(name)) {
            times.busy[i] = overlapped.busy[i];
        }
        times
    };
    let shared = names.iter().map(|&one| only(&|name| name == one));
    let exclusive = system
        .exclusive
        .iter()
        .map(|group| only(&|name| group.iter().any(|g| g == name)));
    let mut longest = Times::new(system);
    for times in branches.into_iter().chain(shared).chain(exclusive) {
        if times.sum() > longest.sum() {
            longest = times;
        }
    }
    longest
}

/// Busy seconds of every unit and channel, in the system's order.
struct Times {
    busy: Vec<f64>,
    actions: f64,
}

impl Times {
    fn new(system: &System) -> Self {
        Self {
            busy: vec![0.0; system.resources().count()],
            actions: 0.0,
        }
    }

    fn add(&mut self, demand: &Demand, phase: &Phase, system: &System) -> Result<(), ModelError> {
        match demand {
            Demand::Operations { unit, class, count } => {
                let names = || system.units.iter().map(|u| u.name.clone()).collect();
                let at = system.units.iter().position(|u| u.name == *unit);
                let at = at.ok_or_else(|| unknown(phase, system, "unit", unit, names()))?;
                let rates = &system.units[at].operations_per_second;
                let rate = rates.get(class).ok_or_else(|| {
                    let known = rates.keys().cloned().collect();
                    unknown(phase, system, "operation class", class, known)
                })?;
                self.busy[at] += *count as f64 / rate;
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
                self.busy[system.units.len() + at] += *bytes as f64 / c.bytes_per_second
                    + *transfers as f64 * c.transfer_seconds
                    + *runs as f64 * c.run_seconds;
                self.actions += *latencies as f64 * c.latency_seconds;
            }
            Demand::Action { name, count } => {
                let known = &system.actions_seconds;
                let seconds = known.get(name).ok_or_else(|| {
                    unknown(
                        phase,
                        system,
                        "action",
                        name,
                        known.keys().cloned().collect(),
                    )
                })?;
                self.actions += *count as f64 * seconds;
            }
        }
        Ok(())
    }

    fn sum(&self) -> f64 {
        self.busy.iter().sum::<f64>() + self.actions
    }

    /// The first of what takes most time.
    fn largest(&self, system: &System) -> String {
        let named = system.resources().zip(self.busy.iter().copied());
        let best = named.fold(("actions", self.actions), |best, term| {
            if term.1 > best.1 { term } else { best }
        });
        best.0.to_owned()
    }

    fn scale(&mut self, times: f64) {
        self.busy.iter_mut().for_each(|b| *b *= times);
        self.actions *= times;
    }

    fn join(&mut self, other: &Self) {
        for (mine, more) in self.busy.iter_mut().zip(&other.busy) {
            *mine += more;
        }
        self.actions += other.actions;
    }

    fn terms(&self, system: &System) -> Vec<Term> {
        let named = system.resources().zip(&self.busy);
        named
            .map(|(resource, &seconds)| Term {
                resource: resource.to_owned(),
                seconds,
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
