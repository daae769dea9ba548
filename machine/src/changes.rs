//! Machines that are named with changes: `vm7+double+dma.granule=4B`.
//!
//! Changes stand in order behind the name of the machine that they change, each behind a `+`: the name of an
//! extension, or `KEY=VALUE`. A value is a number and its unit (which may be left out where a parameter has only
//! one), or `x2` for twice what the machine has. `rows=FILE` takes the rows of another machine file.

use crate::error::{File, MachineError, Place, Problem, suggest};
use crate::provenance::{Origin, Source};
use crate::quantity::{Quantity, Value, parse_exact, scaled};
use crate::read::{Layer, MAX_NAME, Setting, in_name};
use crate::table::{EXTENSION_ROWS, Row, all_rows};
use crate::user_row::{RowSetting, settle_rows};
use crate::{Extensions, Machine, check};
use std::ops::Range;
use std::sync::Arc;

/// The change that takes the rows of a machine file.
pub(crate) const ROWS: &str = "rows=";

impl Machine {
    /// Returns this machine with the changes of a text such as `section-addressing+dma.granule=4B`.
    ///
    /// ```
    /// let vm9 = cp2_machine::Machine::builtin("vm9").unwrap();
    /// let wide = vm9.with_changes("dma.bandwidth=x2")?;
    /// assert_eq!(wide.dma.bandwidth.as_f64(), 25.6);
    /// assert_eq!(wide.name, "vm9+dma.bandwidth=25.6");
    /// # Ok::<(), cp2_machine::MachineError>(())
    /// ```
    ///
    /// # Errors
    /// The changes that are not understood, or the rules that the machine would break.
    pub fn with_changes(&self, changes: &str) -> Result<Self, MachineError> {
        let text = format!("{}+{changes}", self.name);
        self.clone().change(&text, self.name.len())
    }

    /// Returns this machine without some extensions and what belongs to them. It keeps its name; its hash is that of a
    /// machine that never had them.
    #[must_use]
    pub fn without_extensions(&self, extensions: Extensions) -> Self {
        let mut machine = self.clone();
        machine.cp2.extensions.remove(extensions);
        machine.settle_extensions();
        machine.hash = machine.compute_hash();
        machine
    }

    /// Changes the machine as the text says behind `at`, the place of its first `+`.
    pub(crate) fn change(mut self, text: &str, at: usize) -> Result<Self, MachineError> {
        let file = Arc::new(File {
            name: "machine".to_owned(),
            text: text.to_owned(),
        });
        let mut layer = Layer {
            file: file.clone(),
            name: None,
            description: None,
            note: None,
            base: Some((self.name.clone(), place(&file, 0..at))),
            settings: Vec::new(),
            rows: Vec::new(),
        };
        let (mut name, mut shown) = (self.name.clone(), Vec::new());
        let mut begin = at + 1;
        for piece in text[at + 1..].split('+') {
            let span = begin..begin + piece.len();
            begin = span.end + 1;
            let fail = |problem| MachineError::new(problem, Some(place(&file, span.clone())));
            if let Some(path) = piece.strip_prefix(ROWS) {
                self.take_rows(path, &place(&file, span))?;
                name.push('+');
                name.extend(piece.chars().map(|c| if in_name(c) { c } else { '_' }));
                shown.push(format!("the rows of {path}"));
                continue;
            }
            let (index, row, value) = parse_change(&self, piece).map_err(fail)?;
            let before = (row.get)(&self);
            (row.set)(&mut self, value);
            let (short, long) = describe_change(row, (before, value));
            name.push('+');
            name.extend(short.chars().map(|c| if in_name(c) { c } else { '_' }));
            let reference = match describe_value(row, before) {
                text if text.is_empty() => "changed".to_owned(),
                text => format!("changed from {text}"),
            };
            let origin = Origin {
                source: Source::Assumed,
                reference,
            };
            self.provenance.0[index] = origin.clone();
            shown.push(long);
            layer.settings.push(Setting {
                index,
                row,
                value,
                origin,
                place: place(&file, span),
            });
        }
        name.truncate(MAX_NAME);
        self.description = format!("{} with {}", self.name, shown.join(", "));
        self.note = String::new();
        self.name = name;
        self.settle_extensions();
        self.hash = self.compute_hash();
        let problems = check::check(&self, &layer);
        if problems.is_empty() {
            Ok(self)
        } else {
            Err(MachineError { problems })
        }
    }

