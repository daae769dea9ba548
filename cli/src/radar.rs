//! The scene of the demonstration: a chirp radar, its echoes and detections.
//!
//! The transmitter sweeps its frequency by `BANDWIDTH` once per sweep. Mixed
//! with the chirp just sent, the echo of a target at range R is a tone whose
//! frequency is proportional to R (stretch processing): its FFT over the sweep
//! peaks at bin R / `RESOLUTION`. Many sweeps make a picture of range over
//! time in which targets draw lines.

use cp2_kernels::Random;
use num_complex::Complex32;
use serde::Serialize;
use std::f64::consts::TAU;

/// Samples per sweep, one transform each.
pub(crate) const N: usize = 1024;
/// Number of sweeps.
pub(crate) const SWEEPS: usize = 256;
/// Sweeps per second.
pub(crate) const SWEEP_RATE: f64 = 50.0;
/// Swept bandwidth in Hz.
const BANDWIDTH: f64 = 150e6;
/// Speed of light in m/s.
const LIGHT: f64 = 299_792_458.0;
/// Metres per FFT bin: c / 2B.
pub(crate) const RESOLUTION: f64 = LIGHT / (2.0 * BANDWIDTH);
/// Standard deviation of the noise, real and imaginary part each; echoes are weaker.
const NOISE: f32 = 1.0;
/// Factor by which a bin exceeds the sweep's mean power to be a detection (11 dB).
const THRESHOLD: f64 = 12.6;

/// Reflecting target in the scene.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct SceneTarget {
    /// Name for the report.
    pub(crate) name: &'static str,
    /// Range at the first sweep in m.
    pub(crate) range_m: f64,
    /// Speed in m/s; negative for a target that comes closer.
    pub(crate) speed_m_s: f64,
    /// Amplitude of the echo; the noise has a standard deviation of 1.
    pub(crate) amplitude: f32,
}

/// Targets of the scene.
pub(crate) const TARGETS: [SceneTarget; 4] = [
    SceneTarget {
        name: "pylon",
        range_m: 120.0,
        speed_m_s: 0.0,
        amplitude: 0.8,
    },
    SceneTarget {
        name: "car, closing",
        range_m: 410.0,
        speed_m_s: -33.0,
        amplitude: 0.6,
    },
    SceneTarget {
        name: "car, leaving",
        range_m: 520.0,
        speed_m_s: 27.0,
        amplitude: 0.6,
    },
    SceneTarget {
        name: "drone",
        range_m: 815.0,
        speed_m_s: -12.0,
        amplitude: 0.45,
    },
];

impl SceneTarget {
    /// Returns the range at a sweep in m.
    pub(crate) fn range(&self, sweep: usize) -> f64 {
        self.range_m + self.speed_m_s * sweep as f64 / SWEEP_RATE
    }
}

/// Generates the samples of the receiver: `SWEEPS` rows of `N`, weighted with a Hann window.
pub(crate) fn echoes(seed: u64) -> Vec<Complex32> {
    let mut random = Random::new(seed);
    let window = crate::io::WindowArg::Hann.kernel_window().coefficients(N);
    let mut out = Vec::with_capacity(N * SWEEPS);
    for sweep in 0..SWEEPS {
        // The phase of an echo is unknown: each sweep draws one for each target.
        let tones = TARGETS.map(|t| {
            (
                t.range(sweep) / RESOLUTION / N as f64,
                f64::from(random.uniform()) / 2.0,
                t.amplitude,
            )
        });
        for (i, w) in window.iter().enumerate() {
            let noise = Complex32::new(NOISE * random.normal(), NOISE * random.normal());
            let echo: Complex32 = tones
                .iter()
                .map(|&(frequency, phase, amplitude)| {
                    let (sin, cos) = libm::sincos(TAU * (frequency * i as f64 + phase));
                    Complex32::new(cos as f32, sin as f32) * amplitude
                })
                .sum();
            out.push((noise + echo) * *w);
        }
    }
    out
}

