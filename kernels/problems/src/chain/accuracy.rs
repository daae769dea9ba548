//! A chain's result against double precision.

use super::ExactSpectra;
use crate::verdict::Verdict;
use crate::widen;
use num_complex::Complex32;

/// How far a result is from double precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Relative RMS error of the spectra.
    pub rel_error: f64,
    /// The most that this may be: [`Accuracy::SPECTRA`], more where hardly anything is left of the input.
    pub rel_allowed: f64,
    /// Error of the spectra in units of what they may be off by.
    pub spectra_worst: f64,
    /// Largest error of a decibel in dB, given the spectra; cells
    /// [`Accuracy::DEPTH`] below the strongest do not count.
    pub decibels_error: f64,
}

impl Default for Accuracy {
    /// Without an error.
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
    /// Error of spectra from which on they are wrong, in parts of their norm or of that of noise; see the
    /// [module](super) for both limits.
    pub const SPECTRA: f64 = 5e-6;
    /// Error in dB from which on decibels are wrong.
    pub const DECIBELS: f64 = 1e-4;
    /// How far below the strongest cell a cell may be lost, in dB.
    pub const DEPTH: f64 = 120.0;

    /// Compares a result with the spectra it should have.
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
            false => known(error),
        };
        Self {
            rel_error: of((squares / all).sqrt()),
            rel_allowed,
            spectra_worst: of(squares.sqrt() / exact.allowed()),
            decibels_error: decibels_error(spectra, decibels),
        }
    }

    /// Both of two results, at their worst.
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

    /// Whether the spectra are right.
    #[must_use]
    pub fn spectra_hold(&self) -> bool {
        self.spectra_worst <= 1.0
    }

    /// Whether the result is right.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.verdict().is_within_tolerance()
    }

    /// The same for every problem: of spectra and decibels the worse.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict {
            rms: self.rel_error,
            worst: self.spectra_worst.max(self.decibels_error / Self::DECIBELS),
        }
    }
}

/// The largest error of decibels of spectra, in dB.
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
            known((found - exact).abs())
        }
    };
    decibels.iter().zip(&exact).map(error).fold(0.0, f64::max)
}

/// An error that is no number is as large as can be.
fn known(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}
