//! What a convolution is: inputs, reference, tolerance. No machine in here.

use super::choice::Wanted;
use super::error::ConvError;
use super::exact::Exact;
use super::filter::Numbers;
use super::judge::ChannelJudge;
use super::rate::Rate;
use crate::backend::{Problem, Tally, Verdict};
use crate::random::Random;
use num_complex::{Complex32, Complex64};
use rustfft::FftPlanner;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;

/// Which outputs of a convolution are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// All N + L - 1.
    #[default]
    Full,
    /// As many as there are samples, from the (L - 1) / 2-th on.
    Same,
    /// The N - L + 1 to which every tap contributes.
    Valid,
}

impl Mode {
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

impl fmt::Display for Mode {
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

/// Channels of complex samples and the taps of their filter.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvProblem {
    taps: Vec<Complex32>,
    channels: usize,
    samples: usize,
    mode: Mode,
    rate: Rate,
}

impl ConvProblem {
    /// `channels` of `samples` numbers each.
    ///
    /// # Errors
    /// No taps, no samples, or no output.
    pub fn new(
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        mode: Mode,
    ) -> Result<Self, ConvError> {
        Self::at_rate(taps, channels, samples, (mode, Rate::Same))
    }

    fn at_rate(
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        (mode, rate): (Mode, Rate),
    ) -> Result<Self, ConvError> {
        Wanted::new(taps, (channels, samples), (mode, rate))?;
        Ok(Self {
            taps: taps.to_vec(),
            channels,
            samples,
            mode,
            rate,
        })
    }

    /// Decimated or interpolated, all outputs.
    ///
    /// # Errors
    /// No taps, no samples, a rate of 0, or more outputs than an address has.
    pub fn resampled(
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        rate: Rate,
    ) -> Result<Self, ConvError> {
        Self::at_rate(taps, channels, samples, (Mode::Full, rate))
    }

    /// The taps.
    #[must_use]
    pub fn taps(&self) -> &[Complex32] {
        &self.taps
    }

    /// Channels.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Samples of a channel.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Which outputs are wanted.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Outputs for a sample.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Outputs of a channel.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match self.rate {
            Rate::Same => self.mode.outputs(self.samples, self.taps.len()).len(),
            rate => rate.outputs(self.samples, self.taps.len()),
        }
    }

    /// Compares the result for real or complex samples with the reference.
    ///
    /// Worst is over the channels: the L2 error in units of
    /// 2^-24 (4 + 6 log2 K) max |H| times the samples' norm, where K is the
    /// length of the full convolution and no output's norm is beyond max |H| ||x||.
    #[must_use]
    pub fn compare<T: Numbers>(&self, input: &[T], output: &[T]) -> Verdict {
        self.judged(input, output, false).0
    }

    /// The same over the channels whose samples are all finite, and how many they are; none where none is, or the taps
    /// are not. What is in one channel reaches no other, so that these are right whatever the others hold.
    #[must_use]
    pub fn compare_finite<T: Numbers>(
        &self,
        input: &[T],
        output: &[T],
    ) -> Option<(Verdict, usize)> {
        let (verdict, channels) = self.judged(input, output, true);
        (channels > 0).then_some((verdict, channels))
    }

    /// Over all channels, or those that are finite, and how many they are.
    fn judged<T: Numbers>(&self, input: &[T], output: &[T], finite: bool) -> (Verdict, usize) {
        let (samples, wanted) = (self.samples, self.outputs());
        if input.len() != self.channels * samples || output.len() != self.channels * wanted {
            return (Verdict::SHAPELESS, self.channels);
        }
        let mut judge = self.channel_judge(finite);
        let mut tally = Tally::default();
        let mut channels = 0;
        for (x, y) in input.chunks(samples).zip(output.chunks(wanted)) {
            let part = |all: &[T], from: usize, out: &mut [T]| {
                out.copy_from_slice(&all[from..from + out.len()]);
                Ok::<_, Infallible>(())
            };
            let Ok(judged) = judge.judge(
                |from, out: &mut [T]| part(x, from, out),
                |from, out: &mut [T]| part(y, from, out),
            );
            if let Some(part) = judged {
                tally.add(part);
                channels += 1;
            }
        }
        (tally.verdict(), channels)
    }

    /// What compares one channel after the other with the reference; with `finite` only those whose samples all are.
    #[must_use]
    pub fn channel_judge(&self, finite: bool) -> ChannelJudge {
        ChannelJudge::new(self, finite)
    }
}

impl Problem for ConvProblem {
    type Input = [Complex32];
    type Output = [Complex32];
    type Data = Vec<Complex32>;

    fn title(&self) -> String {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        format!(
            "{} convolution of {} channel{} of {} sample{} with {} tap{}{}",
            self.mode,
            self.channels,
            plural(self.channels),
            self.samples,
            plural(self.samples),
            self.taps.len(),
            plural(self.taps.len()),
            match self.rate {
                Rate::Same => String::new(),
                rate => format!(", {rate}"),
            },
        )
    }

    fn random(&self, seed: u64) -> Vec<Complex32> {
        let mut random = Random::new(seed);
        (0..self.channels * self.samples)
            .map(|_| random.complex())
            .collect()
    }

    fn judge(&self, input: &[Complex32], output: &[Complex32]) -> Verdict {
        self.compare(input, output)
    }
}

/// A rate that a filter can have.
pub(super) fn check_rate(rate: Rate, samples: usize, taps: usize) -> Result<(), ConvError> {
    let (decimate, interpolate) = (rate.decimate(), rate.interpolate());
    let outputs = samples
        .checked_mul(interpolate)
        .and_then(|n| n.checked_add(taps));
    if decimate == 0 || interpolate == 0 || outputs.is_none_or(|n| n > isize::MAX as usize / 16) {
        return Err(ConvError::Rate { rate });
    }
    Ok(())
}

/// The largest magnitude of the taps' transform, on a grid four times as fine as the taps.
pub(super) fn gain(taps: &[Complex64]) -> f64 {
    let mut h = taps.to_vec();
    h.resize((4 * taps.len()).next_power_of_two(), Complex64::default());
    FftPlanner::<f64>::new()
        .plan_fft_forward(h.len())
        .process(&mut h);
    h.iter().map(|z| z.norm()).fold(0.0, f64::max)
}

/// The full convolution in double precision.
#[must_use]
pub fn reference(x: &[Complex64], taps: &[Complex64]) -> Vec<Complex64> {
    let mut y = Vec::with_capacity(x.len() + taps.len());
    let Ok(()) = Exact::new(x.len(), taps).convolve(
        |range, block| {
            block.copy_from_slice(&x[range]);
            Ok::<_, Infallible>(())
        },
        |_, outputs| {
            y.extend_from_slice(outputs);
            Ok(())
        },
    );
    y
}

#[cfg(test)]
mod tests;
