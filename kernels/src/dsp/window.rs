//! Windows in double precision, rounded once.

/// A window of `n` points, periodic (for spectra: point n would be point 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// All ones.
    Rectangular,
    /// 0.5 - 0.5 cos.
    Hann,
    /// 0.54 - 0.46 cos.
    Hamming,
    /// 0.42 - 0.5 cos + 0.08 cos 2.
    Blackman,
}

impl Window {
    /// Its coefficients, for real samples.
    #[must_use]
    pub fn coefficients(self, n: usize) -> Vec<f32> {
        let [a, b, c] = match self {
            Self::Rectangular => [1.0, 0.0, 0.0],
            Self::Hann => [0.5, 0.5, 0.0],
            Self::Hamming => [0.54, 0.46, 0.0],
            Self::Blackman => [0.42, 0.5, 0.08],
        };
        let turn = |i: usize| std::f64::consts::TAU * i as f64 / n as f64;
        (0..n)
            .map(|i| (a - b * libm::cos(turn(i)) + c * libm::cos(2.0 * turn(i))) as f32)
            .collect()
    }

    /// The same for complex samples: every coefficient twice.
    #[must_use]
    pub fn complex_coefficients(self, n: usize) -> Vec<f32> {
        let real = self.coefficients(n);
        real.into_iter().flat_map(|w| [w, w]).collect()
    }
}
