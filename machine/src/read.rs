//! Reads the text of one machine file to the settings that it makes.

use crate::error::{File, Located, MachineError, Place, Problem, suggest};
use crate::provenance::Origin;
use crate::quantity::Value;
use crate::table::{DERIVED, Row, all_rows};
use crate::user_row::RowSetting;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The settings of one file, not yet joined to its base.
pub(crate) struct Layer {
    pub(crate) file: Arc<File>,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) base: Option<(String, Place)>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) rows: Vec<RowSetting>,
}

/// One parameter set by a file.
pub(crate) struct Setting {
    pub(crate) index: usize,
    pub(crate) row: &'static Row,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    pub(crate) place: Place,
}

/// Most problems reported for one file.
const MAX_PROBLEMS: usize = 20;

/// The text keys of a file besides the parameters.
const HEAD: [&str; 4] = ["name", "description", "note", "base"];

/// The key of rows of the instruction table, in double brackets.
const ROWS: &str = "row";

pub(crate) type Entry<'a, 'i> = (
    &'a Spanned<toml::de::DeString<'i>>,
    &'a Spanned<DeValue<'i>>,
);

/// Reads a file's settings and checks each by itself.
pub(crate) fn read(file: &Arc<File>) -> Result<Layer, MachineError> {
    let table = match DeTable::parse(&file.text) {
        Ok(table) => table,
        Err(e) => {
            let end = file.text.len();
            let span = e.span().unwrap_or(0..0);
            let place = Place {
                file: file.clone(),
                span: span.start.min(end)..span.end.min(end),
            };
            let problem = Problem::Syntax {
                message: e.message().to_owned(),
            };
            return Err(MachineError::new(problem, Some(place)));
        }
    };
    let layer = Layer {
        file: file.clone(),
        name: None,
        description: None,
        note: None,
        base: None,
        settings: Vec::new(),
        rows: Vec::new(),
    };
    let mut reader = Reader {
        layer,
        problems: Vec::new(),
    };
    reader.table("", table.get_ref());
    if reader.problems.is_empty() {
        return Ok(reader.layer);
    }
    let start = |l: &Located| l.place.as_ref().map_or(0, |p| p.span.start);
    reader.problems.sort_by_key(start);
    Err(MachineError {
        problems: reader.problems,
    })
}

/// Walks the tables of a file.
pub(crate) struct Reader {
    pub(crate) layer: Layer,
    pub(crate) problems: Vec<Located>,
}

impl Reader {
    pub(crate) fn place(&self, span: Range<usize>) -> Place {
        Place {
            file: self.layer.file.clone(),
            span,
        }
    }

    /// Records a problem, unless there are enough.
    pub(crate) fn fail(&mut self, span: Range<usize>, problem: Problem) {
        if self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        let place = Some(self.place(span));
        self.problems.push(Located { problem, place });
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            if self.problems.len() >= MAX_PROBLEMS {
                return;
            }
            let path = join(prefix, key.get_ref());
            // A quoted `"cp2.clock"` is one key with a dot in it, not a path.
            if key.get_ref().contains('.') {
                let quoted = join(prefix, &format!("\"{}\"", key.get_ref()));
                self.unknown(key.span(), prefix, &quoted);
            } else if prefix.is_empty() && HEAD.contains(&path.as_str()) {
                self.head(&path, value);
            } else if prefix.is_empty() && path == ROWS {
                self.rows(value);
            } else if let Some(row) = all_rows().enumerate().find(|(_, r)| r.key == path) {
                self.parameter(row, (key, value));
            } else if all_rows().any(|r| child(r.key, &path).is_some()) {
                match value.get_ref() {
                    DeValue::Table(inner) => self.table(&path, inner),
                    other => {
                        let expected = "a table of parameters".into();
                        self.wrong_type(value.span(), path, expected, other);
                    }
                }
            } else {
                self.unknown(key.span(), prefix, &path);
            }
        }
    }

    fn unknown(&mut self, span: Range<usize>, prefix: &str, path: &str) {
        if let Some((key, from)) = DERIVED.into_iter().find(|(key, _)| *key == path) {
            return self.fail(span, Problem::Derived { key, from });
        }
        let mut known: Vec<String> = if prefix.is_empty() {
            HEAD.into_iter().chain([ROWS]).map(String::from).collect()
        } else {
            Vec::new()
        };
        for row in all_rows() {
            let head = child(row.key, prefix).and_then(|rest| rest.split('.').next());
            if let Some(name) = head
                .map(|h| join(prefix, h))
                .filter(|n| known.last() != Some(n))
            {
                known.push(name);
            }
        }
        // Suggestions in order: the parameter of that name in another table, the nearest spelling in this
        // table, the nearest anywhere.
        let last = path.rsplit('.').next().unwrap_or(path);
        let last = last.trim_matches('"');
        let suggestion = all_rows()
            .find(|r| r.key.rsplit('.').next() == Some(last))
            .map(|r| r.key.to_owned())
            .or_else(|| suggest(path, known.iter().map(String::as_str)))
            .or_else(|| suggest(path, all_rows().map(|r| r.key)));
        self.fail(
            span,
            Problem::UnknownKey {
                key: path.to_owned(),
                suggestion,
                known,
            },
        );
    }

    pub(crate) fn wrong_type(
        &mut self,
        span: Range<usize>,
        key: String,
        expected: String,
        found: &DeValue<'_>,
    ) {
        let article = if found.is_integer() || found.is_array() {
            "an"
        } else {
            "a"
        };
        let found = format!("{article} {}", found.type_str());
        self.fail(
            span,
            Problem::WrongType {
                key,
                expected,
                found,
            },
        );
    }

    pub(crate) fn text(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            other => {
                self.wrong_type(value.span(), key.to_owned(), "a string".into(), other);
                None
            }
        }
    }

    fn head(&mut self, key: &str, value: &Spanned<DeValue<'_>>) {
        let Some(text) = self.text(key, value) else {
            return;
        };
        match key {
            "name" if !is_name(&text) => {
                let rule = format!("1 to {MAX_NAME} letters, digits, `-`, `_`, `.`, `+` or `=`");
                let value_text = format!("`{}`", text.escape_debug());
                let problem = Problem::Impossible {
                    key: key.into(),
                    value: value_text,
                    rule,
                };
                self.fail(value.span(), problem);
            }
            "name" => self.layer.name = Some(text),
            "description" => self.layer.description = Some(text),
            "note" => self.layer.note = Some(text),
            _ => self.layer.base = Some((text, self.place(value.span()))),
        }
    }
}

/// Returns `key` without the table `prefix` that it stands in.
fn child<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    if prefix.is_empty() {
        Some(key)
    } else {
        key.strip_prefix(prefix)?.strip_prefix('.')
    }
}

pub(crate) fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.to_owned()
    } else {
        format!("{prefix}.{key}")
    }
}

pub(crate) fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.+=".contains(c)
}

fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len()) && text.chars().all(in_name)
}

/// Most characters in the name of a machine.
pub(crate) const MAX_NAME: usize = 200;

/// Returns a legal machine name as close as possible to a file's name, for files that give none.
pub(crate) fn name_of_stem(stem: &str) -> String {
    let name: String = stem
        .chars()
        .map(|c| if in_name(c) { c } else { '-' })
        .take(MAX_NAME)
        .collect();
    if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name
    }
}
