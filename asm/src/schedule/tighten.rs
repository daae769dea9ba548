//! Shortens the lifetimes of values in a placement, and the placement itself.
//!
//! Each operation moves within its window to where values live for the shortest time, in turn with an operation that
//! has its slot if that helps: where every slot is taken, nothing moves alone.

use super::dependence::DependenceGraph;
use super::iterative::Reservations;

/// Passes over all operations before the search for better places ends.
const PASSES: usize = 6;

/// A better place for an operation.
#[derive(Clone, Copy, Debug)]
struct Move {
    /// The costs that the placement saves.
    gain: i64,
    time: i64,
    /// The operation that has the slot, and its new time.
    swapped: Option<(usize, i64)>,
}

/// A placement that is being shortened.
pub(super) struct Tightening<'a> {
    graph: &'a DependenceGraph,
    interval: i64,
    at: Vec<i64>,
    reservations: Reservations,
    /// For every node its dependences: the other node, the least distance, and true if the other is behind it.
    near: Vec<Vec<(usize, i64, bool)>>,
    /// For every node the values that it reads or writes.
    values: Vec<Vec<usize>>,
    /// The first and the last cycle, as they were when the pass began.
    ends: (i64, i64),
    /// Register cycles that a node at an end of the schedule counts for.
    length_weight: i64,
}

impl<'a> Tightening<'a> {
    pub(super) fn new(
        graph: &'a DependenceGraph,
        interval: i64,
        at: Vec<i64>,
        length_weight: i64,
    ) -> Self {
        let mut reservations = Reservations::new(&graph.nodes, interval);
        for (node, (own, &time)) in graph.nodes.iter().zip(&at).enumerate() {
            reservations.set(own, time, Some(node));
        }
        let mut near = vec![Vec::new(); at.len()];
        let mut edges: Vec<(usize, usize, i64)> = (graph.edges.iter())
            .map(|edge| (edge.from, edge.to, edge.latency - edge.distance * interval))
            .filter(|&(from, to, _)| from != to)
            .collect();
        // The longest of several dependences between two nodes counts.
        edges.sort_unstable_by_key(|&(from, to, length)| (from, to, -length));
        edges.dedup_by_key(|&mut (from, to, _)| (from, to));
        for (from, to, length) in edges {
            near[from].push((to, length, true));
            near[to].push((from, length, false));
        }
        let mut values = vec![Vec::new(); at.len()];
        for (number, value) in graph.values.iter().enumerate() {
            let readers = value.readers.iter().map(|&(reader, _)| reader);
            for node in value.writers.iter().copied().chain(readers) {
                if !values[node].contains(&number) {
                    values[node].push(number);
                }
            }
        }
        Self {
            graph,
            interval,
            at,
            reservations,
            near,
            values,
            ends: (0, 0),
            length_weight,
        }
    }

    /// Moves operations until none gains, and returns their times.
    pub(super) fn run(mut self) -> Vec<i64> {
        for _ in 0..PASSES {
            self.find_ends();
            let mut moved = false;
            for node in 0..self.at.len() {
                moved |= self.move_one(node);
            }
            if !moved {
                break;
            }
        }
        self.at
    }

    /// Returns the window of a node for the places of all others but one.
    fn window(&self, node: usize, without: usize) -> (i64, i64) {
        let (mut first, mut last) = (i64::MIN, i64::MAX);
        for &(other, length, behind) in &self.near[node] {
            if other == without {
                continue;
            }
            if behind {
                last = last.min(self.at[other] - length);
            } else {
                first = first.max(self.at[other] + length);
            }
        }
        (first, last)
    }

