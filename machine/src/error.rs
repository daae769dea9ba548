//! Problems of a machine file, with their places and remedies.

use crate::RowFlaw;
use codespan_reporting::diagnostic::{Diagnostic, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// One problem of a machine file; its message says what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The name is no built-in machine and no file.
    #[error("no machine named `{name}`")]
    UnknownMachine {
        /// The name that was asked for.
        name: String,
        /// The closest built-in name.
        suggestion: Option<String>,
    },
    /// The file cannot be read.
    #[error("cannot read machine file `{path}`: {reason}")]
    Unreadable {
        /// The path as given.
        path: String,
        /// The operating system's message.
        reason: String,
    },
    /// The file is larger than a machine file may be.
    #[error("machine file `{path}` is larger than {limit} bytes")]
    TooLarge {
        /// The path as given.
        path: String,
        /// The largest size accepted.
        limit: u64,
    },
    /// The text is not TOML.
    #[error("not valid TOML: {message}")]
    Syntax {
        /// The parser's message.
        message: String,
    },
    /// A key that is neither a parameter nor a table.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The full key path.
        key: String,
        /// The closest known key.
        suggestion: Option<String>,
        /// The keys that may stand here.
        known: Vec<String>,
    },
    /// A key of a quantity that follows from other parameters.
    #[error("`{key}` is no parameter: it follows from {from}")]
    Derived {
        /// The key.
        key: &'static str,
        /// The parameters that it follows from.
        from: &'static str,
    },
    /// A value of the wrong TOML type.
    #[error("`{key}` is {found}")]
    WrongType {
        /// The full key path.
        key: String,
        /// The TOML type that was expected.
        expected: String,
        /// The TOML type that was found.
        found: String,
    },
    /// A parameter without its `value`.
    #[error("`{key}` has no value")]
    MissingValue {
        /// The parameter.
        key: String,
    },
    /// A parameter without its `unit`.
    #[error("`{key}` has no unit")]
    MissingUnit {
        /// The parameter.
        key: String,
        /// The units it may have.
        units: Vec<&'static str>,
    },
    /// A unit that does not measure this parameter.
    #[error("`{key}` cannot be given in `{unit}`")]
    WrongUnit {
        /// The parameter.
        key: String,
        /// The unit found.
        unit: String,
        /// The units it may have.
        units: Vec<&'static str>,
    },
    /// A source that is none of `fact`, `assumed`, `measured`.
    #[error("`{key}` has the source `{found}`")]
    WrongSource {
        /// The parameter.
        key: String,
        /// The source that was found.
        found: String,
    },
    /// A value outside the parameter's range, or one that breaks a rule.
    #[error("`{key}` cannot be {value}")]
    Impossible {
        /// The parameter.
        key: String,
        /// The value found, with its unit.
        value: String,
        /// The values allowed.
        rule: String,
    },
    /// A parameter of an extension that the machine does not have.
    #[error("`{key}` belongs to the extension {extensions}, which this machine does not have")]
    WithoutExtension {
        /// The parameter.
        key: &'static str,
        /// The extensions that are missing, comma-separated.
        extensions: String,
    },
    /// A parameter that only machines with another value of some other one have.
    #[error("`{key}` belongs to machines with {condition}")]
    WithoutCondition {
        /// The parameter.
        key: &'static str,
        /// Value that they have, in words.
        condition: &'static str,
        /// Change of a machine that gives it that.
        change: &'static str,
    },
    /// A change of a machine that names a parameter without giving it a value.
    #[error("`{key}` is named without a value")]
    ChangeWithoutValue {
        /// The parameter.
        key: &'static str,
        /// The units it may have.
        units: Vec<&'static str>,
    },
    /// A machine file that was to give its rows has none.
    #[error("`{path}` has no rows")]
    NoRows {
        /// The file.
        path: String,
    },
    /// The base of a file takes the rows of another file.
    #[error("a `base` takes the rows of another file with `rows=`")]
    RowsInBase,
    /// A change without text.
    #[error("a change is empty")]
    EmptyChange,
    /// Parameters that neither the file nor its bases set.
    #[error("missing parameter{} {}", if keys.len() == 1 { "" } else { "s" }, list(keys))]
    Missing {
        /// The parameters.
        keys: Vec<String>,
    },
    /// A row of the instruction table that is wrong.
    #[error("row `{row}`: {flaw}")]
    Row {
        /// Mnemonic of the row, or its number.
        row: String,
        /// Flaw of the row.
        flaw: RowFlaw,
    },
    /// A machine that is its own base.
    #[error("cycle of bases: {}", chain.join(" -> "))]
    BaseCycle {
        /// The files, the first repeated at the end.
        chain: Vec<String>,
    },
    /// A chain of bases longer than the limit.
    #[error("more than {limit} machine files are based on each other")]
    BaseTooDeep {
        /// The longest chain accepted.
        limit: usize,
    },
}

