//! Links and routes between processors.

use cp2_machine::Topology;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

use crate::{CartesianGrid, NetworkError};

/// Processors that a network can have: device numbers are of 16 bits.
const MOST_PROCESSORS: usize = 1 << 16;

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// A processor, by number.
    Processor(usize),
    /// A router, by number.
    Router(usize),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processor(number) => write!(f, "processor {number}"),
            Self::Router(number) => write!(f, "router {number}"),
        }
    }
}

/// A link leads one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct LinkEnds {
    /// End at which messages enter.
    pub from: Endpoint,
    /// End at which messages leave.
    pub to: Endpoint,
}

/// Routers of a topology, by number.
#[derive(Clone, Copy, Debug)]
enum Routers {
    /// Rows one after the other, one router a processor.
    Grid {
        rows: usize,
        columns: usize,
        circles: bool,
    },
    /// Router 0 alone.
    Single,
    /// `leaves` leaf routers with `width` processors each, then `width` routers above them.
    TwoLevels { width: usize, leaves: usize },
}

/// The links between processors and routers, and the route of each message.
///
/// Routes are shortest, fixed, and the same for all messages of a pair. On meshes and tori they follow the
/// row first, then the column; half-way around a circle they lead to higher numbers. A processor's messages
/// to itself go into its router and out of it.
#[derive(Clone, Debug)]
pub struct Interconnect {
    processors: usize,
    routers: Routers,
    links: Vec<LinkEnds>,
    numbers: BTreeMap<LinkEnds, usize>,
}

impl Interconnect {
    /// Makes the links of a topology for so many processors: first those into routers, then those out of
    /// routers to processors, then those between routers.
    ///
    /// Meshes and tori have `rows x columns` processors, the factors nearest to each other with `rows <=
    /// columns`. A fat tree has leaf routers of `ceil(sqrt(processors))` processors each, and as many routers
    /// above, each joined to all leaves.
    ///
    /// # Errors
    /// There is no processor, or there are more than device numbers of 16 bits.
    pub fn new(topology: Topology, processors: usize) -> Result<Self, NetworkError> {
        if processors == 0 || processors > MOST_PROCESSORS {
            return Err(NetworkError::Processors {
                found: processors,
                most: MOST_PROCESSORS,
            });
        }
        let grid = |rows: usize, circles| Routers::Grid {
            rows,
            columns: processors / rows,
            circles,
        };
        let routers = match topology {
            Topology::Ring => grid(1, true),
            Topology::Mesh => grid(rows_of(processors), false),
            Topology::Torus => grid(rows_of(processors), true),
            Topology::Switch => Routers::Single,
            Topology::FatTree => {
                let root = processors.isqrt();
                let width = root + usize::from(root * root < processors);
                Routers::TwoLevels {
                    width,
                    leaves: processors.div_ceil(width),
                }
            }
        };
        let mut made = Self {
            processors,
            routers,
            links: Vec::new(),
            numbers: BTreeMap::new(),
        };
        for processor in 0..processors {
            let router = made.router_of(processor);
            made.add(Endpoint::Processor(processor), Endpoint::Router(router));
        }
        for processor in 0..processors {
            let router = made.router_of(processor);
            made.add(Endpoint::Router(router), Endpoint::Processor(processor));
        }
        made.join_routers();
        Ok(made)
    }

    /// Processors of the network.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// Processors as a grid of rows and columns: that of a mesh, periodic in a torus, a circle in a ring; on
    /// other topologies the grid of a torus.
    #[must_use]
    pub fn grid(&self) -> CartesianGrid {
        let (rows, columns, circles) = match self.routers {
            Routers::Grid {
                rows,
                columns,
                circles,
            } => (rows, columns, circles),
            Routers::Single | Routers::TwoLevels { .. } => {
                let rows = rows_of(self.processors);
                (rows, self.processors / rows, true)
            }
        };
        CartesianGrid::new(&[(rows, circles), (columns, circles)])
    }

