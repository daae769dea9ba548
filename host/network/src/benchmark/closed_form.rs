//! Formulas for the times of the benchmarks.

use std::collections::BTreeMap;

use cp2_machine::{Machine, Topology};

use super::{ClosedForm, NetworkBenchmark, distance, farthest, neighbours, network_of};
use crate::communication::CONTROL_BYTES;
use crate::program::MessageCosts;
use crate::{Interconnect, Links, NetworkError, Picoseconds};

/// Figures that the formulas consist of, in picoseconds.
struct FormulaFigures {
    network: Interconnect,
    processors: u64,
    /// Set-up of a send, a post and a completion.
    s: u64,
    p: u64,
    c: u64,
    /// A hop.
    hop: u64,
    /// Time for which a message holds a link.
    w: u64,
}

/// Returns the time of a benchmark on at least two processors.
pub(super) fn closed_form(
    benchmark: NetworkBenchmark,
    machine: &Machine,
    processors: usize,
    bytes: u64,
) -> Result<ClosedForm, NetworkError> {
    let parameters = &machine.network;
    let links = Links::new(parameters, processors)?;
    let (Some(w), Some(control)) = (links.occupancy(bytes), links.occupancy(CONTROL_BYTES)) else {
        return Ok(ClosedForm::Unknown);
    };
    let costs = MessageCosts::new(machine);
    let figures = FormulaFigures {
        network: network_of(machine, processors)?,
        processors: processors as u64,
        s: costs.send.get(),
        p: costs.post.get(),
        c: costs.completion.get(),
        hop: parameters.hop_ps,
        w: w.get(),
    };
    let eager = bytes <= parameters.eager.0;
    let time = match benchmark {
        NetworkBenchmark::PingPong => {
            let rendezvous = (!eager).then_some((control.get(), parameters.turnaround_ps));
            figures.ping_pong(rendezvous)
        }
        // Requests, answers and data of long messages meet in ways that no formula says.
        _ if !eager => None,
        NetworkBenchmark::TwoFlows => figures.two_flows(),
        NetworkBenchmark::Halo => match parameters.topology {
            Topology::Ring | Topology::Torus | Topology::Switch => figures.halo(),
            Topology::Mesh | Topology::FatTree => None,
        },
        NetworkBenchmark::HotSpot => figures.hot_spot(),
        NetworkBenchmark::AllToAll => match figures.shares_no_link(parameters.topology) {
            true => figures.all_to_all(),
            false => {
                let bound = figures.all_to_all_bound().map(Picoseconds);
                return Ok(bound.map_or(ClosedForm::Unknown, ClosedForm::AtLeast));
            }
        },
    };
    Ok(time.map_or(ClosedForm::Unknown, |time| {
        ClosedForm::Exact(Picoseconds(time))
    }))
}

/// Adds products up; none where the sum is too large.
fn sum(products: &[(u64, u64)]) -> Option<u64> {
    products.iter().try_fold(0u64, |sum, (one, other)| {
        sum.checked_add(one.checked_mul(*other)?)
    })
}

impl FormulaFigures {
    /// `s + h L + w + c`, and with the control packets of a rendezvous `s + 3 h L + 2 w(16) + 2 q + w + c`.
    fn ping_pong(&self, rendezvous: Option<(u64, u64)>) -> Option<u64> {
        let far = farthest(&self.network);
        let h = distance(&self.network, 0, far);
        let ways = if rendezvous.is_some() { 3 } else { 1 };
        let (control, turnaround) = rendezvous.unwrap_or_default();
        sum(&[
            (1, self.s),
            (ways * h, self.hop),
            (2, control),
            (2, turnaround),
            (1, self.w),
            (1, self.c),
        ])
    }

    /// `max(s + max(s, w) + h L + w, 2 p) + 2 c`.
    fn two_flows(&self) -> Option<u64> {
        let h = distance(&self.network, 0, farthest(&self.network));
        let second = self.s.max(self.w);
        let arrived = sum(&[(1, self.s), (1, second), (h, self.hop), (1, self.w)])?;
        sum(&[(1, arrived.max(sum(&[(2, self.p)])?)), (2, self.c)])
    }

