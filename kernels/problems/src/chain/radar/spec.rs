//! The specification of a radar, and the scene of its targets.

use crate::chain::exact::LOBE;
use crate::chain::scene::{narrow, noise, turn};
use crate::chain::{check_count, check_rate};
use crate::error::ProblemError;
use crate::random::Random;
use crate::widen;
use num_complex::Complex32;
use serde::Serialize;

/// Speed of light in m/s.
const LIGHT: f64 = 299_792_458.0;
/// Amplitudes of the scene's echoes after the sums over pulse and pulses, in units of the noise there.
const STRONG: f64 = 22.6;
const WEAK: f64 = 18.1;

/// Parameters of the radar's transmitter and receiver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RadarSpec {
    /// Number of pulses that are processed together.
    pub pulses: usize,
    /// Number of range cells.
    pub ranges: usize,
    /// Samples of the transmitted chirp.
    pub chirp: usize,
    /// Complex samples per second.
    pub sample_rate: f64,
    /// Pulses per second.
    pub pulse_rate: f64,
    /// Carrier frequency in Hz.
    pub carrier: f64,
}

impl Default for RadarSpec {
    fn default() -> Self {
        Self {
            pulses: 128,
            ranges: 1024,
            chirp: 64,
            sample_rate: 2e6,
            pulse_rate: 1500.0,
            carrier: 1e9,
        }
    }
}

/// A reflecting target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RadarTarget {
    /// Range at the first pulse in m.
    pub range_m: f64,
    /// Speed away from the radar in m/s.
    pub speed_m_s: f64,
    /// Amplitude of its echo; the noise has a standard deviation of 1 in each part.
    pub amplitude: f64,
}

impl RadarSpec {
    /// Returns the samples received for one pulse: all that a target in the last range cell returns.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.ranges.saturating_add(self.chirp).saturating_sub(1)
    }

    /// Returns the length of a range cell in metres.
    #[must_use]
    pub fn range_cell(&self) -> f64 {
        LIGHT / (2.0 * self.sample_rate)
    }

    /// Returns the width of a Doppler cell in metres per second.
    #[must_use]
    pub fn speed_cell(&self) -> f64 {
        self.pulse_rate / self.pulses as f64 * self.wavelength() / 2.0
    }

    fn wavelength(&self) -> f64 {
        LIGHT / self.carrier
    }

    /// Returns the speed away from the radar, in m/s, of point `doppler` of a spectrum.
    #[must_use]
    pub fn speed(&self, doppler: usize) -> f64 {
        let turns = if 2 * doppler > self.pulses {
            doppler as f64 - self.pulses as f64
        } else {
            doppler as f64
        };
        0.0 - turns * self.speed_cell()
    }

    /// Iterates over the points of a spectrum from the lowest speed to the highest.
    pub fn list_by_speed(&self) -> impl Iterator<Item = usize> + use<> {
        let pulses = self.pulses;
        (0..pulses).map(move |i| (pulses + pulses / 2 - i) % pulses)
    }

    /// Returns the seconds in which one set of pulses arrives.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.pulses as f64 / self.pulse_rate
    }

    /// Returns the largest number of pulses per second: the samples of one pulse end before the next.
    #[must_use]
    pub fn fastest(&self) -> f64 {
        self.sample_rate / self.samples() as f64
    }

    /// Returns the transmitted chirp, which sweeps the whole sampled band. Sample i has the phase pi (i -
    /// n/2)^2 / n.
    #[must_use]
    pub fn pulse(&self) -> Vec<Complex32> {
        let n = self.chirp as f64;
        let phase = |i: usize| {
            let from_middle = i as f64 - n / 2.0;
            from_middle * from_middle / (2.0 * n)
        };
        (0..self.chirp).map(|i| narrow(turn(phase(i)))).collect()
    }

    /// Returns four targets in view, equally visible for any number of pulses and length of the chirp.
    #[must_use]
    pub fn targets(&self) -> [RadarTarget; 4] {
        let at = |range: f64, speed: f64, height: f64| {
            let range = (range * self.ranges as f64).round();
            let range = range.min(self.ranges.saturating_sub(1) as f64);
            RadarTarget {
                range_m: range * self.range_cell(),
                speed_m_s: (speed * self.pulses as f64).round() * self.speed_cell(),
                amplitude: height / (self.chirp as f64 * self.pulses as f64).sqrt(),
            }
        };
        [
            at(0.12, 0.0, STRONG),
            at(0.31, 0.17, WEAK),
            at(0.315, -0.22, WEAK),
            at(0.77, 0.41, STRONG),
        ]
    }

    /// True if a target and a detection, or two targets, are at most `cells` apart in range and in speed,
    /// where speeds wrap around.
    #[must_use]
    pub fn is_near(&self, a: (f64, f64), b: (f64, f64), cells: f64) -> bool {
        let ranges = (a.0 - b.0).abs() / self.range_cell();
        let speeds = ((a.1 - b.1).abs() / self.speed_cell()) % self.pulses as f64;
        ranges <= cells && speeds.min(self.pulses as f64 - speeds) <= cells
    }

    /// True if the map has cells enough to separate the scene's targets.
    #[must_use]
    pub fn resolves_targets(&self) -> bool {
        let at = self.targets().map(|t| (t.range_m, t.speed_m_s));
        let pairs = (0..at.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let lobes = 2.0 * LOBE as f64;
        let mut apart = pairs.map(|(i, j)| !self.is_near(at[i], at[j], lobes));
        self.pulses >= 4 * LOBE && apart.all(|apart| apart)
    }

    /// Computes the samples that are received from [`RadarSpec::targets`] in noise for a transmitted pulse,
    /// as `pulses` rows of [`RadarSpec::samples`].
    pub(super) fn echoes(&self, seed: u64, pulse: &[Complex32]) -> Vec<Complex32> {
        let mut random = Random::new(seed);
        let mut all = Vec::new();
        for p in 0..self.pulses {
            let mut row = noise(&mut random, self.samples());
            for target in self.targets() {
                let delay = (target.range_m / self.range_cell()).round() as usize;
                let range = target.range_m + target.speed_m_s * p as f64 / self.pulse_rate;
                let phase = turn(-2.0 * range / self.wavelength()) * target.amplitude;
                for (x, h) in row.iter_mut().skip(delay).zip(pulse) {
                    *x += phase * widen(*h);
                }
            }
            all.extend(row.into_iter().map(narrow));
        }
        all
    }

    pub(super) fn check(&self) -> Result<(), ProblemError> {
        check_count("pulses", self.pulses, 2, true)?;
        check_count("ranges", self.ranges, 2, true)?;
        check_count("chirp", self.chirp, 1, false)?;
        check_rate("sample rate", self.sample_rate)?;
        check_rate("pulse rate", self.pulse_rate)?;
        check_rate("carrier", self.carrier)?;
        let most = self.fastest();
        // The margin admits a rate that was computed as this quotient.
        if self.pulse_rate > most * (1.0 + 1e-9) {
            return Err(ProblemError::odd(
                "pulse rate",
                format!("{} Hz", self.pulse_rate),
                format!(
                    "at most {most:.3} Hz: {} samples of a pulse (ranges + chirp - 1) at {} Hz come before the next pulse",
                    self.samples(),
                    self.sample_rate
                ),
            ));
        }
        Ok(())
    }
}
