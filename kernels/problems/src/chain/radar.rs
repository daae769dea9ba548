//! A pulse-Doppler radar: pulse compression and Doppler processing.
//!
//! An echo of a target at range R has the phase -4 pi R / wavelength. An approaching target turns the phase
//! forward from pulse to pulse and has a positive Doppler frequency, a receding one has a negative frequency.

mod spec;

pub use spec::{RadarSpec, RadarTarget};

use super::ExactSpectra;
use super::exact::{HANN, LOBE, autocorrelation, norm};
use super::peaks::{LobeRule, margin, peaks};
use super::problem::{self, ReceiverProblem};
use crate::case::Case;
use crate::data::{DataError, NamedArrays};
use crate::error::ProblemError;
use crate::problem::{ArrayForm, Problem};
use crate::reference::Reference;
use crate::size::Size;
use crate::verdict::{PartVerdict, Verdict};
use crate::widen;
use num_complex::{Complex32, Complex64};
use serde::Serialize;

/// A cell of the map that stands out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// Range in m.
    pub range_m: f64,
    /// Speed away from the radar in m/s.
    pub speed_m_s: f64,
    /// Decibels above the median.
    pub above_db: f32,
}

/// A map of ranges and speeds: every pulse is correlated with the transmitted one, a Hann window and a
/// transform are taken over the pulses, and the result is converted to decibels.
#[derive(Clone, Debug, PartialEq)]
pub struct RadarProblem {
    spec: RadarSpec,
    pulse: Vec<Complex32>,
}

impl RadarProblem {
    /// Returns the problem with the chirp of `spec`.
    ///
    /// # Errors
    /// A specification that makes no sense.
    pub fn new(spec: RadarSpec) -> Result<Self, ProblemError> {
        spec.check()?;
        let pulse = spec.pulse();
        Self::with_pulse(spec, pulse)
    }

    /// Returns the problem with another pulse of as many samples as the chirp.
    ///
    /// # Errors
    /// See [`RadarProblem::new`]; a pulse of another length, of zeros only, or with samples that are not
    /// finite.
    pub fn with_pulse(spec: RadarSpec, pulse: Vec<Complex32>) -> Result<Self, ProblemError> {
        spec.check()?;
        if pulse.len() != spec.chirp {
            let expected = format!("those of the chirp, {}", spec.chirp);
            return Err(ProblemError::odd(
                "samples of the pulse",
                pulse.len(),
                expected,
            ));
        }
        let energy: f64 = pulse.iter().map(|h| widen(*h).norm_sqr()).sum();
        if !(energy.is_finite() && energy > 0.0) {
            let expected = "finite samples that are not all 0";
            return Err(ProblemError::odd("energy of the pulse", energy, expected));
        }
        Ok(Self { spec, pulse })
    }

    /// Returns the problem of a size with `pulses`, `ranges` and `chirp`, at the usual rates or with as many
    /// pulses a second as there is time for.
    ///
    /// # Errors
    /// See [`RadarProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [pulses, ranges, chirp] = size.all_positive(["pulses", "ranges", "chirp"])?;
        let mut spec = RadarSpec {
            pulses,
            ranges,
            chirp,
            ..RadarSpec::default()
        };
        spec.pulse_rate = spec.pulse_rate.min(spec.fastest());
        Self::new(spec)
    }

    /// Returns the specification of the radar.
    #[must_use]
    pub fn spec(&self) -> &RadarSpec {
        &self.spec
    }

    /// Returns the transmitted pulse.
    #[must_use]
    pub fn pulse(&self) -> &[Complex32] {
        &self.pulse
    }

    /// Returns the cells of a map of decibels that stand out, strongest first.
    #[must_use]
    pub fn detections(&self, decibels: &[f32]) -> Vec<Detection> {
        let (spec, pulses) = (&self.spec, self.spec.pulses);
        let margin = margin(decibels.len(), 1);
        let range = LobeRule {
            wraps: false,
            lobe: LOBE,
            reach: self.pulse.len(),
            below: self.range_sidelobes() - 3.0,
        };
        let doppler = LobeRule {
            wraps: true,
            lobe: LOBE,
            reach: pulses,
            below: HANN,
        };
        peaks(decibels, pulses, margin, [range, doppler])
            .into_iter()
            .map(|peak| Detection {
                range_m: peak.row as f64 * spec.range_cell(),
                speed_m_s: spec.speed(peak.column),
                above_db: peak.above,
            })
            .collect()
    }

    /// Lists in words where detections differ from the scene: every target should have one within a cell, and
    /// there should be no others.
    #[must_use]
    pub fn faults(&self, detections: &[Detection]) -> Vec<String> {
        let spec = &self.spec;
        let found: Vec<_> = detections
            .iter()
            .map(|d| (d.range_m, d.speed_m_s))
            .collect();
        let there = spec.targets().map(|t| (t.range_m, t.speed_m_s));
        let lacks =
            |all: &[(f64, f64)], one| !all.iter().any(|other| spec.is_near(*other, one, 1.5));
        let missed = there
            .iter()
            .filter(|t| lacks(&found, **t))
            .map(|(range, speed)| {
                format!("the target at {range:.0} m, {speed:+.1} m/s was not found")
            });
        let ghosts = found
            .iter()
            .filter(|d| lacks(&there, **d))
            .map(|(range, speed)| format!("nothing is at {range:.0} m, {speed:+.1} m/s"));
        missed.chain(ghosts).collect()
    }

    /// Highest sidelobe of the compressed pulse in dB below its peak: of its
    /// Returns the distance in dB of the compressed pulse's highest sidelobe below its peak: the maximum of
    /// its autocorrelation beyond the lobe.
    fn range_sidelobes(&self) -> f32 {
        let pulse: Vec<Complex64> = self.pulse.iter().map(|&h| widen(h)).collect();
        let power = autocorrelation(&pulse);
        let beyond = power.iter().skip(LOBE + 1);
        let highest = beyond.map(|z| z.norm()).fold(0.0, f64::max);
        (20.0 * libm::log10(power[0].norm() / highest.max(f64::MIN_POSITIVE))) as f32
    }
}

