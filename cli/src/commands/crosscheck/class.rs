//! Classes of results: how their bits come about.

use cp2_problems::{MultiplyAdd, NamedArrays, Problem};
use serde::Serialize;
use std::fmt;

/// Relation of results to those in single precision in the order of the definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ArithmeticClass {
    /// Equal to the bit, with products and sums rounded together.
    Fused,
    /// Equal to the bit, with each product and each sum rounded.
    RoundedTwice,
    /// Within the bound only: another order, or an approximation.
    Bounded,
}

impl ArithmeticClass {
    /// Returns the name of the class.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fused => MultiplyAdd::Fused.name(),
            Self::RoundedTwice => MultiplyAdd::RoundedTwice.name(),
            Self::Bounded => "bounded",
        }
    }
}

impl fmt::Display for ArithmeticClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Results in single precision in the order of a problem's definition, if it has one.
pub(super) struct OrderedResults([Option<NamedArrays>; 2]);

impl OrderedResults {
    /// Computes the results.
    pub(super) fn new(problem: &dyn Problem, input: &NamedArrays) -> Self {
        Self(MultiplyAdd::ALL.map(|rounding| problem.compute_in_order(input, rounding)))
    }

    /// Compares an output with them.
    pub(super) fn equal_bits(&self, output: &NamedArrays) -> EqualBits {
        let [fused, rounded_twice] = &self.0;
        let equal =
            |own: &Option<NamedArrays>| own.as_ref().is_some_and(|own| own.equal_bits(output));
        EqualBits {
            fused: equal(fused),
            rounded_twice: equal(rounded_twice),
        }
    }
}

/// Equality of results with both kinds of ordered ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EqualBits {
    /// Equal to the results of fused operations.
    pub(super) fused: bool,
    /// Equal to the results that are rounded twice.
    pub(super) rounded_twice: bool,
}

impl EqualBits {
    /// Equal to both: the beginning of a conjunction.
    pub(super) const BOTH: Self = Self {
        fused: true,
        rounded_twice: true,
    };

    /// Returns what holds of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            fused: self.fused && other.fused,
            rounded_twice: self.rounded_twice && other.rounded_twice,
        }
    }

    /// Returns the class of results for which this holds without an exception. Where both do, no product is added to a
    /// sum, and each operation is rounded.
    pub(super) fn class(self) -> ArithmeticClass {
        match (self.fused, self.rounded_twice) {
            (_, true) => ArithmeticClass::RoundedTwice,
            (true, false) => ArithmeticClass::Fused,
            (false, false) => ArithmeticClass::Bounded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zeros and impulses are equal to many things: one result that is not decides.
    #[test]
    fn a_class_holds_without_exception() {
        let of = |fused, rounded_twice| EqualBits {
            fused,
            rounded_twice,
        };
        let [fused, twice, none] = [of(true, false), of(false, true), of(false, false)];
        assert_eq!(EqualBits::BOTH.and(fused).class(), ArithmeticClass::Fused);
        assert_eq!(
            EqualBits::BOTH.and(twice).class(),
            ArithmeticClass::RoundedTwice
        );
        assert_eq!(EqualBits::BOTH.class(), ArithmeticClass::RoundedTwice);
        assert_eq!(fused.and(twice).class(), ArithmeticClass::Bounded);
        assert_eq!(none.and(EqualBits::BOTH).class(), ArithmeticClass::Bounded);
    }

    #[test]
    fn names_are_those_of_reports() {
        for class in [
            ArithmeticClass::Fused,
            ArithmeticClass::RoundedTwice,
            ArithmeticClass::Bounded,
        ] {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
    }
}
