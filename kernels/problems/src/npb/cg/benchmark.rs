//! Sizes of the classes of CG and their official values.

use super::CgProblem;
use crate::npb::{NpbClass, Precision};

/// A class of the benchmark (NPB 3.4, CG).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgClass {
    /// The class.
    pub class: NpbClass,
    /// Rows of the matrix (`na`).
    pub rows: usize,
    /// Number of entries of a random vector that the matrix is made of (`nonzer`).
    pub entries: usize,
    /// Outer iterations (`niter`).
    pub iterations: usize,
    /// Shift that is subtracted from the matrix's diagonal.
    pub shift: f64,
    /// Official last value of zeta.
    pub official: f64,
}

impl CgClass {
    /// Returns the allowed relative error of zeta, compared with the official value: what the benchmark asks for in
    /// double precision.
    #[must_use]
    pub const fn tolerance(precision: Precision) -> f64 {
        match precision {
            Precision::Single => 1e-6,
            Precision::DoubleSingle | Precision::Double => 1e-10,
        }
    }

    /// Returns the largest allowed |x - A z|, with |x| = 1.
    #[must_use]
    pub const fn residual(precision: Precision) -> f64 {
        match precision {
            Precision::Single => 5e-6,
            Precision::DoubleSingle | Precision::Double => 1e-12,
        }
    }

    /// Steps of conjugate gradients in an outer iteration.
    pub const STEPS: usize = 25;

    /// Returns size and official value of a class.
    #[must_use]
    pub const fn from_class(class: NpbClass) -> Self {
        let (rows, entries, iterations, shift, official) = match class {
            NpbClass::S => (1400, 7, 15, 10.0, 8.597_177_507_864_8),
            NpbClass::W => (7000, 8, 15, 12.0, 10.362_595_087_124),
            NpbClass::A => (14_000, 11, 15, 20.0, 17.130_235_054_029),
            NpbClass::B => (75_000, 13, 75, 60.0, 22.712_745_482_631),
            NpbClass::C => (150_000, 15, 75, 110.0, 28.973_605_592_845),
        };
        Self {
            class,
            rows,
            entries,
            iterations,
            shift,
            official,
        }
    }

    /// Returns the problem of the class.
    #[must_use]
    pub fn problem(&self) -> CgProblem {
        CgProblem::from_benchmark(self)
    }

    /// Returns the operations as the benchmark counts them.
    #[must_use]
    pub fn operations(&self) -> f64 {
        let each = (self.entries * (self.entries + 1)) as f64;
        let steps = Self::STEPS as f64;
        2.0 * self.iterations as f64 * self.rows as f64 * (3.0 + each + steps * (5.0 + each) + 3.0)
    }
}
