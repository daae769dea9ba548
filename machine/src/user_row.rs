//! Instructions that a machine file defines: rows of the instruction table.
//!
//! A row is a form of operands that exists, a class, and an expression for each lane of its results. The
//! expression is the only statement of what the row computes: the units it takes are counted from it.

mod flaw;
mod flow;
mod handle;
mod parse;
mod primitive;
mod read;
mod settle;
#[cfg(test)]
mod tests;

pub use flaw::RowFlaw;
pub use flow::{LaneFlow, LaneNode};
pub use handle::UserRow;
pub use primitive::Primitive;
pub(crate) use read::RowSetting;
pub(crate) use settle::settle_rows;

use crate::provenance::Origin;
use crate::{Class, Cycles};
use std::fmt;

/// Multipliers and adders of a section, which the base instructions share.
pub const SECTION_UNITS: (u32, u32) = (4, 6);

/// The major opcode of all rows.
pub const ROW_MAJOR: u8 = 15;

/// Minor opcodes that rows may have.
pub(crate) const OPCODES: u8 = 64;

/// The operand form of a row: one of those of the instruction table that have registers only and a minor opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowForm {
    /// `d, a` on pairs.
    P2,
    /// `d, a` on quads.
    Q2,
    /// `d, a, b` on pairs.
    P3,
    /// `d, a, b` on quads.
    Q3,
    /// `d, a, b, c` on pairs.
    P4,
    /// `d, a, b, c` on quads.
    Q4,
    /// `d, e, a, b` on pairs: two results.
    P22,
}

impl RowForm {
    /// All forms.
    pub const ALL: [Self; 7] = [
        Self::P2,
        Self::Q2,
        Self::P3,
        Self::Q3,
        Self::P4,
        Self::Q4,
        Self::P22,
    ];

    /// Returns the name in machine files, which is that of the form in the instruction table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P2 => "P2",
            Self::Q2 => "Q2",
            Self::P3 => "P3",
            Self::Q3 => "Q3",
            Self::P4 => "P4",
            Self::Q4 => "Q4",
            Self::P22 => "P22",
        }
    }

    /// Returns the names of the operands in assembler order.
    #[must_use]
    pub const fn operands(self) -> &'static [&'static str] {
        match self {
            Self::P2 | Self::Q2 => &["d", "a"],
            Self::P3 | Self::Q3 => &["d", "a", "b"],
            Self::P4 | Self::Q4 => &["d", "a", "b", "c"],
            Self::P22 => &["d", "e", "a", "b"],
        }
    }

    /// Returns the number of results, which come first among the operands.
    #[must_use]
    pub const fn results(self) -> usize {
        match self {
            Self::P22 => 2,
            _ => 1,
        }
    }

    /// Returns the lanes of every operand.
    #[must_use]
    pub const fn lanes(self) -> usize {
        match self {
            Self::P2 | Self::P3 | Self::P4 | Self::P22 => 2,
            Self::Q2 | Self::Q3 | Self::Q4 => 4,
        }
    }

    /// Returns the form of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

impl fmt::Display for RowForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Everything that a machine file says of a row, checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowDefinition {
    /// Assembler name.
    pub mnemonic: String,
    /// Operands and encoding.
    pub form: RowForm,
    /// The unit that produces the result.
    pub class: Class,
    /// Minor opcode, below major 15.
    pub opcode: u8,
    /// Cycles from issue to first use, where they are not those of the class.
    pub latency: Option<Cycles>,
    /// Multipliers of a section that has the row.
    pub multipliers: u32,
    /// Adders of a section that has the row.
    pub adders: u32,
    /// The expression, as it is printed.
    pub lanes: String,
    /// The expression, ready to be evaluated.
    pub flow: LaneFlow,
    /// One line of documentation.
    pub doc: String,
    /// Source and reference.
    pub origin: Origin,
}

impl RowDefinition {
    /// Returns all that decides what the row computes and how long it takes, in one line: without
    /// documentation and sources. Equal lines are the same instruction.
    #[must_use]
    pub fn essence(&self) -> String {
        let latency = self.latency.map_or("-".to_owned(), |c| c.0.to_string());
        format!(
            "{} {} {} {} {latency} {} {} = {}",
            self.mnemonic,
            self.form,
            self.opcode,
            self.class,
            self.multipliers,
            self.adders,
            self.lanes
        )
    }

    /// Returns the row as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "mnemonic": self.mnemonic,
            "form": self.form.name(),
            "class": self.class.name(),
            "opcode": self.opcode,
            "lanes": self.lanes,
            "latency": self.latency.map(|latency| latency.0),
            "muls": self.flow.muls(),
            "adds": self.flow.adds(),
            "multipliers": self.multipliers,
            "adders": self.adders,
            "source": self.origin.source.name(),
            "ref": self.origin.reference,
            "doc": self.doc,
        })
    }

    /// Returns the `[[row]]` of a machine file that defines this row.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let quote = |s: &str| toml::Value::from(s).to_string();
        let mut out = format!(
            "[[row]]\nmnemonic = {}\nform = {}\nclass = {}\nopcode = {}\nlanes = {}\n",
            quote(&self.mnemonic),
            quote(self.form.name()),
            quote(self.class.name()),
            self.opcode,
            quote(&self.lanes),
        );
        let mut add = |key: &str, value: String| out += &format!("{key} = {value}\n");
        if let Some(latency) = self.latency {
            add("latency", latency.0.to_string());
        }
        if self.multipliers != SECTION_UNITS.0 {
            add("multipliers", self.multipliers.to_string());
        }
        if self.adders != SECTION_UNITS.1 {
            add("adders", self.adders.to_string());
        }
        if !self.doc.is_empty() {
            add("doc", quote(&self.doc));
        }
        add("source", quote(self.origin.source.name()));
        if !self.origin.reference.is_empty() {
            add("ref", quote(&self.origin.reference));
        }
        out
    }
}
