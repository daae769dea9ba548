//! Fourier transforms: of complex numbers over any axes, of real numbers.
//!
//! # Accuracy
//!
//! A transform of N numbers by a fast algorithm has an L2 error that grows with the number of its levels,
//! log2 N. Each level multiplies by factors that were rounded once and rounds products and sums, which leaves
//! a relative L2 error of some 2^-24 times a small number (Gentleman and Sande, 1966; on average even less,
//! Schatzman, 1996). [`error_bound`] allows 2^-24 (2 + 3 log2 N). Subnormal numbers do not have 24 bits:
//! every operation may then have an error of half a unit of 2^-149, in an algorithm by convolution also with
//! numbers that its tables have scaled; 16 N^1.5 such units are allowed in all.

mod exact;
mod real;

pub use exact::{ExactTransform, hermitian, reference, reference_nd};
pub use real::RealFftProblem;

use crate::case::Case;
use crate::data::{DataError, Element as _, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use crate::verdict::{PartVerdict, Tally, Verdict};
use crate::{ROUNDING, TINIEST, widen};
use num_complex::{Complex32, Complex64};
use std::fmt;

/// The direction of a transform, the sign of its exponent. Neither direction is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransformDirection {
    /// Factors exp(-2 pi i jk/N).
    Forward,
    /// Factors exp(+2 pi i jk/N).
    Inverse,
}

impl From<TransformDirection> for cp2_rustfft::FftDirection {
    fn from(direction: TransformDirection) -> Self {
        match direction {
            TransformDirection::Forward => Self::Forward,
            TransformDirection::Inverse => Self::Inverse,
        }
    }
}

impl TransformDirection {
    /// Returns the opposite direction.
    #[must_use]
    pub fn reverse(self) -> Self {
        match self {
            Self::Forward => Self::Inverse,
            Self::Inverse => Self::Forward,
        }
    }

    /// Reads the direction of a size; forward if it has none.
    fn parse_size(size: &Size) -> Result<Self, ProblemError> {
        match size.find("direction") {
            None => Ok(Self::Forward),
            Some(_) => match size.word("direction")? {
                "forward" => Ok(Self::Forward),
                "inverse" => Ok(Self::Inverse),
                _ => Err(size
                    .make_error("direction", "`forward` or `inverse`")
                    .into()),
            },
        }
    }
}

impl fmt::Display for TransformDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forward => "forward",
            Self::Inverse => "inverse",
        })
    }
}

/// A batch of transforms of one shape: array `b` of the input, over all its axes, becomes array
/// `b` of the output; the last axis is contiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FftProblem {
    axes: Vec<usize>,
    direction: TransformDirection,
    batch: usize,
}

impl FftProblem {
    /// Returns `batch` transforms of `n` complex numbers.
    ///
    /// # Errors
    /// A length or a batch of 0, or more bytes than fit the address space.
    pub fn new(
        n: usize,
        direction: TransformDirection,
        batch: usize,
    ) -> Result<Self, ProblemError> {
        Self::from_axes(&[n], direction, batch)
    }

    /// Returns `batch` transforms of arrays of complex numbers over all their axes.
    ///
    /// # Errors
    /// See [`FftProblem::new`]; no axis.
    pub fn from_axes(
        axes: &[usize],
        direction: TransformDirection,
        batch: usize,
    ) -> Result<Self, ProblemError> {
        let what = || format!("a batch of {batch} transforms of {axes:?} numbers");
        let sides = axes.iter().map(|&n| ("the length of a transform", n));
        let mut sides: Vec<_> = sides.collect();
        sides.push(("the number of transforms", batch));
        if axes.is_empty() {
            return Err(ProblemError::Zero {
                what: "the number of axes",
            });
        }
        elements(&what, &sides)?;
        Ok(Self {
            axes: axes.to_vec(),
            direction,
            batch,
        })
    }

