//! Steps of diffusion by transforms over three axes: NPB FT.

use crate::bound::Traffic;
use crate::count::Count;
use crate::figures::{Figures, Term};
use cp2_machine::{Cycles, Machine};

/// Bytes of a number that a pass loads and stores.
const PASS: u128 = 16;

/// The transform of a field over its axes, and of every step its product with real factors and the transform back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diffusion {
    /// Lengths of the axes.
    pub shape: [usize; 3],
    /// Number of steps.
    pub steps: usize,
}

impl Diffusion {
    fn numbers(&self) -> u128 {
        let sides = self.shape.iter().map(|&n| n as u128);
        sides.fold(1, u128::saturating_mul)
    }

    /// A pass over the field along the axis of this length: the longer of its arithmetic, with products or without, and its
    /// transfers of 16 N bytes.
    fn pass(&self, length: usize, products: bool, machine: &Machine) -> (u64, Term) {
        let halves = self.numbers() as f64 / 2.0;
        let count = Count {
            twiddled: halves * f64::from(length.max(1).ilog2()),
            // A quad of products: two numbers times a real one each.
            adds: if products { halves } else { 0.0 },
            ..Count::default()
        };
        let sections = machine.cp2.sections.max(1) as f64;
        let computed = (count.cycles(machine) / sections + 1e-6).floor() as u64;
        let moved = Traffic::bytes(PASS.saturating_mul(self.numbers())).cycles(machine);
        match computed > moved {
            true => (computed, Term::Arithmetic),
            false => (moved, Term::Channel),
        }
    }

    /// The reference of the transform of the field, of a pass of each axis.
    #[must_use]
    pub fn transform(&self, machine: &Machine) -> Cycles {
        let passes = self.shape.map(|n| self.pass(n, false, machine).0);
        Cycles(passes.iter().fold(0, |sum, pass| sum.saturating_add(*pass)))
    }

    /// The reference of the passes of a step along the axes, the products in the one where they cost least.
    #[must_use]
    pub fn step(&self, machine: &Machine) -> [Cycles; 3] {
        let plain = self.shape.map(|n| self.pass(n, false, machine).0);
        let with = self.shape.map(|n| self.pass(n, true, machine).0);
        let more = |i: &usize| with[*i] - plain[*i];
        let cheapest = (0..3).min_by_key(more).unwrap_or(0);
        let mut passes = plain.map(Cycles);
        passes[cheapest] = Cycles(with[cheapest]);
        passes
    }

    /// Bound: the field in and out. Reference: three passes of each transform.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let bound = Traffic::bytes(PASS.saturating_mul(self.numbers())).cycles(machine);
        let step = self.step(machine).into_iter().map(|pass| pass.0);
        let step = step.fold(0, u64::saturating_add);
        let steps = step.saturating_mul(self.steps as u64);
        let all = self.transform(machine).0.saturating_add(steps);
        let terms = self.shape.map(|n| self.pass(n, false, machine).1);
        let term = match terms.contains(&Term::Arithmetic) {
            true => Term::Arithmetic,
            false => Term::Channel,
        };
        Figures {
            bound: Cycles(bound),
            reference: Cycles(all.max(bound)),
            method:
                "three passes of each transform: radix 2, 16 N bytes each, factors in one of them"
                    .to_owned(),
            source:
                "Bailey et al., The NAS Parallel Benchmarks, RNR-94-007 (1994); Cooley, Tukey 1965"
                    .to_owned(),
            term,
        }
    }
}
