//! Cutting a signal into overlapping, windowed frames.

use cp2_kernels::dsp;
use num_complex::Complex32;

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
    /// All `n` values.
    pub(crate) fn values(self, n: usize) -> Vec<f32> {
        let window = match self {
            Self::Hann => dsp::Window::Hann,
            Self::Hamming => dsp::Window::Hamming,
            Self::Blackman => dsp::Window::Blackman,
            Self::Rect => dsp::Window::Rectangular,
        };
        window.coefficients(n)
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

/// Frames of `n` samples, `hop` apart, each multiplied by the window, one after another, made as they are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    samples: Vec<f32>,
    weights: Vec<f32>,
    hop: usize,
    /// Place of the next number in all frames.
    at: usize,
}

impl Frames {
    /// Of samples, `hop` at least 1.
    pub(crate) fn new(samples: Vec<f32>, n: usize, hop: usize, window: Window) -> Self {
        Self {
            samples,
            weights: window.values(n),
            hop,
            at: 0,
        }
    }

    /// Number of frames.
    pub(crate) fn count(&self) -> usize {
        frame_count(self.samples.len(), self.weights.len(), self.hop)
    }

    /// The next numbers.
    pub(crate) fn give(&mut self, values: &mut [Complex32]) {
        let n = self.weights.len().max(1);
        for value in values {
            let (frame, i) = (self.at / n, self.at % n);
            let sample = self.samples.get(frame * self.hop + i).copied();
            *value = Complex32::new(sample.unwrap_or(0.0) * self.weights[i], 0.0);
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_a_frame_and_the_rest_is_zero() {
        let samples: Vec<f32> = (1..=37_u8).map(f32::from).collect();
        let mut frames = Frames::new(samples.clone(), 16, 16, Window::Rect);
        let mut out = vec![Complex32::default(); 16 * frames.count()];
        out.chunks_mut(5).for_each(|part| frames.give(part));
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
