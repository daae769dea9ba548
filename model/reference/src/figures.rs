//! The two figures of a problem on a machine: bound and reference.

use crate::bound::Traffic;
use crate::count::{Count, NumberFormat};
use cp2_machine::{Cycles, Machine};
use serde::Serialize;

/// The longer of the two terms of a reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Term {
    /// Arithmetic of all sections.
    Arithmetic,
    /// Bytes over the DMA channel.
    #[default]
    Channel,
}

/// Least times of a problem: the proved one, and that of the best algorithm known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// The proved limit in cycles: inputs and outputs once over the channel, see [`crate::bound`].
    #[serde(rename = "bound_cycles")]
    pub bound: Cycles,
    /// The least time in cycles of the known algorithms; never below the bound.
    #[serde(rename = "reference_cycles")]
    pub reference: Cycles,
    /// The algorithm of the reference or, if the channel takes longer, its plan of transfers.
    #[serde(rename = "reference_method")]
    pub method: String,
    /// The publication of the method.
    #[serde(rename = "reference_source")]
    pub source: String,
    /// The term that the reference is the time of.
    #[serde(rename = "reference_term")]
    pub term: Term,
}

/// The arithmetic of a known algorithm for a whole problem.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Issues of all sections together.
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

/// Method of a plan that moves inputs and outputs once.
const ONCE: &str = "inputs and outputs once over the channel";

impl Known {
    /// Returns the algorithm that takes the least time on a machine, with numbers of a format.
    fn best(
        ways: impl IntoIterator<Item = Self>,
        format: NumberFormat,
        machine: &Machine,
    ) -> Option<Self> {
        let timed = ways
            .into_iter()
            .map(|way| (way.count.cycles_of(format, machine), way));
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
    /// Returns the figures of a procedure with this traffic and this count, all sections together, by a
    /// method that is published in `source`.
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

    /// Returns the figures of the fastest known algorithm with a plan of transfers; `must` is the traffic
    /// that no program can avoid.
    ///
    /// `reference = max(arithmetic of all sections, plan's traffic, bound)`.
    pub(crate) fn least(
        machine: &Machine,
        must: Traffic,
        plan: &Plan,
        known: impl IntoIterator<Item = Known>,
    ) -> Self {
        Self::least_of(NumberFormat::Binary32, machine, must, plan, known)
    }

    /// Returns the figures as [`Figures::least`] does, for algorithms on numbers of a format.
    pub(crate) fn least_of(
        format: NumberFormat,
        machine: &Machine,
        must: Traffic,
        plan: &Plan,
        known: impl IntoIterator<Item = Known>,
    ) -> Self {
        let sections = machine.cp2.sections.max(1) as f64;
        let best = Known::best(known, format, machine);
        let bound = must.cycles(machine);
        let moved = plan.traffic.cycles(machine).max(bound);
        // Counts are exact to hundredths of cycles; smaller differences are rounding errors, so the sum is
        // rounded down after 1e-6 is added.
        let computed = best.as_ref().map_or(0, |way| {
            (way.count.cycles_of(format, machine) / sections + 1e-6).floor() as u64
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

    /// Returns the figures of as many processors, each with an equal share of the work and a channel of its own.
    ///
    /// The bound is the average of what processors move, and none moves less than the average. Local memories
    /// of several processors together may hold what that of one does not, so a plan of transfers is no
    /// reference for them: the bound takes its place.
    #[must_use]
    pub fn shared(self, processors: u64) -> Self {
        let processors = processors.max(1);
        if processors == 1 {
            return self;
        }
        let share = |cycles: Cycles| Cycles(cycles.get() / processors);
        let bound = share(self.bound);
        match self.term {
            Term::Arithmetic => Self {
                bound,
                reference: share(self.reference).max(bound),
                ..self
            },
            Term::Channel => Self {
                bound,
                reference: bound,
                method: ONCE.to_owned(),
                source: "proved".to_owned(),
                ..self
            },
        }
    }

    /// Returns the efficiency: reference / measured.
    #[must_use]
    pub fn efficiency(&self, measured: u64) -> f64 {
        self.reference.get() as f64 / measured.max(1) as f64
    }

    /// Describes both figures in words.
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