    /// All links; their places here are their numbers.
    #[must_use]
    pub fn links(&self) -> &[LinkEnds] {
        &self.links
    }

    /// Numbers of the links from a processor to another one, in order; `None` where there is no such
    /// processor.
    #[must_use]
    pub fn route(&self, source: usize, destination: usize) -> Option<Vec<usize>> {
        if source >= self.processors || destination >= self.processors {
            return None;
        }
        let mut route = Vec::new();
        let mut here = Endpoint::Processor(source);
        let mut go = |there: Endpoint| {
            let ends = LinkEnds {
                from: here,
                to: there,
            };
            route.push(*self.numbers.get(&ends)?);
            here = there;
            Some(())
        };
        for router in self.routers_between(source, destination) {
            go(Endpoint::Router(router))?;
        }
        go(Endpoint::Processor(destination))?;
        Some(route)
    }

    fn add(&mut self, from: Endpoint, to: Endpoint) {
        let ends = LinkEnds { from, to };
        // Two routers in a circle are neighbours on both sides, by one link each way.
        self.numbers.entry(ends).or_insert_with(|| {
            self.links.push(ends);
            self.links.len() - 1
        });
    }

    fn join(&mut self, one: usize, other: usize) {
        self.add(Endpoint::Router(one), Endpoint::Router(other));
        self.add(Endpoint::Router(other), Endpoint::Router(one));
    }

    fn join_routers(&mut self) {
        match self.routers {
            Routers::Single => {}
            Routers::Grid {
                rows,
                columns,
                circles,
            } => {
                for row in 0..rows {
                    for column in 0..columns {
                        let here = row * columns + column;
                        for (place, extent, next) in [
                            (column, columns, row * columns + (column + 1) % columns),
                            (row, rows, (row + 1) % rows * columns + column),
                        ] {
                            if place + 1 < extent || (circles && extent > 1) {
                                self.join(here, next);
                            }
                        }
                    }
                }
            }
            Routers::TwoLevels { width, leaves } if leaves > 1 => {
                for leaf in 0..leaves {
                    for above in 0..width {
                        self.join(leaf, leaves + above);
                    }
                }
            }
            Routers::TwoLevels { .. } => {}
        }
    }

    fn router_of(&self, processor: usize) -> usize {
        match self.routers {
            Routers::Grid { .. } => processor,
            Routers::Single => 0,
            Routers::TwoLevels { width, .. } => processor / width,
        }
    }

    /// Routers from that of the source to that of the destination, both included.
    fn routers_between(&self, source: usize, destination: usize) -> Vec<usize> {
        let (mut here, last) = (self.router_of(source), self.router_of(destination));
        let mut passed = vec![here];
        match self.routers {
            Routers::Grid {
                columns,
                rows,
                circles,
            } => {
                while here % columns != last % columns {
                    let column = step(here % columns, last % columns, columns, circles);
                    here = here / columns * columns + column;
                    passed.push(here);
                }
                while here != last {
                    let row = step(here / columns, last / columns, rows, circles);
                    here = row * columns + here % columns;
                    passed.push(here);
                }
            }
            Routers::TwoLevels { width, leaves } if here != last => {
                // By destination: a processor's messages come down by one router, whoever sends them.
                passed.extend([leaves + destination % width, last]);
            }
            Routers::Single | Routers::TwoLevels { .. } => {}
        }
        passed
    }
}

/// The largest divisor that is not above the square root.
fn rows_of(processors: usize) -> usize {
    let divides = |rows: &usize| processors.is_multiple_of(*rows);
    (1..=processors.isqrt()).rev().find(divides).unwrap_or(1)
}

