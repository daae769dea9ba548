//! Windows in double precision, rounded once.

use cp2_asm::cis;

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
        let n = n as i64;
        let cosine = |i: i64| cis(i, n).0;
        (0..n)
            .map(|i| (a - b * cosine(i) + c * cosine(2 * i)) as f32)
            .collect()
    }

    /// The same for complex samples: every coefficient twice.
    #[must_use]
    pub fn complex_coefficients(self, n: usize) -> Vec<f32> {
        let real = self.coefficients(n);
        real.into_iter().flat_map(|w| [w, w]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hann_at_half_overlap_sums_to_one() {
        for n in [16, 64, 1024] {
            let w = Window::Hann.coefficients(n);
            for i in 0..n / 2 {
                assert!((w[i] + w[i + n / 2] - 1.0).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn windows_peak_at_one_in_the_middle_and_are_symmetric() {
        for window in [Window::Hann, Window::Hamming, Window::Blackman] {
            let w = window.coefficients(64);
            assert_eq!(w[32], 1.0);
            assert!(w[0] < 0.1);
            assert!((1..64).all(|i| w[i] == w[64 - i]));
        }
        assert_eq!(Window::Rectangular.coefficients(3), [1.0; 3]);
    }
}
