//! Shared parts of property tests of kernels (feature `testing`).

use crate::{DeviceOptions, RunReport};
use cp2_emu::Engine;
use std::fmt;

/// Distance from the reference that a kernel's results may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Equal bits; every NaN equals every other.
    Exact,
    /// `|got - expected| <= absolute + relative * |expected|`.
    Within {
        /// Absolute part.
        absolute: f32,
        /// Relative part.
        relative: f32,
    },
}

impl Tolerance {
    /// Returns true if a value is close enough.
    #[must_use]
    pub fn accepts(self, expected: f32, got: f32) -> bool {
        if expected.is_nan() || got.is_nan() {
            return expected.is_nan() && got.is_nan();
        }
        match self {
            Self::Exact => expected.to_bits() == got.to_bits(),
            Self::Within { absolute, relative } => {
                expected == got || (got - expected).abs() <= absolute + relative * expected.abs()
            }
        }
    }
}

/// Runs a job with the checkers, on the reference engine, and then without them on the fast engine. The
/// reports must agree in everything but the findings; the caller compares the outputs.
///
/// # Errors
/// A run's own, or how the reports differ.
pub fn on_both_engines<T, E: fmt::Display>(
    options: &DeviceOptions,
    run: impl Fn(DeviceOptions) -> Result<T, E>,
    report: impl Fn(&T) -> &RunReport,
) -> Result<[T; 2], String> {
    let run = |check| {
        run(DeviceOptions {
            check,
            engine: Engine::Fast,
            ..options.clone()
        })
        .map_err(|e| e.to_string())
    };
    let [checked, fast] = [run(true)?, run(false)?];
    let (a, b) = (report(&checked), report(&fast));
    let unchecked = RunReport {
        findings: Vec::new(),
        ..a.clone()
    };
    if unchecked == *b {
        return Ok([checked, fast]);
    }
    Err(format!(
        "the engines disagree: {:?} after {} cycles, {:?}; {:?} after {} cycles, {:?}",
        a.end,
        a.cycles,
        a.causes.to_map(),
        b.end,
        b.cycles,
        b.causes.to_map()
    ))
}
