//! Renders a diagnostic with its source lines.

use super::report::{Diagnostic, Severity};
use crate::source::{SourceMap, Span};
use codespan_reporting::diagnostic as cs;
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term;
use std::ops::Range;

impl<'a> Files<'a> for SourceMap {
    type FileId = usize;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: usize) -> Result<&'a str, Error> {
        Ok(&self.files().get(id).ok_or(Error::FileMissing)?.name)
    }

    fn source(&'a self, id: usize) -> Result<&'a str, Error> {
        Ok(&self.files().get(id).ok_or(Error::FileMissing)?.text)
    }

    fn line_index(&'a self, id: usize, at: usize) -> Result<usize, Error> {
        Ok(self
            .files()
            .get(id)
            .ok_or(Error::FileMissing)?
            .line(at as u32) as usize
            - 1)
    }

    fn line_range(&'a self, id: usize, line: usize) -> Result<Range<usize>, Error> {
        let file = self.files().get(id).ok_or(Error::FileMissing)?;
        file.line_range(line).ok_or(Error::LineTooLarge {
            given: line,
            max: file.lines().saturating_sub(1),
        })
    }
}

pub(super) fn render(
    map: &SourceMap,
    diagnostic: &Diagnostic,
    at: Span,
    related: &[(Span, String)],
    left_out: usize,
    wide: bool,
) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => cs::Severity::Error,
        Severity::Warning => cs::Severity::Warning,
    };
    let mut notes: Vec<String> = diagnostic
        .help
        .iter()
        .map(|h| format!("help: {h}"))
        .collect();
    notes.extend(diagnostic.expansion.iter().map(|f| {
        format!(
            "in {} at {}:{}:{}",
            f.what, f.at.file, f.at.line, f.at.column
        )
    }));
    if left_out > 0 {
        notes.push(format!("... and {left_out} more expansions"));
    }
    let range = |s: Span| s.start as usize..s.end as usize;
    if wide {
        // The line does not fit: the message shows its place alone.
        let mut text = format!(
            "{}: {}\n --> {}:{}:{}\n",
            match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            diagnostic.message,
            diagnostic.at.file,
            diagnostic.at.line,
            diagnostic.at.column
        );
        for note in notes {
            text += &format!("  = {note}\n");
        }
        return text;
    }
    let mut labels = vec![cs::Label::primary(at.file as usize, range(at))];
    labels.extend(
        related
            .iter()
            .map(|(s, why)| cs::Label::secondary(s.file as usize, range(*s)).with_message(why)),
    );
    let message = cs::Diagnostic::new(severity)
        .with_message(&diagnostic.message)
        .with_labels(labels)
        .with_notes(notes);
    let config = term::Config {
        chars: term::Chars::ascii(),
        ..term::Config::default()
    };
    let text = term::emit_into_string(&config, map, &message)
        .unwrap_or_else(|_| format!("{}\n", diagnostic.message));
    // Control characters are left out. They have no column, and a carriage return would overwrite the line on
    // a terminal.
    let shown = |line: &str| line.replace(char::is_control, "");
    let mut text: String = text
        .lines()
        .map(|l| shown(l).trim_end().to_owned() + "\n")
        .collect();
    while text.ends_with("\n\n") {
        text.pop();
    }
    text
}
