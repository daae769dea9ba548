//! Least distances in time between the operations of an iteration.

use super::dependence::{DependenceGraph, ScheduleEdge};
use std::sync::Arc;

/// Number of nodes up to which distances over all paths are kept; beyond, only dependences themselves.
const CLOSED_NODES: usize = 128;
/// Stands for no path. Sums of it with any lengths stay far below all lengths.
const NO_PATH: i64 = i64::MIN / 4;

/// For every node others, each with a length.
#[derive(Debug)]
struct NodeLists {
    /// Ends of the nodes of each node in `all`.
    ends: Vec<usize>,
    /// The nodes of all nodes, one behind the other.
    all: Vec<(usize, i64)>,
}

impl NodeLists {
    /// Makes the lists of so many nodes from nodes with one of their list each. The order in a list is that of `pairs`.
    fn new(nodes: usize, pairs: impl Iterator<Item = (usize, (usize, i64))> + Clone) -> Self {
        let mut ends = vec![0; nodes + 1];
        for (node, _) in pairs.clone() {
            ends[node + 1] += 1;
        }
        for node in 0..nodes {
            ends[node + 1] += ends[node];
        }
        // An end is where the next one of its node goes.
        let mut all = vec![(0, 0); ends[nodes]];
        for (node, own) in pairs {
            all[ends[node]] = own;
            ends[node] += 1;
        }
        ends.truncate(nodes);
        Self { ends, all }
    }

    fn of(&self, node: usize) -> &[(usize, i64)] {
        let begin = node.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.all[begin..self.ends[node]]
    }
}

/// The longest paths between all nodes, from each node in a row; [`NO_PATH`] where there is none.
#[derive(Debug)]
struct LongestPaths {
    nodes: usize,
    lengths: Vec<i64>,
}

impl LongestPaths {
    /// Computes the longest paths along edges (R. Floyd, Comm. ACM 1962); none if a circle is too long.
    fn new(nodes: usize, edges: &[(usize, usize, i64)]) -> Option<Self> {
        let mut lengths = vec![NO_PATH; nodes * nodes];
        for &(from, to, length) in edges {
            let own = &mut lengths[from * nodes + to];
            *own = length.max(*own);
        }
        let mut onwards = vec![NO_PATH; nodes];
        for by in 0..nodes {
            onwards.copy_from_slice(&lengths[by * nodes..(by + 1) * nodes]);
            // Around a circle that is too long, paths would grow without end.
            if onwards[by] > 0 {
                return None;
            }
            for row in lengths.chunks_exact_mut(nodes) {
                lengthen_paths(row, row[by], &onwards);
            }
        }
        Some(Self { nodes, lengths })
    }

    /// Computes the longest paths with further edges, of which neighbours with one end are taken together; none if a
    /// circle is too long.
    fn extend(&self, edges: &[(usize, usize, i64)]) -> Option<Self> {
        let nodes = self.nodes;
        let mut lengths = self.lengths.clone();
        let mut onwards = vec![NO_PATH; nodes];
        let mut arriving = vec![NO_PATH; nodes];
        for edges in edges.chunk_by(|one, next| one.1 == next.1) {
            let to = edges[0].1;
            onwards.copy_from_slice(&lengths[to * nodes..(to + 1) * nodes]);
            onwards[to] = 0;
            // All paths that end with one of the edges.
            arriving.fill(NO_PATH);
            for &(from, _, length) in edges {
                for (node, (own, row)) in
                    (arriving.iter_mut().zip(lengths.chunks_exact(nodes))).enumerate()
                {
                    let there = if node == from {
                        row[from].max(0)
                    } else {
                        row[from]
                    };
                    if there != NO_PATH {
                        *own = (there + length).max(*own);
                    }
                }
            }
            if arriving[to] > 0 {
                return None;
            }
            for (row, &first) in lengths.chunks_exact_mut(nodes).zip(&arriving) {
                if first > row[to] {
                    lengthen_paths(row, first, &onwards);
                }
            }
        }
        Some(Self { nodes, lengths })
    }

    /// Returns the longest paths from a node to all nodes.
    fn rows(&self) -> impl Iterator<Item = (usize, &[i64])> {
        self.lengths.chunks_exact(self.nodes.max(1)).enumerate()
    }
}

/// Lengthens the paths of a row to those that go to a node first, and onwards from there.
fn lengthen_paths(row: &mut [i64], first: i64, onwards: &[i64]) {
    if first == NO_PATH {
        return;
    }
    for (own, &rest) in row.iter_mut().zip(onwards) {
        if rest != NO_PATH {
            *own = (first + rest).max(*own);
        }
    }
}

/// The least distances between nodes: `at[to] - at[from] >= length`.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    pub(super) interval: i64,
    before: Arc<NodeLists>,
    behind: Arc<NodeLists>,
    /// The longest path that ends at each node.
    pub(super) depth: Vec<i64>,
    /// The longest path that begins at each node.
    pub(super) height: Vec<i64>,
    /// The closed paths that the lists were made from, where all are closed.
    paths: Option<Arc<LongestPaths>>,
}

