//! The expected time and the balance criterion.

use crate::procedure::{Demand, Phase, Procedure};
use crate::{ModelError, System};
use serde::Serialize;

/// The expected time of a procedure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Expected time.
    pub seconds: f64,
    /// What takes the largest part of it: a unit, a channel, or `alone`.
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
    /// Its time: `alone` and the largest of `terms` that overlap.
    pub seconds: f64,
    /// What nothing overlaps.
    pub alone: f64,
    /// The largest overlapped term's resource, or `alone` where that is more.
    pub limit: String,
    /// Overlapped time of each resource.
    pub terms: Vec<Term>,
}

/// What `procedure` should take on `system`.
///
/// A phase takes the time of its `alone` demands and the largest of its
/// overlapped terms, where resources that exclude one another are one term.
///
/// # Errors
/// The procedure asks for something the system does not have.
pub fn estimate(procedure: &Procedure, system: &System) -> Result<Estimate, ModelError> {
    system.check()?;
    let mut all = Times::new(system);
    let mut phases = Vec::new();
    for phase in &procedure.phases {
        let mut overlapped = Times::new(system);
        let mut alone = Times::new(system);
        for demand in &phase.overlapped {
            overlapped.add(demand, phase, system)?;
        }
        for demand in &phase.alone {
            alone.add(demand, phase, system)?;
        }
        let times = phase.times as f64;
        overlapped.scale(times);
        alone.scale(times);
        all.join(&overlapped);
        all.join(&alone);
        phases.push(phase_estimate(phase, &overlapped, &alone, system));
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
    // The limit of the whole: the resource or `alone` that most of the time goes to.
    let mut shares: Vec<(&str, f64)> = Vec::new();
    for phase in &phases {
        for (name, seconds) in [
            (phase.limit.as_str(), phase.seconds - phase.alone),
            ("alone", phase.alone),
        ] {
            match shares.iter_mut().find(|(n, _)| *n == name) {
                Some((_, sum)) => *sum += seconds,
                None => shares.push((name, seconds)),
            }
        }
    }
    let limit = largest(shares.into_iter());
    Ok(Estimate {
        seconds: phases.iter().map(|p| p.seconds).sum(),
        limit,
        terms: all.terms(system),
        actions: all.actions,
        balance,
        phases,
    })
}

fn phase_estimate(
    phase: &Phase,
    overlapped: &Times,
    alone: &Times,
    system: &System,
) -> PhaseEstimate {
    let names: Vec<&str> = system.resources().collect();
    let time_of = |name: &str| {
        let of = |(i, n): (usize, &&str)| if *n == name { overlapped.busy[i] } else { 0.0 };
        names.iter().enumerate().map(of).sum::<f64>()
    };
    let groups = system
        .exclusive
        .iter()
        .map(|group| group.iter().map(|n| time_of(n)).sum::<f64>());
    let longest = overlapped.busy.iter().copied().chain(groups);
    let together = longest.fold(0.0, f64::max) + overlapped.actions;
    let serial = alone.busy.iter().sum::<f64>() + alone.actions;
    let limit = largest(names.iter().copied().zip(overlapped.busy.iter().copied()));
    PhaseEstimate {
        name: phase.name.clone(),
        seconds: serial + together,
        alone: serial,
        limit,
        terms: overlapped.terms(system),
    }
}

/// The first of the largest; `alone` where nothing takes time.
fn largest<'a>(shares: impl Iterator<Item = (&'a str, f64)>) -> String {
    let best = shares.fold(
        ("alone", 0.0),
        |best, share| {
            if share.1 > best.1 { share } else { best }
        },
    );
    best.0.to_owned()
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
