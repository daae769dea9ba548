//! Diagnostics as values: to print, to serialise, to test.

use super::Problem;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// No program is produced.
    Error,
    /// The program works, but not as well as it might.
    Warning,
}

/// A stretch of a source file; lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// File name.
    pub file: String,
    /// First line.
    pub line: u32,
    /// First column.
    pub column: u32,
    /// Last line.
    pub end_line: u32,
    /// Column behind the last character.
    pub end_column: u32,
}

/// One step of the expansion that led to a line: a macro call, an iteration of
/// `.rept`, an inclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// What expanded.
    pub what: String,
    /// Where that was written.
    pub at: Position,
}

/// Another place that matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Related {
    /// Why it matters.
    pub message: String,
    /// Where it is.
    pub at: Position,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Short stable name of the kind.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// Where.
    pub at: Position,
    /// The first line there; of a very long one, the part around the place.
    pub source: String,
    /// Other places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// How the line came about, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expansion: Vec<Frame>,
    /// What to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub help: Vec<String>,
    /// The problem itself, with its fields.
    #[serde(skip)]
    pub problem: Problem,
    #[serde(skip)]
    pub(super) rendered: String,
}

/// All errors or warnings of one assembly, in source order. `Display` shows
/// each with its source line and a caret; [`Serialize`] gives a list of objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics {
    pub(super) list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.rendered)
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, diagnostic) in self.list.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            f.write_str(&diagnostic.rendered)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
