use num_complex::Complex32;
use std::fmt;
use std::ops::Range;

/// Which outputs of a convolution are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConvolutionMode {
    /// All N + L - 1.
    #[default]
    Full,
    /// As many as there are samples, from the (L - 1) / 2-th on.
    Same,
    /// The N - L + 1 to which every tap contributes.
    Valid,
}

impl ConvolutionMode {
    /// The outputs out of the full convolution; empty where nothing is valid.
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
    /// The mode of that name.
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

/// The taps that make a convolution the correlation with `pattern`, a matched
/// filter: reversed and conjugated. Lag 0 is output L - 1 of the full convolution.
#[must_use]
pub fn matched(pattern: &[Complex32]) -> Vec<Complex32> {
    pattern.iter().rev().map(Complex32::conj).collect()
}
