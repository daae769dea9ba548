//! Sizes, right-hand sides and official values of the benchmark MG.

use super::{MgProblem, Smoother};
use crate::npb::{Generator, NpbClass, Precision};

/// A class of the benchmark (NPB 3.4, MG).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MgClass {
    /// The class.
    pub class: NpbClass,
    /// Points along each axis.
    pub n: usize,
    /// Number of V-cycles.
    pub cycles: usize,
    /// The smoother's weights.
    pub smoother: Smoother,
    /// Official norm of the residual after the last cycle.
    pub official: f64,
}

impl MgClass {
    /// Returns the allowed relative error of a norm, compared with the official value: in double precision that of the
    /// benchmark, in single precision a few times the difference between orders of evaluation.
    #[must_use]
    pub const fn tolerance(precision: Precision) -> f64 {
        match precision {
            Precision::Single => 1e-5,
            Precision::DoubleSingle | Precision::Double => 1e-8,
        }
    }

    /// Returns size, smoother and official value of a class.
    #[must_use]
    pub const fn from_class(class: NpbClass) -> Self {
        let (n, cycles, smoother, official) = match class {
            NpbClass::S => (32, 4, Smoother::A, 0.530_770_700_573_4e-4),
            NpbClass::W => (128, 4, Smoother::A, 0.646_732_937_533_9e-5),
            NpbClass::A => (256, 4, Smoother::A, 0.243_336_530_906_9e-5),
            NpbClass::B => (256, 20, Smoother::B, 0.180_056_440_135_5e-5),
            NpbClass::C => (512, 20, Smoother::B, 0.570_673_228_574_0e-6),
        };
        Self {
            class,
            n,
            cycles,
            smoother,
            official,
        }
    }

    /// Returns the problem of the class.
    #[must_use]
    pub fn problem(&self) -> MgProblem {
        MgProblem::from_benchmark(self)
    }

    /// Counts operations as the benchmark does: 58 for each point and cycle.
    #[must_use]
    pub fn count_operations(points: usize, cycles: usize) -> f64 {
        58.0 * cycles as f64 * points as f64
    }
}

/// Number of charges of each sign.
const CHARGES: usize = 10;

/// Returns the right-hand side of the benchmark, for planes, rows and columns. Of draws that fill the grid, the
/// places of the ten smallest are -1, those of the ten largest are +1, and all others are 0. Seed 1 is the
/// benchmark's; other seeds use later parts of its sequence of draws.
#[must_use]
pub fn charges(shape: [usize; 3], seed: u64) -> Vec<f32> {
    let mut draws = Generator::default();
    let count = shape.iter().product();
    draws.skip(seed.wrapping_sub(1) % (1 << 20) * count as u64);
    // The smallest and the largest draws so far with their places, the most extreme first.
    let mut least: Vec<(u64, usize)> = Vec::with_capacity(CHARGES + 1);
    let mut most = least.clone();
    for place in 0..count {
        let draw = draws.next_integer();
        let keep = |kept: &mut Vec<(u64, usize)>, before: fn(u64, u64) -> bool| {
            if kept.len() < CHARGES || kept.last().is_some_and(|last| before(draw, last.0)) {
                let at = kept
                    .iter()
                    .take_while(|other| before(other.0, draw))
                    .count();
                kept.insert(at, (draw, place));
                kept.truncate(CHARGES);
            }
        };
        keep(&mut least, |a, b| a < b);
        keep(&mut most, |a, b| a > b);
    }
    let mut v = vec![0.0; count];
    for (places, charge) in [(least, -1.0), (most, 1.0)] {
        places.iter().for_each(|&(_, place)| v[place] = charge);
    }
    v
}
