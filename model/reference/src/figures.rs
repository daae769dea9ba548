//! The two figures of a problem on a machine.

use crate::bound::Traffic;
use crate::count::Count;
use cp2_machine::{Cycles, Machine};
use serde::Serialize;

/// Which term of a reference is the longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Term {
    /// The arithmetic of all sections.
    Arithmetic,
    /// The bytes over the DMA channel.
    #[default]
    Channel,
}

/// What a problem takes at least: proved, and by the best algorithm known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// The proved limit: inputs and outputs once over the channel, see [`crate::bound`].
    #[serde(rename = "bound_cycles")]
    pub bound: Cycles,
    /// The least of the known algorithms; never below the bound.
    #[serde(rename = "reference_cycles")]
    pub reference: Cycles,
    /// What the reference is the time of: the algorithm, or where the channel takes longer the plan of transfers.
    #[serde(rename = "reference_method")]
    pub method: String,
    /// Where that is published.
    #[serde(rename = "reference_source")]
    pub source: String,
    /// Which of both terms the reference is.
    #[serde(rename = "reference_term")]
    pub term: Term,
}

/// A way to do without repetition what has to be done: its arithmetic and its transfers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Issues of one section, all sections together.
    pub(crate) count: Count,
    pub(crate) method: String,
    pub(crate) source: String,
}

/// A plan of transfers.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) traffic: Traffic,
    pub(crate) method: String,
    pub(crate) source: &'static str,
}

/// Inputs and outputs moved once.
const ONCE: &str = "inputs and outputs once over the channel";

impl Known {
    /// Of ways the one that takes the least time.
    pub(crate) fn best(ways: impl IntoIterator<Item = Self>, machine: &Machine) -> Option<Self> {
        let timed = ways.into_iter().map(|way| (way.count.cycles(machine), way));
        let best = timed.min_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, way)| way)
    }
}

impl Plan {
    pub(crate) fn once(traffic: Traffic) -> Self {
        Self {
            traffic,
            method: ONCE.to_owned(),
            source: "proved",
        }
    }
}

impl Figures {
    /// Those of a procedure that moves so much and issues so many operations, all sections together, by a method
    /// that is published in `source`.
    #[must_use]
    pub fn of(
        machine: &Machine,
        traffic: Traffic,
        count: Count,
        method: &str,
        source: &str,
    ) -> Self {
        let known = Known {
            count,
            method: method.to_owned(),
            source: source.to_owned(),
        };
        Self::least(machine, traffic, &Plan::once(traffic), [known])
    }

    /// The least of known algorithms with a plan of transfers, beside what must be moved.
    pub(crate) fn least(
        machine: &Machine,
        must: Traffic,
        plan: &Plan,
        known: impl IntoIterator<Item = Known>,
    ) -> Self {
        let sections = machine.cp2.sections.max(1) as f64;
        let best = Known::best(known, machine);
        let bound = must.cycles(machine);
        let moved = plan.traffic.cycles(machine).max(bound);
        // A count in hundredths of cycles is exact; what is below is of the sums of floating point.
        let computed = best.as_ref().map_or(0, |way| {
            (way.count.cycles(machine) / sections + 1e-6).floor() as u64
        });
        let (term, method, source) = match best {
            Some(way) if computed > moved => (Term::Arithmetic, way.method, way.source),
            _ => (Term::Channel, plan.method.clone(), plan.source.to_owned()),
        };
        Self {
            bound: Cycles(bound),
            reference: Cycles(computed.max(moved)),
            method,
            source,
            term,
        }
    }

    /// Reference / measured.
    #[must_use]
    pub fn efficiency(&self, measured: u64) -> f64 {
        self.reference.get() as f64 / measured.max(1) as f64
    }

    /// Both figures in words.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "bound {} cycles, reference {} cycles ({})",
            self.bound.get(),
            self.reference.get(),
            self.method
        )
    }
}
