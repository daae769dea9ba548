//! The formats of packed matrices, and their names.

use super::sell::Sell;
use cp2_machine::Machine;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Format of a packed matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackedFormat {
    /// The pattern becomes generated code: [`Gather`](super::gather::Gather).
    Gather,
    /// Cells along diagonals, with lists of addresses: [`Diagonals`](super::diagonal::Diagonals).
    Diagonal,
    /// Slices of sorted rows, with addresses of each section: [`Sell`](super::sell::Sell).
    Sell,
}

impl PackedFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Gather, Self::Diagonal, Self::Sell];

    /// Returns the formats that a machine has the instructions for.
    pub fn possible(machine: &Machine) -> impl Iterator<Item = Self> {
        let sell = Sell::is_possible(machine);
        let all = Self::ALL.into_iter();
        all.filter(move |&format| sell || format != Self::Sell)
    }

    /// Returns the name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gather => "gather",
            Self::Diagonal => "diagonal",
            Self::Sell => "sell",
        }
    }
}

impl fmt::Display for PackedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not one of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("format `{found}`: expected {}", PackedFormat::ALL.map(PackedFormat::name).join(" or "))]
pub struct UnknownFormat {
    /// The name.
    pub found: String,
}

impl FromStr for PackedFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownFormat {
            found: name.to_owned(),
        })
    }
}
