//! A passive sonar: a line of hydrophones, beams, spectra.
//!
//! The hydrophones deliver complex samples around a centre frequency. The
//! beams are steered by phase, which holds where the bandwidth is small
//! against the inverse of the time sound takes along the array.

use super::scene::{narrow, noise, peaks, turn};
use super::{ChainError, Stage, Stages, floats, numbers};
use crate::conv::{Convolver, Rate};
use crate::dsp::{Beamformer, Map, MapOp, Transposition, Window};
use crate::fft::{Fft, FftPlanner};
use crate::random::Random;
use cp2_host::Options;
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use rustfft::FftPlanner as ReferencePlanner;
use serde::Serialize;
use std::sync::Arc;

/// A cell of the bearing picture is a contact that stands so far above the median, in dB.
const MARGIN: f32 = 9.0;

/// What the array is and how it is processed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SonarSpec {
    /// Hydrophones, half a wavelength of the centre frequency apart.
    pub hydrophones: usize,
    /// Beams, evenly spaced in the sine of the bearing.
    pub beams: usize,
    /// Complex samples of each hydrophone in a block.
    pub samples: usize,
    /// Complex samples per second.
    pub sample_rate: f64,
    /// Samples for one sample of the filtered signal.
    pub decimate: usize,
    /// Taps of the filter.
    pub taps: usize,
    /// Points of a spectrum.
    pub points: usize,
}

impl Default for SonarSpec {
    fn default() -> Self {
        Self {
            hydrophones: 32,
            beams: 32,
            samples: 16_384,
            sample_rate: 1000.0,
            decimate: 4,
            taps: 64,
            points: 256,
        }
    }
}

/// A source of sound: at the scene's making, or found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Contact {
    /// Bearing from broadside in degrees.
    pub bearing_deg: f64,
    /// Frequency from the centre in Hz.
    pub frequency_hz: f64,
    /// Amplitude at a hydrophone, or decibels above the median where it was found.
    pub level: f64,
}

/// Spectra of every beam.
#[derive(Clone, Debug)]
pub struct SonarPicture {
    /// `beams` x frames rows of `points`.
    pub spectra: Vec<Complex32>,
    /// Power in dB, the same shape: a spectrogram for every beam.
    pub decibels: Vec<f32>,
    /// What each stage cost.
    pub stages: Vec<Stage>,
}

impl SonarSpec {
    /// Filtered samples of a hydrophone.
    #[must_use]
    pub fn filtered(&self) -> usize {
        self.frames() * self.points
    }

    /// Spectra of a beam: those that have all their samples.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.samples / self.decimate.max(1) / self.points.max(1)
    }

    /// Seconds of sound in a block.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.samples as f64 / self.sample_rate
    }

    /// Hz between points of a spectrum.
    #[must_use]
    pub fn frequency_cell(&self) -> f64 {
        self.sample_rate / self.decimate as f64 / self.points as f64
    }

    /// Sine of the bearing of a beam.
    #[must_use]
    pub fn sine(&self, beam: usize) -> f64 {
        2.0 * (beam as f64 - (self.beams / 2) as f64) / self.beams as f64
    }

    /// Low pass for the decimation: a windowed sinc.
    #[must_use]
    pub fn low_pass(&self) -> Vec<Complex32> {
        let window = Window::Hamming.coefficients(self.taps);
        let cutoff = 0.45 / self.decimate as f64;
        let middle = self.taps as f64 / 2.0;
        let sinc = |t: f64| {
            let x = 2.0 * cutoff * t;
            let half_turns = std::f64::consts::PI * x;
            if x == 0.0 {
                1.0
            } else {
                libm::sin(half_turns) / half_turns
            }
        };
        let tap = |i: usize| 2.0 * cutoff * sinc(i as f64 - middle) * f64::from(window[i]);
        (0..self.taps)
            .map(|i| Complex32::new(tap(i) as f32, 0.0))
            .collect()
    }

    /// Phases that point the array at each beam, `beams` rows of `hydrophones`.
    #[must_use]
    pub fn weights(&self) -> Vec<Complex32> {
        let taper = Window::Hamming.coefficients(self.hydrophones);
        let scale = 1.0 / self.hydrophones as f64;
        (0..self.beams)
            .flat_map(|b| {
                let sine = self.sine(b);
                let weight = move |e: usize| turn(-0.5 * sine * e as f64) * scale;
                let taper = &taper;
                (0..self.hydrophones).map(move |e| narrow(weight(e) * f64::from(taper[e])))
            })
            .collect()
    }

    /// Three contacts.
    #[must_use]
    pub fn contacts(&self) -> [Contact; 3] {
        let at = |beam: f64, cell: f64, level| Contact {
            bearing_deg: libm::asin(self.sine((beam * self.beams as f64) as usize)).to_degrees(),
            frequency_hz: (cell * self.points as f64).round() * self.frequency_cell(),
            level,
        };
        [at(0.25, 0.15, 0.1), at(0.5, -0.2, 0.08), at(0.8, 0.3, 0.1)]
    }

    /// What the hydrophones hear of [`SonarSpec::contacts`] in noise: `hydrophones` rows of `samples`.
    #[must_use]
    pub fn sound(&self, seed: u64) -> Vec<Complex32> {
        let mut random = Random::new(seed);
        let mut all = Vec::new();
        for e in 0..self.hydrophones {
            let mut row = noise(&mut random, self.samples);
            for contact in self.contacts() {
                let sine = libm::sin(contact.bearing_deg.to_radians());
                let step = contact.frequency_hz / self.sample_rate;
                for (i, x) in row.iter_mut().enumerate() {
                    *x += turn(0.5 * sine * e as f64 + step * i as f64) * contact.level;
                }
            }
            all.extend(row.into_iter().map(narrow));
        }
        all
    }
}

