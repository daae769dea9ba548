//! A passive sonar: a line of hydrophones, beams, spectra.
//!
//! The hydrophones deliver complex samples around a centre frequency. Beams are steered by phase, which is
//! accurate if the bandwidth is small compared to the inverse of the time that sound takes along the array. A
//! sound from bearing b arrives at hydrophone e with the phase +pi e sin b: positive bearings are on the side
//! of the higher hydrophones, which receive it first.

mod spec;

pub use spec::{SonarSpec, SoundSource};

use super::ExactSpectra;
use super::exact::{HANN, LOBE, autocorrelation, norm, transform, window};
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

/// Distance in dB of the highest sidelobe of the Hamming window over the array below the peak, with room for
/// noise.
const HAMMING: f32 = 40.0 - 3.0;
/// Attenuation of the filter's noise in dB from which on a frequency is in the stop band: it may show nothing
/// but sidelobes of other frequencies.
const STOPBAND: f64 = 20.0;

/// A cell of the bearing picture that stands out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Contact {
    /// Bearing from broadside in degrees.
    pub bearing_deg: f64,
    /// Frequency from the centre in Hz.
    pub frequency_hz: f64,
    /// Decibels above the median, corrected for the filter's response.
    pub above_db: f32,
}

/// Spectra of beams. Each hydrophone has a low-pass filter with decimation; beams are steered by phase; a
/// Hann window and a transform are taken over each frame of a beam, and the result is converted to decibels.
#[derive(Clone, Debug, PartialEq)]
pub struct SonarProblem {
    spec: SonarSpec,
}

impl SonarProblem {
    /// Returns the problem of a specification.
    ///
    /// # Errors
    /// A specification that makes no sense.
    pub fn new(spec: SonarSpec) -> Result<Self, ProblemError> {
        spec.check()?;
        Ok(Self { spec })
    }

    /// Returns the problem of a size with `hydrophones`, `beams`, `samples`, `decimate`, `taps` and `points`,
    /// at the usual rate.
    ///
    /// # Errors
    /// See [`SonarProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [hydrophones, beams, samples] =
            size.all_positive(["hydrophones", "beams", "samples"])?;
        let [decimate, taps, points] = size.all_positive(["decimate", "taps", "points"])?;
        Self::new(SonarSpec {
            hydrophones,
            beams,
            samples,
            decimate,
            taps,
            points,
            ..SonarSpec::default()
        })
    }

    /// Returns the specification of the array and its processing.
    #[must_use]
    pub fn spec(&self) -> &SonarSpec {
        &self.spec
    }

    /// Returns the power of white noise after filter and window, in dB, at each point of
    /// [`SonarSpec::list_by_frequency`], at most [`STOPBAND`] below the highest. The power spectrum is the
    /// transform of the product of both autocorrelations.
    fn noise_db(&self) -> Vec<f32> {
        let (points, decimate) = (self.spec.points, self.spec.decimate);
        let taps: Vec<Complex64> = self.spec.low_pass().iter().map(|&h| widen(h)).collect();
        let noise = autocorrelation(&taps);
        let window = autocorrelation(&window(points));
        let mut power = vec![Complex64::default(); points];
        for (lag, (w, n)) in window
            .iter()
            .zip(noise.iter().step_by(decimate))
            .enumerate()
        {
            power[lag] += w * n;
            // Both autocorrelations are real, so the negative lag has the same product.
            if lag > 0 {
                power[points - lag] += w * n;
            }
        }
        transform(&mut power, points);
        let decibels = |bin: usize| 10.0 * libm::log10(power[bin].re);
        let decibels: Vec<f64> = self.spec.list_by_frequency().map(decibels).collect();
        let highest = decibels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let above = decibels.iter().map(|x| x.max(highest - STOPBAND) as f32);
        above.collect()
    }

    /// Returns the mean power over the frames in dB, as `beams` rows of `points`, frequency ascending.
    #[must_use]
    pub fn bearings(&self, spectra: &[Complex32]) -> Vec<f32> {
        let (points, frames) = (self.spec.points, self.spec.frames());
        let mut map = Vec::with_capacity(self.spec.beams * points);
        for beam in spectra.chunks(frames * points) {
            for bin in self.spec.list_by_frequency() {
                let power = |f: usize| widen(beam[f * points + bin]).norm_sqr();
                let mean = (0..frames).map(power).sum::<f64>() / frames as f64;
                map.push((10.0 * libm::log10(mean)) as f32);
            }
        }
        map
    }

    /// Returns the cells of the bearing picture that stand out, strongest first.
    #[must_use]
    pub fn contacts(&self, spectra: &[Complex32]) -> Vec<Contact> {
        let (spec, points) = (&self.spec, self.spec.points);
        let noise = self.noise_db();
        let mut map = self.bearings(spectra);
        for (x, noise) in map.iter_mut().zip(noise.iter().cycle()) {
            *x -= noise;
        }
        let across = LobeRule {
            wraps: true,
            lobe: spec.beam_lobe(),
            reach: spec.beams,
            below: HAMMING,
        };
        let along = LobeRule {
            wraps: true,
            lobe: LOBE,
            reach: points,
            below: HANN,
        };
        peaks(
            &map,
            points,
            margin(map.len(), spec.frames()),
            [across, along],
        )
        .into_iter()
        .map(|peak| Contact {
            bearing_deg: libm::asin(spec.sine(peak.row)).to_degrees(),
            frequency_hz: spec.frequency(peak.column),
            above_db: peak.above,
        })
        .collect()
    }
    /// Lists in words where contacts differ from the scene: every source should have one within a beam and
    /// two points, and there should be no others.
    #[must_use]
    pub fn faults(&self, contacts: &[Contact]) -> Vec<String> {
        let spec = &self.spec;
        let place =
            |bearing: f64, frequency: f64| format!("{bearing:+.1} degrees, {frequency:+.1} Hz");
        let sources = spec.sources();
        let missed = sources
            .iter()
            .filter(|s| !contacts.iter().any(|c| spec.is_near(s, c)))
            .map(|s| {
                let place = place(s.bearing_deg, s.frequency_hz);
                format!("the source at {place} was not found")
            });
        let ghosts = contacts
            .iter()
            .filter(|c| !sources.iter().any(|s| spec.is_near(s, c)))
            .map(|c| format!("nothing is at {}", place(c.bearing_deg, c.frequency_hz)));
        missed.chain(ghosts).collect()
    }
}

