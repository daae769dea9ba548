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

/// The lifetime of a value without what one node adds to it.
#[derive(Clone, Copy, Debug)]
struct OpenLifetime {
    width: i64,
    /// First time at which another node writes the value.
    begin: i64,
    /// Last time at which a result of another node lands, or another node reads the value.
    end: i64,
    /// Cycles after the node's time at which its result lands, if it writes the value.
    lands: Option<i64>,
    /// Cycles after the node's time at which an iteration reads the value by it, if one does.
    read: Option<i64>,
}

impl OpenLifetime {
    /// Returns the register cycles of the value where the node has a time.
    fn count(&self, time: i64) -> i64 {
        let begin = self.lands.map_or(self.begin, |_| self.begin.min(time));
        let own = self.lands.max(self.read);
        let end = own.map_or(self.end, |after| self.end.max(time + after));
        self.width * (end - begin)
    }
}

/// Bounds of the time of a node by the places of others: on each side the closest one and the next one, each with the
/// node that it comes from.
#[derive(Clone, Copy, Debug)]
struct NodeWindow {
    first: [(i64, usize); 2],
    last: [(i64, usize); 2],
}

impl NodeWindow {
    /// Returns the first and the last time for the places of all nodes but one.
    fn without(&self, node: usize) -> (i64, i64) {
        let closest = |bounds: &[(i64, usize); 2]| bounds[usize::from(bounds[0].1 == node)].0;
        (closest(&self.first), closest(&self.last))
    }

    /// Returns the first and the last time.
    fn all(&self) -> (i64, i64) {
        (self.first[0].0, self.last[0].0)
    }
}

/// Stands for a node that none has asked anything of.
const NO_TIE: NodeTie = NodeTie {
    node: usize::MAX,
    ahead: None,
    back: None,
};

/// Distances that a node at hand asks of another one.
#[derive(Clone, Copy, Debug)]
struct NodeTie {
    /// The node at hand when this was noted.
    node: usize,
    /// Least distances to the other node, and from it to the node at hand.
    ahead: Option<i64>,
    back: Option<i64>,
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
    /// Lifetimes of the values of the node that is being moved.
    open: Vec<OpenLifetime>,
    /// Slots that the node that is being moved may exchange.
    slots: Vec<i64>,
    /// For every value the last node that was looked at and reads or writes it.
    marked_values: Vec<usize>,
    /// For every node what the last one that was looked at and has a dependence with it asks of it.
    ties: Vec<NodeTie>,
    /// For every node its window, if that is known for the places of now.
    windows: Vec<Option<NodeWindow>>,
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
            open: Vec::new(),
            slots: Vec::new(),
            marked_values: vec![usize::MAX; graph.values.len()],
            ties: vec![NO_TIE; graph.nodes.len()],
            windows: vec![None; graph.nodes.len()],
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

    /// Returns the window of a node for the places of all others, which is kept until one of them moves.
    fn find_window(&mut self, node: usize) -> NodeWindow {
        if let Some(known) = self.windows[node] {
            return known;
        }
        let mut found = NodeWindow {
            first: [(i64::MIN, usize::MAX); 2],
            last: [(i64::MAX, usize::MAX); 2],
        };
        for &(other, length, behind) in &self.near[node] {
            let bound = if behind {
                self.at[other] - length
            } else {
                self.at[other] + length
            };
            if behind && bound < found.last[0].0 {
                found.last = [(bound, other), found.last[0]];
            } else if behind && bound < found.last[1].0 {
                found.last[1] = (bound, other);
            } else if !behind && bound > found.first[0].0 {
                found.first = [(bound, other), found.first[0]];
            } else if !behind && bound > found.first[1].0 {
                found.first[1] = (bound, other);
            }
        }
        self.windows[node] = Some(found);
        found
    }

