//! FT: the diffusion equation by Fourier transforms over three axes.
//!
//! Definition, sizes and official checksums: NPB 3.4.1 (D. Bailey et al., *The NAS Parallel Benchmarks*,
//! RNR-94-007, 1994). The benchmark has the opposite sign of the exponent. That changes no checksum, as the
//! evolution is even in every wave number.

mod exact;
mod official;

pub use official::{official, shape};

use super::{Generator, NpbClass, Precision};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::double_single::{join_complex, split_double};
use crate::error::{ProblemError, elements};
use crate::fft::error_bound;
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use crate::{ROUNDING, widen};
use num_complex::{Complex32, Complex64};

/// The diffusion constant of the benchmark.
pub const ALPHA: f64 = 1e-6;
/// Number of points that a checksum adds up.
pub const POINTS: usize = 1024;
/// Most numbers along an axis: lengths divide the number of points of a checksum.
const LONGEST: usize = POINTS;
/// Most steps.
const STEPS: usize = 1000;

/// Allowed relative error of a checksum in single precision, compared with the official one. Over all classes
/// and steps, runs in single precision have errors of at most 6.4e-8.
pub const CHECKSUM_TOLERANCE: f64 = 1e-6;
/// Allowed relative L2 error of the field of a class in single precision, compared with double precision.
/// Runs in single precision have errors of at most 1.8e-7.
pub const FIELD_TOLERANCE: f64 = 4e-7;
/// Allowed relative error of a checksum in double precision, which is that of the benchmark itself.
const DOUBLE_CHECKSUM_TOLERANCE: f64 = 1e-12;

/// Returns the allowed relative error of a checksum of a class, compared with the official one.
#[must_use]
pub fn checksum_tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::Single => CHECKSUM_TOLERANCE,
        Precision::DoubleSingle | Precision::Double => DOUBLE_CHECKSUM_TOLERANCE,
    }
}

/// Returns the allowed relative L2 error of the field of a class, compared with the reference.
///
/// In double precision it has as many units of the last place as in single precision.
#[must_use]
pub fn field_tolerance(precision: Precision) -> f64 {
    FIELD_TOLERANCE / ROUNDING * precision.rounding()
}

/// The evolution of a field of `shape[0]` x `shape[1]` x `shape[2]` complex numbers (z, y, x; x contiguous)
/// over a number of steps.
///
/// With U the transform of the field `x`, step t = 1, 2, .. gives the field w = inverse transform of U exp(-4
/// pi^2 alpha t (kx^2 + ky^2 + kz^2)). Neither transform is scaled, and wave numbers are in -n/2 .. n/2 - 1.
/// The checksum of a step is 1/N of the sum of the numbers (j mod nx, 3 j mod ny, 5 j mod nz), j = 1 .. 1024.
/// Outputs are `checksums`, real and imaginary part of each step, and `w` of the last step, which is N times
/// the field.
///
/// # Accuracy
///
/// The evolution multiplies by at most 1. The error of the first transform (see [`crate::fft`]) therefore
/// reaches the field as N |x| times the error of a transform. The second transform adds |w| times it. Factors
/// are products of three; for their roundings and the quotients eight units are allowed. A checksum adds
/// numbers of the field, each of them 1024/n times where n is the longest axis, so its error is
/// 1024/sqrt(n)/N times the L2 error of the field. Its 1024 additions in double precision add as many roundings
/// of the field. In double precision the reference itself has the errors of such a run, so twice the error of
/// the field is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FtProblem {
    shape: [usize; 3],
    steps: usize,
    precision: Precision,
}

impl FtProblem {
    /// Returns the problem of a field of `planes` x `rows` x `columns` numbers, columns contiguous, over a
    /// number of steps.
    ///
    /// # Errors
    /// An axis whose length is no power of two from 2 to 1024; no step or more than 1000.
    pub fn new(shape: [usize; 3], steps: usize) -> Result<Self, ProblemError> {
        let [planes, rows, columns] = shape;
        let size = [
            ("planes", planes),
            ("rows", rows),
            ("columns", columns),
            ("steps", steps),
        ];
        let size = Size::new(&size);
        for (name, length) in [("planes", planes), ("rows", rows), ("columns", columns)] {
            if !length.is_power_of_two() || !(2..=LONGEST).contains(&length) {
                return Err(size
                    .make_error(name, "a power of two from 2 to 1024")
                    .into());
            }
        }
        if !(1..=STEPS).contains(&steps) {
            return Err(size.make_error("steps", "1 to 1000").into());
        }
        let what = || format!("a field of {planes} x {rows} x {columns} numbers");
        elements(
            &what,
            &[("planes", planes), ("rows", rows), ("columns", columns)],
        )?;
        Ok(Self {
            shape,
            steps,
            precision: Precision::Single,
        })
    }

