//! Convolutions of channels with taps: in all modes, at all rates.
//!
//! # Accuracy
//!
//! No output of a channel x has a larger norm than max |H| ||x||, where H is the transform of the taps. In a
//! convolution by transforms of K points each of three transforms has the error of a transform, relative to
//! the norm of its numbers: about 2^-24 (4 + 6 log2 K) max |H| ||x|| in all. A sum of products has a smaller
//! error: at worst 2^-24 times the square root of the number of taps, if rounding errors do not add up.
//! Products of subnormal numbers have errors of half a unit of 2^-149 each, as many as there are taps for
//! each output; 16 K such units are allowed for each output.

mod exact;
mod judge;
mod mode;
mod rate;

pub use exact::reference;
pub use judge::ChannelJudge;
pub use mode::{ConvolutionMode, matched};
pub use rate::OutputRate;

use crate::case::Case;
use crate::data::{self, DataError, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use crate::verdict::{Tally, Verdict};
use crate::{ROUNDING, TINIEST, widen};
use exact::gain;
use num_complex::{Complex32, Complex64};
use std::convert::Infallible;
use std::ops::Range;

/// Type of samples, real or complex.
pub trait Sample: data::Element {
    /// True if the samples are real.
    const REAL: bool;
    /// Converts the sample to a complex number.
    fn complex(self) -> Complex32;
    /// Draws reproducible random samples.
    fn random(random: &mut Random, count: usize) -> Vec<Self>;
}

impl Sample for Complex32 {
    const REAL: bool = false;
    fn complex(self) -> Complex32 {
        self
    }
    fn random(random: &mut Random, count: usize) -> Vec<Self> {
        random.complexes(count)
    }
}

impl Sample for f32 {
    const REAL: bool = true;
    fn complex(self) -> Complex32 {
        Complex32::new(self, 0.0)
    }
    fn random(random: &mut Random, count: usize) -> Vec<Self> {
        random.uniforms(count)
    }
}

/// Most taps of a problem with random taps.
const MOST_TAPS: usize = 1 << 18;

/// Returns the number of outputs of a channel, and refuses problems without taps, samples or outputs.
///
/// # Errors
/// No taps, no samples, a rate of 0, no output, or an array beyond the address space.
pub fn check(
    taps: usize,
    (channels, samples): (usize, usize),
    (mode, rate): (ConvolutionMode, OutputRate),
) -> Result<usize, ProblemError> {
    if taps == 0 {
        return Err(ProblemError::NoTaps);
    }
    if channels == 0 || samples == 0 || channels.checked_mul(samples).is_none() {
        return Err(ProblemError::Empty);
    }
    if rate != OutputRate::SAME {
        let (decimate, interpolate) = (rate.decimate(), rate.interpolate());
        let spread = samples.checked_mul(interpolate);
        let spread = spread.and_then(|n| n.checked_add(taps));
        let most = isize::MAX as usize / 16;
        if decimate == 0 || interpolate == 0 || spread.is_none_or(|n| n > most) {
            return Err(ProblemError::Rate { rate });
        }
    }
    match rate.outputs(mode, samples, taps).len() {
        0 => Err(ProblemError::NothingValid { samples, taps }),
        outputs => Ok(outputs),
    }
}

/// Channels of samples that are convolved with the taps of a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvProblem {
    taps: Vec<Complex32>,
    channels: usize,
    samples: usize,
    mode: ConvolutionMode,
    rate: OutputRate,
    real: bool,
}

impl ConvProblem {
    /// Returns the convolution of `channels` channels of `samples` complex numbers each.
    ///
    /// # Errors
    /// No taps, no samples, or no output.
    pub fn new(
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        mode: ConvolutionMode,
    ) -> Result<Self, ProblemError> {
        Self::new_at_rate(taps, channels, samples, (mode, OutputRate::SAME))
    }

    /// Returns a convolution at an output rate. At another rate than [`OutputRate::SAME`] all outputs are
    /// computed, whatever the mode.
    ///
    /// # Errors
    /// No taps, no samples, no output, a rate of 0, or more outputs than fit the address space.
    pub fn new_at_rate(
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        (mode, rate): (ConvolutionMode, OutputRate),
    ) -> Result<Self, ProblemError> {
        check(taps.len(), (channels, samples), (mode, rate))?;
        Ok(Self {
            taps: taps.to_vec(),
            channels,
            samples,
            mode,
            rate,
            real: false,
        })
    }

    /// Returns a decimated or interpolated convolution with all outputs.
    ///
    /// # Errors
    /// No taps, no samples, a rate of 0, or more outputs than fit the address space.
    pub fn resampled(
        taps: &[Complex32],
        channels: usize,
        samples: usize,
        rate: OutputRate,
    ) -> Result<Self, ProblemError> {
        Self::new_at_rate(taps, channels, samples, (ConvolutionMode::Full, rate))
    }

