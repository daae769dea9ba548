//! How a result compares with what it should be.

/// How a result compares with the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Root-mean-square error relative to the root mean square of the reference, of whose elements none counts as less than the
    /// least normal number of single precision.
    pub rms: f64,
    /// The largest error in units of what the problem allows: at most 1 is right.
    pub worst: f64,
}

impl Verdict {
    /// On a result of the wrong shape, or of which nothing has been compared.
    pub const SHAPELESS: Self = Self {
        rms: f64::NAN,
        worst: f64::NAN,
    };

    /// Whether the result is within the problem's tolerance (a NaN is not).
    #[must_use]
    pub fn is_within_tolerance(&self) -> bool {
        self.worst <= 1.0
    }
}

/// How a part of a result compares with its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartVerdict {
    /// Squared error.
    pub error: f64,
    /// Squared norm of the reference.
    pub norm: f64,
    /// The error that the part may have, not squared.
    pub allowed: f64,
}

/// A verdict in the making, from parts that are each allowed an error. Of no parts nothing is known: that is no right result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    parts: usize,
    error: f64,
    norm: f64,
    worst: f64,
}

impl Tally {
    /// Adds a part: sums are those of the parts in their order.
    pub fn add(&mut self, part: PartVerdict) {
        let PartVerdict {
            error,
            norm,
            allowed,
        } = part;
        self.parts += 1;
        self.error += error;
        self.norm += norm;
        let ratio = match allowed {
            _ if error == 0.0 => 0.0,
            // Nothing is below what is negative or no number.
            allowed if allowed >= 0.0 => error.sqrt() / allowed,
            _ => f64::NAN,
        };
        // Not `max`: a NaN must stay.
        if ratio > self.worst || ratio.is_nan() {
            self.worst = ratio;
        }
    }

    /// All parts together.
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
        // An error where none is allowed.
        tally.add(part(1e-30, 0.0, 0.0));
        assert!(!tally.verdict().is_within_tolerance());
    }

    /// A comparison that is false for what is no number, or that compares nothing, does not pass.
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
