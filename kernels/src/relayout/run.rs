//! Finds runs of quads that a loop can make with the pointers there are.

use super::block::{ResultQuad, Take};
use super::kernel::POINTERS;

/// Quads of the result that are made alike in each iteration, with inputs that advance by constant steps.
pub(super) struct QuadRun<'a> {
    /// Quads of the result that the first iteration makes.
    pub(super) unit: &'a [ResultQuad],
    /// For every take of the unit's quads, the quads of the input from an iteration to the next.
    pub(super) steps: Vec<i64>,
    /// Number of iterations.
    pub(super) iterations: u64,
}

impl QuadRun<'_> {
    /// Returns the number of pointers that the loop needs.
    fn pointers(&self) -> usize {
        let mut all: Vec<Reached> = Vec::new();
        let takes = self.unit.iter().flat_map(|quad| &quad.takes);
        for (take, &step) in takes.zip(&self.steps) {
            let quad = take.quad;
            if !all.iter().any(|own| own.reaches(quad, step)) {
                all.push(Reached { quad, step });
            }
        }
        all.len()
    }
}

/// Quads that a pointer reaches: near the one at which it begins, with its step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) quad: i64,
    pub(super) step: i64,
}

impl Reached {
    /// Returns true if the pointer reaches a quad that advances by a step.
    pub(super) fn reaches(self, quad: i64, step: i64) -> bool {
        self.step == step && (quad - self.quad).abs() < REACH
    }
}

/// Numbers of quads that an iteration makes, as tried.
const UNITS: [usize; 3] = [1, 2, 4];
/// Bound of the offsets from a pointer, in quads.
const REACH: i64 = 1000;

/// Returns the run at the beginning of `quads` that covers the most of them.
pub(super) fn longest(quads: &[ResultQuad]) -> QuadRun<'_> {
    let runs = UNITS.iter().filter_map(|&unit| repeated(quads, unit));
    // A single quad is the fallback where runs need more pointers than there are.
    let runs = runs.filter(|run| run.pointers() <= POINTERS);
    let quads_of = |run: &QuadRun<'_>| run.unit.len() as u64 * run.iterations;
    let mut best = QuadRun {
        unit: &quads[..1],
        steps: vec![0; quads[0].takes.len()],
        iterations: 1,
    };
    for run in runs {
        if quads_of(&run) > quads_of(&best) {
            best = run;
        }
    }
    best
}

/// Returns the run of the first `unit` quads, if they are repeated at least once.
fn repeated(quads: &[ResultQuad], unit: usize) -> Option<QuadRun<'_>> {
    let (first, rest) = quads.split_at_checked(unit)?;
    let second = rest.get(..unit)?;
    let alike = |a: &Take, b: &Take| (a.lanes, a.taken) == (b.lanes, b.taken);
    let mut steps = Vec::new();
    for (a, b) in first.iter().zip(second) {
        if a.minus != b.minus || a.takes.len() != b.takes.len() {
            return None;
        }
        for (a, b) in a.takes.iter().zip(&b.takes) {
            if !alike(a, b) {
                return None;
            }
            steps.push(b.quad - a.quad);
        }
    }
    let goes_on = |i: usize, again: &[ResultQuad]| {
        let mut steps = steps.iter();
        again.len() == unit
            && first.iter().zip(again).all(|(a, b)| {
                let takes = a.takes.iter().zip(&b.takes);
                a.minus == b.minus
                    && a.takes.len() == b.takes.len()
                    && takes.into_iter().all(|(a, b)| {
                        let step = steps.next().copied().unwrap_or(0);
                        alike(a, b) && b.quad - a.quad == step * i as i64
                    })
            })
    };
    let others = quads.chunks(unit).enumerate().skip(2);
    let more = others.take_while(|(i, again)| goes_on(*i, again)).count();
    Some(QuadRun {
        unit: first,
        steps,
        iterations: 2 + more as u64,
    })
}
