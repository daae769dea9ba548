//! Quads that a loop makes: what repeats itself, with as many pointers as there are.

use super::block::{ResultQuad, Take};
use super::kernel::POINTERS;

/// Quads in a row that are made alike, each so many quads of the input behind that of the iteration before.
pub(super) struct QuadRun<'a> {
    pub(super) unit: &'a [ResultQuad],
    /// For every taking of the unit's quads, quads of the input from an iteration to the next.
    pub(super) steps: Vec<i64>,
    pub(super) iterations: u64,
}

impl QuadRun<'_> {
    /// Pointers that its loop takes.
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

/// What a pointer reaches: quads near the one at which it begins, and that step as it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    pub(super) quad: i64,
    pub(super) step: i64,
}

impl Reached {
    pub(super) fn reaches(self, quad: i64, step: i64) -> bool {
        self.step == step && (quad - self.quad).abs() < REACH
    }
}

/// Quads of the result that an iteration makes, as tried.
const UNITS: [usize; 3] = [1, 2, 4];
/// Quads that an offset reaches from a pointer.
const REACH: i64 = 1000;

/// The run at the beginning of quads that has the most of them.
pub(super) fn longest(quads: &[ResultQuad]) -> QuadRun<'_> {
    let runs = UNITS.iter().filter_map(|&unit| repeated(quads, unit));
    // Quads that are taken from more places than there are pointers for are made one by one.
    let runs = runs.filter(|run| run.pointers() <= POINTERS.len());
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

/// How often the first `unit` quads repeat themselves, at least twice.
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