/// Lists the edges of dependences with their lengths for an interval.
fn list_lengths(edges: &[ScheduleEdge], interval: i64) -> Vec<(usize, usize, i64)> {
    let lengths = edges.iter().map(|edge| {
        let length = edge
            .latency
            .saturating_sub(edge.distance.saturating_mul(interval));
        (edge.from, edge.to, length.max(NO_PATH + 1))
    });
    lengths.collect()
}

impl Distances {
    /// Computes the distances for an interval; none if a dependence comes back too soon for it.
    pub(super) fn new(graph: &DependenceGraph, interval: u32) -> Option<Self> {
        let (nodes, interval) = (graph.nodes.len(), i64::from(interval));
        let lengths = list_lengths(&graph.edges, interval);
        if nodes <= CLOSED_NODES {
            let paths = LongestPaths::new(nodes, &lengths)?;
            Some(Self::close(paths, interval))
        } else {
            Self::keep(nodes, &lengths, interval)
        }
    }

    /// Computes the distances of a graph to which edges have been added, those from number `known` on.
    pub(super) fn extend(&self, graph: &DependenceGraph, known: usize) -> Option<Self> {
        let nodes = graph.nodes.len();
        match &self.paths {
            Some(paths) => {
                let added = list_lengths(&graph.edges[known..], self.interval);
                Some(Self::close(paths.extend(&added)?, self.interval))
            }
            None => Self::keep(
                nodes,
                &list_lengths(&graph.edges, self.interval),
                self.interval,
            ),
        }
    }

    /// Lists the longest paths of all nodes.
    fn close(paths: LongestPaths, interval: i64) -> Self {
        let nodes = paths.nodes;
        let (mut depth, mut height) = (vec![0; nodes], vec![0; nodes]);
        let mut all = Vec::with_capacity(nodes * nodes);
        for (from, row) in paths.rows() {
            for (to, &length) in row.iter().enumerate() {
                if from != to && length != NO_PATH {
                    all.push((from, to, length));
                    depth[to] = length.max(depth[to]);
                    height[from] = length.max(height[from]);
                }
            }
        }
        Self {
            depth,
            height,
            paths: Some(Arc::new(paths)),
            ..Self::from_paths(nodes, interval, all.into_iter())
        }
    }

    /// Keeps the dependences themselves, and computes the longest paths that begin and end at each node.
    fn keep(nodes: usize, lengths: &[(usize, usize, i64)], interval: i64) -> Option<Self> {
        let (mut depth, mut height) = (vec![0; nodes], vec![0; nodes]);
        let mut rounds = 0;
        loop {
            let mut changed = false;
            for &(from, to, length) in lengths {
                let reached = depth[from] + length;
                changed |= reached > depth[to];
                depth[to] = reached.max(depth[to]);
            }
            for &(from, to, length) in lengths.iter().rev() {
                let reached = height[to] + length;
                changed |= reached > height[from];
                height[from] = reached.max(height[from]);
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
        sorted.retain(|&(from, to, _)| from != to);
        Some(Self {
            depth,
            height,
            ..Self::from_paths(nodes, interval, sorted.into_iter())
        })
    }

    /// Makes distances from paths between two nodes each; the longest that begin or end at a node are not known.
    fn from_paths(
        nodes: usize,
        interval: i64,
        paths: impl Iterator<Item = (usize, usize, i64)> + Clone,
    ) -> Self {
        let behind = paths.clone().map(|(from, to, length)| (from, (to, length)));
        let before = paths.map(|(from, to, length)| (to, (from, length)));
        Self {
            interval,
            before: Arc::new(NodeLists::new(nodes, before)),
            behind: Arc::new(NodeLists::new(nodes, behind)),
            depth: vec![0; nodes],
            height: vec![0; nodes],
            paths: None,
        }
    }

    /// Returns the nodes before a node, each with the length of the path from it.
    pub(super) fn before(&self, node: usize) -> &[(usize, i64)] {
        self.before.of(node)
    }

    /// Returns the nodes behind a node, each with the length of the path to it.
    pub(super) fn behind(&self, node: usize) -> &[(usize, i64)] {
        self.behind.of(node)
    }

    /// Returns the distances of the mirrored problem, in which time runs backwards.
    pub(super) fn mirror(&self) -> Self {
        Self {
            interval: self.interval,
            before: self.behind.clone(),
            behind: self.before.clone(),
            depth: self.height.clone(),
            height: self.depth.clone(),
            paths: None,
        }
    }

    /// Returns the first and the last time of a node among those that are placed; the first is 0 and the last
    /// none where nothing placed bounds it.
    pub(super) fn window(&self, node: usize, at: &[Option<i64>]) -> (Option<i64>, Option<i64>) {
        let first = self.before(node).iter();
        let first = first.filter_map(|&(other, length)| Some(at[other]? + length));
        let last = self.behind(node).iter();
        let last = last.filter_map(|&(other, length)| Some(at[other]? - length));
        (first.max(), last.min())
    }
}