    /// Takes the rows of another machine file, and nothing else of it.
    fn take_rows(&mut self, path: &str, place: &Place) -> Result<(), MachineError> {
        let rows = Self::load(path)?.cp2.rows;
        if rows.is_empty() {
            let path = path.to_owned();
            return Err(MachineError::new(
                Problem::NoRows { path },
                Some(place.clone()),
            ));
        }
        // An opcode that the machine's own rows have is given anew.
        let is_free = |opcode| {
            let mut own = self.cp2.rows.iter();
            own.all(|own| own.definition().opcode != opcode)
        };
        let settings: Vec<RowSetting> = rows
            .iter()
            .map(|row| {
                let setting = row.setting(place);
                RowSetting {
                    opcode: setting.opcode.filter(|&opcode| is_free(opcode)),
                    ..setting
                }
            })
            .collect();
        let problems = settle_rows(self, &settings);
        match problems.is_empty() {
            true => Ok(()),
            false => Err(MachineError { problems }),
        }
    }

    /// Gives the parameters of extensions that nobody has set their defaults, and removes what was set for
    /// extensions that the machine does not have.
    pub(crate) fn settle_extensions(&mut self) {
        let first = all_rows().count() - EXTENSION_ROWS.len();
        for (row, index) in EXTENSION_ROWS.iter().zip(first..) {
            let own = row.is_of(self);
            if own && self.provenance.0[index] != Origin::of_default() {
                continue;
            }
            if let Some(default) = row.default {
                let value = default(self);
                (row.set)(self, value);
            }
            self.provenance.0[index] = Origin::of_default();
        }
    }
}

fn place(file: &Arc<File>, span: Range<usize>) -> Place {
    Place {
        file: file.clone(),
        span,
    }
}

