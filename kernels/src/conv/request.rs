//! What is to be filtered, and by which of the ways that there are.

use super::block_filter::FilterSample;
use super::channel_layout::paired_length;
use super::error::ConvError;
use super::memory::ChannelExtent;
use super::overlap_save::lead;
use super::{ConvolutionMode, OutputRate};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::fmt;
use std::ops::Range;

/// What kind of filter a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterMethod {
    /// Sums of products of samples and taps.
    Direct,
    /// Transforms of blocks that overlap.
    OverlapSave,
}

impl fmt::Display for FilterMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Direct => "direct",
            Self::OverlapSave => "overlap-save",
        })
    }
}

/// The ways of filtering that a planner may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllowedMethods {
    /// All: the fastest.
    #[default]
    All,
    /// Direct filters: of those that keep NaNs and infinities in their places the fastest, or where none of these fits, of the others.
    Direct,
    /// Overlap-save, which has whole blocks of outputs in common with a NaN or an infinity.
    OverlapSave,
    /// What keeps NaNs and infinities in their places: a sample that is not finite reaches exactly the outputs whose definition it is in.
    Exact,
}

impl AllowedMethods {
    pub(super) fn transforms(self) -> bool {
        matches!(self, Self::All | Self::OverlapSave)
    }

    pub(super) fn direct(self) -> bool {
        self != Self::OverlapSave
    }

    /// Whether filters that keep places go before others.
    pub(super) fn exact(self) -> bool {
        matches!(self, Self::Direct | Self::Exact)
    }
}

/// What is to be filtered.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterRequest<'a> {
    pub(super) taps: &'a [Complex32],
    pub(super) channels: usize,
    pub(super) samples: usize,
    pub(super) mode: ConvolutionMode,
    pub(super) rate: OutputRate,
}

impl<'a> FilterRequest<'a> {
    /// Taps for channels of so many samples, at a rate, as far as there is something to do.
    pub(super) fn new(
        taps: &'a [Complex32],
        (channels, samples): (usize, usize),
        (mode, rate): (ConvolutionMode, OutputRate),
    ) -> Result<Self, ConvError> {
        cp2_problems::conv::check(taps.len(), (channels, samples), (mode, rate))?;
        Ok(Self {
            taps,
            channels,
            samples,
            mode,
            rate,
        })
    }

    /// The complex channels that transforms take for several real ones; see [`ChannelLayout`](super::channel_layout::ChannelLayout).
    pub(super) fn pair_real_samples<T: FilterSample>(&self, machine: &Machine) -> Option<Self> {
        let before = lead(self.taps.len(), machine);
        (T::REAL && self.channels > 1).then(|| Self {
            samples: paired_length(self.samples, before),
            mode: ConvolutionMode::Full,
            ..*self
        })
    }

    /// The arrays, of numbers of this kind.
    pub(super) fn extent<T: FilterSample>(&self) -> ChannelExtent {
        ChannelExtent {
            taps: self.taps.len(),
            channels: self.channels,
            samples: self.samples,
            mode: self.mode,
            rate: self.rate,
            number: size_of::<T>(),
        }
    }

    /// The same at the rate of the samples, with all outputs of which those at another rate are some.
    pub(super) fn full(&self) -> Self {
        if self.rate == OutputRate::SAME {
            return *self;
        }
        Self {
            mode: ConvolutionMode::Full,
            rate: OutputRate::SAME,
            ..*self
        }
    }

    /// The outputs wanted of the full convolution, or of all at another rate.
    pub(super) fn outputs(&self) -> Range<usize> {
        let (samples, taps) = (self.samples, self.taps.len());
        self.rate.outputs(self.mode, samples, taps)
    }
}
