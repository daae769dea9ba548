//! Requests: a filter to be planned, and the methods it may use.

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

/// Method of a filter kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterMethod {
    /// Sums of products of samples and taps.
    Direct,
    /// Transforms of overlapping blocks.
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

/// The methods that a planner may choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllowedMethods {
    /// All methods: the fastest kernel.
    #[default]
    All,
    /// Direct filters. The fastest of those that keep NaNs and infinities in their places is taken, or where
    /// none of these fits, the fastest of the others.
    Direct,
    /// Overlap-save, which spreads a NaN or an infinity over whole blocks of outputs.
    OverlapSave,
    /// Filters that keep NaNs and infinities in their places: a sample that is not finite reaches exactly the
    /// outputs whose definition it is in.
    Exact,
}

impl AllowedMethods {
    /// Returns whether overlap-save is allowed.
    pub(super) fn transforms(self) -> bool {
        matches!(self, Self::All | Self::OverlapSave)
    }

    /// Returns whether direct filters are allowed.
    pub(super) fn direct(self) -> bool {
        self != Self::OverlapSave
    }

    /// Returns whether filters that keep NaNs and infinities in their places go before others.
    pub(super) fn exact(self) -> bool {
        matches!(self, Self::Direct | Self::Exact)
    }
}

/// A filter job: taps, channels, and the outputs wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterRequest<'a> {
    pub(super) taps: &'a [Complex32],
    pub(super) channels: usize,
    pub(super) samples: usize,
    pub(super) mode: ConvolutionMode,
    pub(super) rate: OutputRate,
}

impl<'a> FilterRequest<'a> {
    /// Makes a request for channels of so many samples, at a rate; an error if there is nothing to filter.
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

    /// Returns the request with several real channels paired as complex ones, as transforms take them; see
    /// [`ChannelLayout`](super::channel_layout::ChannelLayout).
    pub(super) fn pair_real_samples<T: FilterSample>(&self, machine: &Machine) -> Option<Self> {
        let before = lead(self.taps.len(), machine);
        (T::REAL && self.channels > 1).then(|| Self {
            samples: paired_length(self.samples, before),
            mode: ConvolutionMode::Full,
            ..*self
        })
    }

    /// Returns the size of the arrays, with numbers of type `T`.
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

    /// Returns the request at the rate of the samples, with all outputs; those at another rate are some of
    /// these.
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

    /// Returns the outputs wanted, as indices of the full convolution, or of all outputs at another rate.
    pub(super) fn outputs(&self) -> Range<usize> {
        let (samples, taps) = (self.samples, self.taps.len());
        self.rate.outputs(self.mode, samples, taps)
    }
}