    /// Returns the problem with the numbers of its fields, and the arithmetic, in another format.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// Returns the format of the numbers of a field.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Returns the type of the elements of a field.
    fn kind(&self) -> Kind {
        match self.precision {
            Precision::Single => Kind::Complex64,
            Precision::DoubleSingle => Kind::ComplexDoubleSingle,
            Precision::Double => Kind::Complex128,
        }
    }

    /// Returns the problem of a size with `planes`, `rows`, `columns`, `steps` and, unless its numbers have single
    /// precision, `precision`.
    ///
    /// # Errors
    /// See [`FtProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let precision = Precision::from_size(size)?;
        let [planes, rows, columns, steps] =
            size.all_positive(["planes", "rows", "columns", "steps"])?;
        Ok(Self::new([planes, rows, columns], steps)?.with_precision(precision))
    }

    /// Returns the problem of a class.
    #[must_use]
    pub fn from_class(class: NpbClass) -> Self {
        let steps = official(class).len();
        Self {
            shape: shape(class),
            steps,
            precision: Precision::Single,
        }
    }

    /// Returns the lengths of the axes z, y, x, the last one contiguous.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Returns the numbers of a field.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns false: every axis has at least two numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the benchmark's own input: the numbers of its generator, rounded to the format of the field.
    #[must_use]
    pub fn initial(&self) -> NamedArrays {
        let mut draws = Generator::default();
        let number = |_| {
            let re = draws.draw();
            Complex64::new(re, draws.draw())
        };
        let x: Vec<Complex64> = (0..self.len()).map(number).collect();
        self.make_field(x)
    }

    /// Returns the input with a field, rounded to its format.
    fn make_field(&self, x: Vec<Complex64>) -> NamedArrays {
        match self.precision {
            Precision::Single => {
                let round = |z: Complex64| Complex32::new(z.re as f32, z.im as f32);
                let x: Vec<Complex32> = x.into_iter().map(round).collect();
                NamedArrays::from_array("x", &self.shape, x)
            }
            Precision::DoubleSingle => {
                let split = |z: Complex64| [z.re, z.im].map(split_double);
                let x: Vec<[[f32; 2]; 2]> = x.into_iter().map(split).collect();
                NamedArrays::from_array("x", &self.shape, x)
            }
            Precision::Double => NamedArrays::from_array("x", &self.shape, x),
        }
    }

    /// Returns the factors of step t = 1, 2, .. along an axis of `n` numbers: exp(-4 pi^2 alpha t k^2) with k
    /// = 0, 1, .., where k - n replaces k from n/2 on.
    #[must_use]
    pub fn factors(n: usize, step: usize) -> Vec<f64> {
        let pi = std::f64::consts::PI;
        let each = |k: usize| {
            let k = if 2 * k < n {
                k as f64
            } else {
                k as f64 - n as f64
            };
            libm::exp(-4.0 * pi * pi * ALPHA * step as f64 * k * k)
        };
        (0..n).map(each).collect()
    }

    /// Iterates over the positions in the field of the numbers that a checksum adds up, in order.
    pub fn points(&self) -> impl Iterator<Item = usize> + use<> {
        let [planes, rows, columns] = self.shape;
        (1..=POINTS).map(move |j| {
            let (z, y, x) = (5 * j % planes, 3 * j % rows, j % columns);
            (z * rows + y) * columns + x
        })
    }

    /// Returns the operations as the benchmark counts them: N (14.8157 + 7.19641 ln N + T (5.23518 + 7.21113
    /// ln N)).
    #[must_use]
    pub fn operations(&self) -> f64 {
        let (n, steps) = (self.len() as f64, self.steps as f64);
        let log = libm::log(n);
        n * (14.8157 + 7.19641 * log + steps * (5.23518 + 7.21113 * log))
    }

    /// Returns the L2 error that a field may have for an input of norm `x` and an exact field of norm `w`.
    fn allowed(&self, x: f64, w: f64) -> f64 {
        let n = self.len();
        let rounding = self.precision.rounding();
        let transform = error_bound(n) / ROUNDING * rounding;
        let own = transform * n as f64 * x + (transform + 8.0 * rounding) * w;
        match self.precision {
            Precision::Single => own,
            Precision::DoubleSingle | Precision::Double => 2.0 * own,
        }
    }
}