    /// Returns the register cycles of the values of two nodes.
    fn count_held(&self, nodes: [usize; 2]) -> i64 {
        let [one, other] = nodes;
        let more = self.values[other].iter();
        let more = more.filter(|value| one != other && !self.values[one].contains(value));
        let all = self.values[one].iter().chain(more);
        all.map(|&value| {
            let value = &self.graph.values[value];
            let begin = value.writers.iter().map(|&writer| self.at[writer]).min();
            let lands = value.writers.iter();
            let lands = lands.map(|&writer| self.at[writer] + self.graph.nodes[writer].latency);
            let read = value.readers.iter();
            let read = read.map(|&(reader, k)| self.at[reader] + k * self.interval);
            let end = lands.chain(read).max();
            match (begin, end) {
                (Some(begin), Some(end)) => value.width * (end - begin),
                _ => 0,
            }
        })
        .sum()
    }

    /// Returns what the placement costs as far as two nodes count. The length counts by the nodes that stand at
    /// its ends.
    fn cost(&self, nodes: [usize; 2]) -> i64 {
        let (first, last) = self.ends;
        let outer = nodes.map(|node| i64::from(self.at[node] <= first || self.at[node] >= last));
        self.count_held(nodes) + self.length_weight * (outer[0] + outer[1])
    }

    fn find_ends(&mut self) {
        let (first, last) = (self.at.iter().min(), self.at.iter().max());
        self.ends = (first.copied().unwrap_or(0), last.copied().unwrap_or(0));
    }

    /// Moves a node to its best place, alone or in turn with the node that has its slot.
    fn move_one(&mut self, node: usize) -> bool {
        let own = self.graph.nodes[node];
        let (begin, end) = self.ends;
        let mut best: Option<Move> = None;
        let here = self.at[node];
        let window = self.window(node, node);
        let (first, last) = (window.0.max(begin), window.1.min(end));
        let alone = self.cost([node; 2]);
        for time in first..=last {
            if time == here || !self.reservations.is_free(&own, time, [node; 2]) {
                continue;
            }
            self.at[node] = time;
            let gain = alone - self.cost([node; 2]);
            self.at[node] = here;
            if gain > best.map_or(0, |best| best.gain) {
                best = Some(Move {
                    gain,
                    time,
                    swapped: None,
                });
            }
        }
        for slot in 0..self.interval {
            let time = here + slot;
            let other = self.reservations.in_slot(&own, time);
            let Some(other) = other.filter(|&other| other != node && own.busy == 1) else {
                continue;
            };
            if self.graph.nodes[other].busy > 1 {
                continue;
            }
            let there = self.at[other];
            // Only a node that depends on the other one has another window without it.
            let depends = self.near[node].iter().any(|&(near, ..)| near == other);
            let (first, last) = if depends {
                self.window(node, other)
            } else {
                window
            };
            let mut before = None;
            for time in self.slots_within(time, (first.max(begin), last.min(end))) {
                let before = *before.get_or_insert_with(|| self.cost([node, other]));
                self.at[node] = time;
                let (first, last) = self.window(other, usize::MAX);
                for back in self.slots_within(here, (first.max(begin), last.min(end))) {
                    self.at[other] = back;
                    let gain = before - self.cost([node, other]);
                    if gain > best.map_or(0, |best| best.gain) {
                        best = Some(Move {
                            gain,
                            time,
                            swapped: Some((other, back)),
                        });
                    }
                }
                self.at[other] = there;
            }
            self.at[node] = here;
        }
        let Some(Move { time, swapped, .. }) = best else {
            return false;
        };
        self.reservations.set(&own, here, None);
        if let Some((other, back)) = swapped {
            let node = self.graph.nodes[other];
            self.reservations.set(&node, self.at[other], None);
            self.reservations.set(&node, back, Some(other));
            self.at[other] = back;
        }
        self.reservations.set(&own, time, Some(node));
        self.at[node] = time;
        true
    }

    /// Returns the times within a window that share a cycle of the interval with `time`.
    fn slots_within(
        &self,
        time: i64,
        (first, last): (i64, i64),
    ) -> impl Iterator<Item = i64> + use<> {
        let begin = first + (time - first).rem_euclid(self.interval);
        let interval = self.interval.max(1);
        std::iter::successors(Some(begin), move |t| Some(t + interval))
            .take_while(move |&t| t <= last)
    }
}
