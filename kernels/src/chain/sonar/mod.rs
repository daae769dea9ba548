//! A passive sonar: a line of hydrophones, beams, spectra.
//!
//! The hydrophones deliver complex samples around a centre frequency. The
//! beams are steered by phase, which holds where the bandwidth is small
//! against the inverse of the time sound takes along the array. A sound from
//! bearing b comes to hydrophone e with the phase +pi e sin b: positive bearings
//! are on the side of the higher hydrophones, which hear it first.

mod spec;

pub use spec::{SonarSpec, Source};

use super::error::{planned, staged};
use super::peaks::{Side, margin, peaks};
use super::spectra::{self, HANN, LOBE, Spectra};
use super::stages::Stages;
use super::{ChainError, ChainJob, Received, Receiver, check_block, wide};
use crate::conv::{Convolver, Rate};
use crate::dsp::{Beamformer, Transposition};
use crate::job::Job;
use cp2_host::Options;
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use serde::Serialize;
use std::sync::Arc;

/// Highest sidelobe of the Hamming window over the array, and room for noise, in
/// dB below the peak.
const HAMMING: f32 = 40.0 - 3.0;
/// Where the filter lets less noise pass than so many dB below the most, there may
/// be nothing but sidelobes of what is elsewhere.
const STOPBAND: f64 = 20.0;

/// A cell of the bearing picture that stands out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Contact {
    /// Bearing from broadside in degrees.
    pub bearing_deg: f64,
    /// Frequency from the centre in Hz.
    pub frequency_hz: f64,
    /// Decibels above the median, the filter's response taken out.
    pub above_db: f32,
}

/// A planned sonar.
#[derive(Debug)]
pub struct Sonar {
    spec: SonarSpec,
    filter: Convolver,
    to_snapshots: Transposition,
    beams: Beamformer,
    to_beams: Transposition,
    spectra: Spectra,
}

impl Sonar {
    /// Plans the chain.
    ///
    /// # Errors
    /// A specification that makes no sense or for which a stage has no kernel.
    pub fn new(spec: SonarSpec, machine: &Arc<Machine>) -> Result<Self, ChainError> {
        spec.check()?;
        let (hydrophones, beams, time) = (spec.hydrophones, spec.beams, spec.filtered());
        let filter = Convolver::resampler::<Complex32>(
            machine,
            &spec.low_pass(),
            hydrophones,
            spec.samples,
            Rate::Decimate(spec.decimate),
        );
        let steering = Beamformer::new(&spec.weights(), hydrophones, machine.clone());
        let turn = |rows, columns| {
            let size = format!("{rows} rows of {columns}");
            let plan = Transposition::new(rows, columns, machine.clone());
            planned("corner turn", size, plan)
        };
        Ok(Self {
            filter: planned(
                "filter and decimate",
                format!(
                    "{} taps and an output every {} samples",
                    spec.taps, spec.decimate
                ),
                filter,
            )?,
            to_snapshots: turn(hydrophones, time)?,
            beams: planned(
                "beamforming",
                format!("{hydrophones} hydrophones and {beams} beams"),
                steering,
            )?,
            to_beams: turn(time, beams)?,
            spectra: Spectra::new(beams * spec.frames(), spec.points, "points", machine)?,
            spec,
        })
    }

    /// Power of white noise at each point of [`SonarSpec::by_frequency`] behind
    /// filter and window in dB, at most [`STOPBAND`] below the highest: the
    /// transform of the products of their autocorrelations.
    fn noise_db(&self) -> Vec<f32> {
        let (points, decimate) = (self.spec.points, self.spec.decimate);
        let taps: Vec<Complex64> = self.spec.low_pass().iter().map(wide).collect();
        let noise = spectra::autocorrelation(&taps);
        let window = spectra::autocorrelation(&spectra::window(points));
        let mut power = vec![Complex64::default(); points];
        for (lag, (w, n)) in window
            .iter()
            .zip(noise.iter().step_by(decimate))
            .enumerate()
        {
            power[lag] += w * n;
            // Both are real: the negative lag has the same product.
            if lag > 0 {
                power[points - lag] += w * n;
            }
        }
        spectra::transform(&mut power, points);
        let decibels = |bin: usize| 10.0 * libm::log10(power[bin].re);
        let decibels: Vec<f64> = self.spec.by_frequency().map(decibels).collect();
        let highest = decibels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let above = decibels.iter().map(|x| x.max(highest - STOPBAND) as f32);
        above.collect()
    }

