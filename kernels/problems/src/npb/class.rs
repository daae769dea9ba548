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
}

impl NpbClass {
    /// All classes, by size.
    pub const ALL: [Self; 4] = [Self::S, Self::W, Self::A, Self::B];

    /// Returns the letter of the class.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::W => "W",
            Self::A => "A",
            Self::B => "B",
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
#[error("class `{0}`: expected S, W, A or B")]
pub struct UnknownClass(String);
