//! A pulse-Doppler radar: pulse compression and Doppler processing.

use super::scene::{narrow, noise, peaks, turn};
use super::{ChainError, Stage, Stages, floats, numbers};
use crate::conv::{Convolver, Mode, matched};
use crate::dsp::{Map, MapOp, Transposition, Window};
use crate::fft::{Fft, FftPlanner};
use crate::random::Random;
use cp2_host::Options;
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use rustfft::FftPlanner as ReferencePlanner;
use serde::Serialize;
use std::sync::Arc;

/// Speed of light in m/s.
const LIGHT: f64 = 299_792_458.0;
/// A cell is a detection that stands so far above the median, in dB.
const MARGIN: f32 = 19.0;

/// What the radar sends and receives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RadarSpec {
    /// Pulses that are processed together.
    pub pulses: usize,
    /// Range cells.
    pub ranges: usize,
    /// Samples of the transmitted chirp.
    pub chirp: usize,
    /// Samples per second.
    pub sample_rate: f64,
    /// Pulses per second.
    pub pulse_rate: f64,
    /// Carrier in Hz.
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

/// Something that reflects.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Target {
    /// Range in m.
    pub range_m: f64,
    /// Speed away from the radar in m/s.
    pub speed_m_s: f64,
    /// Amplitude of its echo; the noise has a standard deviation of 1 in each part.
    pub amplitude: f64,
}

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

/// A range-Doppler map.
#[derive(Clone, Debug)]
pub struct RadarMap {
    /// Doppler spectra, `ranges` rows of `pulses`.
    pub spectra: Vec<Complex32>,
    /// Power in dB, the same shape.
    pub decibels: Vec<f32>,
    /// What each stage cost.
    pub stages: Vec<Stage>,
}

impl RadarSpec {
    /// Samples of one pulse: all that a target in the last range cell sends back.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.ranges.saturating_add(self.chirp).saturating_sub(1)
    }

    /// Metres of a range cell.
    #[must_use]
    pub fn range_cell(&self) -> f64 {
        LIGHT / (2.0 * self.sample_rate)
    }

    /// Metres per second of a Doppler cell.
    #[must_use]
    pub fn speed_cell(&self) -> f64 {
        self.pulse_rate / self.pulses as f64 * LIGHT / (2.0 * self.carrier)
    }

    /// Seconds that one set of pulses takes to arrive.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.pulses as f64 / self.pulse_rate
    }

    /// The chirp that is sent: it sweeps the whole sampled band.
    #[must_use]
    pub fn pulse(&self) -> Vec<Complex32> {
        let n = self.chirp as f64;
        let phase = |i: usize| (i as f64 - n / 2.0).powi(2) / (2.0 * n);
        (0..self.chirp).map(|i| narrow(turn(phase(i)))).collect()
    }

    /// Four targets in view.
    #[must_use]
    pub fn targets(&self) -> [Target; 4] {
        let at = |range: f64, speed: f64, amplitude| Target {
            range_m: (range * self.ranges as f64).round() * self.range_cell(),
            speed_m_s: (speed * self.pulses as f64).round() * self.speed_cell(),
            amplitude,
        };
        [
            at(0.12, 0.0, 0.25),
            at(0.31, 0.17, 0.2),
            at(0.315, -0.22, 0.2),
            at(0.77, 0.41, 0.25),
        ]
    }

    /// What the receiver samples of [`RadarSpec::targets`] in noise: `pulses` rows of [`RadarSpec::samples`].
    #[must_use]
    pub fn echoes(&self, seed: u64) -> Vec<Complex32> {
        let mut random = Random::new(seed);
        let pulse = self.pulse();
        let mut all = Vec::new();
        for p in 0..self.pulses {
            let mut row = noise(&mut random, self.samples());
            for target in self.targets() {
                let delay = (target.range_m / self.range_cell()).round() as usize;
                let doppler = target.speed_m_s / self.speed_cell() / self.pulses as f64;
                let phase = turn(doppler * p as f64) * target.amplitude;
                for (x, h) in row.iter_mut().skip(delay).zip(&pulse) {
                    *x += phase * Complex64::new(h.re.into(), h.im.into());
                }
            }
            all.extend(row.into_iter().map(narrow));
        }
        all
    }
}

/// A planned radar.
#[derive(Debug)]
pub struct Radar {
    spec: RadarSpec,
    compress: Convolver,
    turn: Transposition,
    window: Map,
    doppler: Arc<dyn Fft>,
    decibels: Map,
}

