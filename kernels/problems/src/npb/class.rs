//! Classes of benchmarks: letters that denote sizes.

use std::fmt;
use std::str::FromStr;

/// A size of every benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NpbClass {
    /// Small size, to test a program.
    S,
    /// Size for a workstation of 1991.
    W,
    /// The smallest size that is meant to be measured.
    A,
    /// About four times the size of A.
    B,
    /// About four times the size of B.
    C,
}

impl NpbClass {
    /// All classes, by size.
    pub const ALL: [Self; 5] = [Self::S, Self::W, Self::A, Self::B, Self::C];

    /// Returns the letter of the class.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::W => "W",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        }
    }
}

impl fmt::Display for NpbClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for NpbClass {
    type Err = UnknownClass;

    fn from_str(name: &str) -> Result<Self, UnknownClass> {
        let of = |class: &Self| class.name().eq_ignore_ascii_case(name);
        let found = Self::ALL.into_iter().find(of);
        found.ok_or_else(|| UnknownClass(name.to_owned()))
    }
}

/// A letter that is no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("class `{0}`: expected S, W, A, B or C")]
pub struct UnknownClass(String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npb::FtProblem;
    use crate::npb::cg::CgClass;
    use crate::npb::ft;
    use crate::npb::mg::MgClass;

    /// Classes are found by their letters, and each has the operations that the benchmarks print for it, in 10^9.
    #[test]
    fn classes_have_the_operations_of_the_benchmarks() {
        for (name, [cg, ft, mg]) in [
            ("S", [0.0667, 0.1772, 0.0076]),
            ("w", [0.421, 0.3727, 0.4865]),
            ("A", [1.496, 7.136, 3.892]),
            ("b", [54.7, 92.05, 19.46]),
            ("C", [143.3, 396.4, 155.7]),
        ] {
            let class: NpbClass = name.parse().unwrap();
            let cube = MgClass::from_class(class);
            let points = cube.problem().count();
            for (found, printed) in [
                (CgClass::from_class(class).operations(), cg),
                (FtProblem::from_class(class).operations(), ft),
                (MgClass::count_operations(points, cube.cycles), mg),
            ] {
                let apart = (found / (printed * 1e9) - 1.0).abs();
                assert!(apart < 0.01, "{class}: {found:e} {printed}");
            }
            assert_eq!(
                ft::official(class).len(),
                FtProblem::from_class(class).steps()
            );
        }
        let said = "D".parse::<NpbClass>().unwrap_err().to_string();
        assert_eq!(said, "class `D`: expected S, W, A, B or C");
    }
}
