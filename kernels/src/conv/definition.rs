//! What a convolution is: inputs, reference, tolerance. No machine in here.

use super::choice::Wanted;
use super::error::ConvError;
use super::filter::Numbers;
use super::rate::Rate;
use crate::backend::{Problem, Tally, Verdict};
use crate::random::Random;
use num_complex::{Complex32, Complex64};
use rustfft::FftPlanner;
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

    /// The outputs of one channel in double precision.
    fn exact<T: Numbers>(&self, x: &[T], taps: &[Complex64]) -> Vec<Complex64> {
        let (spread, step) = (self.rate.interpolate(), self.rate.decimate());
        let mut spread_x = vec![Complex64::default(); (x.len().max(1) - 1) * spread + 1];
        for (place, x) in spread_x.iter_mut().step_by(spread).zip(x) {
            *place = widen(x.complex());
        }
        let wanted = self.mode.outputs(self.samples, self.taps.len());
        let all = reference(&spread_x, taps);
        let wanted = if self.rate == Rate::Same {
            wanted
        } else {
            0..all.len()
        };
        let wanted = all.get(wanted).unwrap_or_default();
        wanted.iter().step_by(step).copied().collect()
    }

    /// Compares the result for real or complex samples with the reference.
    ///
    /// Worst is over the channels: the L2 error in units of
    /// 2^-24 (4 + 6 log2 K) max |H| times the samples' norm, where K is the
    /// length of the full convolution and no output's norm is beyond max |H| ||x||.
    #[must_use]
    pub fn compare<T: Numbers>(&self, input: &[T], output: &[T]) -> Verdict {
        self.judged(input, output, |_| true).0
    }

    /// The same over the channels whose samples are all finite, and how many they are; none where none is, or the taps
    /// are not. What is in one channel reaches no other, so that these are right whatever the others hold.
    #[must_use]
    pub fn compare_finite<T: Numbers>(
        &self,
        input: &[T],
        output: &[T],
    ) -> Option<(Verdict, usize)> {
        let taps = self.taps.iter().all(|h| h.is_finite());
        let finite = |x: &[T]| taps && x.iter().all(|x| x.complex().is_finite());
        let (verdict, channels) = self.judged(input, output, finite);
        (channels > 0).then_some((verdict, channels))
    }

    /// Over the channels that are `taken`, and how many they are.
    fn judged<T: Numbers>(
        &self,
        input: &[T],
        output: &[T],
        taken: impl Fn(&[T]) -> bool,
    ) -> (Verdict, usize) {
        let wanted = self.outputs();
        if input.len() != self.channels * self.samples || output.len() != self.channels * wanted {
            return (Verdict::SHAPELESS, self.channels);
        }
        let taps: Vec<Complex64> = self.taps.iter().map(|&h| widen(h)).collect();
        let gain = gain(&taps);
        let length = (self.samples + self.taps.len()) as f64;
        let allowed = (4.0 + 6.0 * libm::log2(length)) / f64::from(1 << 24) * gain;
        let mut tally = Tally::default();
        let mut channels = 0;
        for (x, y) in input.chunks(self.samples).zip(output.chunks(wanted)) {
            if !taken(x) {
                continue;
            }
            channels += 1;
            let exact = self.exact(x, &taps);
            let y = y.iter().map(|&y| widen(y.complex()));
            let error = exact.iter().zip(y).map(|(a, y)| (a - y).norm_sqr()).sum();
            let norm = exact.iter().map(Complex64::norm_sqr).sum();
            let samples: f64 = x.iter().map(|x| widen(x.complex()).norm_sqr()).sum();
            tally.add(error, norm, samples.sqrt() * allowed);
        }
        (tally.verdict(), channels)
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

fn widen(z: Complex32) -> Complex64 {
    Complex64::new(z.re.into(), z.im.into())
}

/// The largest magnitude of the taps' transform, on a grid four times as fine as the taps.
fn gain(taps: &[Complex64]) -> f64 {
    let mut h = taps.to_vec();
    h.resize((4 * taps.len()).next_power_of_two(), Complex64::default());
    FftPlanner::<f64>::new()
        .plan_fft_forward(h.len())
        .process(&mut h);
    h.iter().map(|z| z.norm()).fold(0.0, f64::max)
}

/// Points of a transform of the reference where the taps are few: what caches hold.
const BLOCK: usize = 4096;

/// The full convolution in double precision.
#[must_use]
pub fn reference(x: &[Complex64], taps: &[Complex64]) -> Vec<Complex64> {
    let full = (x.len() + taps.len()).saturating_sub(1);
    let n = full.min(BLOCK.max(8 * taps.len())).next_power_of_two();
    let mut planner = FftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(n), planner.plan_fft_inverse(n));
    let transform = |z: &[Complex64]| {
        let mut z = z.to_vec();
        z.resize(n, Complex64::default());
        forward.process(&mut z);
        z
    };
    let h = transform(taps);
    let mut y = vec![Complex64::default(); full];
    // What a block of samples adds reaches as far into the next ones as there are taps.
    let hop = (n + 1).saturating_sub(taps.len().max(1)).max(1);
    for (i, x) in x.chunks(hop).enumerate() {
        let mut part = transform(x);
        for (z, h) in part.iter_mut().zip(&h) {
            *z *= h / n as f64;
        }
        inverse.process(&mut part);
        for (y, z) in y.iter_mut().skip(i * hop).zip(part) {
            *y += z;
        }
    }
    y
}

#[cfg(test)]
mod tests;
