//! Dependences between operations of a loop body, and their longest cycle.

use super::CycleRatio;
use crate::isa::{Inst, Op, RegSet, Word};
use cp2_machine::{Class, Cp2};

/// An operation of a loop body.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyOperation<'a> {
    /// Index of its word in the body.
    pub word: usize,
    pub inst: &'a Inst,
}

/// Returns the operations of a body in the order of their words, without those that do nothing.
pub(super) fn list_operations(body: &[Word]) -> Vec<BodyOperation<'_>> {
    let mut found = Vec::new();
    for (word, w) in body.iter().enumerate() {
        for inst in [&w.arith, &w.mem] {
            if !matches!(inst.op, Op::Nop | Op::MemNop) {
                found.push(BodyOperation { word, inst });
            }
        }
    }
    found
}

/// A result that an operation needs from another one, or from itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependence {
    pub from: usize,
    pub to: usize,
    /// Cycles from the issue of the one to that of the other, at least.
    pub latency: u64,
    /// Iterations between the two.
    pub distance: u64,
}

/// Returns the registers that an operation writes, each set with its latency in cycles.
fn written(inst: &Inst, cp2: &Cp2) -> [(RegSet, u64); 2] {
    [
        (inst.writes(), inst.latency(cp2)),
        (inst.address_write(), cp2.latency[Class::Scalar].0.max(1)),
    ]
}

/// Returns the flow of results through registers: each operation that reads a register depends on the last one
/// before it that writes it, in this iteration or in the one before. Both operations of a word read what the
/// words before have written. Registers that are only written again carry no result: other registers could be
/// taken.
pub(super) fn list_dependences(operations: &[BodyOperation<'_>], cp2: &Cp2) -> Vec<Dependence> {
    // The last writer of each register and its latency: first from the iteration before.
    let mut last: Vec<Option<(usize, u64, u64)>> = vec![None; 128];
    let mut found = Vec::new();
    for distance in [1, 0] {
        let mut begin = 0;
        while begin < operations.len() {
            let word = operations[begin].word;
            let end = begin
                + operations[begin..]
                    .iter()
                    .take_while(|o| o.word == word)
                    .count();
            let pair = begin..end;
            if distance == 0 {
                for to in pair.clone() {
                    for reg in operations[to].inst.reads().iter() {
                        if let Some((from, latency, distance)) = last[usize::from(reg.0)] {
                            let dependence = Dependence {
                                from,
                                to,
                                latency,
                                distance,
                            };
                            if !found.contains(&dependence) {
                                found.push(dependence);
                            }
                        }
                    }
                }
            }
            for from in pair {
                for (set, latency) in written(operations[from].inst, cp2) {
                    for reg in set.iter() {
                        last[usize::from(reg.0)] = Some((from, latency, distance));
                    }
                }
            }
            begin = end;
        }
    }
    found
}

/// Returns the largest ratio of latency to iterations of all cycles of dependences, and the operations of such a
/// cycle in its order. There is none if no result comes back to its operation.
///
/// The ratio of a cycle that is found is raised until no cycle is above it (E. Lawler, *Combinatorial
/// Optimization*, 1976, section 3.13). A cycle above a ratio is one of positive length where each dependence has
/// the length latency - ratio x distance; the algorithm of Bellman and Ford finds one.
pub(crate) fn find_largest_ratio(
    operations: usize,
    dependences: &[Dependence],
) -> Option<(CycleRatio, Vec<usize>)> {
    let edges = keep_cyclic(operations, dependences);
    let mut largest: Option<(CycleRatio, Vec<usize>)> = None;
    while let Some(cycle) = find_longer_cycle(operations, &edges, largest.as_ref().map(|l| l.0)) {
        let sum = |of: fn(&Dependence) -> u64| cycle.iter().map(|&edge| of(&edges[edge])).sum();
        let ratio = CycleRatio::new(sum(|d| d.latency), sum(|d| d.distance));
        // Every cycle goes from one iteration to another, so that the ratio rises.
        if largest.as_ref().is_some_and(|(found, _)| ratio <= *found) {
            break;
        }
        largest = Some((ratio, cycle.iter().map(|&edge| edges[edge].from).collect()));
    }
    largest
}

/// Returns the dependences without those that lie on no cycle for want of one before or behind them.
fn keep_cyclic(operations: usize, dependences: &[Dependence]) -> Vec<Dependence> {
    let mut kept = dependences.to_vec();
    loop {
        let (mut leaves, mut enters) = (vec![false; operations], vec![false; operations]);
        for edge in &kept {
            leaves[edge.from] = true;
            enters[edge.to] = true;
        }
        let before = kept.len();
        kept.retain(|edge| enters[edge.from] && leaves[edge.to]);
        if kept.len() == before {
            return kept;
        }
    }
}

/// Finds a cycle with a larger ratio than `than`: its dependences in order.
fn find_longer_cycle(
    operations: usize,
    edges: &[Dependence],
    than: Option<CycleRatio>,
) -> Option<Vec<usize>> {
    let than = than.unwrap_or(CycleRatio::whole(0));
    let length = |edge: &Dependence| {
        i128::from(edge.latency) * i128::from(than.iterations())
            - i128::from(edge.distance) * i128::from(than.cycles())
    };
    let mut longest = vec![0i128; operations];
    let mut by: Vec<Option<usize>> = vec![None; operations];
    let mut last = None;
    for _ in 0..=operations {
        last = None;
        for (number, edge) in edges.iter().enumerate() {
            let reached = longest[edge.from] + length(edge);
            if reached > longest[edge.to] {
                longest[edge.to] = reached;
                by[edge.to] = Some(number);
                last = Some(edge.to);
            }
        }
        last?;
    }
    // A distance that still grows after as many rounds as there are operations hangs on a cycle.
    let mut at = last?;
    for _ in 0..operations {
        at = edges[by[at]?].from;
    }
    let begin = at;
    let mut cycle = Vec::new();
    loop {
        let edge = by[at]?;
        cycle.push(edge);
        at = edges[edge].from;
        if at == begin {
            cycle.reverse();
            return Some(cycle);
        }
    }
}