/// Detections of one target, compared with the truth.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Sighting {
    /// The target as it is in the scene.
    #[serde(flatten)]
    pub(crate) target: SceneTarget,
    /// Number of sweeps in which the target was detected.
    pub(crate) detected: usize,
    /// Root-mean-square range error over those sweeps in m.
    pub(crate) error_m: f64,
}

/// Detections in the spectra of all sweeps.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Detections {
    /// Number of sweeps searched.
    pub(crate) sweeps: usize,
    /// Sightings of each target.
    pub(crate) targets: Vec<Sighting>,
    /// Number of detections near no target.
    pub(crate) false_alarms: usize,
}

impl Detections {
    /// True if every target is seen in nearly all sweeps and close to its place, with few false alarms.
    pub(crate) fn is_convincing(&self) -> bool {
        self.sweeps > 0
            && self
                .targets
                .iter()
                .all(|t| t.detected * 10 >= self.sweeps * 9 && t.error_m < RESOLUTION)
            && self.false_alarms * 2 <= self.sweeps
    }
}

/// Finds peaks in every sweep's spectrum and compares them with the truth.
pub(crate) fn detect(spectra: &[Complex32]) -> Detections {
    let mut seen = [(0_usize, 0.0_f64); TARGETS.len()];
    let mut false_alarms = 0;
    let mut sweeps = 0;
    for (sweep, spectrum) in spectra.chunks_exact(N).enumerate() {
        sweeps += 1;
        let mut found = [false; TARGETS.len()];
        for range in peaks(spectrum) {
            let nearest = TARGETS
                .iter()
                .enumerate()
                .map(|(i, t)| (i, range - t.range(sweep)))
                .min_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
            match nearest {
                Some((i, error)) if error.abs() < 3.0 * RESOLUTION => {
                    if !std::mem::replace(&mut found[i], true) {
                        seen[i].0 += 1;
                        seen[i].1 += error * error;
                    }
                }
                _ => false_alarms += 1,
            }
        }
    }
    let targets = TARGETS
        .iter()
        .zip(seen)
        .map(|(&target, (detected, squares))| Sighting {
            target,
            detected,
            error_m: (squares / detected.max(1) as f64).sqrt(),
        })
        .collect();
    Detections {
        sweeps,
        targets,
        false_alarms,
    }
}

/// Returns the ranges, in m, of the local maxima above the threshold, refined by a parabola through three
/// bins.
fn peaks(spectrum: &[Complex32]) -> Vec<f64> {
    let power: Vec<f64> = spectrum
        .iter()
        .map(|z| num_complex::Complex64::new(z.re.into(), z.im.into()).norm_sqr())
        .collect();
    let mean = power.iter().sum::<f64>() / power.len().max(1) as f64;
    let mut out = Vec::new();
    for i in 2..power.len().saturating_sub(2) {
        let is_peak = power[i] > THRESHOLD * mean && (i - 2..=i + 2).all(|j| power[j] <= power[i]);
        if is_peak {
            let [a, b, c] = [power[i - 1], power[i], power[i + 1]].map(f64::sqrt);
            let shift = if a + c < 2.0 * b {
                0.5 * (a - c) / (a - 2.0 * b + c)
            } else {
                0.0
            };
            out.push((i as f64 + shift) * RESOLUTION);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the reference spectra with rustfft.
    fn spectra(mut data: Vec<Complex32>) -> Vec<Complex32> {
        let plan = cp2_rustfft::single(N, cp2_rustfft::FftDirection::Forward);
        plan.process(&mut data);
        data
    }

    #[test]
    fn the_scene_is_seen_for_several_seeds() {
        for seed in [1, 2, 3] {
            let detections = detect(&spectra(echoes(seed)));
            assert!(detections.is_convincing(), "{detections:?}");
        }
    }

    #[test]
    fn noise_alone_or_a_wrong_transform_does_not_convince() {
        let mut shifted = spectra(echoes(1));
        shifted.rotate_right(7);
        assert!(!detect(&shifted).is_convincing());
        assert!(!detect(&echoes(1)).is_convincing());
        assert!(!detect(&[]).is_convincing());
    }
}