impl ReceiverProblem for RadarProblem {
    /// Returns the number of pulses, and of samples of each.
    fn block(&self) -> [usize; 2] {
        [self.spec.pulses, self.spec.samples()]
    }

    fn spectra(&self) -> Vec<usize> {
        vec![self.spec.ranges, self.spec.pulses]
    }

    fn scene(&self, seed: u64) -> Vec<Complex32> {
        self.spec.echoes(seed, &self.pulse)
    }

    fn exact(&self, echoes: &[Complex32]) -> ExactSpectra {
        let (pulses, ranges) = (self.spec.pulses, self.spec.ranges);
        let pulse: Vec<Complex64> = self.pulse.iter().map(|&h| widen(h)).collect();
        let echoes: Vec<Complex64> = echoes.iter().map(|&x| widen(x)).collect();
        let mut rows = vec![Complex64::default(); pulses * ranges];
        for (p, row) in echoes.chunks(self.spec.samples()).enumerate().take(pulses) {
            for (r, near) in row.windows(pulse.len()).enumerate().take(ranges) {
                rows[r * pulses + p] = near.iter().zip(&pulse).map(|(x, h)| x * h.conj()).sum();
            }
        }
        // A range is a sum over the pulse, and there are `ranges` such sums for the samples of a pulse.
        let share = ranges as f64 / self.spec.samples() as f64;
        let noise = norm(&echoes) * norm(&pulse) * share.sqrt();
        ExactSpectra::from_rows(rows, pulses, noise)
    }
}

impl Problem for RadarProblem {
    fn name(&self) -> &'static str {
        "radar"
    }

    fn title(&self) -> String {
        let RadarSpec {
            pulses,
            ranges,
            chirp,
            ..
        } = self.spec;
        format!("radar of {pulses} pulses of {chirp} samples, {ranges} ranges")
    }

    fn size(&self) -> Size {
        let spec = &self.spec;
        Size::new(&[
            ("pulses", spec.pulses),
            ("ranges", spec.ranges),
            ("chirp", spec.chirp),
        ])
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        problem::inputs(self)
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        problem::outputs(self)
    }

    fn cases(&self) -> &'static [Case] {
        &Case::NORMAL
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let sizes: f64 = self.pulse.iter().map(|h| widen(*h).norm()).sum();
        let gain = sizes * self.spec.pulses as f64;
        let length = self.spec.samples() + self.pulse.len();
        problem::input(self, (case, seed), problem::largest_exponent(gain, length))
    }

    fn tolerance_in_words(&self) -> &'static str {
        "5e-6 of the norm of the spectra, 84 roundings of filter, sums, window and transform; 1e-4 dB beside that"
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        problem::reference(self, input)
    }

    fn judge(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
        problem::judge(self, input, output)
    }

    fn judge_parts(
        &self,
        _: &Reference,
        input: &NamedArrays,
        output: &NamedArrays,
    ) -> Option<Vec<PartVerdict>> {
        problem::judge_parts(self, input, output)
    }

    fn agree_parts(
        &self,
        _: &Reference,
        input: &NamedArrays,
        outputs: [&NamedArrays; 2],
    ) -> Option<Vec<PartVerdict>> {
        problem::agree_parts(self, input, outputs)
    }

    fn agree(&self, input: &NamedArrays, one: &NamedArrays, other: &NamedArrays) -> Verdict {
        problem::agree(self, input, [one, other])
    }
}
