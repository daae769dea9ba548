//! Sources of parameter values: fact, assumption or measurement.

use crate::network::default_origin;
use crate::table::{EXTENSION_ROWS, NETWORK_ROWS, ROWS};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much a value can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Stated by a published document.
    Fact,
    /// Assumed by this project or by the author of the machine file.
    #[default]
    Assumed,
    /// Measured on hardware.
    Measured,
}

impl Source {
    /// All sources.
    pub const ALL: [Self; 3] = [Self::Fact, Self::Assumed, Self::Measured];

    /// The name used in machine files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Assumed => "assumed",
            Self::Measured => "measured",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Source and reference of one parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// How much the value can be trusted.
    pub source: Source,
    /// The statement of the reference it follows (`M13`), a document, or empty.
    pub reference: String,
}

/// The origin of every parameter of a machine, in table order.
#[derive(Clone, PartialEq, Eq)]
pub struct Provenance(pub(crate) Vec<Origin>);

impl Default for Provenance {
    fn default() -> Self {
        let rows = ROWS.iter().map(|_| Origin::default());
        let network = NETWORK_ROWS.iter().map(|row| default_origin(row.key));
        let extensions = EXTENSION_ROWS.iter().map(|_| Origin::of_default());
        Self(rows.chain(network).chain(extensions).collect())
    }
}

impl Origin {
    /// Returns the origin of a parameter of an extension that no machine file gives.
    pub(crate) fn of_default() -> Self {
        Self {
            source: Source::Assumed,
            reference: "default of the extension".to_owned(),
        }
    }
}

// The origins are omitted: they would add a long text to failed assertions on machines, and explain none.
impl fmt::Debug for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Provenance(..)")
    }
}
