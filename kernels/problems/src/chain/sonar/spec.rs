//! The specification of a sonar array, and the scene of its sources.

use super::Contact;
use crate::chain::exact::LOBE;
use crate::chain::scene::{narrow, noise, turn};
use crate::chain::{check_count, check_rate};
use crate::error::ProblemError;
use crate::random::Random;
use crate::vector::WindowFunction;
use num_complex::Complex32;
use serde::Serialize;

/// Amplitudes of the scene's sources after filter, beam and spectrum, in units of the noise there up to a
/// factor of about 2.
const STRONG: f64 = 18.1;
const WEAK: f64 = 14.5;
/// Most samples of a block.
const MOST_SAMPLES: usize = 1 << 28;

/// Parameters of the array and its processing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SonarSpec {
    /// Number of hydrophones, half a wavelength of the centre frequency apart.
    pub hydrophones: usize,
    /// Number of beams, evenly spaced in the sine of the bearing.
    pub beams: usize,
    /// Complex samples of each hydrophone in a block.
    pub samples: usize,
    /// Complex samples per second.
    pub sample_rate: f64,
    /// Samples for one sample of the filtered signal.
    pub decimate: usize,
    /// Number of taps of the filter.
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

/// A source of sound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SoundSource {
    /// Bearing from broadside in degrees.
    pub bearing_deg: f64,
    /// Frequency from the centre in Hz.
    pub frequency_hz: f64,
    /// Amplitude at a hydrophone; the noise has a standard deviation of 1 in each part.
    pub amplitude: f64,
}

impl SonarSpec {
    /// Returns the filtered samples of a hydrophone.
    #[must_use]
    pub fn filtered(&self) -> usize {
        self.frames() * self.points
    }

    /// Returns the number of spectra of a beam: those that have all their samples.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.samples / self.decimate.max(1) / self.points.max(1)
    }

    /// Returns the seconds of sound in a block.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.samples as f64 / self.sample_rate
    }

    /// Returns the distance in Hz between points of a spectrum.
    #[must_use]
    pub fn frequency_cell(&self) -> f64 {
        self.sample_rate / self.decimate as f64 / self.points as f64
    }

    /// Returns the sine of the bearing of a beam.
    #[must_use]
    pub fn sine(&self, beam: usize) -> f64 {
        2.0 * (beam as f64 - (self.beams / 2) as f64) / self.beams as f64
    }

    /// Returns the taps of the low-pass filter for the decimation: a windowed sinc.
    #[must_use]
    pub fn low_pass(&self) -> Vec<Complex32> {
        let window = WindowFunction::Hamming.coefficients(self.taps);
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

    /// Returns the weights that steer the array to each beam, as `beams` rows of `hydrophones`.
    #[must_use]
    pub fn weights(&self) -> Vec<Complex32> {
        let taper = WindowFunction::Hamming.coefficients(self.hydrophones);
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

    /// Iterates over the points of a spectrum from the lowest frequency to the highest.
    pub fn list_by_frequency(&self) -> impl Iterator<Item = usize> + use<> {
        let points = self.points;
        (0..points).map(move |i| (i + points.div_ceil(2)) % points)
    }

    /// Returns the distance in Hz from the centre frequency of point `i` of [`SonarSpec::list_by_frequency`].
    #[must_use]
    pub fn frequency(&self, i: usize) -> f64 {
        (i as f64 - (self.points / 2) as f64) * self.frequency_cell()
    }

    /// Returns three sources in view, equally visible for all sizes.
    #[must_use]
    pub fn sources(&self) -> [SoundSource; 3] {
        let gain = self.points as f64 * self.decimate as f64 * self.hydrophones as f64;
        let at = |beam: f64, cell: f64, height: f64| SoundSource {
            bearing_deg: libm::asin(self.sine((beam * self.beams as f64) as usize)).to_degrees(),
            frequency_hz: (cell * self.points as f64).round() * self.frequency_cell(),
            amplitude: height / gain.sqrt(),
        };
        [
            at(0.25, 0.15, STRONG),
            at(0.5, -0.2, WEAK),
            at(0.8, 0.3, STRONG),
        ]
    }

    /// Returns the number of beams on each side of a source that receive it: the main lobe of the Hamming
    /// window has two cells of the array.
    pub(super) fn beam_lobe(&self) -> usize {
        (2 * self.beams).div_ceil(self.hydrophones).max(LOBE)
    }

    /// True if a contact shows a source: it is within a beam or half of the array's lobe, and within two
    /// points.
    #[must_use]
    pub fn is_near(&self, source: &SoundSource, contact: &Contact) -> bool {
        let sine = |degrees: f64| libm::sin(degrees.to_radians());
        let beams = (sine(source.bearing_deg) - sine(contact.bearing_deg)).abs() / 2.0;
        let width = 1.1 / self.beams.min(self.hydrophones) as f64;
        let points = (source.frequency_hz - contact.frequency_hz).abs() / self.frequency_cell();
        beams.min(1.0 - beams) <= width && points <= 2.1
    }

    /// True if beams and spectra have cells enough to separate the scene's sources.
    #[must_use]
    pub fn resolves_sources(&self) -> bool {
        self.hydrophones.min(self.beams) >= 8 && self.points >= 16 * LOBE
    }

    /// Computes the samples of the hydrophones from [`SonarSpec::sources`] in noise, as `hydrophones` rows of
    /// `samples`.
    pub(super) fn sound(&self, seed: u64) -> Vec<Complex32> {
        let mut random = Random::new(seed);
        let mut all = Vec::new();
        for e in 0..self.hydrophones {
            let mut row = noise(&mut random, self.samples);
            for source in self.sources() {
                let sine = libm::sin(source.bearing_deg.to_radians());
                let step = source.frequency_hz / self.sample_rate;
                for (i, x) in row.iter_mut().enumerate() {
                    *x += turn(0.5 * sine * e as f64 + step * i as f64) * source.amplitude;
                }
            }
            all.extend(row.into_iter().map(narrow));
        }
        all
    }

    pub(super) fn check(&self) -> Result<(), ProblemError> {
        check_count("hydrophones", self.hydrophones, 2, true)?;
        check_count("beams", self.beams, 2, true)?;
        check_count("decimate", self.decimate, 1, false)?;
        check_count("taps", self.taps, 1, false)?;
        check_count("points", self.points, 2, true)?;
        check_rate("sample rate", self.sample_rate)?;
        let least = self.decimate * self.points;
        if !(least..=MOST_SAMPLES).contains(&self.samples) {
            let expected = format!(
                "from {least}, one spectrum of {} points of every {} samples, to {MOST_SAMPLES}",
                self.points, self.decimate
            );
            return Err(ProblemError::odd("samples", self.samples, expected));
        }
        Ok(())
    }
}
