//! Modes of convolutions, and the taps of a matched filter.

use num_complex::Complex32;
use std::fmt;
use std::ops::Range;

/// Selection of a convolution's outputs, for N samples and L taps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConvolutionMode {
    /// All N + L - 1 outputs.
    #[default]
    Full,
    /// N outputs, as many as samples, beginning with output (L - 1) / 2.
    Same,
    /// The N - L + 1 outputs to which every tap contributes.
    Valid,
}

impl ConvolutionMode {
    /// Returns the range of outputs in the full convolution; empty if none is valid.
    #[must_use]
    pub fn outputs(self, samples: usize, taps: usize) -> Range<usize> {
        let before = taps.saturating_sub(1);
        match self {
            Self::Full => 0..samples.saturating_add(before),
            Self::Same => before / 2..(before / 2).saturating_add(samples),
            Self::Valid => before..samples.max(before),
        }
    }
}

impl ConvolutionMode {
    /// Returns the mode of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let all = [Self::Full, Self::Same, Self::Valid];
        all.into_iter().find(|mode| mode.to_string() == name)
    }
}

impl fmt::Display for ConvolutionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Same => "same",
            Self::Valid => "valid",
        })
    }
}

/// Returns the taps whose convolution is the correlation with `pattern` (a matched filter): reversed and
/// conjugated. Lag 0 is output L - 1 of the full convolution.
#[must_use]
pub fn matched(pattern: &[Complex32]) -> Vec<Complex32> {
    pattern.iter().rev().map(Complex32::conj).collect()
}
