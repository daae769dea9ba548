//! Least distances in time between the operations of an iteration.

use super::dependence::DependenceGraph;

/// Number of nodes up to which distances over all paths are kept; beyond, only dependences themselves.
const CLOSED_NODES: usize = 128;
/// Stands for no path. Sums of it with any lengths stay far below all lengths.
const NO_PATH: i64 = i64::MIN / 4;

/// The least distances between nodes: `at[to] - at[from] >= length`.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    pub(super) interval: i64,
    /// For every node those before it, each with its length.
    pub(super) before: Vec<Vec<(usize, i64)>>,
    /// For every node those behind it, each with its length.
    pub(super) behind: Vec<Vec<(usize, i64)>>,
    /// The longest path that ends at each node.
    pub(super) depth: Vec<i64>,
    /// The longest path that begins at each node.
    pub(super) height: Vec<i64>,
}

impl Distances {
    /// Computes the distances for an interval; none if a dependence comes back too soon for it.
    pub(super) fn new(graph: &DependenceGraph, interval: u32) -> Option<Self> {
        let (nodes, interval) = (graph.nodes.len(), i64::from(interval));
        let lengths = graph.edges.iter().map(|edge| {
            let length = edge
                .latency
                .saturating_sub(edge.distance.saturating_mul(interval));
            (edge.from, edge.to, length.max(NO_PATH + 1))
        });
        let lengths: Vec<(usize, usize, i64)> = lengths.collect();
        if nodes <= CLOSED_NODES {
            Self::close(nodes, &lengths, interval)
        } else {
            Self::keep(nodes, &lengths, interval)
        }
    }

    /// Computes the longest paths between all nodes (R. Floyd, Comm. ACM 1962).
    fn close(nodes: usize, lengths: &[(usize, usize, i64)], interval: i64) -> Option<Self> {
        let mut path = vec![NO_PATH; nodes * nodes];
        for &(from, to, length) in lengths {
            let own = &mut path[from * nodes + to];
            *own = length.max(*own);
        }
        for by in 0..nodes {
            let onwards = path[by * nodes..(by + 1) * nodes].to_vec();
            for row in path.chunks_exact_mut(nodes) {
                let first = row[by];
                if first == NO_PATH {
                    continue;
                }
                for (own, &rest) in row.iter_mut().zip(&onwards) {
                    if rest != NO_PATH {
                        *own = (first + rest).max(*own);
                    }
                }
            }
            // Around a circle that is too long, paths would grow without end.
            if path.iter().step_by(nodes + 1).any(|&length| length > 0) {
                return None;
            }
        }
        let mut found = Self::empty(nodes, interval);
        for (from, row) in path.chunks_exact(nodes.max(1)).enumerate() {
            for (to, &length) in row.iter().enumerate() {
                if from == to && length > 0 {
                    return None;
                }
                if from != to && length != NO_PATH {
                    found.behind[from].push((to, length));
                    found.before[to].push((from, length));
                    found.depth[to] = found.depth[to].max(length);
                    found.height[from] = found.height[from].max(length);
                }
            }
        }
        Some(found)
    }

    /// Keeps the dependences themselves, and computes the longest paths that begin and end at each node.
    fn keep(nodes: usize, lengths: &[(usize, usize, i64)], interval: i64) -> Option<Self> {
        let mut found = Self::empty(nodes, interval);
        let mut rounds = 0;
        loop {
            let mut changed = false;
            for &(from, to, length) in lengths {
                let reached = found.depth[from] + length;
                changed |= reached > found.depth[to];
                found.depth[to] = found.depth[to].max(reached);
            }
            for &(from, to, length) in lengths.iter().rev() {
                let reached = found.height[to] + length;
                changed |= reached > found.height[from];
                found.height[from] = found.height[from].max(reached);
            }
            if !changed {
                break;
            }
            rounds += 1;
            if rounds > nodes {
                return None;
            }
        }
        let mut sorted = lengths.to_vec();
        // The longest of several dependences between two nodes counts.
        sorted.sort_unstable_by_key(|&(from, to, length)| (from, to, -length));
        sorted.dedup_by_key(|&mut (from, to, _)| (from, to));
        for (from, to, length) in sorted {
            if from != to {
                found.behind[from].push((to, length));
                found.before[to].push((from, length));
            }
        }
        Some(found)
    }

    fn empty(nodes: usize, interval: i64) -> Self {
        Self {
            interval,
            before: vec![Vec::new(); nodes],
            behind: vec![Vec::new(); nodes],
            depth: vec![0; nodes],
            height: vec![0; nodes],
        }
    }

    /// Returns the distances of the mirrored problem, in which time runs backwards.
    pub(super) fn mirror(&self) -> Self {
        Self {
            interval: self.interval,
            before: self.behind.clone(),
            behind: self.before.clone(),
            depth: self.height.clone(),
            height: self.depth.clone(),
        }
    }

    /// Returns the first and the last time of a node among those that are placed; the first is 0 and the last
    /// none where nothing placed bounds it.
    pub(super) fn window(&self, node: usize, at: &[Option<i64>]) -> (Option<i64>, Option<i64>) {
        let first = self.before[node].iter();
        let first = first.filter_map(|&(other, length)| Some(at[other]? + length));
        let last = self.behind[node].iter();
        let last = last.filter_map(|&(other, length)| Some(at[other]? - length));
        (first.max(), last.min())
    }
}