/// A planned sonar.
#[derive(Debug)]
pub struct Sonar {
    spec: SonarSpec,
    filter: Convolver,
    to_snapshots: Transposition,
    beams: Beamformer,
    to_beams: Transposition,
    window: Map,
    spectra: Arc<dyn Fft>,
    decibels: Map,
}

impl Sonar {
    /// Plans the chain.
    ///
    /// # Errors
    /// A specification for which a stage has no kernel.
    pub fn new(spec: SonarSpec, machine: &Arc<Machine>) -> Result<Self, ChainError> {
        for (what, found, least) in [
            ("hydrophones", spec.hydrophones, 2),
            ("beams", spec.beams, 2),
            ("taps", spec.taps, 1),
            ("points", spec.points, 2),
            ("frames", spec.frames(), 1),
            ("decimation", spec.decimate, 1),
        ] {
            if found < least || found > 1 << 20 {
                return Err(ChainError::Spec {
                    what,
                    found: found.to_string(),
                    expected: "at least 2 (taps, frames, decimation: 1) and at most 2^20",
                });
            }
        }
        let (time, numbers) = (spec.filtered(), 2 * spec.filtered() * spec.beams);
        let window = Window::Hann.complex_coefficients(spec.points);
        Ok(Self {
            filter: Convolver::resampler::<Complex32>(
                machine,
                &spec.low_pass(),
                spec.hydrophones,
                spec.samples,
                Rate::Decimate(spec.decimate),
            )?,
            to_snapshots: Transposition::new(spec.hydrophones, time, machine.clone())?,
            beams: Beamformer::new(&spec.weights(), spec.hydrophones, machine.clone())?,
            to_beams: Transposition::new(time, spec.beams, machine.clone())?,
            window: Map::new(MapOp::Window(window), numbers, machine.clone())?,
            spectra: FftPlanner::new(machine.clone()).plan_forward(spec.points)?,
            decibels: Map::new(MapOp::Decibels, numbers, machine.clone())?,
            spec,
        })
    }

    /// What it was planned for.
    #[must_use]
    pub fn spec(&self) -> &SonarSpec {
        &self.spec
    }