fn list(names: &[String]) -> String {
    names
        .iter()
        .map(|n| format!("`{n}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

impl Problem {
    /// Returns the remedy, in words.
    #[must_use]
    pub fn help(&self) -> String {
        let or = |names: &[&str]| {
            names
                .iter()
                .map(|n| format!("\"{n}\""))
                .collect::<Vec<_>>()
                .join(" or ")
        };
        match self {
            Self::UnknownMachine { suggestion, .. } => format!(
                "{}built-in machines are {}; anything else is the path of a machine file",
                did_you_mean(suggestion.as_deref()),
                crate::Machine::names().join(", ")
            ),
            Self::Unreadable { .. } => {
                format!(
                    "give the path of a machine file, or one of {}",
                    crate::Machine::names().join(", ")
                )
            }
            Self::TooLarge { .. } => {
                "a machine file holds a few kilobytes of TOML: is this the right file?".into()
            }
            Self::Syntax { .. } => {
                "see https://toml.io; `cp2 machines show vm7 --toml` prints a complete machine file"
                    .into()
            }
            Self::UnknownKey {
                suggestion, known, ..
            } => {
                format!(
                    "{}known here: {}",
                    did_you_mean(suggestion.as_deref()),
                    known.join(", ")
                )
            }
            Self::Derived { from, .. } => {
                format!("leave it out; to change the rate, set {from}")
            }
            Self::WrongType { expected, .. } => format!("expected {expected}"),
            Self::MissingValue { .. } => "write { value = ..., unit = \"...\" }".into(),
            Self::MissingUnit { units, .. } => format!("add unit = {}", or(units)),
            Self::WrongUnit { unit, units, .. } => {
                let near = suggest(unit, units.iter().copied());
                format!("{}expected {}", did_you_mean(near.as_deref()), or(units))
            }
            Self::WrongSource { .. } => "expected \"fact\", \"assumed\" or \"measured\"".into(),
            Self::Impossible { rule, .. } => format!("expected {rule}"),
            Self::WithoutExtension { extensions, .. } => {
                format!("add {extensions} to `cp2.extensions`, or leave the parameter out")
            }
            Self::WithoutCondition { change, .. } => {
                format!("set {change}, or leave the parameter out")
            }
            Self::ChangeWithoutValue { key, units } => match units.first() {
                Some(unit) => format!(
                    "write {key}=NUMBER and a unit ({unit}), or {key}=x2 for twice the base's"
                ),
                None => format!("write {key}=NAME"),
            },
            Self::RowsInBase => {
                "name the file with the rows as base, or write +rows=FILE where the machine is chosen".into()
            }
            Self::NoRows { .. } => {
                "give a machine file with [[row]] tables, as docs/machine.md describes them".into()
            }
            Self::EmptyChange => {
                "write NAME+EXTENSION or NAME+KEY=VALUE, as in vm7+dma.granule=4B".into()
            }
            Self::Missing { .. } => {
                "set them, or start from another machine with base = \"vm7\"".into()
            }
            Self::Row { flaw, .. } => flaw.help(),
            Self::BaseCycle { .. } => {
                "one of these files must not have a base, or a built-in one".into()
            }
            Self::BaseTooDeep { .. } => "merge some of the files".into(),
        }
    }
}

fn did_you_mean(name: Option<&str>) -> String {
    name.map(|n| format!("did you mean `{n}`? "))
        .unwrap_or_default()
}

/// Returns the known name closest to a mistyped one, if any is close.
pub(crate) fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Only the first 64 characters are compared, as the comparison takes the product of both lengths.
    let lower: String = name.chars().take(64).collect::<String>().to_lowercase();
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(&lower, &k.to_lowercase()), k))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k.to_owned())
}

/// A machine file's name and text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A place in a machine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) file: Arc<File>,
    pub(crate) span: Range<usize>,
}

impl Place {
    /// Returns the file's name as given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file.name
    }

    /// Returns line and column, both from 1.
    #[must_use]
    pub fn line_column(&self) -> (usize, usize) {
        let before = self
            .file
            .text
            .get(..self.span.start)
            .unwrap_or(&self.file.text);
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (
            before.matches('\n').count() + 1,
            before[line_start..].chars().count() + 1,
        )
    }
}

/// A problem and its place; problems of the command line have no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The problem.
    pub problem: Problem,
    /// Its place in a file.
    pub place: Option<Place>,
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let help = self.problem.help();
        let Some(place) = &self.place else {
            return write!(f, "error: {}\n  = {help}", self.problem);
        };
        let diagnostic = Diagnostic::error()
            .with_message(&self.problem)
            .with_labels(vec![Label::primary((), place.span.clone())])
            .with_notes(vec![help.clone()]);
        let file = SimpleFile::new(&place.file.name, &place.file.text);
        match term::emit_into_string(&term::Config::default(), &file, &diagnostic) {
            Ok(text) => f.write_str(text.trim_end()),
            Err(_) => write!(
                f,
                "error: {}: {}\n  = {help}",
                place.file.name, self.problem
            ),
        }
    }
}

/// All problems of a machine, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError {
    /// The problems, at least one.
    pub problems: Vec<Located>,
}

impl MachineError {
    pub(crate) fn new(problem: Problem, place: Option<Place>) -> Self {
        Self {
            problems: vec![Located { problem, place }],
        }
    }
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for MachineError {}
