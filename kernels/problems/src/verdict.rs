//! Comparison of a result with its reference.

/// Outcome of comparing a result with the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Root-mean-square error relative to the root mean square of the reference. Elements of the reference
    /// count at least as the smallest normal number of single precision.
    pub rms: f64,
    /// The largest error in units of the allowed one; a result is right up to 1.
    pub worst: f64,
}

impl Verdict {
    /// Verdict on a result of the wrong shape, or of which nothing was compared.
    pub const SHAPELESS: Self = Self {
        rms: f64::NAN,
        worst: f64::NAN,
    };

    /// True if the result is within the problem's tolerance (a NaN is not).
    #[must_use]
    pub fn is_within_tolerance(&self) -> bool {
        self.worst <= 1.0
    }
}

/// Comparison of a part of a result with its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartVerdict {
    /// Squared error.
    pub error: f64,
    /// Squared norm of the reference.
    pub norm: f64,
    /// Error that the part may have, not squared.
    pub allowed: f64,
}

impl PartVerdict {
    /// Returns the error in units of the allowed one; infinity or NaN where none is allowed.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        match self.allowed {
            _ if self.error == 0.0 => 0.0,
            // An allowed error that is negative or NaN admits nothing.
            allowed if allowed >= 0.0 => self.error.sqrt() / allowed,
            _ => f64::NAN,
        }
    }
}

/// Accumulates a verdict from parts, each with its allowed error. Without parts nothing is known, and the
/// result is not right.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    parts: usize,
    error: f64,
    norm: f64,
    worst: f64,
}

impl Tally {
    /// Adds a part; sums are made in the order of the parts.
    pub fn add(&mut self, part: PartVerdict) {
        self.parts += 1;
        self.error += part.error;
        self.norm += part.norm;
        let ratio = part.ratio();
        // `max` would drop a NaN, which must stay.
        if ratio > self.worst || ratio.is_nan() {
            self.worst = ratio;
        }
    }

    /// Returns the verdict on all parts together.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        if self.parts == 0 {
            return Verdict::SHAPELESS;
        }
        let rms = if self.error == 0.0 {
            0.0
        } else {
            (self.error / self.norm).sqrt()
        };
        Verdict {
            rms,
            worst: self.worst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(error: f64, norm: f64, allowed: f64) -> PartVerdict {
        PartVerdict {
            error,
            norm,
            allowed,
        }
    }

    #[test]
    fn a_nan_stays_whatever_follows() {
        let mut tally = Tally::default();
        tally.add(part(f64::NAN, 1.0, 1.0));
        tally.add(part(0.5, 1.0, 1.0));
        assert!(!tally.verdict().is_within_tolerance());
    }

    #[test]
    fn the_worst_part_decides() {
        let mut tally = Tally::default();
        tally.add(part(4.0, 100.0, 4.0));
        assert!(tally.verdict().is_within_tolerance());
        tally.add(part(4.0, 100.0, 1.0));
        assert_eq!(tally.verdict().worst, 2.0);
        // An error where none is allowed is beyond any tolerance.
        tally.add(part(1e-30, 0.0, 0.0));
        assert!(!tally.verdict().is_within_tolerance());
    }

    /// A comparison with NaN, or of nothing, does not pass.
    #[test]
    fn what_can_not_be_compared_is_not_right() {
        assert!(!Tally::default().verdict().is_within_tolerance());
        for allowed in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            let mut tally = Tally::default();
            tally.add(part(1.0, 1.0, allowed));
            assert!(!tally.verdict().is_within_tolerance(), "{allowed}");
        }
        let mut tally = Tally::default();
        tally.add(part(f64::INFINITY, 1.0, f64::INFINITY));
        assert!(!tally.verdict().is_within_tolerance());
    }
}
