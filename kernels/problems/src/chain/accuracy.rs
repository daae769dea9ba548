//! Accuracy of a chain's result, compared with double precision.

use super::ExactSpectra;
use crate::verdict::Verdict;
use crate::widen;
use num_complex::Complex32;

/// Errors of a result, compared with double precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Relative RMS error of the spectra.
    pub rel_error: f64,
    /// Largest allowed relative error: [`Accuracy::SPECTRA`], or more if the chain removes most of the input.
    pub rel_allowed: f64,
    /// Error of the spectra in units of the allowed one.
    pub spectra_worst: f64,
    /// Largest error of a decibel in dB, given the spectra; cells [`Accuracy::DEPTH`] below the strongest do
    /// not count.
    pub decibels_error: f64,
}

impl Default for Accuracy {
    /// Returns the accuracy of a result without errors.
    fn default() -> Self {
        Self {
            rel_error: 0.0,
            rel_allowed: Self::SPECTRA,
            spectra_worst: 0.0,
            decibels_error: 0.0,
        }
    }
}

impl Accuracy {
    /// Allowed error of spectra, relative to their norm or to that of noise; see the [module](super) for both
    /// limits.
    pub const SPECTRA: f64 = 5e-6;
    /// Allowed error of decibels in dB.
    pub const DECIBELS: f64 = 1e-4;
    /// Distance in dB below the strongest cell from which on a cell may be lost.
    pub const DEPTH: f64 = 120.0;

    /// Compares a result with the exact spectra.
    pub(super) fn compare_spectra(
        exact: &ExactSpectra,
        spectra: &[Complex32],
        decibels: &[f32],
    ) -> Self {
        let rel_allowed = match exact.norm() {
            0.0 => Self::SPECTRA,
            norm => exact.allowed() / norm,
        };
        if spectra.len() != exact.numbers().len() || decibels.len() != spectra.len() {
            return Self {
                rel_error: f64::INFINITY,
                rel_allowed,
                spectra_worst: f64::INFINITY,
                decibels_error: f64::INFINITY,
            };
        }
        let pairs = spectra.iter().zip(exact.numbers());
        let squares: f64 = pairs.map(|(z, r)| (widen(*z) - r).norm_sqr()).sum();
        let all: f64 = exact.numbers().iter().map(|r| r.norm_sqr()).sum();
        let of = |error: f64| match squares == 0.0 {
            true => 0.0,
            false => replace_nan(error),
        };
        Self {
            rel_error: of((squares / all).sqrt()),
            rel_allowed,
            spectra_worst: of(squares.sqrt() / exact.allowed()),
            decibels_error: decibels_error(spectra, decibels),
        }
    }

    /// Joins two results: each field is the worse of both.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        let worse = match self.spectra_worst < other.spectra_worst {
            true => other,
            false => self,
        };
        Self {
            rel_error: self.rel_error.max(other.rel_error),
            decibels_error: self.decibels_error.max(other.decibels_error),
            ..worse
        }
    }

    /// True if the spectra are right.
    #[must_use]
    pub fn spectra_hold(&self) -> bool {
        self.spectra_worst <= 1.0
    }

    /// True if the result is right.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.verdict().is_within_tolerance()
    }

    /// Converts the accuracy to a verdict: the worse of spectra and decibels.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict {
            rms: self.rel_error,
            worst: self.spectra_worst.max(self.decibels_error / Self::DECIBELS),
        }
    }
}

/// Returns the largest error of the decibels of spectra, in dB.
pub(super) fn decibels_error(spectra: &[Complex32], decibels: &[f32]) -> f64 {
    let exact: Vec<f64> = spectra
        .iter()
        .map(|z| 10.0 * libm::log10(widen(*z).norm_sqr()))
        .collect();
    let floor = exact.iter().copied().fold(f64::NEG_INFINITY, f64::max) - Accuracy::DEPTH;
    let error = |(found, exact): (&f32, &f64)| {
        let found = f64::from(*found);
        if found == *exact || (found < floor && *exact < floor) {
            0.0
        } else {
            replace_nan((found - exact).abs())
        }
    };
    decibels.iter().zip(&exact).map(error).fold(0.0, f64::max)
}

/// Replaces a NaN by infinity: such an error is as large as can be.
fn replace_nan(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}