    /// The spectra of one block, `hydrophones` rows of `samples`.
    ///
    /// # Errors
    /// Another number of samples, or a stage that does not finish.
    pub fn process(
        &self,
        sound: &[Complex32],
        options: &Options,
    ) -> Result<SonarPicture, ChainError> {
        let spec = &self.spec;
        if sound.len() != spec.hydrophones * spec.samples {
            return Err(ChainError::Shape {
                found: sound.len(),
                expected: format!("{} hydrophones of {}", spec.hydrophones, spec.samples),
            });
        }
        let mut stages = Stages::new(options);
        let run = self.filter.process_with(sound, stages.options())?;
        let filtered = stages.take("filter and decimate", run)?;
        // The filter's tail beyond the last whole frame is not looked at.
        let rows = filtered.chunks(filtered.len() / spec.hydrophones);
        let whole: Vec<Complex32> = rows.flat_map(|r| &r[..spec.filtered()]).copied().collect();
        let run = self.to_snapshots.process_with(&whole, stages.options())?;
        let snapshots = stages.take("corner turn to snapshots", run)?;
        let run = self.beams.process_with(&snapshots, stages.options())?;
        let beams = stages.take("beamforming", run)?;
        let run = self.to_beams.process_with(&beams, stages.options())?;
        let beams = floats(&stages.take("corner turn to beams", run)?);
        let run = self.window.process_with(&[&beams], stages.options())?;
        let windowed = numbers(&stages.take("window", run)?);
        let run = self.spectra.process_with(&windowed, stages.options())?;
        let spectra = stages.take("spectra", run)?;
        let run = self
            .decibels
            .process_with(&[&floats(&spectra)], stages.options())?;
        let decibels = stages.take("decibels", run)?;
        Ok(SonarPicture {
            spectra,
            decibels,
            stages: stages.done,
        })
    }

    /// The same spectra in double precision, from the definitions.
    #[must_use]
    pub fn reference(&self, sound: &[Complex32]) -> Vec<Complex64> {
        let spec = &self.spec;
        let wide = |z: &Complex32| Complex64::new(z.re.into(), z.im.into());
        let taps: Vec<f64> = spec.low_pass().iter().map(|h| h.re.into()).collect();
        let weights: Vec<Complex64> = spec.weights().iter().map(wide).collect();
        let time = spec.filtered();
        let filtered: Vec<Vec<Complex64>> = sound
            .chunks(spec.samples.max(1))
            .map(|row| {
                let output = |t: usize| -> Complex64 {
                    let past = taps.iter().enumerate();
                    past.filter_map(|(k, h)| Some(wide(row.get(t.checked_sub(k)?)?) * h))
                        .sum()
                };
                (0..time).map(|t| output(t * spec.decimate)).collect()
            })
            .collect();
        let window = Window::Hann.coefficients(spec.points);
        let mut spectra = Vec::with_capacity(spec.beams * time);
        for row in weights.chunks(spec.hydrophones) {
            for t in 0..time {
                let sum: Complex64 = row.iter().zip(&filtered).map(|(w, x)| w * x[t]).sum();
                spectra.push(sum * f64::from(window[t % spec.points]));
            }
        }
        ReferencePlanner::new()
            .plan_fft_forward(spec.points)
            .process(&mut spectra);
        spectra
    }

    /// Mean power over the frames in dB, `beams` rows of `points`, frequency
    /// rising from the lowest.
    #[must_use]
    pub fn bearings(&self, picture: &SonarPicture) -> Vec<f32> {
        let (points, frames) = (self.spec.points, self.spec.frames());
        let mut map = Vec::with_capacity(self.spec.beams * points);
        for beam in picture.spectra.chunks(frames * points) {
            for i in 0..points {
                let bin = (i + points.div_ceil(2)) % points;
                let power = |f: usize| {
                    let z = beam[f * points + bin];
                    f64::from(z.re).powi(2) + f64::from(z.im).powi(2)
                };
                let mean = (0..frames).map(power).sum::<f64>() / frames as f64;
                map.push((10.0 * libm::log10(mean)) as f32);
            }
        }
        map
    }

    /// The cells of the bearing picture that stand out, strongest first.
    #[must_use]
    pub fn contacts(&self, picture: &SonarPicture) -> Vec<Contact> {
        let points = self.spec.points;
        peaks(&self.bearings(picture), points, MARGIN, 3, false)
            .into_iter()
            .map(|(beam, column, above)| Contact {
                bearing_deg: libm::asin(self.spec.sine(beam)).to_degrees(),
                frequency_hz: (column as f64 - (points / 2) as f64) * self.spec.frequency_cell(),
                level: f64::from(above),
            })
            .collect()
    }
}