    /// Converts the problem to one of real samples.
    ///
    /// # Errors
    /// The taps are not real.
    pub fn into_real(self) -> Result<Self, ProblemError> {
        if self.taps.iter().any(|h| h.im != 0.0) {
            return Err(ProblemError::ComplexTaps);
        }
        Ok(Self { real: true, ..self })
    }

    /// Returns the problem of a size with `taps` (drawn at random), `samples` and `channels`. The size may
    /// have a `mode`; `decimate` and `interpolate`, one of which is 1; and `real`, 1 for real taps. With
    /// `real_samples` the samples are real as well.
    ///
    /// # Errors
    /// See [`ConvProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size, real_samples: bool) -> Result<Self, ProblemError> {
        let [taps, samples, channels] = size.all_positive(["taps", "samples", "channels"])?;
        if taps > MOST_TAPS {
            return Err(size.make_error("taps", "at most 262144").into());
        }
        elements(
            &|| format!("{channels} channels of {samples} samples"),
            &[("channels", channels), ("samples", samples)],
        )?;
        let mode = match size.find("mode") {
            None => ConvolutionMode::Full,
            Some(_) => ConvolutionMode::find(size.word("mode")?)
                .ok_or_else(|| size.make_error("mode", "`full`, `same` or `valid`"))?,
        };
        let rate = match size.find("decimate") {
            None => OutputRate::SAME,
            Some(_) => match size.all_positive(["decimate", "interpolate"])? {
                [m, 1] => OutputRate::decimate_by(m),
                [1, i] => OutputRate::interpolate_by(i),
                _ => {
                    let expected = "1 where samples are decimated";
                    return Err(size.make_error("interpolate", expected).into());
                }
            },
        };
        let real = match size.find("real") {
            None => real_samples,
            Some(_) => match size.length("real")? {
                real @ 0..=1 => real == 1,
                _ => {
                    return Err(size
                        .make_error("real", "1 for real taps, or 0 for complex ones")
                        .into());
                }
            },
        };
        let mut random = Random::new(2);
        let taps: Vec<Complex32> = if real {
            random.uniforms(taps).into_iter().map(Into::into).collect()
        } else {
            random.complexes(taps)
        };
        let problem = Self::new_at_rate(&taps, channels, samples, (mode, rate))?;
        if real_samples {
            problem.into_real()
        } else {
            Ok(problem)
        }
    }

    /// Returns the taps.
    #[must_use]
    pub fn taps(&self) -> &[Complex32] {
        &self.taps
    }

    /// Returns the number of channels.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Returns the number of samples of a channel.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Returns the mode, which selects outputs of the full convolution.
    #[must_use]
    pub fn mode(&self) -> ConvolutionMode {
        self.mode
    }

    /// Returns the rate of outputs per sample.
    #[must_use]
    pub fn rate(&self) -> OutputRate {
        self.rate
    }

    /// True if the samples are real.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.real
    }

    /// Returns the number of outputs of a channel.
    #[must_use]
    pub fn outputs(&self) -> usize {
        let (samples, taps) = (self.samples, self.taps.len());
        self.rate.outputs(self.mode, samples, taps).len()
    }

    /// Returns the range of the full convolution from which outputs are taken, every
    /// [`OutputRate::decimate`]-th one. An interpolating filter convolves samples with zeros between them.
    #[must_use]
    pub fn wanted(&self) -> Range<usize> {
        let (samples, taps) = (self.samples, self.taps.len());
        if self.rate == OutputRate::SAME {
            return self.mode.outputs(samples, taps);
        }
        0..(samples.max(1) - 1) * self.rate.interpolate() + taps
    }

    /// Draws the samples of [`Case::Random`], reproducibly.
    #[must_use]
    pub fn random(&self, seed: u64) -> Vec<Complex32> {
        Random::new(seed).complexes(self.channels * self.samples)
    }

    /// Computes the outputs of one channel in double precision.
    fn exact<T: Sample>(&self, x: &[T], taps: &[Complex64]) -> Vec<Complex64> {
        let (spread, step) = (self.rate.interpolate(), self.rate.decimate());
        let mut spread_x = vec![Complex64::default(); (x.len().max(1) - 1) * spread + 1];
        for (place, x) in spread_x.iter_mut().step_by(spread).zip(x) {
            *place = widen(x.complex());
        }
        let all = reference(&spread_x, taps);
        let wanted = all.get(self.wanted()).unwrap_or_default();
        wanted.iter().step_by(step).copied().collect()
    }

    /// Returns the taps in double precision and the error that a channel may have: relative to the norm of
    /// its samples, and absolute.
    fn tolerance(&self) -> (Vec<Complex64>, [f64; 2]) {
        let taps: Vec<Complex64> = self.taps.iter().map(|&h| widen(h)).collect();
        let length = (self.samples + self.taps.len()) as f64;
        let relative = (4.0 + 6.0 * libm::log2(length)) * ROUNDING * gain(&taps);
        let lost = 16.0 * length * (self.outputs() as f64).sqrt() * TINIEST;
        (taps, [relative, lost])
    }

    /// Compares the result for real or complex samples with the reference.
    ///
    /// `worst` is the maximum over the channels: the L2 error in units of 2^-24 (4 + 6 log2 K) max |H| times
    /// the samples' norm, where K is the length of the full convolution and no output's norm exceeds max |H|
    /// ||x||.
    #[must_use]
    pub fn compare<T: Sample>(&self, input: &[T], output: &[T]) -> Verdict {
        self.judge_channels(input, output, false).0
    }

    /// Compares the channels whose samples are all finite, and returns their number. Returns none if there is
    /// no such channel, or if the taps are not finite. Channels do not influence each other, so these are
    /// right whatever the others hold.
    #[must_use]
    pub fn compare_finite<T: Sample>(&self, input: &[T], output: &[T]) -> Option<(Verdict, usize)> {
        let (verdict, channels) = self.judge_channels(input, output, true);
        (channels > 0).then_some((verdict, channels))
    }

    /// Compares all channels, or with `finite` those whose samples are finite, and returns their number.
    fn judge_channels<T: Sample>(
        &self,
        input: &[T],
        output: &[T],
        finite: bool,
    ) -> (Verdict, usize) {
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

    /// Returns a judge that compares one channel after the other with the reference; with `finite` it judges
    /// only channels whose samples are all finite.
    #[must_use]
    pub fn channel_judge(&self, finite: bool) -> ChannelJudge {
        ChannelJudge::new(self, finite)
    }

    /// Computes the reference for the samples of an input.
    fn expected<T: Sample>(&self, x: &[T]) -> Reference {
        let (taps, [relative, lost]) = self.tolerance();
        let channels = x.chunks(self.samples);
        let exact: Vec<Complex64> = channels
            .clone()
            .flat_map(|x| self.exact(x, &taps))
            .collect();
        Reference::from_array(ExpectedArray {
            name: "y",
            shape: vec![self.channels, self.outputs()],
            exact: match T::REAL {
                true => Exact::Real(exact.iter().map(|z| z.re).collect()),
                false => Exact::Complex(exact),
            },
            part: self.outputs(),
            allowed: channels.map(|x| relative * norm(x) + lost).collect(),
        })
    }

    fn kind(&self) -> Kind {
        match self.real {
            true => Kind::F32,
            false => Kind::Complex64,
        }
    }
}

