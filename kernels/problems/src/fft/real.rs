//! Transforms of real numbers to half spectra, and back.

use super::{TransformDirection, allowed, hermitian, largest_exponent, reference};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use num_complex::{Complex32, Complex64};

/// A batch of transforms of real numbers of one length. Forward transforms map rows of `n` real numbers to
/// the first `n / 2 + 1` numbers of their spectra. Inverse ones map such rows to `n` real numbers; imaginary
/// parts that are 0 in every spectrum of real numbers count as 0.
///
/// The allowed error of a row is that of a complex transform of as many numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealFftProblem {
    n: usize,
    direction: TransformDirection,
    batch: usize,
}

impl RealFftProblem {
    /// Returns `batch` transforms of, or to, `n` real numbers.
    ///
    /// # Errors
    /// A length or a batch of 0, or more bytes than fit the address space.
    pub fn new(
        n: usize,
        direction: TransformDirection,
        batch: usize,
    ) -> Result<Self, ProblemError> {
        let what = || format!("a batch of {batch} real transforms of {n} numbers");
        let sides = [
            ("the length of a transform", n),
            ("the number of transforms", batch),
        ];
        elements(&what, &sides)?;
        Ok(Self {
            n,
            direction,
            batch,
        })
    }

    /// Returns the problem of a size with `n`, `batch`, and optionally `direction`.
    ///
    /// # Errors
    /// See [`RealFftProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [n, batch] = size.all_positive(["n", "batch"])?;
        Self::new(n, TransformDirection::parse_size(size)?, batch)
    }

    /// Returns the real numbers of one transform.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Returns false: a transform has at least one number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
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

    fn real(&self, name: &'static str) -> ArrayForm {
        ArrayForm::new(name, Kind::F32, &[self.batch, self.n])
    }

    fn half(&self, name: &'static str) -> ArrayForm {
        ArrayForm::new(name, Kind::Complex64, &[self.batch, self.n / 2 + 1])
    }

    /// Returns half spectra whose imaginary parts are 0 where those of real numbers are.
    fn spectra(&self, case: Case, random: &mut Random) -> Vec<Complex32> {
        let (n, row) = (self.n, self.n / 2 + 1);
        let mut spectra = case.complexes(random, row * self.batch, row, largest_exponent(n));
        for row in spectra.chunks_mut(row) {
            let last = if n.is_multiple_of(2) { n / 2 } else { 0 };
            row[0].im = 0.0;
            row[last].im = 0.0;
        }
        spectra
    }
}

