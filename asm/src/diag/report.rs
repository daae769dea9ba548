//! Diagnostics as values: to print, to serialise, to test.

use super::Problem;
use serde::Serialize;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// No program is produced.
    Error,
    /// The program works, but could be better.
    Warning,
}

/// Range of a source file; lines and columns count from 1, columns in characters.
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
    /// Column after the last character.
    pub end_column: u32,
}

/// One step of the expansion that led to a line: a macro call, an iteration of `.rept`, an inclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// The macro, file or iteration that expanded.
    pub what: String,
    /// Place of the call, repetition or inclusion in the source.
    pub at: Position,
}

/// Another place that helps to understand a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Related {
    /// Reason why the place matters.
    pub message: String,
    /// The place.
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
    /// Place of the problem.
    pub at: Position,
    /// First source line of the place; for a very long line, the part around the place.
    pub source: String,
    /// Other places that matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// Expansions that led to the line, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expansion: Vec<Frame>,
    /// Advice on how to fix the problem.
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
    /// True if there is no diagnostic.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of diagnostics.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Iterates over the diagnostics in source order.
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
