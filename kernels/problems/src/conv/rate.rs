//! Rates of outputs per sample: decimation and interpolation.

use super::ConvolutionMode;
use std::fmt;
use std::ops::Range;

/// Outputs of a filter per sample. Every rate has one representation: one output for every sample is
/// [`OutputRate::SAME`] however it is constructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutputRate {
    decimate: usize,
    interpolate: usize,
}

impl Default for OutputRate {
    fn default() -> Self {
        Self::SAME
    }
}

impl OutputRate {
    /// One output for every sample.
    pub const SAME: Self = Self {
        decimate: 1,
        interpolate: 1,
    };

    /// Returns the rate of one output for every M = `samples` samples: output k is output k M of the full
    /// convolution.
    #[must_use]
    pub const fn decimate_by(samples: usize) -> Self {
        Self {
            decimate: samples,
            ..Self::SAME
        }
    }

    /// Returns the rate of I = `outputs` outputs for every sample, as if I - 1 zeros followed every sample
    /// but the last.
    #[must_use]
    pub const fn interpolate_by(outputs: usize) -> Self {
        Self {
            interpolate: outputs,
            ..Self::SAME
        }
    }

    /// Returns the number of samples for one output.
    #[must_use]
    pub const fn decimate(self) -> usize {
        self.decimate
    }

    /// Returns the number of outputs for one sample.
    #[must_use]
    pub const fn interpolate(self) -> usize {
        self.interpolate
    }

    /// Returns the number of outputs of a full convolution of `samples` with `taps`.
    #[must_use]
    pub fn count(self, samples: usize, taps: usize) -> usize {
        let spread = samples
            .saturating_sub(1)
            .saturating_mul(self.interpolate)
            .saturating_add(taps);
        spread.div_ceil(self.decimate.max(1))
    }

    /// Returns the range of outputs that are computed, out of all at this rate: those of the mode, or all if
    /// the rate is not that of the samples.
    #[must_use]
    pub fn outputs(self, mode: ConvolutionMode, samples: usize, taps: usize) -> Range<usize> {
        if self == Self::SAME {
            mode.outputs(samples, taps)
        } else {
            0..self.count(samples, taps)
        }
    }
}

impl fmt::Display for OutputRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.decimate, self.interpolate) {
            (1, 1) => f.write_str("an output a sample"),
            (m, 1) => write!(f, "an output every {m} samples"),
            (_, i) => write!(f, "{i} outputs a sample"),
        }
    }
}