impl Problem for RealFftProblem {
    fn name(&self) -> &'static str {
        "fft-real"
    }

    fn title(&self) -> String {
        let plural = if self.batch == 1 { "" } else { "s" };
        let (batch, direction, n) = (self.batch, self.direction, self.n);
        format!("{batch} {direction} real FFT{plural} of {n} float32")
    }

    fn size(&self) -> Size {
        let size = Size::new(&[("n", self.n), ("batch", self.batch)]);
        size.add_value("direction", self.direction.to_string())
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        match self.direction {
            TransformDirection::Forward => vec![self.real("x")],
            TransformDirection::Inverse => vec![self.half("x")],
        }
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        match self.direction {
            TransformDirection::Forward => vec![self.half("y")],
            TransformDirection::Inverse => vec![self.real("y")],
        }
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let random = &mut Random::new(seed);
        let (n, batch) = (self.n, self.batch);
        match self.direction {
            TransformDirection::Forward => {
                let x = case.floats(random, n * batch, n, largest_exponent(n));
                NamedArrays::from_array("x", &[batch, n], x)
            }
            TransformDirection::Inverse => {
                NamedArrays::from_array("x", &[batch, n / 2 + 1], self.spectra(case, random))
            }
        }
    }

    fn tolerance_in_words(&self) -> &'static str {
        "2^-24 (2 + 3 log2 N) of the L2 norm of each exact transform, as of the complex one"
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let (n, batch, half) = (self.n, self.batch, self.n / 2 + 1);
        let norm = |row: &[Complex64]| row.iter().map(Complex64::norm_sqr).sum();
        let expected = match self.direction {
            TransformDirection::Forward => {
                let x = input.get_sized::<f32>("x", n * batch)?;
                let x: Vec<Complex32> = x.iter().map(|&x| x.into()).collect();
                let all = reference(&x, n, TransformDirection::Forward);
                let rows = all.chunks(n).map(|row| &row[..half]);
                ExpectedArray {
                    name: "y",
                    shape: vec![batch, half],
                    allowed: rows.clone().map(|row| allowed(n, norm(row))).collect(),
                    exact: Exact::Complex(rows.flatten().copied().collect()),
                    part: half,
                }
            }
            TransformDirection::Inverse => {
                let x = input.get_sized::<Complex32>("x", half * batch)?;
                let all = reference(&hermitian(x, n), n, TransformDirection::Inverse);
                ExpectedArray {
                    name: "y",
                    shape: vec![batch, n],
                    allowed: all.chunks(n).map(|row| allowed(n, norm(row))).collect(),
                    exact: Exact::Real(all.iter().map(|z| z.re).collect()),
                    part: n,
                }
            }
        };
        Ok(Reference::from_array(expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fft::FftProblem;

    /// Forward and inverse transform together multiply by n.
    #[test]
    fn the_directions_undo_each_other() {
        for n in [1, 2, 7, 64] {
            let forward = RealFftProblem::new(n, TransformDirection::Forward, 3).unwrap();
            let inverse = RealFftProblem::new(n, TransformDirection::Inverse, 3).unwrap();
            let x = forward.input(Case::Random, 5);
            let narrow = |problem: &dyn Problem, data: &NamedArrays| match &problem
                .reference(data)
                .unwrap()
                .arrays[0]
                .exact
            {
                Exact::Real(x) => {
                    NamedArrays::from_array("x", &[3, n], x.iter().map(|&x| x as f32).collect())
                }
                Exact::Complex(x) => {
                    let narrow = |z: &Complex64| Complex32::new(z.re as f32, z.im as f32);
                    NamedArrays::from_array("x", &[3, n / 2 + 1], x.iter().map(narrow).collect())
                }
                Exact::Same(_) => NamedArrays::default(),
            };
            let back = narrow(&inverse, &narrow(&forward, &x));
            let pairs = x
                .get::<f32>("x")
                .unwrap()
                .iter()
                .zip(back.get::<f32>("x").unwrap());
            for (x, back) in pairs {
                assert!((x * n as f32 - back).abs() < 1e-5 * n as f32, "{n}");
            }
        }
    }

    /// The spectrum of real numbers is the first half of the complex transform.
    #[test]
    fn spectra_are_those_of_complex_transforms() {
        let (n, batch) = (30, 2);
        let real = RealFftProblem::new(n, TransformDirection::Forward, batch).unwrap();
        let input = real.input(Case::Random, 1);
        let complex: Vec<Complex32> = input
            .get::<f32>("x")
            .unwrap()
            .iter()
            .map(|&x| x.into())
            .collect();
        let whole = FftProblem::new(n, TransformDirection::Forward, batch).unwrap();
        let exact = whole
            .reference(&NamedArrays::from_array("x", &[batch, n], complex))
            .unwrap();
        let Exact::Complex(all) = &exact.arrays[0].exact else {
            panic!("complex")
        };
        let half: Vec<Complex32> = all
            .chunks(n)
            .flat_map(|row| &row[..=n / 2])
            .map(|z| Complex32::new(z.re as f32, z.im as f32))
            .collect();
        let mut output = NamedArrays::from_array("y", &[batch, n / 2 + 1], half.clone());
        assert!(real.judge(&input, &output).is_within_tolerance());
        let mut wrong = half;
        wrong[17].im += 1e-3;
        output = NamedArrays::from_array("y", &[batch, n / 2 + 1], wrong);
        assert!(!real.judge(&input, &output).is_within_tolerance());
    }
}
