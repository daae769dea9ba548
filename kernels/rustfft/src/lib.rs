//! The plans of rustfft, compiled once.
//!
//! rustfft's planners are generic over the type of a number, so that every crate that names one
//! compiles all of its algorithms again, some 600,000 lines of intermediate code. Here they are
//! compiled once for single and once for double precision; what is handed out is a trait object.

use std::sync::Arc;

pub use rustfft::{Fft, FftDirection, FftNum};

use rustfft::{FftPlanner, FftPlannerScalar};

/// A transform of `n` numbers of single precision, not normalized, by the fastest code the host runs.
#[must_use]
pub fn single(n: usize, direction: FftDirection) -> Arc<dyn Fft<f32>> {
    FftPlanner::new().plan_fft(n, direction)
}

/// A transform of `n` numbers of double precision, not normalized, by the fastest code the host runs.
#[must_use]
pub fn double(n: usize, direction: FftDirection) -> Arc<dyn Fft<f64>> {
    FftPlanner::new().plan_fft(n, direction)
}

/// A transform of `n` numbers of single precision, not normalized, by code without the host's vector
/// instructions: it rounds alike on every host.
#[must_use]
pub fn scalar_single(n: usize, direction: FftDirection) -> Arc<dyn Fft<f32>> {
    FftPlannerScalar::new().plan_fft(n, direction)
}

/// A transform of `n` numbers of double precision, see [`scalar_single`].
#[must_use]
pub fn scalar_double(n: usize, direction: FftDirection) -> Arc<dyn Fft<f64>> {
    FftPlannerScalar::new().plan_fft(n, direction)
}
