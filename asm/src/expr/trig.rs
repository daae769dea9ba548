//! Sine and cosine of fractions of a turn.

use std::f64::consts::TAU;

/// Returns `(cos, sin)` of `num / den` turns, `den > 0`.
///
/// The angle is reduced exactly to the first eighth of a turn, where `libm`'s
/// results are within an ulp of a double on every host: multiples of a quarter
/// are exact, and the symmetries of the circle hold bit for bit.
#[must_use]
pub fn cis(num: i64, den: i64) -> (f64, f64) {
    let (den, k) = (i128::from(den), i128::from(num).rem_euclid(i128::from(den)));
    // The angle is q quarter turns and a remainder of r / (4 den) turns: 4 k = q den + r, 0 <= r < den.
    let q = 4 * k / den;
    let r = 4 * k - q * den;
    let (c, s) = if 2 * r <= den {
        octant(r, den)
    } else {
        swap(octant(den - r, den))
    };
    match q {
        0 => (c, s),
        1 => (0.0 - s, c),
        2 => (0.0 - c, 0.0 - s),
        _ => (s, 0.0 - c),
    }
}

/// Returns `(cos, sin)` of `r / (4 den)` turns, at most an eighth of a turn.
fn octant(r: i128, den: i128) -> (f64, f64) {
    if r == 0 {
        return (1.0, 0.0);
    }
    if 2 * r == den {
        return (
            std::f64::consts::FRAC_1_SQRT_2,
            std::f64::consts::FRAC_1_SQRT_2,
        );
    }
    let angle = TAU * (r as f64 / (4.0 * den as f64));
    (libm::cos(angle), libm::sin(angle))
}

fn swap((a, b): (f64, f64)) -> (f64, f64) {
    (b, a)
}

/// Returns `(cos, sin)` of `turns`, by reduction to the first eighth of a turn as in [`cis`].
pub(crate) fn turns(turns: f64) -> (f64, f64) {
    if !turns.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    // fmod is exact, and so is every step below.
    let t = libm::fmod(turns, 1.0);
    let t = if t < 0.0 { t + 1.0 } else { t };
    let q = libm::floor(t * 4.0);
    let r = t - q / 4.0;
    let at = |r: f64| match r {
        0.0 => (1.0, 0.0),
        0.125 => (
            std::f64::consts::FRAC_1_SQRT_2,
            std::f64::consts::FRAC_1_SQRT_2,
        ),
        _ => (libm::cos(TAU * r), libm::sin(TAU * r)),
    };
    let (c, s) = if r <= 0.125 {
        at(r)
    } else {
        swap(at(0.25 - r))
    };
    match q as i64 % 4 {
        0 => (c, s),
        1 => (0.0 - s, c),
        2 => (0.0 - c, 0.0 - s),
        _ => (s, 0.0 - c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(
        clippy::disallowed_methods,
        reason = "the host's functions as the oracle"
    )]
    fn close_to_the_standard_library_and_exact_on_the_axes() {
        assert_eq!(cis(0, 7), (1.0, 0.0));
        assert_eq!(cis(1, 4), (0.0, 1.0));
        assert_eq!(cis(-1, 4), (0.0, -1.0));
        assert_eq!(cis(2, 4), (-1.0, 0.0));
        for den in [3, 8, 12, 100, 4096] {
            for num in -den..=2 * den {
                let (c, s) = cis(num, den);
                let angle = TAU * num as f64 / den as f64;
                assert!(
                    (c - angle.cos()).abs() < 4e-15 && (s - angle.sin()).abs() < 4e-15,
                    "{num}/{den}"
                );
                let (c2, s2) = turns(num as f64 / den as f64);
                assert!(
                    (c - c2).abs() < 4e-15 && (s - s2).abs() < 4e-15,
                    "{num}/{den} turns"
                );
            }
        }
    }

    #[test]
    fn extreme_arguments_stay_defined() {
        assert_eq!(cis(i64::MIN, 1), (1.0, 0.0));
        let (c, s) = cis(i64::MAX, i64::MAX - 1);
        assert!(c.is_finite() && s.is_finite());
        assert!(turns(f64::INFINITY).0.is_nan());
        assert_eq!(turns(-1e300), (1.0, 0.0));
        let (c, s) = turns(-1e-300);
        assert!(c == 1.0 && s.abs() < 1e-15);
    }
}
