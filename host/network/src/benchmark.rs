//! Benchmarks of a network, and the times that formulas give for them.
//!
//! The programs are straight code ([`crate::run_programs`]); the formulas are those of `docs/network.md`. In them w is
//! the time for which a message holds a link, L a hop, h the links of a route with those into and out of
//! routers, s, p and c the set-up of a send, a post and a completion, q a turn-around, n the number of processors.

mod closed_form;
mod programs;

use std::fmt;

use cp2_machine::Machine;

use crate::{Interconnect, NetworkError, NetworkReport, Picoseconds, Transport};

/// A benchmark of the network. Every one sends messages of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetworkBenchmark {
    /// Two processors, as far apart as any, send a message to and fro.
    PingPong,
    /// A processor sends two messages over one route at once.
    TwoFlows,
    /// Each processor sends to all its neighbours on the grid of its topology (a circle on a ring), and receives
    /// from them.
    Halo,
    /// All others send to processor 0.
    HotSpot,
    /// Each processor sends to all others, in turn k to the k-th one behind it.
    AllToAll,
}

/// Time of a benchmark by a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedForm {
    /// It takes this time, to the picosecond.
    Exact(Picoseconds),
    /// It takes at least this time.
    AtLeast(Picoseconds),
    /// There is no formula.
    Unknown,
}

impl ClosedForm {
    /// Says whether a time is one that the formula allows.
    #[must_use]
    pub fn allows(&self, time: Picoseconds) -> bool {
        match *self {
            Self::Exact(expected) => time == expected,
            Self::AtLeast(bound) => time >= bound,
            Self::Unknown => true,
        }
    }
}

/// A run of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchmarkRun {
    /// Time that the benchmark is about: one way of a ping-pong, otherwise the whole run.
    pub time: Picoseconds,
    /// Bytes of messages in that time.
    pub bytes: u64,
    /// Time by the formula.
    pub closed_form: ClosedForm,
    /// Messages and links of the whole run.
    pub report: NetworkReport,
}

impl NetworkBenchmark {
    /// Every benchmark, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::PingPong,
        Self::TwoFlows,
        Self::Halo,
        Self::HotSpot,
        Self::AllToAll,
    ];

    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping-pong",
            Self::TwoFlows => "two-flows",
            Self::Halo => "halo",
            Self::HotSpot => "hot-spot",
            Self::AllToAll => "all-to-all",
        }
    }

    /// Returns the messages of a run on a topology.
    ///
    /// # Errors
    /// There are too many processors, or fewer than two.
    pub fn messages(self, machine: &Machine, processors: usize) -> Result<u64, NetworkError> {
        let network = network_of(machine, processors)?;
        let others = processors as u64 - 1;
        Ok(match self {
            Self::PingPong => 2 * programs::ROUNDS,
            Self::TwoFlows => 2,
            Self::Halo => {
                let each = (0..processors).map(|own| neighbours(&network, own).len() as u64);
                each.sum()
            }
            Self::HotSpot => others,
            Self::AllToAll => others * processors as u64,
        })
    }

    /// Returns the time of a run by its formula.
    ///
    /// # Errors
    /// There are too many processors, or fewer than two, or `[network]` gives messages no time.
    pub fn closed_form(
        self,
        machine: &Machine,
        processors: usize,
        bytes: u64,
    ) -> Result<ClosedForm, NetworkError> {
        network_of(machine, processors)?;
        closed_form::closed_form(self, machine, processors, bytes)
    }

    /// Runs the benchmark on so many processors, with messages of so many bytes. All ranks call this, and get the
    /// same.
    ///
    /// # Errors
    /// Those of [`NetworkBenchmark::closed_form`] and of [`crate::run_programs`].
    pub fn run(
        self,
        transport: &mut dyn Transport,
        machine: &Machine,
        processors: usize,
        bytes: u64,
    ) -> Result<BenchmarkRun, NetworkError> {
        let closed_form = self.closed_form(machine, processors, bytes)?;
        programs::run(self, transport, machine, processors, bytes).map(|(time, sent, report)| {
            BenchmarkRun {
                time,
                bytes: sent,
                closed_form,
                report,
            }
        })
    }
}

impl fmt::Display for NetworkBenchmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Makes the network of a machine's processors, at least two.
fn network_of(machine: &Machine, processors: usize) -> Result<Interconnect, NetworkError> {
    match processors {
        0 | 1 => Err(NetworkError::NothingToMeasure { found: processors }),
        _ => Interconnect::new(machine.network.topology, processors),
    }
}

/// Returns the processor that is farthest from processor 0, the first of those.
fn farthest(network: &Interconnect) -> usize {
    let distance = |other: usize| distance(network, 0, other);
    let others = 1..network.processors();
    others
        .rev()
        .max_by_key(|other| distance(*other))
        .unwrap_or(0)
}

/// Returns the number of links between two processors.
fn distance(network: &Interconnect, source: usize, destination: usize) -> u64 {
    let route = network.route(source, destination).unwrap_or_default();
    route.len() as u64
}

/// Returns the neighbours of a processor on the grid of its topology, each once, in the order in which it sends to
/// them: right, left, down, up.
fn neighbours(network: &Interconnect, own: usize) -> Vec<usize> {
    let grid = network.grid();
    let mut found = Vec::new();
    for (axis, by) in [(1, 1), (1, -1), (0, 1), (0, -1)] {
        if let (_, Some(other)) = grid.shift(own, axis, by)
            && other != own
            && !found.contains(&other)
        {
            found.push(other);
        }
    }
    found
}