/// Returns the L2 norm of samples.
fn norm<T: Sample>(x: &[T]) -> f64 {
    let squares = x.iter().map(|x| widen(x.complex()).norm_sqr());
    squares.sum::<f64>().sqrt()
}

impl Problem for ConvProblem {
    fn name(&self) -> &'static str {
        "conv"
    }

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
                OutputRate::SAME => String::new(),
                rate => format!(", {rate}"),
            },
        )
    }

    fn size(&self) -> Size {
        let (taps, samples) = (self.taps.len(), self.samples);
        let size = Size::new(&[
            ("taps", taps),
            ("samples", samples),
            ("channels", self.channels),
        ]);
        let size = size.add_value("mode", self.mode.to_string());
        let size = size.add_value("decimate", self.rate.decimate());
        let real_taps = self.taps.iter().all(|h| h.im == 0.0);
        size.add_value("interpolate", self.rate.interpolate())
            .add_value("real", usize::from(real_taps))
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new(
            "x",
            self.kind(),
            &[self.channels, self.samples],
        )]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new(
            "y",
            self.kind(),
            &[self.channels, self.outputs()],
        )]
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let (random, row) = (&mut Random::new(seed), self.samples);
        let shape = [self.channels, self.samples];
        let length = (self.samples + self.taps.len()).next_power_of_two();
        let (count, most) = (self.channels * row, 90 - 3 * length.ilog2() as i32);
        match self.real {
            true => NamedArrays::from_array("x", &shape, case.floats(random, count, row, most)),
            false => NamedArrays::from_array("x", &shape, case.complexes(random, count, row, most)),
        }
    }

    fn tolerance_in_words(&self) -> &'static str {
        "2^-24 (4 + 6 log2 K) max |H| |x| for each channel, of three transforms of K points with the taps' spectrum H"
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let count = self.channels * self.samples;
        Ok(match self.real {
            true => self.expected(input.get_sized::<f32>("x", count)?),
            false => self.expected(input.get_sized::<Complex32>("x", count)?),
        })
    }
}

#[cfg(test)]
mod tests;