/// The next place on the shortest way along a line, or around a circle.
fn step(here: usize, last: usize, extent: usize, circles: bool) -> usize {
    let up = match circles {
        true => (last + extent - here) % extent * 2 <= extent,
        false => here < last,
    };
    match up {
        true => (here + 1) % extent,
        false => (here + extent - 1) % extent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Topology; 5] = [
        Topology::Ring,
        Topology::Mesh,
        Topology::Torus,
        Topology::Switch,
        Topology::FatTree,
    ];

    /// Links that a breadth-first search needs from one processor to all.
    fn distances(network: &Interconnect, source: usize) -> BTreeMap<Endpoint, usize> {
        let mut found = BTreeMap::from([(Endpoint::Processor(source), 0)]);
        let mut edge = vec![Endpoint::Processor(source)];
        for distance in 1.. {
            let mut next = Vec::new();
            for ends in network.links() {
                if edge.contains(&ends.from) && !found.contains_key(&ends.to) {
                    found.insert(ends.to, distance);
                    // Processors forward nothing.
                    if matches!(ends.to, Endpoint::Router(_)) {
                        next.push(ends.to);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            edge = next;
        }
        found
    }

    #[test]
    fn routes_are_connected_and_shortest() {
        for topology in ALL {
            for processors in 1..=17 {
                let network = Interconnect::new(topology, processors).unwrap();
                for source in 0..processors {
                    let distances = distances(&network, source);
                    for destination in 0..processors {
                        let route = network.route(source, destination).unwrap();
                        let ends: Vec<LinkEnds> =
                            route.iter().map(|link| network.links()[*link]).collect();
                        assert_eq!(ends[0].from, Endpoint::Processor(source));
                        assert_eq!(ends.last().unwrap().to, Endpoint::Processor(destination));
                        assert!(ends.windows(2).all(|two| two[0].to == two[1].from));
                        if source == destination {
                            assert_eq!(route.len(), 2);
                        } else {
                            assert_eq!(
                                route.len(),
                                distances[&Endpoint::Processor(destination)],
                                "{topology:?} {processors}: {source} to {destination}"
                            );
                        }
                    }
                }
            }
        }
    }

    /// Links by hand: two for each processor, then those between routers.
    #[test]
    fn links_are_counted() {
        let links = |topology, processors| {
            let network = Interconnect::new(topology, processors).unwrap();
            network.links().len() - 2 * processors
        };
        assert_eq!(links(Topology::Ring, 1), 0);
        assert_eq!(links(Topology::Ring, 2), 2);
        assert_eq!(links(Topology::Ring, 8), 16);
        // 2 x 4: three in a row, one in a column, both ways.
        assert_eq!(links(Topology::Mesh, 8), 2 * (2 * 3 + 4));
        // Columns of two routers have one link each way.
        assert_eq!(links(Topology::Torus, 8), 2 * (2 * 4 + 4));
        assert_eq!(links(Topology::Torus, 16), 4 * 16);
        assert_eq!(links(Topology::Torus, 7), 14);
        assert_eq!(links(Topology::Switch, 9), 0);
        // Four leaves, four above.
        assert_eq!(links(Topology::FatTree, 16), 2 * 16);
        assert_eq!(links(Topology::FatTree, 2), 0);
    }

    #[test]
    fn rows_come_first_and_half_a_circle_leads_up() {
        let network = Interconnect::new(Topology::Torus, 16).unwrap();
        let routers = |source, destination| network.routers_between(source, destination);
        assert_eq!(routers(0, 10), [0, 1, 2, 6, 10]);
        assert_eq!(routers(0, 15), [0, 3, 15]);
        assert_eq!(routers(5, 5), [5]);
    }

    #[test]
    fn processors_are_at_least_one_and_have_numbers() {
        for processors in [0, MOST_PROCESSORS + 1] {
            let refused = Interconnect::new(Topology::Ring, processors);
            assert!(matches!(refused, Err(NetworkError::Processors { .. })));
        }
        let network = Interconnect::new(Topology::Ring, 3).unwrap();
        assert_eq!(network.route(0, 3), None);
        assert_eq!(network.route(3, 0), None);
    }
}
