//! Tests of the analysis of loops against hand counts and exhaustive search.
#![allow(clippy::panic, clippy::unwrap_used, reason = "tests")]

use super::dependence::{Dependence, find_largest_ratio};
use super::*;
use crate::{Options, Source, assemble};
use cp2_machine::Machine;
use proptest::prelude::*;

fn loops(text: &str, machine: &str) -> Vec<LoopAnalysis> {
    let machine = Machine::load(machine).unwrap();
    let program = assemble(&Source::new("a.s", text), &Options::default()).unwrap();
    analyze_loops(&program.program, &machine).unwrap()
}

fn steady(found: &LoopAnalysis) -> &SteadyLoop {
    match &found.body {
        LoopBody::Steady(steady) => steady,
        LoopBody::Branching { reason, .. } => panic!("{reason}"),
    }
}

/// Returns the largest ratio of all cycles that visit no operation twice, one by one.
fn try_all_cycles(operations: usize, edges: &[Dependence]) -> Option<CycleRatio> {
    fn walk(
        begin: usize,
        at: usize,
        sums: (u64, u64),
        visited: &mut Vec<usize>,
        edges: &[Dependence],
        best: &mut Option<CycleRatio>,
    ) {
        for edge in edges.iter().filter(|edge| edge.from == at) {
            let sums = (sums.0 + edge.latency, sums.1 + edge.distance);
            if edge.to == begin {
                *best = (*best).max(Some(CycleRatio::new(sums.0, sums.1)));
            } else if edge.to > begin && !visited.contains(&edge.to) {
                visited.push(edge.to);
                walk(begin, edge.to, sums, visited, edges, best);
                visited.pop();
            }
        }
    }
    let mut best = None;
    for begin in 0..operations {
        walk(begin, begin, (0, 0), &mut Vec::new(), edges, &mut best);
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_largest_ratio_is_that_of_all_cycles(
        edges in prop::collection::vec((0usize..7, 0usize..7, 1u64..16), 0..16),
    ) {
        // Results go forward within an iteration, and backward from one to the next.
        let edges: Vec<_> = edges
            .iter()
            .map(|&(from, to, latency)| Dependence { from, to, latency, distance: u64::from(to <= from) })
            .collect();
        let found = find_largest_ratio(7, &edges);
        prop_assert_eq!(found.as_ref().map(|found| found.0), try_all_cycles(7, &edges));
        if let Some((_, cycle)) = found {
            let next = cycle.iter().cycle().skip(1);
            for (from, to) in cycle.iter().zip(next) {
                prop_assert!(edges.iter().any(|edge| edge.from == *from && edge.to == *to));
            }
        }
    }
}

/// The sum comes back to its own addition: a recurrence of its latency. Two sums in turn halve it.
#[test]
fn recurrences_limit_loops() {
    let one = &loops(
        ".program\nloop 9 {\nadd q0, q0, q1 || ldq q1, [a0]+16\n}\nstop\n",
        "vm7",
    )[0];
    let latency = Machine::load("vm7").unwrap().cp2.latency[cp2_machine::Class::Add].0;
    assert_eq!(steady(one).bound.cycles, CycleRatio::whole(latency));
    assert_eq!(
        steady(one).limit(),
        &LoopLimit::Recurrence { words: vec![1] }
    );
    assert!(steady(one).is_at_bound());
    let two = &loops(
        ".program\nloop 9 {\nadd q0, q0, q1 || ldq q1, [a0]+16\nadd q2, q2, q3 || ldq q3, [a0]+16\n}\nstop\n",
        "vm7",
    )[0];
    assert_eq!(steady(two).interval, steady(one).interval);
}

/// A slot without operations is no limit.
#[test]
fn empty_slots_limit_nothing() {
    let found = &loops(".program\nloop 9 {\nldq q0, [a0 + 16]\n}\nstop\n", "vm7")[0];
    assert_eq!(steady(found).limit(), &LoopLimit::Memory);
    let found = &loops(".program\nloop 9 {\nadd q0, q1, q2\n}\nstop\n", "vm7")[0];
    assert_eq!(steady(found).limit(), &LoopLimit::Arithmetic);
    let found = &loops(".program\nloop 9 {\nnop\n}\nstop\n", "vm7")[0];
    assert_eq!(steady(found).bound.cycles, CycleRatio::whole(1));
}

/// Every loop of a nest is listed, outer ones first, with the reason why it has no interval.
#[test]
fn nests_and_events_have_no_interval() {
    let text = "
.program
page:   wait 0
        loop 4 {
            movi c1, 3
            loop c1 {
                addi c2, c2, 1
                nop
            }
            nop
        }
        signal 1
        bnz c0, page
        stop
";
    let found = loops(text, "vm9");
    let reasons = found.iter().map(|l| match &l.body {
        LoopBody::Steady(_) => None,
        LoopBody::Branching { reason, around } => Some((*reason, *around)),
    });
    let expected = [
        Some((BranchingReason::Loops, 4)),
        Some((BranchingReason::Loops, 3)),
        None,
    ];
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
    assert_eq!(
        found.iter().map(|l| l.outside).collect::<Vec<_>>(),
        [0, 1, 2]
    );
}