impl Problem for FtProblem {
    fn name(&self) -> &'static str {
        "npb-ft"
    }

    fn title(&self) -> String {
        let [planes, rows, columns] = self.shape;
        let plural = if self.steps == 1 { "" } else { "s" };
        format!(
            "diffusion of {planes} x {rows} x {columns} {}, {} step{plural}",
            self.kind(),
            self.steps
        )
    }

    fn size(&self) -> Size {
        let [planes, rows, columns] = self.shape;
        let steps = self.steps;
        let size = [
            ("planes", planes),
            ("rows", rows),
            ("columns", columns),
            ("steps", steps),
        ];
        self.precision.add_to(Size::new(&size))
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("x", self.kind(), &self.shape)]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![
            ArrayForm::new("checksums", Kind::F64, &[self.steps, 2]),
            ArrayForm::new("w", self.kind(), &self.shape),
        ]
    }

    /// Excludes subnormal inputs: they do not have the 24 bits that the derivation of the tolerance assumes.
    fn cases(&self) -> &'static [Case] {
        &Case::NORMAL
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let n = self.len();
        let random = &mut Random::new(seed);
        // Each of the two transforms may multiply by N.
        let most = 100 - 2 * n.ilog2() as i32;
        let x = case.complexes(random, n, n, most);
        let mut fill = |z: Complex32| match self.precision {
            Precision::Single => widen(z),
            _ => Complex64::new(random.fill_digits(z.re), random.fill_digits(z.im)),
        };
        self.make_field(x.into_iter().map(&mut fill).collect())
    }

    fn tolerance_in_words(&self) -> &'static str {
        match self.precision {
            Precision::Single => {
                "those of its two transforms, 2^-24 (2 + 3 log2 N) of their norms, and eight roundings of the factors"
            }
            Precision::DoubleSingle => {
                "twice those of its two transforms, 2^-45 (2 + 3 log2 N) of their norms, and eight roundings of the factors"
            }
            Precision::Double => {
                "twice those of its two transforms, 2^-53 (2 + 3 log2 N) of their norms, and eight roundings of the factors"
            }
        }
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let x: Vec<Complex64> = match self.precision {
            Precision::Single => {
                let x = input.get_sized::<Complex32>("x", self.len())?;
                x.iter().map(|&z| widen(z)).collect()
            }
            Precision::DoubleSingle => {
                let x = input.get_sized::<[[f32; 2]; 2]>("x", self.len())?;
                x.iter().map(|&z| join_complex(z)).collect()
            }
            Precision::Double => input.get_sized("x", self.len())?.to_vec(),
        };
        let given = x.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
        let evolved = exact::evolve(self, x);
        let n = self.len() as f64;
        let left = evolved.field.iter().map(Complex64::norm_sqr).sum::<f64>();
        // The norm of a field of any step is at most N |x|.
        let longest = self.shape.into_iter().max().unwrap_or(1) as f64;
        let added = POINTS as f64 * Precision::Double.rounding() * n * given;
        let sums = POINTS as f64 / longest.sqrt() / n * (self.allowed(given, n * given) + added);
        let checksums = ExpectedArray {
            name: "checksums",
            shape: vec![self.steps, 2],
            exact: Exact::Real(evolved.checksums.into_iter().flatten().collect()),
            part: 2,
            allowed: vec![sums; self.steps],
        };
        let field = ExpectedArray {
            name: "w",
            shape: self.shape.to_vec(),
            allowed: vec![self.allowed(given, left.sqrt())],
            exact: Exact::Complex(evolved.field),
            part: self.len(),
        };
        Ok(Reference {
            arrays: vec![checksums, field],
        })
    }
}

#[cfg(test)]
mod tests;
