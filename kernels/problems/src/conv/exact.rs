//! Convolutions in double precision.

use num_complex::Complex64;
use rustfft::FftPlanner;

/// The largest magnitude of the taps' transform, on a grid four times as fine as the taps.
pub(super) fn gain(taps: &[Complex64]) -> f64 {
    let mut h = taps.to_vec();
    h.resize((4 * taps.len()).next_power_of_two(), Complex64::default());
    FftPlanner::<f64>::new()
        .plan_fft_forward(h.len())
        .process(&mut h);
    h.iter().map(|z| z.norm()).fold(0.0, f64::max)
}

/// Points of a transform of the reference where the taps are few: what caches hold.
const BLOCK: usize = 4096;

/// The full convolution in double precision.
#[must_use]
pub fn reference(x: &[Complex64], taps: &[Complex64]) -> Vec<Complex64> {
    let full = (x.len() + taps.len()).saturating_sub(1);
    let n = full.min(BLOCK.max(8 * taps.len())).next_power_of_two();
    let mut planner = FftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(n), planner.plan_fft_inverse(n));
    let transform = |z: &[Complex64]| {
        let mut z = z.to_vec();
        z.resize(n, Complex64::default());
        forward.process(&mut z);
        z
    };
    let h = transform(taps);
    let mut y = vec![Complex64::default(); full];
    // What a block of samples adds reaches as far into the next ones as there are taps.
    let hop = (n + 1).saturating_sub(taps.len().max(1)).max(1);
    for (i, x) in x.chunks(hop).enumerate() {
        let mut part = transform(x);
        for (z, h) in part.iter_mut().zip(&h) {
            *z *= h / n as f64;
        }
        inverse.process(&mut part);
        for (y, z) in y.iter_mut().skip(i * hop).zip(part) {
            *y += z;
        }
    }
    y
}
