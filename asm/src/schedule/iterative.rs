//! Iterative modulo scheduling (B. Rau, MICRO-27, 1994).
//!
//! Operations are placed by priority, each at the first cycle of its window at which its slot and its unit are free. If
//! there is none, it takes a cycle all the same, and the operations in its way are placed once more. The number of
//! placements is limited.

use super::dependence::ScheduleNode;
use super::distances::Distances;
use super::placement::{PlacementTimes, look_at_unit};
use cp2_machine::ClassMap;
use std::collections::BinaryHeap;

/// Placements for each operation before an attempt ends.
const PLACEMENTS_PER_OPERATION: usize = 12;

/// The slots and units of one interval, with the node that takes each cycle.
#[derive(Clone, Debug)]
pub(super) struct Reservations {
    interval: i64,
    slots: [Vec<Option<usize>>; 2],
    units: ClassMap<Vec<Option<usize>>>,
}

impl Reservations {
    pub(super) fn new(nodes: &[ScheduleNode], interval: i64) -> Self {
        let free = || vec![None; usize::try_from(interval).unwrap_or(0)];
        let mut units = ClassMap::from_fn(|_| Vec::new());
        for node in nodes.iter().filter(|node| node.busy > 1) {
            units[node.class] = free();
        }
        Self {
            interval,
            slots: [free(), free()],
            units,
        }
    }

    fn place(&self, time: i64) -> usize {
        time.rem_euclid(self.interval) as usize
    }

    /// Returns the node that takes the slot of a node at a time.
    pub(super) fn in_slot(&self, node: &ScheduleNode, time: i64) -> Option<usize> {
        self.slots[usize::from(node.memory)][self.place(time)]
    }

    /// Returns the nodes in the way of a node at a time, some perhaps twice.
    pub(super) fn in_way(&self, node: &ScheduleNode, time: i64) -> impl Iterator<Item = usize> {
        let unit = &self.units[node.class];
        let busy = if node.busy > 1 { node.busy } else { 0 };
        // Divided once: this is asked of every cycle of a window.
        let first = self.place(time);
        let held = (first..first + busy as usize).filter_map(|place| {
            let cycles = unit.len();
            unit[if place < cycles {
                place
            } else {
                place % cycles
            }]
        });
        self.in_slot(node, time).into_iter().chain(held)
    }

    /// Returns true if nothing is in the way of a node at a time, itself and one other aside.
    pub(super) fn is_free(&self, node: &ScheduleNode, time: i64, aside: [usize; 2]) -> bool {
        if node.busy <= 1 {
            let other = self.in_slot(node, time);
            return other.is_none_or(|other| aside.contains(&other));
        }
        node.busy <= self.interval && self.in_way(node, time).all(|other| aside.contains(&other))
    }

    /// Returns the first of some times at which nothing is in the way of a node.
    fn find_free(&self, node: &ScheduleNode, times: PlacementTimes) -> Option<i64> {
        if node.busy > self.interval {
            return None;
        }
        let slot = &self.slots[usize::from(node.memory)];
        let unit = &self.units[node.class];
        let shape = (node.busy as usize, times.go_back());
        times.find(self.interval, |place| match slot[place] {
            Some(_) => 1,
            None => look_at_unit(unit, place, shape, Option::is_none),
        })
    }

    /// Makes a node take a time, or give it back.
    pub(super) fn set(&mut self, node: &ScheduleNode, time: i64, taker: Option<usize>) {
        let place = self.place(time);
        self.slots[usize::from(node.memory)][place] = taker;
        for t in (time..time + node.busy).filter(|_| node.busy > 1) {
            let place = self.place(t);
            self.units[node.class][place] = taker;
        }
    }
}

/// How operations are chosen and where they go.
#[derive(Clone, Debug)]
pub(super) struct Strategy {
    /// Priority of every node: the highest is placed first, of equals the lowest number.
    pub(super) priority: Vec<i64>,
    /// First time of every node; dependences may make it later.
    pub(super) earliest: Vec<i64>,
    /// True for nodes that go as close to the placed nodes behind them as possible.
    pub(super) close: Vec<bool>,
}

/// Places all nodes; none if the placements that an attempt may take do not suffice.
pub(super) fn place_iteratively(
    nodes: &[ScheduleNode],
    distances: &Distances,
    strategy: &Strategy,
) -> Option<Vec<i64>> {
    let interval = distances.interval;
    let mut reservations = Reservations::new(nodes, interval);
    let mut at: Vec<Option<i64>> = vec![None; nodes.len()];
    let mut before: Vec<Option<i64>> = vec![None; nodes.len()];
    let entry = |node: usize| (strategy.priority[node], std::cmp::Reverse(node));
    let mut waiting: BinaryHeap<_> = (0..nodes.len()).map(entry).collect();
    let mut left = nodes.len() * PLACEMENTS_PER_OPERATION;
    while let Some((_, std::cmp::Reverse(node))) = waiting.pop() {
        left = left.checked_sub(1)?;
        let own = &nodes[node];
        let (bound, latest) = distances.window(node, &at);
        let (from, found) = match (bound, latest) {
            (_, Some(latest)) if strategy.close[node] => {
                let from = bound.unwrap_or(i64::MIN).max(latest - interval + 1);
                let times = PlacementTimes::backwards(from, latest);
                (from, reservations.find_free(own, times))
            }
            _ => {
                let from = bound.unwrap_or(i64::MIN).max(strategy.earliest[node]);
                let to = latest.unwrap_or(i64::MAX).min(from + interval - 1);
                let times = PlacementTimes::forwards(from, to);
                (from, reservations.find_free(own, times))
            }
        };
        let time = found.unwrap_or_else(|| {
            let next = before[node].map_or(from, |last| last + 1);
            from.max(next)
        });
        if own.busy > interval {
            return None;
        }
        let mut ejected: Vec<usize> = reservations.in_way(own, time).collect();
        // The bound holds: what is too near lies behind, and only where the window is left.
        if latest.is_some_and(|latest| time > latest) {
            let early = distances.behind(node).iter();
            ejected.extend(early.filter_map(|&(other, length)| {
                at[other].filter(|&placed| placed < time + length)?;
                Some(other)
            }));
        }
        for other in ejected {
            if let Some(placed) = at[other].take() {
                reservations.set(&nodes[other], placed, None);
                waiting.push(entry(other));
            }
        }
        reservations.set(own, time, Some(node));
        (at[node], before[node]) = (Some(time), Some(time));
    }
    at.into_iter().collect()
}
