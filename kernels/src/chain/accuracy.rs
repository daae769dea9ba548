//! A chain's result against double precision.

use super::{Received, wide};
use num_complex::Complex64;

/// How far a result is from double precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Accuracy {
    /// Relative RMS error of the spectra.
    pub rel_error: f64,
    /// Largest error of a decibel in dB, given the spectra; cells
    /// [`Accuracy::DEPTH`] below the strongest do not count.
    pub decibels_error: f64,
}

impl Accuracy {
    /// Relative RMS error from which on spectra are wrong: f32 leaves a few 1e-7.
    pub const SPECTRA: f64 = 5e-6;
    /// Error in dB from which on decibels are wrong: half a unit of the last
    /// place of f32 is 1.5e-5 dB at 256 dB, and there are three roundings.
    pub const DECIBELS: f64 = 1e-4;
    /// How far below the strongest cell a cell may be lost, in dB.
    pub const DEPTH: f64 = 120.0;

    /// Compares a result with the spectra it should have.
    #[must_use]
    pub fn of(received: &Received, reference: &[Complex64]) -> Self {
        let same = received.spectra.len() == reference.len()
            && received.decibels.len() == received.spectra.len();
        if !same {
            return Self {
                rel_error: f64::INFINITY,
                decibels_error: f64::INFINITY,
            };
        }
        let pairs = || received.spectra.iter().map(wide).zip(reference);
        let squares: f64 = pairs().map(|(z, r)| (z - r).norm_sqr()).sum();
        let all: f64 = reference.iter().map(|r| r.norm_sqr()).sum();
        let rel_error = if squares == 0.0 {
            0.0
        } else {
            known((squares / all).sqrt())
        };
        let exact: Vec<f64> = received
            .spectra
            .iter()
            .map(|z| 10.0 * libm::log10(wide(z).norm_sqr()))
            .collect();
        let floor = exact.iter().copied().fold(f64::NEG_INFINITY, f64::max) - Self::DEPTH;
        let error = |(found, exact): (&f32, &f64)| {
            let found = f64::from(*found);
            if found == *exact || (found < floor && *exact < floor) {
                0.0
            } else {
                known((found - exact).abs())
            }
        };
        Self {
            rel_error,
            decibels_error: received
                .decibels
                .iter()
                .zip(&exact)
                .map(error)
                .fold(0.0, f64::max),
        }
    }

    /// Both of two results, at their worst.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        Self {
            rel_error: self.rel_error.max(other.rel_error),
            decibels_error: self.decibels_error.max(other.decibels_error),
        }
    }

    /// Whether the result is right.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.rel_error <= Self::SPECTRA && self.decibels_error <= Self::DECIBELS
    }
}

/// An error that is no number is as large as can be.
fn known(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}