    /// `d p + s + (d - 1) max(s, w) + h L + w + d c`: in each turn all send the same way, so that no two messages
    /// share a link.
    fn halo(&self) -> Option<u64> {
        let others = neighbours(&self.network, 0);
        let d = others.len() as u64;
        let h = distance(&self.network, 0, others.first().copied()?);
        sum(&[
            (d, self.p),
            (1, self.s),
            (d - 1, self.s.max(self.w)),
            (h, self.hop),
            (1, self.w),
            (d, self.c),
        ])
    }

    /// `max(s + max over h of (h L + N(h) w), (n - 1) p) + (n - 1) c`, with N(h) messages from h links away or
    /// farther: the last link never pauses behind the first of them.
    fn hot_spot(&self) -> Option<u64> {
        let others = self.processors - 1;
        let mut distances: Vec<u64> = (1..self.network.processors())
            .map(|from| distance(&self.network, from, 0))
            .collect();
        distances.sort_unstable();
        let mut arrived = 0;
        for (nearer, h) in distances.iter().enumerate() {
            let behind = others - nearer as u64;
            let last = sum(&[(1, self.s), (*h, self.hop), (behind, self.w)])?;
            arrived = arrived.max(last);
        }
        let posted = sum(&[(others, self.p)])?;
        sum(&[(1, arrived.max(posted)), (others, self.c)])
    }

    /// Says whether messages of one turn of all to all never share a link.
    fn shares_no_link(&self, topology: Topology) -> bool {
        match topology {
            Topology::Switch => true,
            // Full: as many leaves as routers above.
            Topology::FatTree => self.processors.isqrt().pow(2) == self.processors,
            Topology::Ring | Topology::Mesh | Topology::Torus => false,
        }
    }

    /// `(p + s) + (n - 2) max(w, p + s) + h L + w + (n - 1) c`, with the longest h.
    fn all_to_all(&self) -> Option<u64> {
        let others = self.processors - 1;
        let turn = self.p.checked_add(self.s)?;
        let h = distance(&self.network, 0, farthest(&self.network));
        sum(&[
            (1, turn),
            (others - 1, turn.max(self.w)),
            (h, self.hop),
            (1, self.w),
            (others, self.c),
        ])
    }

    /// The later of two that nothing can be before: the last message of a processor, sent when all its sends are
    /// set up, and the last message over the link that is free last; then the completions.
    fn all_to_all_bound(&self) -> Option<u64> {
        let others = self.processors - 1;
        let turn = self.p.checked_add(self.s)?;
        let loads = self.all_to_all_loads();
        let nearest = loads.iter().map(|load| load.before + load.behind).min()?;
        let mut last = sum(&[(others, turn), (nearest, self.hop), (1, self.w)])?;
        for load in &loads {
            let hops = load.before + load.behind;
            last = last.max(sum(&[
                (1, turn),
                (load.messages, self.w),
                (hops, self.hop),
            ])?);
        }
        sum(&[(1, last), (others, self.c)])
    }

    /// Returns what all to all sends over each link that it uses.
    fn all_to_all_loads(&self) -> Vec<RouteLoad> {
        let mut loads: BTreeMap<usize, RouteLoad> = BTreeMap::new();
        let processors = 0..self.network.processors();
        for source in processors.clone() {
            for destination in processors.clone().filter(|other| *other != source) {
                let route = self.network.route(source, destination).unwrap_or_default();
                for (before, link) in route.iter().enumerate() {
                    let (before, behind) = (before as u64, (route.len() - before) as u64);
                    let load = loads.entry(*link).or_insert(RouteLoad {
                        messages: 0,
                        before,
                        behind,
                    });
                    load.messages += 1;
                    load.before = load.before.min(before);
                    load.behind = load.behind.min(behind);
                }
            }
        }
        loads.into_values().collect()
    }
}

/// Messages over a link.
struct RouteLoad {
    messages: u64,
    /// Fewest links that one of them passes before.
    before: u64,
    /// Fewest links that one of them passes from here on, this one included.
    behind: u64,
}
