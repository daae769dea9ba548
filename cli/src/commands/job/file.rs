//! The job file: arrays, and passes of kernels over them (`docs/arrays.md`).

use crate::commands::map::{Bound, Tolerance};
use crate::outcome::Failure;
use codespan_reporting::diagnostic::{Diagnostic, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;
use cp2_host::Buffering;
use cp2_host::nest::{Edge, March};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A whole job.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct JobFile {
    /// Arrays by name.
    pub(super) arrays: BTreeMap<String, Spanned<ArraySpec>>,
    /// Passes, in their order.
    #[serde(rename = "pass")]
    pub(super) passes: Vec<Spanned<PassSpec>>,
    /// How often all passes are carried out.
    #[serde(default = "once")]
    pub(super) repeat: Spanned<u32>,
}

fn once() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

/// An array: an input, which is read from a file, or one with a shape, which passes store.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ArraySpec {
    /// The file that it is read from.
    pub(super) input: Option<Spanned<PathBuf>>,
    /// The file that it is written to.
    pub(super) output: Option<Spanned<PathBuf>>,
    /// Extents, slowest first.
    pub(super) shape: Option<Spanned<Vec<u64>>>,
    /// NumPy's name of its elements; float32 if not given.
    pub(super) element: Option<Spanned<String>>,
    /// What it is compared with.
    pub(super) expect: Option<Spanned<PathBuf>>,
    /// How far it may be from that, as the options of `cp2 map` say it.
    pub(super) tolerance: Option<Bound>,
    pub(super) tolerance_largest: Option<Bound>,
    pub(super) tolerance_rms: Option<Bound>,
}

impl ArraySpec {
    /// How far it may be from what is expected.
    pub(super) fn tolerance(&self) -> Tolerance {
        Tolerance {
            each: self.tolerance,
            largest: self.tolerance_largest,
            rms: self.tolerance_rms,
        }
    }
}

/// A pass of a kernel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PassSpec {
    /// Source or object file of the kernel.
    pub(super) kernel: Spanned<PathBuf>,
    /// Elements of a block along each axis, of all streams that do not say.
    pub(super) block: Vec<u64>,
    #[serde(default)]
    pub(super) inputs: Vec<StreamSpec>,
    #[serde(default)]
    pub(super) outputs: Vec<StreamSpec>,
    #[serde(default)]
    pub(super) tables: Vec<Spanned<String>>,
    /// Words of the kernel's own.
    #[serde(default)]
    pub(super) args: Vec<Spanned<Word>>,
    #[serde(default)]
    pub(super) reduce: bool,
    #[serde(default)]
    pub(super) in_place: bool,
    /// The axis that pages march along.
    pub(super) march: Option<March>,
    #[serde(default)]
    pub(super) scratch: u64,
    /// Blocks of each section in a page.
    pub(super) page: Option<u32>,
    #[serde(default)]
    pub(super) buffering: Buffering,
}

/// An argument word: an integer, or the bits of a float32.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Word {
    Integer(i64),
    Float(f64),
}

impl Word {
    /// Its 32 bits; none of an integer that has more.
    pub(super) fn bits(self) -> Option<u32> {
        match self {
            Self::Integer(n) if n < 0 => i32::try_from(n).ok().map(|n| n as u32),
            Self::Integer(n) => u32::try_from(n).ok(),
            Self::Float(x) => Some((x as f32).to_bits()),
        }
    }
}

/// An array as a pass takes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct StreamSpec {
    /// Its name.
    pub(super) array: Spanned<String>,
    pub(super) block: Option<Vec<u64>>,
    #[serde(default)]
    pub(super) halo: Vec<u64>,
    #[serde(default)]
    pub(super) edge: Edge,
}

/// A job file's text, for messages that show where they are about.
pub(super) struct Text<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Text<'_> {
    /// The job.
    pub(super) fn parse(&self) -> Result<JobFile, Failure> {
        toml::from_str(self.text).map_err(|e: toml::de::Error| {
            let end = self.text.len();
            self.fail(e.span().unwrap_or(end..end), e.message(), "")
        })
    }

    /// A failure at a place of the file, with its line and a caret.
    pub(super) fn fail(&self, span: Range<usize>, message: &str, help: &str) -> Failure {
        let file = SimpleFile::new(self.path.display().to_string(), self.text);
        let mut diagnostic = Diagnostic::error()
            .with_message(message)
            .with_labels(vec![Label::primary((), span)]);
        if !help.is_empty() {
            diagnostic = diagnostic.with_notes(vec![format!("help: {help}")]);
        }
        let config = term::Config {
            chars: term::Chars::ascii(),
            ..term::Config::default()
        };
        let text = term::emit_into_string(&config, &file, &diagnostic);
        let text = text.unwrap_or_else(|_| format!("{}: {message}", self.path.display()));
        let lines = text.lines().map(|line| line.replace(char::is_control, ""));
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        Failure::input(lines.join("\n").trim_end())
    }
}