    /// Returns the problem of a size with `n`, or `planes` (1 for two axes), `rows` and `columns`; with
    /// `batch`, and optionally `direction`.
    ///
    /// # Errors
    /// See [`FftProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let (direction, batch) = (
            TransformDirection::parse_size(size)?,
            size.positive("batch")?,
        );
        if size.find("n").is_some() {
            return Self::new(size.positive("n")?, direction, batch);
        }
        let axes = size.all_positive(["planes", "rows", "columns"])?;
        let axes = if axes[0] == 1 { &axes[1..] } else { &axes };
        Self::from_axes(axes, direction, batch)
    }

    /// Returns the numbers of one transform.
    #[must_use]
    pub fn len(&self) -> usize {
        self.axes.iter().product()
    }

    /// Returns false: a transform has at least one number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the lengths of the axes.
    #[must_use]
    pub fn axes(&self) -> &[usize] {
        &self.axes
    }

    /// Returns the direction.
    #[must_use]
    pub fn direction(&self) -> TransformDirection {
        self.direction
    }

    /// Returns the number of transforms.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Returns the shape of input and output.
    fn shape(&self) -> Vec<usize> {
        let axes = self.axes.iter().copied();
        std::iter::once(self.batch).chain(axes).collect()
    }

    /// Draws the numbers of [`Case::Random`], reproducibly.
    #[must_use]
    pub fn random(&self, seed: u64) -> Vec<Complex32> {
        Random::new(seed).complexes(self.len() * self.batch)
    }

    /// Compares a result with the reference, array by array in one buffer, without a second array of the
    /// whole batch. `worst` is the maximum over the transforms: the L2 error in units of the allowed one.
    #[must_use]
    pub fn verdict(&self, input: &[Complex32], output: &[Complex32]) -> Verdict {
        let n = self.len();
        if input.len() != output.len() || input.len() != n * self.batch {
            return Verdict::SHAPELESS;
        }
        let mut exact = ExactTransform::new(&self.axes, self.direction);
        let mut tally = Tally::default();
        for (input, output) in input.chunks(n).zip(output.chunks(n)) {
            tally.add(self.part(exact.transform(input), output));
        }
        tally.verdict()
    }

    /// Compares a result with an exact one. `worst` is the maximum over the transforms: the L2 error in units
    /// of the allowed one.
    #[must_use]
    pub fn compare(&self, exact: &[Complex64], output: &[Complex32]) -> Verdict {
        if exact.len() != output.len() {
            return Verdict::SHAPELESS;
        }
        let mut tally = Tally::default();
        let n = self.len();
        for (exact, output) in exact.chunks(n).zip(output.chunks(n)) {
            tally.add(self.part(exact, output));
        }
        tally.verdict()
    }

    /// Compares one transform with the exact one.
    #[must_use]
    pub fn part(&self, exact: &[Complex64], output: &[Complex32]) -> PartVerdict {
        let pairs = exact.iter().zip(output);
        let error = pairs.map(|(x, &y)| (x - widen(y)).norm_sqr()).sum();
        let norm: f64 = exact.iter().map(Complex64::norm_sqr).sum();
        PartVerdict {
            error,
            norm,
            allowed: allowed(self.len(), norm),
        }
    }
}

/// Returns the L2 error that a transform of `n` numbers may have if its exact result has this squared norm.
fn allowed(n: usize, norm: f64) -> f64 {
    let n_root = (n as f64).sqrt();
    norm.sqrt() * error_bound(n) + 16.0 * n as f64 * n_root * TINIEST
}

/// Returns the largest exponent of inputs of a transform of `n` numbers: intermediate numbers of algorithms
/// by convolution are at most n^3 times as large.
fn largest_exponent(n: usize) -> i32 {
    100 - 3 * n.max(1).next_power_of_two().ilog2() as i32
}