    /// Gives a node a new time.
    fn set_time(&mut self, node: usize, time: i64) {
        self.at[node] = time;
        for &(other, ..) in &self.near[node] {
            self.windows[other] = None;
        }
    }

    /// Lists the lifetimes of the values of a node without what the node itself adds to them.
    fn list_open_lifetimes(&self, node: usize, found: &mut Vec<OpenLifetime>) {
        found.clear();
        found.extend(self.values[node].iter().filter_map(|&value| {
            let value = &self.graph.values[value];
            let mut open = OpenLifetime {
                width: value.width,
                begin: i64::MAX,
                end: i64::MIN,
                lands: None,
                read: None,
            };
            for &writer in &value.writers {
                let latency = self.graph.nodes[writer].latency;
                if writer == node {
                    open.lands = Some(latency);
                } else {
                    open.begin = self.at[writer].min(open.begin);
                    open.end = (self.at[writer] + latency).max(open.end);
                }
            }
            for &(reader, distance) in &value.readers {
                let after = distance * self.interval;
                if reader == node {
                    open.read = Some(after).max(open.read);
                } else {
                    open.end = (self.at[reader] + after).max(open.end);
                }
            }
            // A value that nothing writes holds no register.
            (!value.writers.is_empty()).then_some(open)
        }));
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
        let ends = nodes.map(|node| self.count_end(self.at[node]));
        self.count_held(nodes) + ends[0] + ends[1]
    }

    fn find_ends(&mut self) {
        let (first, last) = (self.at.iter().min(), self.at.iter().max());
        self.ends = (first.copied().unwrap_or(0), last.copied().unwrap_or(0));
    }

    /// Returns what a node at an end of the schedule costs.
    fn count_end(&self, time: i64) -> i64 {
        let (first, last) = self.ends;
        self.length_weight * i64::from(time <= first || time >= last)
    }

    /// Moves a node to its best place, alone or in turn with the node that has its slot.
    fn move_one(&mut self, node: usize) -> bool {
        let own = self.graph.nodes[node];
        let (begin, end) = self.ends;
        let mut best: Option<Move> = None;
        let here = self.at[node];
        let window = self.find_window(node);
        let (first, last) = window.all();
        let (first, last) = (first.max(begin), last.min(end));
        let mut open = std::mem::take(&mut self.open);
        self.list_open_lifetimes(node, &mut open);
        let held = |time: i64| -> i64 { open.iter().map(|own| own.count(time)).sum() };
        let held_here = held(here);
        for time in first..=last {
            if time == here || !self.reservations.is_free(&own, time, [node; 2]) {
                continue;
            }
            let ends = self.count_end(here) - self.count_end(time);
            let gain = held_here - held(time) + 2 * ends;
            if gain > best.map_or(0, |best| best.gain) {
                best = Some(Move {
                    gain,
                    time,
                    swapped: None,
                });
            }
        }
        for &value in &self.values[node] {
            self.marked_values[value] = node;
        }
        for &(other, length, behind) in &self.near[node] {
            let tie = &mut self.ties[other];
            if tie.node != node {
                *tie = NodeTie { node, ..NO_TIE };
            }
            let distance = if behind {
                &mut tie.ahead
            } else {
                &mut tie.back
            };
            *distance = Some(length);
        }
        let mut slots = std::mem::take(&mut self.slots);
        self.list_slots(node, (first, last), &mut slots);
        for &slot in &slots {
            let time = here + slot;
            let other = self.reservations.in_slot(&own, time);
            let Some(other) = other.filter(|&other| other != node) else {
                continue;
            };
            if self.graph.nodes[other].busy > 1 {
                continue;
            }
            // Only a node that depends on the other one has another window without it.
            let tie = Some(self.ties[other]).filter(|tie| tie.node == node);
            let within = slot <= last - here || slot >= self.interval - (here - first);
            if tie.is_none() && !within {
                continue;
            }
            let mut values = self.values[other].iter();
            if tie.is_some() || values.any(|&value| self.marked_values[value] == node) {
                let tie = tie.unwrap_or(NO_TIE);
                self.swap_neighbours((node, other), time, (window, tie), &mut best);
                continue;
            }
            // Nothing of one depends on the other: the best places of both are the best together.
            let mut gains: [Option<(i64, i64)>; 2] = [None; 2];
            let mut keep = |which: usize, gain: i64, time: i64| {
                if gains[which].is_none_or(|(most, _)| gain > most) {
                    gains[which] = Some((gain, time));
                }
            };
            for time in self.slots_within(time, (first, last)) {
                let ends = self.count_end(here) - self.count_end(time);
                keep(0, held_here - held(time) + ends, time);
            }
            let there = self.at[other];
            let (low, high) = self.find_window(other).all();
            let mut there_held = None;
            for back in self.slots_within(here, (low.max(begin), high.min(end))) {
                let held = *there_held.get_or_insert_with(|| self.count_held([other; 2]));
                self.at[other] = back;
                let ends = self.count_end(there) - self.count_end(back);
                keep(1, held - self.count_held([other; 2]) + ends, back);
                self.at[other] = there;
            }
            if let [Some((one, time)), Some((two, back))] = gains
                && one + two > best.map_or(0, |best| best.gain)
            {
                best = Some(Move {
                    gain: one + two,
                    time,
                    swapped: Some((other, back)),
                });
            }
        }
        (self.open, self.slots) = (open, slots);
        let Some(Move { time, swapped, .. }) = best else {
            return false;
        };
        self.reservations.set(&own, here, None);
        if let Some((other, back)) = swapped {
            let node = self.graph.nodes[other];
            self.reservations.set(&node, self.at[other], None);
            self.reservations.set(&node, back, Some(other));
            self.set_time(other, back);
        }
        self.reservations.set(&own, time, Some(node));
        self.set_time(node, time);
        true
    }

