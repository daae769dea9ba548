//! Tables of transforms, computed in double precision and rounded once.

use cp2_rustfft::FftDirection;
use num_complex::{Complex32, Complex64};

/// Returns exp(-2 pi i turns / n).
fn root(turns: u64, n: u64) -> Complex64 {
    let angle = -std::f64::consts::TAU * ((turns % n) as f64 / n as f64);
    let (sine, cosine) = libm::sincos(angle);
    Complex64::new(cosine, sine)
}

pub(crate) fn narrow(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

/// Returns the powers of the root of 1 of a length.
pub(crate) fn roots(n: usize) -> Vec<Complex32> {
    (0..n as u64).map(|k| narrow(root(k, n as u64))).collect()
}

/// Returns a power of two, and the powers of a root for exponents below it and for its multiples: two
/// small tables for all exponents below `n`.
pub(crate) fn powers(n: usize) -> (usize, Vec<Complex32>) {
    let low = 1usize << n.next_power_of_two().ilog2().div_ceil(2);
    let below = (0..low).map(|k| root(k as u64, n as u64));
    let multiples = (0..=n / low).map(|k| root((k * low) as u64, n as u64));
    (low, below.chain(multiples).map(narrow).collect())
}

/// Tables of Bluestein's algorithm for a length, with convolutions of `m` numbers.
#[derive(Clone, Debug)]
pub(crate) struct BluesteinTables {
    /// Factors exp(-pi i j^2 / n).
    pub(crate) chirp: Vec<Complex32>,
    /// Transform of their conjugates, divided by `m`.
    pub(crate) spectrum: Vec<Complex32>,
}

impl BluesteinTables {
    pub(crate) fn new(n: usize, m: usize) -> Self {
        let square = |j: usize| (j as u128 * j as u128 % (2 * n as u128)) as u64;
        let chirp: Vec<_> = (0..n).map(|j| root(square(j), 2 * n as u64)).collect();
        let mut spectrum = vec![Complex64::default(); m];
        for (j, z) in chirp.iter().enumerate() {
            let z = z.conj() / m as f64;
            spectrum[j] = z;
            spectrum[(m - j) % m] = z;
        }
        cp2_rustfft::double(m, FftDirection::Forward).process(&mut spectrum);
        Self {
            chirp: chirp.into_iter().map(narrow).collect(),
            spectrum: spectrum.into_iter().map(narrow).collect(),
        }
    }
}

/// Returns the transform of taps, padded to a length and divided by it.
pub(crate) fn filter_spectrum(taps: &[Complex32], n: usize) -> Vec<Complex32> {
    let wide = |h: &Complex32| Complex64::new(h.re.into(), h.im.into()) / n as f64;
    let mut spectrum: Vec<_> = taps.iter().map(wide).collect();
    spectrum.resize(n, Complex64::default());
    cp2_rustfft::double(n, FftDirection::Forward).process(&mut spectrum);
    spectrum.into_iter().map(narrow).collect()
}
