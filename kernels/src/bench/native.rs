//! Native transforms for comparison: rustfft, with AVX where available.

use cp2_rustfft::{Fft, FftDirection};
use num_complex::Complex32;
use std::sync::Arc;
use std::time::Instant;

/// A batch of transforms by rustfft.
pub(super) struct NativeBatch {
    fft: Arc<dyn Fft<f32>>,
    input: Vec<Complex32>,
    data: Vec<Complex32>,
    scratch: Vec<Complex32>,
}

impl NativeBatch {
    /// Plans transforms of length `n` for an input of whole transforms.
    pub(super) fn new(n: usize, input: &[Complex32]) -> Self {
        let fft = cp2_rustfft::single(n, FftDirection::Forward);
        Self {
            scratch: vec![Complex32::default(); fft.get_inplace_scratch_len()],
            data: input.to_vec(),
            input: input.to_vec(),
            fft,
        }
    }

    /// Runs the whole batch and returns the host seconds; copying the input is not counted.
    pub(super) fn seconds(&mut self) -> f64 {
        self.data.copy_from_slice(&self.input);
        let started = Instant::now();
        self.fft
            .process_with_scratch(&mut self.data, &mut self.scratch);
        started.elapsed().as_secs_f64()
    }
}