impl Radar {
    /// Plans the chain.
    ///
    /// # Errors
    /// A specification for which a stage has no kernel.
    pub fn new(spec: RadarSpec, machine: &Arc<Machine>) -> Result<Self, ChainError> {
        let (pulses, ranges) = (spec.pulses, spec.ranges);
        for (what, found, least) in [
            ("pulses", pulses, 2),
            ("range cells", ranges, 2),
            ("chirp samples", spec.chirp, 1),
        ] {
            if found < least || found > 1 << 20 {
                return Err(ChainError::Spec {
                    what,
                    found: found.to_string(),
                    expected: "at least 2 (1 for the chirp) and at most 2^20",
                });
            }
        }
        let numbers = 2 * pulses * ranges;
        let taps = matched(&spec.pulse());
        Ok(Self {
            compress: Convolver::new::<Complex32>(
                machine,
                &taps,
                pulses,
                spec.samples(),
                Mode::Valid,
            )?,
            turn: Transposition::new(pulses, ranges, machine.clone())?,
            window: Map::new(
                MapOp::Window(Window::Hann.complex_coefficients(pulses)),
                numbers,
                machine.clone(),
            )?,
            doppler: FftPlanner::new(machine.clone()).plan_forward(pulses)?,
            decibels: Map::new(MapOp::Decibels, numbers, machine.clone())?,
            spec,
        })
    }

    /// What it was planned for.
    #[must_use]
    pub fn spec(&self) -> &RadarSpec {
        &self.spec
    }

    /// The map of one set of pulses, `pulses` rows of [`RadarSpec::samples`].
    ///
    /// # Errors
    /// Another number of samples, or a stage that does not finish.
    pub fn process(&self, echoes: &[Complex32], options: &Options) -> Result<RadarMap, ChainError> {
        let expected = self.spec.pulses * self.spec.samples();
        if echoes.len() != expected {
            return Err(ChainError::Shape {
                found: echoes.len(),
                expected: format!("{} pulses of {}", self.spec.pulses, self.spec.samples()),
            });
        }
        let mut stages = Stages::new(options);
        let run = self.compress.process_with(echoes, stages.options())?;
        let compressed = stages.take("pulse compression", run)?;
        let run = self.turn.process_with(&compressed, stages.options())?;
        let turned = floats(&stages.take("corner turn", run)?);
        let run = self.window.process_with(&[&turned], stages.options())?;
        let windowed = numbers(&stages.take("window", run)?);
        let run = self.doppler.process_with(&windowed, stages.options())?;
        let spectra = stages.take("Doppler FFT", run)?;
        let run = self
            .decibels
            .process_with(&[&floats(&spectra)], stages.options())?;
        let decibels = stages.take("decibels", run)?;
        Ok(RadarMap {
            spectra,
            decibels,
            stages: stages.done,
        })
    }

    /// The same spectra in double precision, from the definitions.
    #[must_use]
    pub fn reference(&self, echoes: &[Complex32]) -> Vec<Complex64> {
        let (pulses, ranges) = (self.spec.pulses, self.spec.ranges);
        let wide = |z: &Complex32| Complex64::new(z.re.into(), z.im.into());
        let pulse: Vec<Complex64> = self.spec.pulse().iter().map(wide).collect();
        let window = Window::Hann.coefficients(pulses);
        let mut spectra = vec![Complex64::default(); pulses * ranges];
        for (p, row) in echoes.chunks(self.spec.samples()).enumerate().take(pulses) {
            let row: Vec<Complex64> = row.iter().map(wide).collect();
            for (r, near) in row.windows(pulse.len()).enumerate().take(ranges) {
                let sum: Complex64 = near.iter().zip(&pulse).map(|(x, h)| x * h.conj()).sum();
                spectra[r * pulses + p] = sum * f64::from(window[p]);
            }
        }
        ReferencePlanner::new()
            .plan_fft_forward(pulses)
            .process(&mut spectra);
        spectra
    }

    /// The cells that stand out, strongest first.
    #[must_use]
    pub fn detections(&self, map: &RadarMap) -> Vec<Detection> {
        let pulses = self.spec.pulses;
        peaks(&map.decibels, pulses, MARGIN, 3, true)
            .into_iter()
            .map(|(range, doppler, above_db)| {
                // The upper half of the spectrum is approaching.
                let signed = if 2 * doppler > pulses {
                    doppler as f64 - pulses as f64
                } else {
                    doppler as f64
                };
                Detection {
                    range_m: range as f64 * self.spec.range_cell(),
                    speed_m_s: signed * self.spec.speed_cell(),
                    above_db,
                }
            })
            .collect()
    }
}
