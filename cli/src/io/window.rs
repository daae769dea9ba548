//! Cutting a signal into overlapping, windowed frames.

use cp2_kernels::chain::Frames;
use cp2_kernels::dsp;
use num_complex::Complex32;

/// A window function, in its periodic form (the one for spectra).
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WindowArg {
    /// 0.5 - 0.5 cos.
    Hann,
    /// 0.54 - 0.46 cos.
    Hamming,
    /// 0.42 - 0.5 cos + 0.08 cos 2x.
    Blackman,
    /// No window.
    Rect,
}

impl WindowArg {
    /// Returns the library's window function.
    pub(crate) fn kernel_window(self) -> dsp::WindowFunction {
        match self {
            Self::Hann => dsp::WindowFunction::Hann,
            Self::Hamming => dsp::WindowFunction::Hamming,
            Self::Blackman => dsp::WindowFunction::Blackman,
            Self::Rect => dsp::WindowFunction::Rectangular,
        }
    }
}

/// Recording that is cut into frames, each multiplied by a window. The machine cuts them; the host cuts them
/// again for the reference that judges results.
#[derive(Clone, Debug)]
pub(crate) struct FramedRecording {
    /// Samples of the recording.
    pub(crate) samples: Vec<f32>,
    /// Division into frames; `hop` is at least 1.
    pub(crate) frames: Frames,
    /// Window of every frame.
    pub(crate) window: WindowArg,
    weights: Vec<f32>,
}

impl FramedRecording {
    /// Makes frames of `n` samples, `hop` samples apart; the last one is filled up with zeros.
    pub(crate) fn new(samples: Vec<f32>, n: usize, hop: usize, window: WindowArg) -> Self {
        Self {
            frames: Frames {
                samples: samples.len(),
                n,
                hop,
            },
            weights: window.kernel_window().coefficients(n),
            samples,
            window,
        }
    }

    /// Writes a frame, multiplied by its window.
    pub(crate) fn row(&self, frame: usize, values: &mut [Complex32]) {
        let first = frame * self.frames.hop;
        for (i, (value, weight)) in values.iter_mut().zip(&self.weights).enumerate() {
            let sample = self.samples.get(first + i).copied().unwrap_or(0.0);
            *value = Complex32::new(sample * weight, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_a_frame_and_the_rest_is_zero() {
        let samples: Vec<f32> = (1..=37_u8).map(f32::from).collect();
        let recording = FramedRecording::new(samples.clone(), 16, 16, WindowArg::Rect);
        assert_eq!(recording.frames.count(), 3);
        for frame in 0..3 {
            let mut row = vec![Complex32::default(); 16];
            recording.row(frame, &mut row);
            for (i, z) in row.iter().enumerate() {
                let sample = samples.get(16 * frame + i).copied();
                assert_eq!(z.re, sample.unwrap_or(0.0));
            }
        }
        let count = |length, n, hop| {
            FramedRecording::new(vec![0.0; length], n, hop, WindowArg::Hann)
                .frames
                .count()
        };
        assert_eq!(count(0, 16, 8), 0);
        assert_eq!(count(1, 16, 8), 1);
        assert_eq!(count(16, 16, 8), 1);
        assert_eq!(count(17, 16, 8), 2);
        assert_eq!(count(24, 16, 8), 2);
    }
}
