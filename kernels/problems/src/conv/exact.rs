//! Convolutions in double precision, a block of samples at a time.

use cp2_rustfft::{Fft, FftDirection};
use num_complex::Complex64;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Points of a transform if the taps are few; it fits the caches.
const BLOCK: usize = 4096;

/// Full convolution of signals of one length with taps, by transforms of blocks (overlap-add) in buffers that
/// are reused.
#[derive(Clone)]
pub(super) struct ExactConvolution {
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
    /// Transform of the taps, divided by its length.
    taps: Vec<Complex64>,
    samples: usize,
    /// Outputs of a signal.
    full: usize,
    /// Samples of a block. The outputs of a block extend into the next ones by the number of taps less one.
    hop: usize,
    block: Vec<Complex64>,
    /// Partial sums of the outputs from the block's first on.
    sums: Vec<Complex64>,
    scratch: Vec<Complex64>,
}

impl fmt::Debug for ExactConvolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (points, hop) = (self.taps.len(), self.hop);
        write!(f, "Exact {{ points: {points}, hop: {hop} }}")
    }
}

impl ExactConvolution {
    pub(super) fn new(samples: usize, taps: &[Complex64]) -> Self {
        let full = (samples + taps.len()).saturating_sub(1);
        let n = full.min(BLOCK.max(8 * taps.len())).next_power_of_two();
        let [forward, inverse] = [FftDirection::Forward, FftDirection::Inverse]
            .map(|direction| cp2_rustfft::double(n, direction));
        let mut h = taps.to_vec();
        h.resize(n, Complex64::default());
        forward.process(&mut h);
        for h in &mut h {
            *h /= n as f64;
        }
        let scratch = forward
            .get_inplace_scratch_len()
            .max(inverse.get_inplace_scratch_len());
        Self {
            forward,
            inverse,
            taps: h,
            samples,
            full,
            hop: (n + 1).saturating_sub(taps.len().max(1)).max(1),
            block: vec![Complex64::default(); n],
            sums: vec![Complex64::default(); n],
            scratch: vec![Complex64::default(); scratch],
        }
    }

    /// Convolves a signal: `fill` writes the samples of a range into a zeroed buffer, and `take` receives the
    /// outputs from a position on.
    ///
    /// # Errors
    /// The errors of `fill` and `take`.
    pub(super) fn convolve<E>(
        &mut self,
        mut fill: impl FnMut(Range<usize>, &mut [Complex64]) -> Result<(), E>,
        mut take: impl FnMut(usize, &[Complex64]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sums.fill(Complex64::default());
        let (samples, hop) = (self.samples, self.hop);
        for start in (0..samples).step_by(hop) {
            let end = samples.min(start + hop);
            self.block.fill(Complex64::default());
            fill(start..end, &mut self.block[..end - start])?;
            self.forward
                .process_with_scratch(&mut self.block, &mut self.scratch);
            for (z, h) in self.block.iter_mut().zip(&self.taps) {
                *z *= h;
            }
            self.inverse
                .process_with_scratch(&mut self.block, &mut self.scratch);
            for (sum, z) in self.sums.iter_mut().zip(&self.block) {
                *sum += z;
            }
            // Later blocks add nothing to these outputs; behind the last block all are complete.
            let known = if end == samples {
                self.full - start
            } else {
                hop
            };
            take(start, &self.sums[..known])?;
            let n = self.sums.len();
            self.sums.copy_within(hop.min(n).., 0);
            self.sums[n - hop.min(n)..].fill(Complex64::default());
        }
        Ok(())
    }
}

/// Computes the full convolution in double precision.
#[must_use]
pub fn reference(x: &[Complex64], taps: &[Complex64]) -> Vec<Complex64> {
    let mut y = Vec::with_capacity(x.len() + taps.len());
    let Ok(()) = ExactConvolution::new(x.len(), taps).convolve(
        |range, block| {
            block.copy_from_slice(&x[range]);
            Ok::<_, Infallible>(())
        },
        |_, outputs| {
            y.extend_from_slice(outputs);
            Ok(())
        },
    );
    y
}

/// Returns the largest magnitude of the taps' transform, on a grid at least four times as fine as the taps.
pub(super) fn gain(taps: &[Complex64]) -> f64 {
    let mut h = taps.to_vec();
    h.resize((4 * taps.len()).next_power_of_two(), Complex64::default());
    cp2_rustfft::double(h.len(), FftDirection::Forward).process(&mut h);
    h.iter().map(|z| z.norm()).fold(0.0, f64::max)
}
