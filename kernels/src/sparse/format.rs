//! The formats of packed matrices, and their names.

use super::sell::SellLoads;
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
    /// Slices of sorted rows, with addresses of single words of each section.
    SellWords,
}

impl PackedFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Gather, Self::Diagonal, Self::Sell, Self::SellWords];

    /// Returns the formats that a machine has the instructions for.
    pub fn possible(machine: &Machine) -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(|format| {
            format
                .loads()
                .is_none_or(|loads| loads.are_possible(machine))
        })
    }

    /// Returns the loads at addresses of each section that the format is made of, if it is.
    pub(super) fn loads(self) -> Option<SellLoads> {
        match self {
            Self::Gather | Self::Diagonal => None,
            Self::Sell => Some(SellLoads::Pairs),
            Self::SellWords => Some(SellLoads::Words),
        }
    }

    /// Returns the name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gather => "gather",
            Self::Diagonal => "diagonal",
            Self::Sell => "sell",
            Self::SellWords => "sell-words",
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
