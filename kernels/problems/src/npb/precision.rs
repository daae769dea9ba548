//! Formats of a benchmark's numbers.

use crate::ROUNDING;
use crate::data::{Kind, NamedArrays};
use crate::double_single::split_double;
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
    /// Sums of two binary32, see [`DoubleSingle`](crate::DoubleSingle): the numbers of machines with the extension
    /// `double-single`.
    DoubleSingle,
    /// IEEE 754 binary64: the numbers of machines with the extension `double`.
    Double,
}

impl Precision {
    /// All formats, those with the fewest digits first.
    pub const ALL: [Self; 3] = [Self::Single, Self::DoubleSingle, Self::Double];

    /// The format as a parameter of sizes.
    pub const PARAMETER: SizeParameter = SizeParameter::word(
        "precision",
        "single",
        "numbers of the arrays and of the arithmetic: single, or double or double-single on machines with that extension",
    )
    .optional();

    /// Returns the name of the format, which is also the value of the option `--precision`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::DoubleSingle => "double-single",
            Self::Double => "double",
        }
    }

    /// Returns the type of an array of real numbers.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::Single => Kind::F32,
            Self::DoubleSingle => Kind::DoubleSingle,
            Self::Double => Kind::F64,
        }
    }

    /// Returns the bytes of a real number.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Single => 4,
            Self::DoubleSingle | Self::Double => 8,
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
                Err(_) => Err(size.make_error("precision", "single, double-single or double")),
            },
        }
    }

    /// Adds the format to a size that means single precision if it names none.
    #[must_use]
    pub fn add_to(self, size: Size) -> Size {
        match self {
            Self::Single => size,
            Self::DoubleSingle | Self::Double => {
                size.add_value("precision", self.name().to_owned())
            }
        }
    }

    /// Adds an array of this format, the numbers of double precision rounded to it.
    pub(crate) fn add_wide_array(
        self,
        arrays: NamedArrays,
        (name, shape): (&'static str, &[usize]),
        x: Vec<f64>,
    ) -> NamedArrays {
        match self {
            Self::Single => {
                arrays.add_array(name, shape, x.into_iter().map(|x| x as f32).collect())
            }
            Self::DoubleSingle => {
                arrays.add_array(name, shape, x.into_iter().map(split_double).collect())
            }
            Self::Double => arrays.add_array(name, shape, x),
        }
    }

    /// Returns the largest relative error of one rounding: half a unit of the last place. In double-single precision it
    /// is a bound of an operation's error, 2^-45 of the sizes of a sum's operands or of a product: 7 x 2^-48 are proved
    /// of products without a low part's square (M. Joldes, J.-M. Muller, V. Popescu, Tight and rigorous error bounds
    /// for basic building blocks of double-word arithmetic, ACM TOMS 44, 2017), and sums have less.
    #[must_use]
    pub fn rounding(self) -> f64 {
        match self {
            Self::Single => ROUNDING,
            Self::DoubleSingle => 8.0 * ROUNDING * ROUNDING,
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
#[error("precision `{0}`: expected single, double-single or double")]
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
        assert_eq!(
            said,
            "precision `half`: expected single, double-single or double"
        );
    }

    /// A sum with a number below half a unit of the last place rounds back, with one above it does not.
    #[test]
    fn roundings_are_half_units() {
        let [single, pair, double] = Precision::ALL.map(Precision::rounding);
        assert_eq!(1.0 + single as f32, 1.0);
        assert_ne!(1.0 + 1.5 * single as f32, 1.0);
        assert_eq!(1.0 + double, 1.0);
        assert_ne!(1.0 + 1.5 * double, 1.0);
        assert_eq!(pair, 8.0 * single * single);
    }
}
