//! Building blocks of reproducible scenes: phases, noise, rounding.

use crate::random::Random;
use num_complex::{Complex32, Complex64};
use std::f64::consts::TAU;

/// Returns exp(2 pi i `turns`), the same on every host.
pub(super) fn turn(turns: f64) -> Complex64 {
    Complex64::new(libm::cos(TAU * turns), libm::sin(TAU * turns))
}

/// Rounds a complex number to single precision.
pub(super) fn narrow(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

/// Returns `len` complex numbers with variance 1 in each part.
pub(super) fn noise(random: &mut Random, len: usize) -> Vec<Complex64> {
    (0..len)
        .map(|_| {
            let re = f64::from(random.normal());
            Complex64::new(re, f64::from(random.normal()))
        })
        .collect()
}
