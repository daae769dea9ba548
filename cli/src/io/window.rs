//! Cutting a signal into overlapping, windowed frames.

use num_complex::Complex32;
use std::f64::consts::TAU;

/// A window function, in its periodic form (the one for spectra).
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Window {
    /// 0.5 - 0.5 cos.
    Hann,
    /// 0.54 - 0.46 cos.
    Hamming,
    /// 0.42 - 0.5 cos + 0.08 cos 2x.
    Blackman,
    /// No window.
    Rect,
}

impl Window {
    /// The window's value at sample `i` of `n`.
    pub(crate) fn at(self, i: usize, n: usize) -> f64 {
        let x = TAU * i as f64 / n as f64;
        match self {
            Self::Hann => 0.5 - 0.5 * x.cos(),
            Self::Hamming => 0.54 - 0.46 * x.cos(),
            Self::Blackman => 0.42 - 0.5 * x.cos() + 0.08 * (2.0 * x).cos(),
            Self::Rect => 1.0,
        }
    }

    /// All `n` values, rounded once.
    pub(crate) fn values(self, n: usize) -> Vec<f32> {
        (0..n).map(|i| self.at(i, n) as f32).collect()
    }
}

/// Number of frames of `n` samples, `hop` apart, that cover `length` samples;
/// the last one is filled up with zeros.
pub(crate) fn frame_count(length: usize, n: usize, hop: usize) -> usize {
    if length == 0 {
        0
    } else {
        1 + length.saturating_sub(n).div_ceil(hop.max(1))
    }
}

/// Frames of `n` samples, `hop` apart, each multiplied by the window, one after another.
pub(crate) fn frames(samples: &[f32], n: usize, hop: usize, window: Window) -> Vec<Complex32> {
    let weights = window.values(n);
    let mut out = Vec::with_capacity(frame_count(samples.len(), n, hop).saturating_mul(n));
    for frame in 0..frame_count(samples.len(), n, hop) {
        let start = frame * hop;
        out.extend(weights.iter().enumerate().map(|(i, w)| {
            let sample = samples.get(start + i).copied().unwrap_or(0.0);
            Complex32::new(sample * w, 0.0)
        }));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hann_at_half_overlap_sums_to_one() {
        for n in [16, 64, 1024] {
            for i in 0..n / 2 {
                let sum = Window::Hann.at(i, n) + Window::Hann.at(i + n / 2, n);
                assert!((sum - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn windows_peak_at_one_in_the_middle() {
        for window in [
            Window::Hann,
            Window::Hamming,
            Window::Blackman,
            Window::Rect,
        ] {
            assert!((window.at(32, 64) - 1.0).abs() < 1e-12);
            assert!(window.at(0, 64) <= 1.0);
        }
    }

    #[test]
    fn every_sample_is_in_a_frame_and_the_rest_is_zero() {
        let samples: Vec<f32> = (1..=37_u8).map(f32::from).collect();
        let out = frames(&samples, 16, 16, Window::Rect);
        assert_eq!(out.len(), 48);
        for (i, z) in out.iter().enumerate() {
            assert_eq!(z.re, samples.get(i).copied().unwrap_or(0.0));
        }
        assert_eq!(frame_count(0, 16, 8), 0);
        assert_eq!(frame_count(1, 16, 8), 1);
        assert_eq!(frame_count(16, 16, 8), 1);
        assert_eq!(frame_count(17, 16, 8), 2);
        assert_eq!(frame_count(24, 16, 8), 2);
    }
}