    /// Lists the slots of the interval in which a node may find another one to change places with, as cycles after its
    /// own: those of its window, and those of the nodes that it depends on or that depend on it.
    fn list_slots(&self, node: usize, (first, last): (i64, i64), found: &mut Vec<i64>) {
        found.clear();
        if self.graph.nodes[node].busy > 1 {
            return;
        }
        let (here, interval) = (self.at[node], self.interval);
        let (ahead, back) = (last - here + 1, here - first);
        if ahead + back + self.near[node].len() as i64 >= interval {
            found.extend(0..interval);
            return;
        }
        found.extend(0..ahead);
        found.extend(interval - back..interval);
        let near = self.near[node].iter();
        found.extend(near.map(|&(other, ..)| (self.at[other] - here).rem_euclid(interval)));
        // The first one of equal gains is taken: the order is that of all slots.
        found.sort_unstable();
        found.dedup();
    }

    /// Finds the best places for a node and another one, which share values or depend on each other, with the slots of
    /// both exchanged; `time` has the slot of the other one.
    fn swap_neighbours(
        &mut self,
        (node, other): (usize, usize),
        time: i64,
        (window, tie): (NodeWindow, NodeTie),
        best: &mut Option<Move>,
    ) {
        let (begin, end) = self.ends;
        let (here, there) = (self.at[node], self.at[other]);
        let (first, last) = window.without(other);
        let (low, high) = self.find_window(other).without(node);
        let mut before = None;
        for time in self.slots_within(time, (first.max(begin), last.min(end))) {
            let before = *before.get_or_insert_with(|| self.cost([node, other]));
            self.at[node] = time;
            let first = tie.ahead.map_or(low, |apart| low.max(time + apart));
            let last = tie.back.map_or(high, |apart| high.min(time - apart));
            for back in self.slots_within(here, (first.max(begin), last.min(end))) {
                self.at[other] = back;
                let gain = before - self.cost([node, other]);
                if gain > best.map_or(0, |best| best.gain) {
                    *best = Some(Move {
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
