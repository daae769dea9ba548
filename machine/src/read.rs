//! From the text of one machine file to the settings it makes.

use crate::Extensions;
use crate::error::{File, Located, MachineError, Place, Problem, suggest};
use crate::provenance::{Origin, Source};
use crate::quantity::{Quantity, Value, parse_exact, scaled};
use crate::table::{ROWS, Row};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What one file says, not yet joined to its base.
pub(crate) struct Layer {
    pub(crate) file: Arc<File>,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) base: Option<(String, Place)>,
    pub(crate) settings: Vec<Setting>,
}

/// One parameter set by a file.
pub(crate) struct Setting {
    pub(crate) index: usize,
    pub(crate) row: &'static Row,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    pub(crate) place: Place,
}

/// The text keys beside the parameters.
const HEAD: [&str; 4] = ["name", "description", "note", "base"];
/// The keys of a parameter.
const FIELDS: [&str; 4] = ["value", "unit", "source", "ref"];

type Entry<'a, 'i> = (
    &'a Spanned<toml::de::DeString<'i>>,
    &'a Spanned<DeValue<'i>>,
);

/// Reads a file's settings and checks each on its own.
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

struct Reader {
    layer: Layer,
    problems: Vec<Located>,
}

impl Reader {
    fn place(&self, span: Range<usize>) -> Place {
        Place {
            file: self.layer.file.clone(),
            span,
        }
    }

