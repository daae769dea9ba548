use super::ConvolutionMode;
use std::fmt;
use std::ops::Range;

/// Outputs of a filter for a sample. Every rate has one spelling: an output every sample is [`OutputRate::SAME`] whatever
/// it is made of.
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
    /// One.
    pub const SAME: Self = Self {
        decimate: 1,
        interpolate: 1,
    };

    /// One for every `samples` samples: output k is output k M of the full convolution.
    #[must_use]
    pub const fn decimate_by(samples: usize) -> Self {
        Self {
            decimate: samples,
            ..Self::SAME
        }
    }

    /// So many, as if I - 1 zeros followed every sample but the last.
    #[must_use]
    pub const fn interpolate_by(outputs: usize) -> Self {
        Self {
            interpolate: outputs,
            ..Self::SAME
        }
    }

    /// Samples for an output.
    #[must_use]
    pub const fn decimate(self) -> usize {
        self.decimate
    }

    /// Outputs for a sample.
    #[must_use]
    pub const fn interpolate(self) -> usize {
        self.interpolate
    }

    /// Outputs of a full convolution of `samples` with `taps`.
    #[must_use]
    pub fn count(self, samples: usize, taps: usize) -> usize {
        let spread = samples
            .saturating_sub(1)
            .saturating_mul(self.interpolate)
            .saturating_add(taps);
        spread.div_ceil(self.decimate.max(1))
    }

    /// The outputs that are wanted, out of all that there are at this rate: those of the mode, or at another rate than
    /// that of the samples all.
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
