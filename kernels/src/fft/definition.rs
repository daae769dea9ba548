//! What an FFT is: inputs, reference, tolerance. No machine in here.

use super::error::FftError;
use super::exact::{Exact, widen};
use super::recipe::Direction;
use crate::backend::{Part, Problem, Tally, Verdict};
use crate::random::Random;
use num_complex::{Complex32, Complex64};

/// A batch of transforms of one length: row `b` of the input, `n` numbers
/// from `b n` on, becomes row `b` of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FftProblem {
    n: usize,
    direction: Direction,
    batch: usize,
}

impl FftProblem {
    /// `batch` transforms of `n` complex numbers.
    ///
    /// # Errors
    /// A length or a batch of 0, or one of more bytes than an address has.
    pub fn new(n: usize, direction: Direction, batch: usize) -> Result<Self, FftError> {
        if n == 0 {
            return Err(FftError::Length { n });
        }
        if batch == 0 {
            return Err(FftError::Empty);
        }
        let bytes = n
            .checked_mul(size_of::<Complex64>())
            .and_then(|row| row.checked_mul(batch));
        if bytes.is_none_or(|b| isize::try_from(b).is_err()) {
            return Err(FftError::TooLarge { n, batch });
        }
        Ok(Self {
            n,
            direction,
            batch,
        })
    }

    /// Length of a transform.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Never: there is at least one transform.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch == 0
    }

    /// Direction.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Number of transforms.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }
}

impl Problem for FftProblem {
    type Input = [Complex32];
    type Output = [Complex32];
    type Data = Vec<Complex32>;

    fn title(&self) -> String {
        let plural = if self.batch == 1 { "" } else { "s" };
        let (batch, direction, n) = (self.batch, self.direction, self.n);
        format!("{batch} {direction} FFT{plural} of {n} complex64")
    }

    fn random(&self, seed: u64) -> Vec<Complex32> {
        let mut random = Random::new(seed);
        (0..self.n * self.batch).map(|_| random.complex()).collect()
    }

    /// Worst is over the transforms: the L2 error in units of [`error_bound`] times the reference's norm.
    fn judge(&self, input: &[Complex32], output: &[Complex32]) -> Verdict {
        if input.len() != output.len() || input.len() != self.n * self.batch {
            return Verdict::SHAPELESS;
        }
        let mut exact = Exact::new(&[self.n], self.direction);
        let mut tally = Tally::default();
        for (input, output) in input.chunks(self.n).zip(output.chunks(self.n)) {
            tally.add(self.part(exact.of(input), output));
        }
        tally.verdict()
    }
}

impl FftProblem {
    /// Compares a result with an exact one. Worst is over the transforms: the
    /// L2 error in units of [`error_bound`] times the exact one's norm.
    #[must_use]
    pub fn compare(&self, exact: &[Complex64], output: &[Complex32]) -> Verdict {
        if exact.len() != output.len() {
            return Verdict::SHAPELESS;
        }
        let mut tally = Tally::default();
        for (exact, output) in exact.chunks(self.n).zip(output.chunks(self.n)) {
            tally.add(self.part(exact, output));
        }
        tally.verdict()
    }

    /// Compares one transform with the exact one.
    #[must_use]
    pub fn part(&self, exact: &[Complex64], output: &[Complex32]) -> Part {
        let (mut error, mut norm) = (0.0, 0.0);
        for (x, y) in exact.iter().zip(output) {
            error += (x - widen(y)).norm_sqr();
            norm += x.norm_sqr();
        }
        Part {
            error,
            norm,
            allowed: norm.sqrt() * error_bound(self.n),
        }
    }
}

/// The L2 error a transform may have, relative to its exact result's norm, where
/// nothing overflows or underflows: 2^-24 (2 + 3 log2 N).
#[must_use]
pub fn error_bound(n: usize) -> f64 {
    (2.0 + 3.0 * f64::from(n.max(1).ilog2())) / f64::from(1 << 24)
}

/// All transforms of `input` in double precision.
#[must_use]
pub fn reference(input: &[Complex32], n: usize, direction: Direction) -> Vec<Complex64> {
    reference_nd(input, &[n], direction)
}

/// Rows of the N/2 + 1 numbers of spectra of `n` real numbers as rows of all N:
/// the imaginary parts of the first and of number N/2 count as 0.
#[must_use]
pub fn hermitian(half: &[Complex32], n: usize) -> Vec<Complex32> {
    let row = |half: &[Complex32]| -> Vec<Complex32> {
        (0..n)
            .map(|k| match k {
                0 => half[0].re.into(),
                k if 2 * k == n => half[k].re.into(),
                k if 2 * k < n => half[k],
                k => half[n - k].conj(),
            })
            .collect()
    };
    half.chunks_exact(n / 2 + 1).flat_map(row).collect()
}

/// All arrays of `input` over all axes of `shape`, the last contiguous, in double precision.
#[must_use]
pub fn reference_nd(input: &[Complex32], shape: &[usize], direction: Direction) -> Vec<Complex64> {
    Exact::new(shape, direction).of(input).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, term by term.
    fn naive(x: &[Complex32], direction: Direction) -> Vec<Complex64> {
        let n = x.len();
        let sign = if direction == Direction::Forward {
            -1.0
        } else {
            1.0
        };
        let term = |j: usize, k: usize| {
            let turns = (j * k % n) as f64 / n as f64;
            widen(&x[j]) * Complex64::from_polar(1.0, sign * std::f64::consts::TAU * turns)
        };
        (0..n).map(|k| (0..n).map(|j| term(j, k)).sum()).collect()
    }

    #[test]
    fn the_reference_is_the_definition() {
        for direction in [Direction::Forward, Direction::Inverse] {
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
        let problem = FftProblem::new(64, Direction::Forward, 3).unwrap();
        let x = problem.random(1);
        let exact = reference(&x, 64, Direction::Forward);
        let mut y: Vec<Complex32> = exact
            .iter()
            .map(|z| Complex32::new(z.re as f32, z.im as f32))
            .collect();
        assert!(problem.judge(&x, &y).holds());
        assert!(problem.judge(&x, &y).rms < 1e-7);
        y[100] *= 1.0001;
        assert!(!problem.judge(&x, &y).holds());
        y[100].re = f32::NAN;
        assert!(!problem.judge(&x, &y).holds());
        assert!(!problem.judge(&x, &y[..64]).holds());
    }

    #[test]
    fn hostile_sizes_are_errors() {
        assert!(matches!(
            FftProblem::new(4096, Direction::Forward, usize::MAX),
            Err(FftError::TooLarge { .. })
        ));
        assert!(matches!(
            FftProblem::new(4096, Direction::Forward, usize::MAX / 32768),
            Err(FftError::TooLarge { .. })
        ));
        assert!(matches!(
            FftProblem::new(64, Direction::Forward, 0),
            Err(FftError::Empty)
        ));
        assert!(matches!(
            FftProblem::new(0, Direction::Forward, 1),
            Err(FftError::Length { n: 0 })
        ));
    }
}
