//! Swing modulo scheduling (Llosa, Gonzalez, Ayguade, Valero: PACT 1996).
//!
//! Operations are placed in an order in which each, except the first of a part of the dataflow, has placed
//! neighbours on one side only: its sources or its readers. Each is placed as close to them as possible, so
//! that values live for a short time and fewer registers suffice.

use super::placement::{Attempt, PlacementTimes};

/// The end at which the longest path is begun.
#[derive(Clone, Copy, Debug)]
pub(super) enum First {
    /// The last operation of the path.
    End,
    /// The first operation of the path.
    Beginning,
}

/// The order of operations that matter equally.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ties {
    /// The one written first.
    Early,
    /// The one written last.
    Late,
}

impl Attempt<'_> {
    /// Places all operations; none if one finds no slot.
    pub(super) fn place_swinging(
        &mut self,
        sources: &[Vec<usize>],
        first: First,
        ties: Ties,
    ) -> Option<()> {
        let readers = list_readers(sources);
        let (depth, height) = levels(sources, |op| self.latency(op));
        let n = self.interval;
        // Times of the first and the last access through every pointer.
        let mut ends: Vec<Option<(i64, i64)>> = vec![None; self.body.pointers.len()];
        for op in order(sources, &readers, (&depth, &height), (first, ties)) {
            let placed = |&s: &usize| Some((s, self.at[s]?));
            let before = sources[op].iter().filter_map(placed);
            let before = before.map(|(s, t)| t + self.latency(s)).max();
            let behind = readers[op].iter().filter_map(placed);
            let behind = behind.map(|(_, t)| t - self.latency(op)).min();
            let (mut first, mut last, backwards) = match (before, behind) {
                (Some(first), Some(last)) => (first, last.min(first + n - 1), false),
                (None, Some(last)) => (last - n + 1, last, true),
                (Some(first), None) => (first, first + n - 1, false),
                (None, None) => (depth[op], depth[op] + n - 1, false),
            };
            let access = self.body.ops[op].access;
            let pointer = access.map(|a| a.pointer).filter(|&p| self.steps(p));
            if let Some((earliest, latest)) = pointer.and_then(|p| ends[p]) {
                first = first.max(latest - n + 1);
                last = last.min(earliest + n - 1);
            }
            let times = match backwards {
                true => PlacementTimes::backwards(first, last),
                false => PlacementTimes::forwards(first, last),
            };
            let t = self.place_within(op, times)?;
            self.at[op] = Some(t);
            if let Some(p) = pointer {
                let (earliest, latest) = ends[p].unwrap_or((t, t));
                ends[p] = Some((earliest.min(t), latest.max(t)));
            }
        }
        Some(())
    }
}

/// Returns the sums of latencies on the longest path from the beginning to each operation (depth), and from it
/// to the end (height).
fn levels(sources: &[Vec<usize>], latency: impl Fn(usize) -> i64) -> (Vec<i64>, Vec<i64>) {
    let (mut depth, mut height) = (vec![0; sources.len()], vec![0; sources.len()]);
    for op in 0..sources.len() {
        for &source in &sources[op] {
            depth[op] = depth[op].max(depth[source] + latency(source));
        }
    }
    for op in (0..sources.len()).rev() {
        for &source in &sources[op] {
            height[source] = height[source].max(height[op] + latency(source));
        }
    }
    (depth, height)
}

/// Returns for every operation those that have it as a source.
fn list_readers(sources: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); sources.len()];
    for (reader, own) in sources.iter().enumerate() {
        own.iter().for_each(|&source| readers[source].push(reader));
    }
    readers
}

/// Returns the order of placement of operations with these sources and latencies.
pub(super) fn list_swinging(
    sources: &[Vec<usize>],
    latency: impl Fn(usize) -> i64,
    first: First,
) -> Vec<usize> {
    let (depth, height) = levels(sources, latency);
    let readers = list_readers(sources);
    order(sources, &readers, (&depth, &height), (first, Ties::Early))
}

/// Returns the order of placement.
///
/// The order goes from the end of the longest path backwards through the operations it needs, from there
/// forwards through those that need them, and so on. Among those ready, the greatest depth (backwards) or
/// height (forwards) comes first, then the least mobility: `longest - depth - height`.
fn order(
    sources: &[Vec<usize>],
    readers: &[Vec<usize>],
    (depth, height): (&[i64], &[i64]),
    (first, ties): (First, Ties),
) -> Vec<usize> {
    let tie = |op: usize| match ties {
        Ties::Early => -(op as i64),
        Ties::Late => op as i64,
    };
    let longest = depth.iter().zip(height).map(|(d, h)| d + h).max();
    let mobility = |op: usize| longest.unwrap_or(0) - depth[op] - height[op];
    let mut left = vec![true; sources.len()];
    let mut order: Vec<usize> = Vec::new();
    while order.len() < sources.len() {
        let neighbours = |of: &[Vec<usize>], left: &[bool]| -> Vec<usize> {
            let own = order.iter().flat_map(|&op| &of[op]).copied();
            let mut own: Vec<usize> = own.filter(|&op| left[op]).collect();
            own.sort_unstable();
            own.dedup();
            own
        };
        let (mut ready, mut downwards) = (neighbours(sources, &left), false);
        if ready.is_empty() {
            (ready, downwards) = (neighbours(readers, &left), true);
        }
        if ready.is_empty() {
            let begin = match first {
                First::End => depth,
                First::Beginning => height,
            };
            let rest = (0..sources.len()).filter(|&op| left[op]);
            ready.extend(rest.max_by_key(|&op| (begin[op], -mobility(op), tie(op))));
            downwards = matches!(first, First::Beginning);
        }
        let (level, next) = if downwards {
            (height, readers)
        } else {
            (depth, sources)
        };
        while let Some(op) =
            (ready.iter().copied()).max_by_key(|&op| (level[op], -mobility(op), tie(op)))
        {
            ready.retain(|&other| other != op);
            left[op] = false;
            order.push(op);
            for &near in &next[op] {
                if left[near] && !ready.contains(&near) {
                    ready.push(near);
                }
            }
        }
    }
    order
}
