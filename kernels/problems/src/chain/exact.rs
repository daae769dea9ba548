//! Spectra of receivers in double precision, and their allowed errors.

use super::Accuracy;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::vector::WindowFunction;
use cp2_rustfft::FftDirection;
use num_complex::{Complex32, Complex64};

/// Points on each side of a peak that belong to it: the main lobe of the Hann window has two on each side.
pub(super) const LOBE: usize = 3;
/// Distance in dB of the highest sidelobe of the Hann window below the peak, with room for noise.
pub(super) const HANN: f32 = 31.5 - 3.0;

/// The spectra of a block in double precision, with the error that a result may have.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactSpectra {
    numbers: Vec<Complex64>,
    /// Norm of the spectra of white noise with the block's energy.
    noise: f64,
}

impl ExactSpectra {
    /// Computes the windowed spectra of rows of `points`. `noise` is the norm of such rows for white noise of
    /// the block's energy.
    pub(super) fn from_rows(mut rows: Vec<Complex64>, points: usize, noise: f64) -> Self {
        let window = window(points);
        for row in rows.chunks_mut(points) {
            for (x, w) in row.iter_mut().zip(&window) {
                *x *= w;
            }
        }
        transform(&mut rows, points);
        // A spectrum's point of white noise has the power of a row's sample times the sum of the squared
        // window.
        let all: f64 = window.iter().map(Complex64::norm_sqr).sum();
        Self {
            numbers: rows,
            noise: noise * all.sqrt(),
        }
    }

    /// Returns the spectra, row after row.
    #[must_use]
    pub fn numbers(&self) -> &[Complex64] {
        &self.numbers
    }

    /// Compares a result with these spectra.
    #[must_use]
    pub fn accuracy(&self, spectra: &[Complex32], decibels: &[f32]) -> Accuracy {
        Accuracy::compare_spectra(self, spectra, decibels)
    }

    /// Returns the L2 norm of the spectra.
    pub(super) fn norm(&self) -> f64 {
        norm(&self.numbers)
    }

    /// Returns the L2 error that spectra may have.
    pub(super) fn allowed(&self) -> f64 {
        Accuracy::SPECTRA * self.norm().max(self.noise)
    }

    /// Returns the reference: the spectra, and decibels with the error that follows from the largest allowed
    /// error of the spectra.
    pub(super) fn reference(self, shape: Vec<usize>) -> Reference {
        let allowed = self.allowed();
        let decibels = |z: &Complex64| {
            let lost = 1.0 - allowed / z.norm();
            let off = match lost > 0.0 {
                true => Accuracy::DECIBELS - 20.0 * libm::log10(lost),
                false => f64::INFINITY,
            };
            (10.0 * libm::log10(z.norm_sqr()), off)
        };
        let (exact, each) = self.numbers.iter().map(decibels).unzip();
        let spectra = ExpectedArray {
            name: "spectra",
            shape: shape.clone(),
            part: self.numbers.len(),
            exact: Exact::Complex(self.numbers),
            allowed: vec![allowed],
        };
        let decibels = ExpectedArray {
            name: "decibels",
            shape,
            exact: Exact::Real(exact),
            part: 1,
            allowed: each,
        };
        Reference {
            arrays: vec![spectra, decibels],
        }
    }
}

/// Returns the L2 norm of numbers.
pub(super) fn norm(numbers: &[Complex64]) -> f64 {
    numbers.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt()
}

/// Returns the Hann window in double precision.
pub(super) fn window(points: usize) -> Vec<Complex64> {
    let coefficients = WindowFunction::Hann.coefficients(points);
    coefficients.iter().map(|w| f64::from(*w).into()).collect()
}

/// Transforms rows of `points` in double precision.
pub(super) fn transform(rows: &mut [Complex64], points: usize) {
    cp2_rustfft::double(points, FftDirection::Forward).process(rows);
}

/// Computes the autocorrelation, the sums of x(i + k) conj(x(i)) for k from 0, as the inverse transform of
/// the power spectrum.
pub(super) fn autocorrelation(x: &[Complex64]) -> Vec<Complex64> {
    let n = (2 * x.len()).next_power_of_two();
    let mut power = x.to_vec();
    power.resize(n, Complex64::default());
    transform(&mut power, n);
    for z in &mut power {
        *z = Complex64::from(z.norm_sqr() / n as f64);
    }
    // The power spectrum is real, so the inverse transform is the conjugate of the forward one.
    transform(&mut power, n);
    power.iter().take(x.len()).map(|z| z.conj()).collect()
}