impl ReceiverProblem for SonarProblem {
    /// Returns the number of hydrophones, and of samples of each.
    fn block(&self) -> [usize; 2] {
        [self.spec.hydrophones, self.spec.samples]
    }

    fn spectra(&self) -> Vec<usize> {
        vec![self.spec.beams, self.spec.frames(), self.spec.points]
    }

    fn scene(&self, seed: u64) -> Vec<Complex32> {
        self.spec.sound(seed)
    }

    fn exact(&self, sound: &[Complex32]) -> ExactSpectra {
        let spec = &self.spec;
        let taps: Vec<f64> = spec.low_pass().iter().map(|h| h.re.into()).collect();
        let weights: Vec<Complex64> = spec.weights().iter().map(|&w| widen(w)).collect();
        let sound: Vec<Complex64> = sound.iter().map(|&x| widen(x)).collect();
        let time = spec.filtered();
        let filtered: Vec<Vec<Complex64>> = sound
            .chunks(spec.samples)
            .map(|row| {
                let output = |t: usize| -> Complex64 {
                    let past = taps.iter().enumerate();
                    past.filter_map(|(k, h)| Some(row.get(t.checked_sub(k)?)? * h))
                        .sum()
                };
                (0..time).map(|t| output(t * spec.decimate)).collect()
            })
            .collect();
        let mut beams = Vec::with_capacity(spec.beams * time);
        for row in weights.chunks(spec.hydrophones) {
            let at =
                |t: usize| -> Complex64 { row.iter().zip(&filtered).map(|(w, x)| w * x[t]).sum() };
            beams.extend((0..time).map(at));
        }
        // An output is a sum over taps and hydrophones; `share` is the number of outputs for each input
        // sample.
        let passed = taps.iter().map(|h| h * h).sum::<f64>().sqrt();
        let share = time as f64 / (spec.hydrophones * spec.samples) as f64;
        let noise = norm(&sound) * passed * norm(&weights) * share.sqrt();
        ExactSpectra::from_rows(beams, spec.points, noise)
    }
}

impl Problem for SonarProblem {
    fn name(&self) -> &'static str {
        "sonar"
    }

    fn title(&self) -> String {
        let spec = &self.spec;
        format!(
            "sonar of {} hydrophones of {} samples, {} beams of {} spectra of {} points",
            spec.hydrophones,
            spec.samples,
            spec.beams,
            spec.frames(),
            spec.points
        )
    }

    fn size(&self) -> Size {
        let spec = &self.spec;
        Size::new(&[
            ("hydrophones", spec.hydrophones),
            ("beams", spec.beams),
            ("samples", spec.samples),
            ("decimate", spec.decimate),
            ("taps", spec.taps),
            ("points", spec.points),
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
        // The absolute values of filter taps and of weights add up to at most 2 and 1.
        let gain = 2.0 * self.spec.points as f64;
        let length = self.spec.samples + self.spec.taps;
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
