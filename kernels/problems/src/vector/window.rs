//! Windows in double precision, rounded once.

use std::f64::consts::TAU;

/// A window of `n` points, periodic (for spectra: point n would be point 0); of a single point it is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFunction {
    /// All ones.
    Rectangular,
    /// 0.5 - 0.5 cos.
    Hann,
    /// 0.54 - 0.46 cos.
    Hamming,
    /// 0.42 - 0.5 cos + 0.08 cos 2.
    Blackman,
}

impl WindowFunction {
    /// Its coefficients, for real samples.
    #[must_use]
    pub fn coefficients(self, n: usize) -> Vec<f32> {
        let [a, b, c] = match self {
            Self::Rectangular => [1.0, 0.0, 0.0],
            Self::Hann => [0.5, 0.5, 0.0],
            Self::Hamming => [0.54, 0.46, 0.0],
            Self::Blackman => [0.42, 0.5, 0.08],
        };
        // Of a single point, where the cosines would be those of the edge, which spectra have no use for.
        if n == 1 {
            return vec![1.0];
        }
        let points = 0..n;
        points
            .map(|i| (a - b * cosine(i, n) + c * cosine(2 * i, n)) as f32)
            .collect()
    }

    /// The same for complex samples: every coefficient twice.
    #[must_use]
    pub fn complex_coefficients(self, n: usize) -> Vec<f32> {
        let real = self.coefficients(n);
        real.into_iter().flat_map(|w| [w, w]).collect()
    }
}

/// The cosine of `i / n` turns. The angle is reduced exactly to the first eighth of a turn, so
/// that the symmetries of the circle hold bit for bit.
fn cosine(i: usize, n: usize) -> f64 {
    // In quarters of 1 / n turns, which are integers: n of them are a quarter turn.
    let place = 4 * (i as u128 % n as u128);
    let n = n as u128;
    let half = place.min(4 * n - place);
    let (sign, near) = match half > n {
        true => (-1.0, 2 * n - half),
        false => (1.0, half),
    };
    let angle = |quarters: u128| TAU * (quarters as f64 / (4.0 * n as f64));
    sign * match near {
        0 => 1.0,
        near if near == n => 0.0,
        near if 2 * near == n => std::f64::consts::FRAC_1_SQRT_2,
        near if 2 * near < n => libm::cos(angle(near)),
        near => libm::sin(angle(n - near)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_are_exact_where_they_are_rational() {
        assert_eq!(
            [0, 1, 2, 3, 4].map(|i| cosine(i, 4)),
            [1.0, 0.0, -1.0, 0.0, 1.0]
        );
        for n in 1..200 {
            for i in 0..=n {
                let plain = libm::cos(TAU * i as f64 / n as f64);
                assert!((cosine(i, n) - plain).abs() < 1e-14, "{i}/{n}");
                assert_eq!(cosine(i, n), cosine(n - i, n));
            }
        }
    }

    #[test]
    fn hann_at_half_overlap_sums_to_one() {
        for n in [16, 64, 1024] {
            let w = WindowFunction::Hann.coefficients(n);
            for i in 0..n / 2 {
                assert!((w[i] + w[i + n / 2] - 1.0).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn windows_peak_at_one_in_the_middle_and_are_symmetric() {
        for window in [
            WindowFunction::Hann,
            WindowFunction::Hamming,
            WindowFunction::Blackman,
        ] {
            let w = window.coefficients(64);
            assert_eq!(w[32], 1.0);
            assert!(w[0] < 0.1);
            assert!((1..64).all(|i| w[i] == w[64 - i]));
        }
        assert_eq!(WindowFunction::Rectangular.coefficients(3), [1.0; 3]);
    }

    /// One point is all of a window, also of those that begin with 0: as elsewhere (`scipy.signal.get_window`).
    #[test]
    fn a_window_of_one_point_takes_nothing_away() {
        use WindowFunction::*;
        for window in [Rectangular, Hann, Hamming, Blackman] {
            assert_eq!(window.coefficients(1), [1.0], "{window:?}");
            assert_eq!(window.complex_coefficients(1), [1.0; 2]);
            assert!(window.coefficients(0).is_empty());
        }
        // Of two points the second is the middle.
        assert_eq!(Hann.coefficients(2), [0.0, 1.0]);
    }
}
