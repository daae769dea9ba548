//! Formats of a benchmark's numbers.

use crate::ROUNDING;
use crate::data::Kind;
use crate::size::{Size, SizeError, SizeParameter};
use std::fmt;
use std::str::FromStr;

/// Format of the numbers in a benchmark's arrays, and of its arithmetic.
///
/// The benchmarks themselves are defined in double precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// IEEE 754 binary32: the numbers of the base machine.
    #[default]
    Single,
    /// IEEE 754 binary64: the numbers of machines with the extension `double`.
    Double,
}

impl Precision {
    /// All formats, the shortest first.
    pub const ALL: [Self; 2] = [Self::Single, Self::Double];

    /// The format as a parameter of sizes.
    pub const PARAMETER: SizeParameter = SizeParameter::word(
        "precision",
        "single",
        "numbers of the arrays and of the arithmetic: single, or double on machines with `double`",
    )
    .optional();

    /// Returns the name of the format, which is also the value of the option `--precision`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Double => "double",
        }
    }

    /// Returns the type of an array of real numbers.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Single => Kind::F32,
            Self::Double => Kind::F64,
        }
    }

    /// Returns the bytes of a real number.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// Returns the format that a size names as `precision`; single precision if it names none.
    ///
    /// # Errors
    /// The word is no format.
    pub fn from_size(size: &Size) -> Result<Self, SizeError> {
        match size.find("precision") {
            None => Ok(Self::Single),
            Some(_) => match size.word("precision")?.parse() {
                Ok(precision) => Ok(precision),
                Err(_) => Err(size.make_error("precision", "single or double")),
            },
        }
    }

    /// Adds the format to a size that means single precision if it names none.
    #[must_use]
    pub fn add_to(self, size: Size) -> Size {
        match self {
            Self::Single => size,
            Self::Double => size.add_value("precision", self.name().to_owned()),
        }
    }

    /// Returns the largest relative error of one rounding: half a unit of the last place.
    #[must_use]
    pub fn rounding(self) -> f64 {
        match self {
            Self::Single => ROUNDING,
            Self::Double => f64::EPSILON / 2.0,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(name: &str) -> Result<Self, UnknownPrecision> {
        let of = |precision: &Self| precision.name() == name;
        let found = Self::ALL.into_iter().find(of);
        found.ok_or_else(|| UnknownPrecision(name.to_owned()))
    }
}

/// A word that is no format of numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("precision `{0}`: expected single or double")]
pub struct UnknownPrecision(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_their_names() {
        for precision in Precision::ALL {
            assert_eq!(precision.name().parse(), Ok(precision));
        }
        let said = "half".parse::<Precision>().unwrap_err().to_string();
        assert_eq!(said, "precision `half`: expected single or double");
    }

    /// A sum with a number below half a unit of the last place rounds back, with one above it does not.
    #[test]
    fn roundings_are_half_units() {
        let [single, double] = Precision::ALL.map(Precision::rounding);
        assert_eq!(1.0 + single as f32, 1.0);
        assert_ne!(1.0 + 1.5 * single as f32, 1.0);
        assert_eq!(1.0 + double, 1.0);
        assert_ne!(1.0 + 1.5 * double, 1.0);
    }
}
