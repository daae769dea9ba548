//! Starts of the search for a placement, each by other priorities.

use super::dataflow::Dataflow;
use super::dependence::{DependenceGraph, accesses};
use super::distances::Distances;
use super::iterative::{Strategy, place_iteratively};
use super::placement::{Found, sources};
use super::swing;
use super::tighten::Tightening;

/// Register cycles that a cycle of the schedule's length counts for while a placement is shortened, in turn.
const LENGTH_WEIGHTS: [i64; 2] = [2, 16];

/// Starts that spread arithmetic: those whose number is half 1 or 3, see [`Starts::strategy`].
pub(super) const SPREADING: [u32; 4] = [2, 3, 6, 7];

/// A small generator of random numbers (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number below `limit`, or 0.
    fn below(&mut self, limit: i64) -> i64 {
        let limit = u64::try_from(limit).unwrap_or(0).max(1);
        i64::try_from(self.next() % limit).unwrap_or(0)
    }
}

/// The dependences of an interval, and the least distances of both directions of time.
pub(super) struct Starts<'a> {
    body: &'a Dataflow,
    graph: &'a DependenceGraph,
    interval: u32,
    /// Cycles over which starts that spread arithmetic do so.
    span: u32,
    ahead: Distances,
    back: Distances,
}

impl<'a> Starts<'a> {
    /// Prepares the starts for an interval; none if a dependence comes back too soon for it.
    pub(super) fn new(
        body: &'a Dataflow,
        graph: &'a DependenceGraph,
        interval: u32,
        span: u32,
    ) -> Option<Self> {
        let ahead = Distances::new(graph, interval)?;
        Some(Self {
            body,
            graph,
            interval,
            span,
            back: ahead.mirror(),
            ahead,
        })
    }

    /// Returns the number of registers that values hold at least: their least lifetimes, all added, are so many
    /// intervals.
    pub(super) fn least_registers(&self) -> u32 {
        let interval = i64::from(self.interval);
        let sections = self.graph.values.iter().filter(|value| !value.scalar);
        let held = sections.map(|value| {
            let least = |&writer: &usize| {
                // The nodes behind another one stand in their order.
                let behind = self.ahead.behind(writer);
                let read = value.readers.iter().filter_map(|&(reader, distance)| {
                    let place = behind.binary_search_by_key(&reader, |&(node, _)| node);
                    Some(behind[place.ok()?].1 + distance * interval)
                });
                read.max()
                    .unwrap_or(0)
                    .max(self.graph.nodes[writer].latency)
            };
            value.width * value.writers.iter().map(least).max().unwrap_or(0)
        });
        let held = u64::try_from(held.sum::<i64>()).unwrap_or(0);
        u32::try_from(held.div_ceil(u64::from(self.interval.max(1)))).unwrap_or(u32::MAX)
    }

    /// Makes start number `start`; none if it finds no slots.
    pub(super) fn place(&self, start: u32) -> Option<Found> {
        let interval = self.interval;
        let mut random = SplitMix(u64::from(start) << 32 | u64::from(interval));
        // Every other start is of the mirrored problem, in which time runs backwards.
        let mirrored = start % 2 == 1;
        let mut own = None;
        let mut last = vec![None; self.body.pointers.len()];
        if self.graph.steps.iter().any(Option::is_some) {
            let mut graph = self.graph.clone();
            last = self.choose_last(&mut graph, &self.ahead, start, &mut random);
            let distances = self.ahead.extend(&graph, self.graph.edges.len())?;
            own = Some((graph, distances));
        }
        let (graph, distances) = match &own {
            Some((graph, distances)) if mirrored => (graph, &distances.mirror()),
            Some((graph, distances)) => (graph, distances),
            None if mirrored => (self.graph, &self.back),
            None => (self.graph, &self.ahead),
        };
        let strategy = self.strategy(distances, start / 2, mirrored, &mut random);
        let mut at = place_iteratively(&graph.nodes, distances, &strategy)?;
        if mirrored {
            // Two operations of a unit are as far apart in both directions of time.
            at.iter_mut().for_each(|t| *t = -*t);
        }
        let weight = LENGTH_WEIGHTS[(start / 2) as usize % LENGTH_WEIGHTS.len()];
        let at = Tightening::new(graph, i64::from(interval), at, weight).run();
        self.number(graph, &at, last)
    }

    /// Chooses the access with which each pointer steps whose steps are loaded: the deepest one first, any
    /// one in later starts.
    fn choose_last(
        &self,
        graph: &mut DependenceGraph,
        distances: &Distances,
        start: u32,
        random: &mut SplitMix,
    ) -> Vec<Option<usize>> {
        let choose = |pointer: usize| {
            graph.steps[pointer]?;
            let own: Vec<usize> = accesses(self.body, pointer).collect();
            if start >= 4 {
                let any = random.below(own.len() as i64);
                return own.get(usize::try_from(any).unwrap_or(0)).copied();
            }
            let late = |&op: &usize| (distances.depth[op], -distances.height[op], op);
            own.into_iter().max_by_key(late)
        };
        let chosen: Vec<_> = (0..self.body.pointers.len()).map(choose).collect();
        for (pointer, &access) in chosen.iter().enumerate() {
            if let Some(access) = access {
                graph.end_pointer(self.body, pointer, access);
            }
        }
        chosen
    }