impl Problem for FftProblem {
    fn name(&self) -> &'static str {
        "fft"
    }

    fn title(&self) -> String {
        let plural = if self.batch == 1 { "" } else { "s" };
        let (batch, direction) = (self.batch, self.direction);
        let axes: Vec<_> = self.axes.iter().map(usize::to_string).collect();
        format!(
            "{batch} {direction} FFT{plural} of {} complex64",
            axes.join(" x ")
        )
    }

    fn size(&self) -> Size {
        let size = match self.axes[..] {
            [n] => Size::new(&[("n", n)]),
            ref axes => {
                let axes: Vec<_> = axes.iter().map(usize::to_string).collect();
                Size::new(&[("axes", axes.join("x"))])
            }
        };
        let size = size.add_value("batch", self.batch);
        size.add_value("direction", self.direction.to_string())
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("x", Kind::Complex64, &self.shape())]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("y", Kind::Complex64, &self.shape())]
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let (n, random) = (self.len(), &mut Random::new(seed));
        let x = case.complexes(random, n * self.batch, n, largest_exponent(n));
        NamedArrays::from_array("x", &self.shape(), x)
    }

    fn tolerance_in_words(&self) -> &'static str {
        "2^-24 (2 + 3 log2 N) of the L2 norm of each exact transform, and 16 N^1.5 halves of 2^-149"
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let n = self.len();
        let x = input.get_sized("x", n * self.batch)?;
        let exact = reference_nd(x, &self.axes, self.direction);
        let norm = |row: &[Complex64]| row.iter().map(Complex64::norm_sqr).sum();
        Ok(Reference::from_array(ExpectedArray {
            name: "y",
            shape: self.shape(),
            allowed: exact.chunks(n).map(|row| allowed(n, norm(row))).collect(),
            exact: Exact::Complex(exact),
            part: n,
        }))
    }

    fn judge(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
        let y = output.array("y").ok().filter(|y| y.shape == self.shape());
        let y = y.and_then(|y| Complex32::typed_values(&y.values));
        match (input.get("x"), y) {
            (Ok(x), Some(y)) => self.verdict(x, y),
            _ => Verdict::SHAPELESS,
        }
    }
}

/// Returns the L2 error that a transform may have, relative to the norm of its exact result, if nothing
/// overflows or underflows: 2^-24 (2 + 3 log2 N).
#[must_use]
pub fn error_bound(n: usize) -> f64 {
    (2.0 + 3.0 * f64::from(n.max(1).ilog2())) * ROUNDING
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes a transform by the definition, term by term.
    fn naive(x: &[Complex32], direction: TransformDirection) -> Vec<Complex64> {
        let n = x.len();
        let sign = if direction == TransformDirection::Forward {
            -1.0
        } else {
            1.0
        };
        let term = |j: usize, k: usize| {
            let turns = (j * k % n) as f64 / n as f64;
            widen(x[j]) * Complex64::from_polar(1.0, sign * std::f64::consts::TAU * turns)
        };
        (0..n).map(|k| (0..n).map(|j| term(j, k)).sum()).collect()
    }

    #[test]
    fn the_reference_is_the_definition() {
        for direction in [TransformDirection::Forward, TransformDirection::Inverse] {
            for n in [16, 128, 1024] {
                let problem = FftProblem::new(n, direction, 1).unwrap();
                let x = problem.random(n as u64);
                let (a, b) = (naive(&x, direction), reference(&x, n, direction));
                let error: f64 = a
                    .iter()
                    .zip(&b)
                    .map(|(a, b)| (a - b).norm())
                    .fold(0.0, f64::max);
                assert!(error < 1e-12 * n as f64, "{n}: {error}");
            }
        }
    }

    #[test]
    fn a_wrong_result_is_noticed() {
        let problem = FftProblem::new(64, TransformDirection::Forward, 3).unwrap();
        let x = problem.random(1);
        let exact = reference(&x, 64, TransformDirection::Forward);
        let mut y: Vec<Complex32> = exact
            .iter()
            .map(|z| Complex32::new(z.re as f32, z.im as f32))
            .collect();
        assert!(problem.verdict(&x, &y).is_within_tolerance());
        assert!(problem.verdict(&x, &y).rms < 1e-7);
        y[100] *= 1.0001;
        assert!(!problem.verdict(&x, &y).is_within_tolerance());
        y[100].re = f32::NAN;
        assert!(!problem.verdict(&x, &y).is_within_tolerance());
        assert!(!problem.verdict(&x, &y[..64]).is_within_tolerance());
    }

    #[test]
    fn hostile_sizes_are_errors() {
        assert!(matches!(
            FftProblem::new(4096, TransformDirection::Forward, usize::MAX),
            Err(ProblemError::TooLarge { .. })
        ));
        assert!(matches!(
            FftProblem::new(4096, TransformDirection::Forward, usize::MAX / 32768),
            Err(ProblemError::TooLarge { .. })
        ));
        assert!(matches!(
            FftProblem::new(64, TransformDirection::Forward, 0),
            Err(ProblemError::Zero { .. })
        ));
        assert!(matches!(
            FftProblem::new(0, TransformDirection::Forward, 1),
            Err(ProblemError::Zero { .. })
        ));
    }
}