    /// What it was planned for.
    #[must_use]
    pub fn spec(&self) -> &SonarSpec {
        &self.spec
    }

    /// Mean power over the frames in dB, `beams` rows of `points`, frequency
    /// rising from the lowest.
    #[must_use]
    pub fn bearings(&self, received: &Received) -> Vec<f32> {
        let (points, frames) = (self.spec.points, self.spec.frames());
        let mut map = Vec::with_capacity(self.spec.beams * points);
        for beam in received.spectra.chunks(frames * points) {
            for bin in self.spec.by_frequency() {
                let power = |f: usize| wide(&beam[f * points + bin]).norm_sqr();
                let mean = (0..frames).map(power).sum::<f64>() / frames as f64;
                map.push((10.0 * libm::log10(mean)) as f32);
            }
        }
        map
    }

    /// The cells of the bearing picture that stand out, strongest first.
    #[must_use]
    pub fn contacts(&self, received: &Received) -> Vec<Contact> {
        let (spec, points) = (&self.spec, self.spec.points);
        let noise = self.noise_db();
        let mut map = self.bearings(received);
        for (x, noise) in map.iter_mut().zip(noise.iter().cycle()) {
            *x -= noise;
        }
        let across = Side {
            wraps: true,
            lobe: spec.beam_lobe(),
            reach: spec.beams,
            below: HAMMING,
        };
        let along = Side {
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
}

impl Receiver for Sonar {
    /// Hydrophones, and the samples of each.
    fn block(&self) -> (usize, usize) {
        (self.spec.hydrophones, self.spec.samples)
    }

    fn job(&self, sound: &[Complex32], options: &Options) -> Result<ChainJob, ChainError> {
        let (hydrophones, samples) = self.block();
        check_block(sound, (hydrophones, samples))?;
        let spec = &self.spec;
        let mut job = Job::new(self.to_beams.machine().clone(), options.clone());
        let shape = [hydrophones, samples].map(|side| side as u64);
        let sound = staged("filter and decimate", job.input("sound", sound, &shape))?;
        let mut stages = Stages::new(job);
        let figures = self.filter.figures::<Complex32>(hydrophones);
        // The filter's tail beyond the last whole frame is not looked at.
        let filtered = stages.add("filter and decimate", figures, |job| {
            let channels = sound.into();
            self.filter
                .append_channels(job, channels, 0..spec.filtered())
        })?;
        let figures = self.to_snapshots.figures();
        let snapshots = stages.add("corner turn to snapshots", figures, |job| {
            self.to_snapshots.append(job, filtered.into())
        })?;
        let figures = self.beams.figures(spec.filtered());
        let beams = stages.add("beamforming", figures, |job| {
            self.beams.append(job, snapshots.into())
        })?;
        let figures = self.to_beams.figures();
        let beams = stages.add("corner turn to beams", figures, |job| {
            self.to_beams.append(job, beams.into())
        })?;
        let shape = [spec.beams, spec.frames(), spec.points].map(|side| side as u64);
        self.spectra.append(stages, beams, &shape)
    }

    fn reference(&self, sound: &[Complex32]) -> Vec<Complex64> {
        let spec = &self.spec;
        let taps: Vec<f64> = spec.low_pass().iter().map(|h| h.re.into()).collect();
        let weights: Vec<Complex64> = spec.weights().iter().map(wide).collect();
        let time = spec.filtered();
        let filtered: Vec<Vec<Complex64>> = sound
            .chunks(spec.samples)
            .map(|row| {
                let output = |t: usize| -> Complex64 {
                    let past = taps.iter().enumerate();
                    past.filter_map(|(k, h)| Some(wide(row.get(t.checked_sub(k)?)?) * h))
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
        spectra::reference(&mut beams, spec.points);
        beams
    }
}
