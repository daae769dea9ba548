use std::fmt;

/// Outputs of a filter for a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rate {
    /// One.
    #[default]
    Same,
    /// One for every so many samples: output k is output k M of the full convolution.
    Decimate(usize),
    /// So many, as if I - 1 zeros followed every sample but the last.
    Interpolate(usize),
}

impl Rate {
    /// Samples for an output.
    #[must_use]
    pub fn decimate(self) -> usize {
        if let Self::Decimate(m) = self { m } else { 1 }
    }

    /// Outputs for a sample.
    #[must_use]
    pub fn interpolate(self) -> usize {
        if let Self::Interpolate(i) = self {
            i
        } else {
            1
        }
    }

    /// Outputs of a full convolution of `samples` with `taps`.
    #[must_use]
    pub fn outputs(self, samples: usize, taps: usize) -> usize {
        let spread = samples
            .saturating_sub(1)
            .saturating_mul(self.interpolate())
            .saturating_add(taps);
        spread.div_ceil(self.decimate().max(1))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same | Self::Decimate(1) | Self::Interpolate(1) => {
                f.write_str("an output a sample")
            }
            Self::Decimate(m) => write!(f, "an output every {m} samples"),
            Self::Interpolate(i) => write!(f, "{i} outputs a sample"),
        }
    }
}
