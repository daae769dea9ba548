//! The text of a job file, with messages that show the place of an error.

use crate::outcome::CommandFailure;
use codespan_reporting::diagnostic::{Diagnostic, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;
use std::ops::Range;
use std::path::Path;

/// Text of a job file, with its path.
pub(super) struct JobText<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl JobText<'_> {
    /// Makes a failure at a place of the file, shown with its line and a caret.
    pub(super) fn fail(&self, span: Range<usize>, message: &str, help: &str) -> CommandFailure {
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
        CommandFailure::input(lines.join("\n").trim_end())
    }
}
