//! Reads the TOML of one parameter and converts it to a value.

use crate::Extensions;
use crate::error::{Problem, suggest};
use crate::provenance::{Origin, Source};
use crate::quantity::{Quantity, Value, parse_exact, scaled};
use crate::read::{Entry, Reader, Setting, join};
use crate::table::Row;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeValue};

/// The keys that a parameter's table may have.
const FIELDS: [&str; 4] = ["value", "unit", "source", "ref"];

impl Reader {
    pub(crate) fn parameter(
        &mut self,
        (index, row): (usize, &'static Row),
        (key, value): Entry<'_, '_>,
    ) {
        let DeValue::Table(fields) = value.get_ref() else {
            return self.bare((index, row), (key, value));
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

    /// Reads a value without a table around it, which is allowed for parameters without a unit.
    fn bare(&mut self, (index, row): (usize, &'static Row), (key, value): Entry<'_, '_>) {
        match (row.quantity, value.get_ref()) {
            (Quantity::Names, DeValue::Array(_)) | (Quantity::Choice(_), DeValue::String(_)) => {
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
            (Quantity::Choice(names), other) => {
                let expected = format!("one of {}", names.join(", "));
                self.wrong_type(value.span(), row.key.into(), expected, other);
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

    /// Returns the unit's name and size; none after reporting what is wrong with it.
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
            (Quantity::Choice(names), DeValue::String(name)) => {
                return self.choice((row, names), name, value.span());
            }
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

    /// Returns the number of a name among those that a parameter may have.
    fn choice(
        &mut self,
        (row, names): (&Row, &[&str]),
        name: &str,
        span: Range<usize>,
    ) -> Option<Value> {
        let found = names.iter().position(|known| *known == name);
        if found.is_none() {
            let problem = Problem::Impossible {
                key: row.key.into(),
                value: format!("`{}`", name.escape_debug()),
                rule: format!("one of {}", names.join(", ")),
            };
            self.fail(span, problem);
        }
        Some(Value::Integer(found? as u64))
    }

    fn names(&mut self, row: &Row, names: &DeArray<'_>) -> Option<Value> {
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
                let suggestion = Extensions::successor(&name)
                    .map(str::to_owned)
                    .or_else(|| suggest(&name, known.iter().map(String::as_str)));
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
