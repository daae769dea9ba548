//! A pulse-Doppler radar: pulse compression and Doppler processing.
//!
//! An echo of a target at range R has the phase -4 pi R / wavelength: a target
//! that comes nearer turns it forward from pulse to pulse and has a positive
//! Doppler frequency, one that moves away a negative one.

mod spec;

pub use spec::{RadarSpec, Target};

use super::error::{planned, staged};
use super::peaks::{Side, margin, peaks};
use super::spectra::{self, HANN, LOBE, Spectra};
use super::stages::Stages;
use super::{ChainError, ChainJob, Received, Receiver, check_block, wide};
use crate::conv::{Convolver, Mode, matched};
use crate::dsp::Transposition;
use crate::job::Job;
use cp2_host::Options;
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use serde::Serialize;
use std::sync::Arc;

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

/// A planned radar.
#[derive(Debug)]
pub struct Radar {
    spec: RadarSpec,
    pulse: Vec<Complex32>,
    compress: Convolver,
    turn: Transposition,
    spectra: Spectra,
}

impl Radar {
    /// Plans the chain for the chirp of `spec`.
    ///
    /// # Errors
    /// A specification that makes no sense or for which a stage has no kernel.
    pub fn new(spec: RadarSpec, machine: &Arc<Machine>) -> Result<Self, ChainError> {
        spec.check()?;
        let pulse = spec.pulse();
        Self::with_pulse(spec, pulse, machine)
    }

    /// Plans the chain for another pulse of as many samples as the chirp.
    ///
    /// # Errors
    /// See [`Radar::new`]; a pulse of another length, of nothing, or with
    /// samples that are not finite.
    pub fn with_pulse(
        spec: RadarSpec,
        pulse: Vec<Complex32>,
        machine: &Arc<Machine>,
    ) -> Result<Self, ChainError> {
        spec.check()?;
        check_block(&pulse, (1, spec.chirp))?;
        let energy: f64 = pulse.iter().map(|h| wide(h).norm_sqr()).sum();
        if !(energy.is_finite() && energy > 0.0) {
            let expected = "finite samples that are not all 0";
            return Err(ChainError::spec("energy of the pulse", energy, expected));
        }
        let (pulses, ranges, samples) = (spec.pulses, spec.ranges, spec.samples());
        let taps = matched(&pulse);
        let compress = Convolver::new::<Complex32>(machine, &taps, pulses, samples, Mode::Valid);
        let turn = Transposition::new(pulses, ranges, machine.clone());
        Ok(Self {
            compress: planned(
                "pulse compression",
                format!(
                    "{pulses} pulses of {samples} samples, {} of them chirp",
                    spec.chirp
                ),
                compress,
            )?,
            turn: planned(
                "corner turn",
                format!("{pulses} pulses x {ranges} ranges"),
                turn,
            )?,
            spectra: Spectra::new(ranges, pulses, "pulses", machine)?,
            pulse,
            spec,
        })
    }

    /// What it was planned for.
    #[must_use]
    pub fn spec(&self) -> &RadarSpec {
        &self.spec
    }

    /// The cells that stand out, strongest first.
    #[must_use]
    pub fn detections(&self, map: &Received) -> Vec<Detection> {
        let (spec, pulses) = (&self.spec, self.spec.pulses);
        let margin = margin(map.decibels.len(), 1);
        let range = Side {
            wraps: false,
            lobe: LOBE,
            reach: self.pulse.len(),
            below: self.range_sidelobes() - 3.0,
        };
        let doppler = Side {
            wraps: true,
            lobe: LOBE,
            reach: pulses,
            below: HANN,
        };
        peaks(&map.decibels, pulses, margin, [range, doppler])
            .into_iter()
            .map(|peak| Detection {
                range_m: peak.row as f64 * spec.range_cell(),
                speed_m_s: spec.speed(peak.column),
                above_db: peak.above,
            })
            .collect()
    }

    /// Highest sidelobe of the compressed pulse in dB below its peak: of its
    /// autocorrelation beyond the lobe.
    fn range_sidelobes(&self) -> f32 {
        let pulse: Vec<Complex64> = self.pulse.iter().map(wide).collect();
        let power = spectra::autocorrelation(&pulse);
        let beyond = power.iter().skip(LOBE + 1);
        let highest = beyond.map(|z| z.norm()).fold(0.0, f64::max);
        (20.0 * libm::log10(power[0].norm() / highest.max(f64::MIN_POSITIVE))) as f32
    }
}

impl Receiver for Radar {
    /// Pulses, and the samples of each.
    fn block(&self) -> (usize, usize) {
        (self.spec.pulses, self.spec.samples())
    }

    fn job(&self, echoes: &[Complex32], options: &Options) -> Result<ChainJob, ChainError> {
        let (pulses, samples) = self.block();
        check_block(echoes, (pulses, samples))?;
        let ranges = self.spec.ranges;
        let shape = |sides: [usize; 2]| sides.map(|side| side as u64);
        let mut job = Job::new(self.turn.machine().clone(), options.clone());
        let echoes = job.input("echoes", echoes, &shape([pulses, samples]));
        let echoes = staged("pulse compression", echoes)?;
        let mut stages = Stages::new(job);
        let figures = self.compress.figures::<Complex32>(pulses);
        let compressed = stages.add("pulse compression", figures, |job| {
            self.compress.append_channels(job, echoes.into(), 0..ranges)
        })?;
        let turned = stages.add("corner turn", self.turn.figures(), |job| {
            self.turn.append(job, compressed.into())
        })?;
        self.spectra
            .append(stages, turned, &shape([ranges, pulses]))
    }

    fn reference(&self, echoes: &[Complex32]) -> Vec<Complex64> {
        let (pulses, ranges) = (self.spec.pulses, self.spec.ranges);
        let pulse: Vec<Complex64> = self.pulse.iter().map(wide).collect();
        let mut rows = vec![Complex64::default(); pulses * ranges];
        for (p, row) in echoes.chunks(self.spec.samples()).enumerate().take(pulses) {
            let row: Vec<Complex64> = row.iter().map(wide).collect();
            for (r, near) in row.windows(pulse.len()).enumerate().take(ranges) {
                rows[r * pulses + p] = near.iter().zip(&pulse).map(|(x, h)| x * h.conj()).sum();
            }
        }
        spectra::reference(&mut rows, pulses);
        rows
    }
}