    fn fail(&mut self, span: Range<usize>, problem: Problem) {
        let place = Some(self.place(span));
        self.problems.push(Located { problem, place });
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let path = join(prefix, key.get_ref());
            if prefix.is_empty() && HEAD.contains(&path.as_str()) {
                self.head(&path, value);
            } else if let Some(index) = ROWS.iter().position(|r| r.key == path) {
                self.parameter(index, (key, value));
            } else if ROWS.iter().any(|r| child(r.key, &path).is_some()) {
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
        let mut known: Vec<String> = if prefix.is_empty() {
            HEAD.map(String::from).to_vec()
        } else {
            Vec::new()
        };
        for row in ROWS {
            let head = child(row.key, prefix).and_then(|rest| rest.split('.').next());
            if let Some(name) = head
                .map(|h| join(prefix, h))
                .filter(|n| known.last() != Some(n))
            {
                known.push(name);
            }
        }
        // The parameter of that name in another table, else the nearest spelling here, else anywhere.
        let last = path.rsplit('.').next().unwrap_or(path);
        let suggestion = ROWS
            .iter()
            .find(|r| r.key.rsplit('.').next() == Some(last))
            .map(|r| r.key.to_owned())
            .or_else(|| suggest(path, known.iter().map(String::as_str)))
            .or_else(|| suggest(path, ROWS.iter().map(|r| r.key)));
        self.fail(
            span,
            Problem::UnknownKey {
                key: path.to_owned(),
                suggestion,
                known,
            },
        );
    }

    fn wrong_type(
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

    fn text(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<String> {
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
                let rule = "1 to 64 letters, digits, `-`, `_` or `.`".into();
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

    fn parameter(&mut self, index: usize, (key, value): Entry<'_, '_>) {
        let row = &ROWS[index];
        let DeValue::Table(fields) = value.get_ref() else {
            return self.bare(index, (key, value));
        };
        for (field, _) in fields {
            if !FIELDS.contains(&field.get_ref().as_ref()) {
                let suggestion = suggest(field.get_ref(), FIELDS);
                let known = FIELDS.map(String::from).to_vec();
                let key = join(row.key, field.get_ref());
                self.fail(
                    field.span(),
                    Problem::UnknownKey {
                        key,
                        suggestion,
                        known,
                    },
                );
            }
        }
        let origin = Origin {
            source: fields
                .get("source")
                .and_then(|s| self.source(row, s))
                .unwrap_or_default(),
            reference: fields
                .get("ref")
                .and_then(|r| self.text(&join(row.key, "ref"), r))
                .unwrap_or_default(),
        };
        let Some(number) = fields.get("value") else {
            return self.fail(
                key.span(),
                Problem::MissingValue {
                    key: row.key.into(),
                },
            );
        };
        let Some(scale) = self.unit(row, key.span(), fields.get("unit")) else {
            return;
        };
        if let Some(value) = self.value(row, number, scale) {
            let place = self.place(number.span());
            self.layer.settings.push(Setting {
                index,
                row,
                value,
                origin,
                place,
            });
        }
    }

    /// A value without the table around it: allowed where there is no unit to give.
    fn bare(&mut self, index: usize, (key, value): Entry<'_, '_>) {
        let row = &ROWS[index];
        match (row.quantity, value.get_ref()) {
            (Quantity::Names, DeValue::Array(_)) => {
                if let Some(v) = self.value(row, value, ("", 1)) {
                    let place = self.place(value.span());
                    let origin = Origin::default();
                    self.layer.settings.push(Setting {
                        index,
                        row,
                        value: v,
                        origin,
                        place,
                    });
                }
            }
            (_, DeValue::Integer(_) | DeValue::Float(_)) => {
                let units = unit_names(row);
                self.fail(
                    key.span(),
                    Problem::MissingUnit {
                        key: row.key.into(),
                        units,
                    },
                );
            }
            (_, other) => {
                let expected = "{ value = ..., unit = \"...\" }".into();
                self.wrong_type(value.span(), row.key.into(), expected, other);
            }
        }
    }

    fn source(&mut self, row: &Row, value: &Spanned<DeValue<'_>>) -> Option<Source> {
        let found = self.text(&join(row.key, "source"), value)?;
        let source = Source::ALL.into_iter().find(|s| s.name() == found);
        if source.is_none() {
            self.fail(
                value.span(),
                Problem::WrongSource {
                    key: row.key.into(),
                    found,
                },
            );
        }
        source
    }

    /// The unit's name and size; `None` after reporting what is wrong with it.
    fn unit(
        &mut self,
        row: &'static Row,
        key: Range<usize>,
        unit: Option<&Spanned<DeValue<'_>>>,
    ) -> Option<(&'static str, u64)> {
        let (units, key_text) = (unit_names(row), row.key.to_owned());
        match unit {
            None if units.is_empty() => Some(("", 1)),
            None => {
                self.fail(
                    key,
                    Problem::MissingUnit {
                        key: key_text,
                        units,
                    },
                );
                None
            }
            Some(value) => {
                let unit = self.text(&join(row.key, "unit"), value)?;
                let found = row.quantity.units().into_iter().find(|u| u.0 == unit);
                if found.is_none() {
                    self.fail(
                        value.span(),
                        Problem::WrongUnit {
                            key: key_text,
                            unit,
                            units,
                        },
                    );
                }
                found
            }
        }
    }

    fn value(
        &mut self,
        row: &'static Row,
        value: &Spanned<DeValue<'_>>,
        (unit, scale): (&str, u64),
    ) -> Option<Value> {
        let (text, exact) = match (row.quantity, value.get_ref()) {
            (Quantity::Names, DeValue::Array(names)) => return self.names(row, names),
            (Quantity::Names, other) => {
                let expected = "an array of extension names".into();
                self.wrong_type(value.span(), row.key.into(), expected, other);
                return None;
            }
            (_, DeValue::Integer(i)) => {
                let exact = u128::from_str_radix(i.as_str(), i.radix())
                    .ok()
                    .map(|n| (n, 1));
                (i.to_string(), exact)
            }
            (_, DeValue::Float(x)) => (x.to_string(), parse_exact(x.as_str())),
            (q, DeValue::String(s)) if q.is_fractional() && s.contains('/') => {
                (s.to_string(), parse_exact(s))
            }
            (_, other) => {
                self.wrong_type(value.span(), row.key.into(), "a number".into(), other);
                return None;
            }
        };
        let found = exact.and_then(|(num, den)| scaled(row.quantity, num, den, scale));
        let found = found.filter(|&v| row.range.contains(v));
        if found.is_none() {
            let whole = if row.quantity.is_fractional() {
                ""
            } else {
                "a whole number: "
            };
            let rule = format!("{whole}{}", row.range.describe(row.quantity));
            let value_text = format!("{text} {unit}");
            let problem = Problem::Impossible {
                key: row.key.into(),
                value: value_text,
                rule,
            };
            self.fail(value.span(), problem);
        }
        found
    }

    fn names(&mut self, row: &Row, names: &toml::de::DeArray<'_>) -> Option<Value> {
        let mut set = Extensions::empty();
        let before = self.problems.len();
        for item in names.iter() {
            let Some(name) = self.text(row.key, item) else {
                continue;
            };
            if let Some(flag) = Extensions::by_name(&name) {
                set |= flag;
            } else {
                let known: Vec<String> = Extensions::all().names().collect();
                let suggestion = suggest(&name, known.iter().map(String::as_str));
                let key = format!("{}.{name}", row.key);
                self.fail(
                    item.span(),
                    Problem::UnknownKey {
                        key,
                        suggestion,
                        known,
                    },
                );
            }
        }
        (self.problems.len() == before).then_some(Value::Names(set))
    }
}

fn unit_names(row: &Row) -> Vec<&'static str> {
    row.quantity.units().into_iter().map(|u| u.0).collect()
}

/// `key` without the table `prefix` it stands in.
fn child<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    if prefix.is_empty() {
        Some(key)
    } else {
        key.strip_prefix(prefix)?.strip_prefix('.')
    }
}

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.to_owned()
    } else {
        format!("{prefix}.{key}")
    }
}

fn is_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(good)
}