type Change = (usize, &'static Row, Value);

/// Reads one change.
fn parse_change(machine: &Machine, piece: &str) -> Result<Change, Problem> {
    let rows = || all_rows().enumerate();
    if piece.is_empty() {
        return Err(Problem::EmptyChange);
    }
    let Some((key, text)) = piece.split_once('=') else {
        if let Some(flag) = Extensions::by_name(piece) {
            let all = Value::Names(machine.cp2.extensions | flag);
            let (index, row) = rows()
                .find(|(_, row)| row.quantity == Quantity::Names)
                .ok_or_else(|| unknown(piece))?;
            return Ok((index, row, all));
        }
        let Some((_, row)) = rows().find(|(_, row)| row.key == piece) else {
            return Err(unknown(piece));
        };
        let units = row.quantity.units().into_iter().map(|unit| unit.0);
        return Err(Problem::ChangeWithoutValue {
            key: row.key,
            units: units.collect(),
        });
    };
    let (index, row) = rows()
        .find(|(_, row)| row.key == key)
        .ok_or_else(|| unknown(key))?;
    let value = parse_value(machine, row, text)?;
    Ok((index, row, value))
}

/// Returns the problem of a change that names no extension and no parameter.
fn unknown(name: &str) -> Problem {
    let flags: Vec<String> = Extensions::all().names().collect();
    let keys = all_rows().map(|row| row.key);
    let last = keys
        .clone()
        .find(|key| key.rsplit('.').next() == Some(name));
    let suggestion = Extensions::successor(name)
        .or(last)
        .map(str::to_owned)
        .or_else(|| suggest(name, keys.chain(flags.iter().map(String::as_str))));
    Problem::UnknownKey {
        key: name.to_owned(),
        suggestion,
        known: flags
            .into_iter()
            .chain([
                "KEY=VALUE with a key of `cp2 machines show vm7`".to_owned(),
                "rows=FILE with a machine file".to_owned(),
            ])
            .collect(),
    }
}

/// Reads the value of a change.
fn parse_value(machine: &Machine, row: &Row, text: &str) -> Result<Value, Problem> {
    let impossible = |rule: String| Problem::Impossible {
        key: row.key.to_owned(),
        value: if text.is_empty() {
            "nothing".to_owned()
        } else {
            format!("`{}`", text.escape_debug())
        },
        rule,
    };
    let units = row.quantity.units();
    let in_range = |value: &Value| row.range.contains(*value);
    let rule = || {
        let whole = match row.quantity {
            Quantity::Names | Quantity::Choice(_) => "",
            quantity if quantity.is_fractional() => "",
            _ => "a whole number: ",
        };
        format!("{whole}{}", row.range.describe(row.quantity))
    };
    match row.quantity {
        Quantity::Names => {
            let mut set = Extensions::empty();
            for name in text.split(',').filter(|name| !name.is_empty()) {
                set |= Extensions::by_name(name).ok_or_else(|| unknown(name))?;
            }
            return Ok(Value::Names(set));
        }
        Quantity::Choice(names) => {
            let at = names.iter().position(|name| *name == text);
            let at = at.ok_or_else(|| impossible(rule()))?;
            return Ok(Value::Integer(at as u64));
        }
        _ => {}
    }
    let value = if let Some(factor) = text.strip_prefix('x') {
        let (num, den) = parse_exact(factor).ok_or_else(|| impossible(rule()))?;
        match (row.get)(machine) {
            Value::Integer(now) => scaled(row.quantity, num, den, now),
            Value::Ratio(now) => num
                .checked_mul(u128::from(now.num))
                .zip(den.checked_mul(u128::from(now.den)))
                .and_then(|(num, den)| scaled(row.quantity, num, den, 1)),
            Value::Names(_) => None,
        }
    } else {
        let (number, unit) = split_unit(text);
        let (num, den) = parse_exact(number).ok_or_else(|| impossible(rule()))?;
        let scale = match units.iter().find(|known| known.0 == unit) {
            Some(known) => known.1,
            None if unit.is_empty() && units.len() == 1 => units[0].1,
            None => {
                let units = units.iter().map(|unit| unit.0).collect();
                let key = row.key.to_owned();
                return Err(match unit {
                    "" => Problem::MissingUnit { key, units },
                    unit => Problem::WrongUnit {
                        key,
                        unit: unit.to_owned(),
                        units,
                    },
                });
            }
        };
        scaled(row.quantity, num, den, scale)
    };
    value.filter(in_range).ok_or_else(|| impossible(rule()))
}

/// Divides a text such as `12.8B/cycle` behind its number.
fn split_unit(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let in_number = |at: usize| match bytes[at] {
        b'/' => bytes.get(at + 1).is_some_and(u8::is_ascii_digit),
        byte => byte.is_ascii_digit() || byte == b'.' || byte == b'_',
    };
    let end = (0..bytes.len())
        .find(|&at| !in_number(at))
        .unwrap_or(bytes.len());
    (&text[..end], text[end..].trim())
}

/// Returns a value as people write it, with its unit.
fn describe_value(row: &Row, value: Value) -> String {
    let (text, unit) = row.quantity.format(value);
    format!("{text} {unit}").trim_end().to_owned()
}

/// Returns a change as it stands in a machine's name, and in its description.
fn describe_change(row: &Row, (before, after): (Value, Value)) -> (String, String) {
    if let (Value::Names(before), Value::Names(after)) = (before, after) {
        let names = |set: Extensions| set.names().collect::<Vec<_>>().join("+");
        let added = names(after - before);
        return if after.contains(before) && !added.is_empty() {
            (added.clone(), added.replace('+', ", "))
        } else {
            let all = after.names().collect::<Vec<_>>().join("-");
            (format!("{}={all}", row.key), format!("{} = {all}", row.key))
        };
    }
    let (text, unit) = row.quantity.format(after);
    let short = if row.quantity.units().len() > 1 {
        unit
    } else {
        ""
    };
    (
        format!("{}={text}{short}", row.key),
        format!("{} = {}", row.key, describe_value(row, after)),
    )
}