    /// Returns the strategy of a start.
    fn strategy(
        &self,
        distances: &Distances,
        number: u32,
        mirrored: bool,
        random: &mut SplitMix,
    ) -> Strategy {
        let nodes = self.graph.nodes.len();
        let by_height = |node: usize| distances.height[node];
        let rising = |node: usize| {
            if mirrored {
                node as i64
            } else {
                -(node as i64)
            }
        };
        let mut earliest = distances.depth.clone();
        let priority = match number {
            0 => (0..nodes).map(by_height).collect(),
            1 | 3 => {
                let order = match number {
                    1 => order_by_results(self.body),
                    _ => (0..self.body.ops.len()).collect(),
                };
                let (priority, begun) = self.spread(&order, mirrored);
                for (own, begun) in earliest.iter_mut().zip(begun) {
                    *own = begun.max(*own);
                }
                priority
            }
            2 => self.swing_priority(swing::First::End),
            4 => self.swing_priority(swing::First::Beginning),
            5 => (0..nodes).map(rising).collect(),
            _ => {
                let longest = distances.height.iter().max().copied().unwrap_or(0);
                let reach = longest / 8 * i64::from(1 + number % 4) + 2;
                let by_chance = |node: usize| by_height(node) + random.below(reach);
                (0..nodes).map(by_chance).collect()
            }
        };
        let close = match number {
            0 | 5 => vec![false; nodes],
            1 | 3 => self.list_ends(mirrored, true),
            _ if number.is_multiple_of(3) => vec![false; nodes],
            _ => self.list_ends(mirrored, false),
        };
        Strategy {
            priority,
            earliest,
            close,
        }
    }

    /// Returns for every node true if it needs no value of the body, or none needs its own where time runs
    /// backwards. With `memory` this is asked of loads and stores only.
    fn list_ends(&self, mirrored: bool, memory: bool) -> Vec<bool> {
        let mut ends: Vec<bool> = self
            .graph
            .nodes
            .iter()
            .map(|node| node.memory || !memory)
            .collect();
        for value in self
            .graph
            .values
            .iter()
            .filter(|value| !value.writers.is_empty())
        {
            let readers = value.readers.iter().filter(|_| !mirrored);
            let writers = value
                .writers
                .iter()
                .filter(|_| mirrored && !value.readers.is_empty());
            for &node in readers.map(|(reader, _)| reader).chain(writers) {
                ends[node] = false;
            }
        }
        ends
    }

    /// Returns priorities and earliest times by which arithmetic is placed in an order, evenly over the span,
    /// and loads and stores around it.
    fn spread(&self, order: &[usize], mirrored: bool) -> (Vec<i64>, Vec<i64>) {
        let nodes = self.graph.nodes.len();
        let (mut priority, mut earliest) = (vec![-1; nodes], vec![0; nodes]);
        let mut arithmetic: Vec<usize> = order.to_vec();
        arithmetic.retain(|&op| !self.graph.nodes[op].memory);
        if mirrored {
            arithmetic.reverse();
        }
        let count = arithmetic.len() as i64;
        for (place, op) in (0..).zip(arithmetic) {
            priority[op] = count - place;
            earliest[op] = place * i64::from(self.span) / count.max(1);
        }
        (priority, earliest)
    }

    /// Returns priorities by the order of swing modulo scheduling; loads of steps come last.
    fn swing_priority(&self, first: swing::First) -> Vec<i64> {
        let sources = sources(self.body);
        let latency = |op: usize| self.graph.nodes[op].latency;
        let order = swing::list_swinging(&sources, latency, first);
        let mut priority = vec![-1; self.graph.nodes.len()];
        for (place, op) in order.into_iter().rev().enumerate() {
            priority[op] = place as i64;
        }
        priority
    }

    /// Numbers the cycles from the first one on, and finds the last access through each pointer.
    fn number(
        &self,
        graph: &DependenceGraph,
        at: &[i64],
        last: Vec<Option<usize>>,
    ) -> Option<Found> {
        let first = at.iter().min().copied().unwrap_or(0);
        let cycles: Vec<u32> =
            (at.iter().map(|&t| u32::try_from(t - first).ok())).collect::<Option<_>>()?;
        let steps = graph
            .steps
            .iter()
            .map(|&step| step.and_then(|node| cycles.get(node).copied()));
        let steps = steps.collect();
        let ends = last.into_iter().enumerate().map(|(pointer, chosen)| {
            let own = accesses(self.body, pointer);
            // A pointer without accesses never steps.
            chosen
                .or_else(|| own.max_by_key(|&op| cycles[op]))
                .unwrap_or(0)
        });
        let ends = ends.collect();
        Some((cycles[..self.body.ops.len()].to_vec(), steps, ends))
    }
}

/// Returns an order of the operations in which each result is finished before the next one is begun: the
/// operations without readers in the order of the text, each behind all that it needs.
pub(super) fn order_by_results(body: &Dataflow) -> Vec<usize> {
    let sources = sources(body);
    let mut read = vec![false; sources.len()];
    sources
        .iter()
        .flatten()
        .for_each(|&source| read[source] = true);
    let mut order = Vec::new();
    let mut listed = vec![false; sources.len()];
    let ends = (0..sources.len()).filter(|&op| !read[op]);
    // Operations that wait for each other have no end: they come in the order of the text.
    for end in ends.chain(0..sources.len()) {
        let mut waiting = vec![(end, false)];
        while let Some((op, ready)) = waiting.pop() {
            if ready {
                order.push(op);
            } else if !std::mem::replace(&mut listed[op], true) {
                waiting.push((op, true));
                waiting.extend(sources[op].iter().rev().map(|&source| (source, false)));
            }
        }
    }
    order
}
