//! Tolerances of results, as command lines and job files spell them.

use std::fmt;
use std::str::FromStr;

/// Tolerance: a finite number from 0 on, parsed alike from command lines and job files.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(crate) struct Bound(f64);

/// Error for a number that cannot be a tolerance.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("found {found}; expected a finite number from 0 on, such as 1e-5")]
pub(crate) struct NoBound {
    found: String,
}

impl Bound {
    pub(crate) fn get(self) -> f64 {
        self.0
    }

    /// True if an error is within the bound; a NaN is not.
    pub(crate) fn admits(self, error: f64) -> bool {
        error <= self.0
    }
}

impl TryFrom<f64> for Bound {
    type Error = NoBound;

    fn try_from(number: f64) -> Result<Self, NoBound> {
        match number.is_finite() && number >= 0.0 {
            // The absolute value turns -0 into 0.
            true => Ok(Self(number.abs())),
            false => Err(NoBound {
                found: number.to_string(),
            }),
        }
    }
}

impl FromStr for Bound {
    type Err = NoBound;

    fn from_str(text: &str) -> Result<Self, NoBound> {
        let number = text.parse().map_err(|_| NoBound {
            found: format!("`{text}`"),
        });
        number.and_then(|number: f64| Self::try_from(number))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:e}", self.0)
    }
}

/// Tolerances that a result has to keep to: all that are given; without any, no error at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
pub(crate) struct MapTolerance {
    /// How far an element may be from the expected one: absolute up to 1, relative to it beyond [default: 0
    /// where no other tolerance is given]
    #[arg(long = "tolerance", value_name = "E", requires = "expected")]
    pub(crate) each: Option<Bound>,
    /// How far an element may be from the expected one, as a share of the largest expected number of the
    /// array [default: any]
    #[arg(long = "tolerance-largest", value_name = "E", requires = "expected")]
    pub(crate) largest: Option<Bound>,
    /// Largest root mean square of all differences, as a share of that of the expected numbers [default: any]
    #[arg(long = "tolerance-rms", value_name = "E", requires = "expected")]
    pub(crate) rms: Option<Bound>,
}

impl MapTolerance {
    /// Returns the tolerance of a single element: 0 if no tolerance is given.
    pub(crate) fn element_bound(&self) -> Option<Bound> {
        let other = self.largest.or(self.rms);
        self.each.or(other.is_none().then(Bound::default))
    }

    /// True if a tolerance is given.
    pub(crate) fn is_given(&self) -> bool {
        self.each.or(self.largest).or(self.rms).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_bounds_nothing_is_refused() {
        for text in ["nan", "-nan", "inf", "-inf", "-1.0", "-1e-30", "1e999"] {
            assert_eq!(text.parse::<Bound>().ok(), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn numbers_from_0_on_are_bounds(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            let text = format!("{number:e}").to_lowercase();
            let right = (0.0..f64::INFINITY).contains(&number);
            prop_assert_eq!(text.parse().ok().map(Bound::get), right.then_some(number));
        }
    }
}
