//! Window functions in double precision, rounded once.

use std::f64::consts::TAU;

/// A window of `n` points, periodic for spectra (point n equals point 0); a window of a single point is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFunction {
    /// w = 1.
    Rectangular,
    /// w = 0.5 - 0.5 cos(2 pi i/n).
    Hann,
    /// w = 0.54 - 0.46 cos(2 pi i/n).
    Hamming,
    /// w = 0.42 - 0.5 cos(2 pi i/n) + 0.08 cos(4 pi i/n).
    Blackman,
}

impl WindowFunction {
    /// Returns the coefficients for real samples.
    #[must_use]
    pub fn coefficients(self, n: usize) -> Vec<f32> {
        let [a, b, c] = match self {
            Self::Rectangular => [1.0, 0.0, 0.0],
            Self::Hann => [0.5, 0.5, 0.0],
            Self::Hamming => [0.54, 0.46, 0.0],
            Self::Blackman => [0.42, 0.5, 0.08],
        };
        // A window of a single point would be the edge, which may be 0 and useless for spectra.
        if n == 1 {
            return vec![1.0];
        }
        let points = 0..n;
        points
            .map(|i| (a - b * cosine(i, n) + c * cosine(2 * i, n)) as f32)
            .collect()
    }

    /// Returns the coefficients for complex samples: every coefficient twice.
    #[must_use]
    pub fn complex_coefficients(self, n: usize) -> Vec<f32> {
        let real = self.coefficients(n);
        real.into_iter().flat_map(|w| [w, w]).collect()
    }
}

/// Returns the cosine of `i / n` turns. The angle is reduced exactly to the first eighth of a turn, so that
/// the symmetries of the circle hold bit for bit.
fn cosine(i: usize, n: usize) -> f64 {
    // Places are in quarters of 1 / n turns, which are integers: n of them are a quarter turn.
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

    /// A window of one point is 1, also for windows that begin with 0, as in `scipy.signal.get_window`.
    #[test]
    fn a_window_of_one_point_takes_nothing_away() {
        use WindowFunction::*;
        for window in [Rectangular, Hann, Hamming, Blackman] {
            assert_eq!(window.coefficients(1), [1.0], "{window:?}");
            assert_eq!(window.complex_coefficients(1), [1.0; 2]);
            assert!(window.coefficients(0).is_empty());
        }
        // The second of two points is the middle.
        assert_eq!(Hann.coefficients(2), [0.0, 1.0]);
    }
}
