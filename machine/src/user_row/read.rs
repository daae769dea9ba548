//! Reads the `[[row]]` tables of a machine file.

use super::{RowDefinition, RowFlaw, RowForm, SECTION_UNITS, flow, parse};
use crate::error::{Place, Problem, suggest};
use crate::provenance::{Origin, Source};
use crate::read::Reader;
use crate::{Class, Cycles};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A row that a file sets. Its opcode may still be open.
#[derive(Clone, Debug)]
pub(crate) struct RowSetting {
    pub(crate) definition: RowDefinition,
    pub(crate) opcode: Option<u8>,
    pub(crate) place: Place,
}

/// Keys of a row.
const KEYS: [&str; 11] = [
    "mnemonic",
    "form",
    "class",
    "opcode",
    "lanes",
    "latency",
    "multipliers",
    "adders",
    "doc",
    "source",
    "ref",
];

/// Most characters of a mnemonic.
const LONGEST_NAME: usize = 16;
/// Most characters of a line of documentation.
const LONGEST_DOC: usize = 400;
/// Largest latency of a row, in cycles.
const LONGEST_LATENCY: u64 = 1000;
/// Most multipliers, or adders, of a section.
const MOST_UNITS: u64 = 64;
/// Classes that rows may have.
const CLASSES: [Class; 4] = [Class::Integer, Class::Add, Class::Madd, Class::Butterfly];

type Flawed<T> = Result<T, (Range<usize>, RowFlaw)>;

/// Fields of one table.
struct Fields<'a, 'i> {
    at: Range<usize>,
    table: &'a DeTable<'i>,
}

impl Reader {
    /// Reads the value of the key `row`.
    pub(crate) fn rows(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Array(items) = value.get_ref() else {
            let expected = "tables [[row]]".into();
            return self.wrong_type(value.span(), "row".into(), expected, value.get_ref());
        };
        for (number, item) in items.iter().enumerate() {
            let name = format!("number {}", number + 1);
            let DeValue::Table(table) = item.get_ref() else {
                let expected = "a table [[row]]".into();
                self.wrong_type(item.span(), "row".into(), expected, item.get_ref());
                continue;
            };
            let fields = Fields {
                at: item.span(),
                table,
            };
            if !self.known_keys(table) {
                continue;
            }
            match self.row(&fields) {
                Ok(setting) => self.layer.rows.push(setting),
                Err((span, flaw)) => {
                    let row = fields.text("mnemonic").map_or(name, |(text, _)| text);
                    self.fail(span, Problem::Row { row, flaw });
                }
            }
        }
    }

    fn known_keys(&mut self, table: &DeTable<'_>) -> bool {
        let mut all = true;
        for (key, _) in table {
            let name = key.get_ref().to_string();
            if !KEYS.contains(&name.as_str()) {
                all = false;
                let suggestion = suggest(&name, KEYS);
                let problem = Problem::UnknownKey {
                    key: format!("row.{name}"),
                    suggestion,
                    known: KEYS.map(str::to_owned).to_vec(),
                };
                self.fail(key.span(), problem);
            }
        }
        all
    }

    fn row(&mut self, fields: &Fields<'_, '_>) -> Flawed<RowSetting> {
        let (mnemonic, span) = fields.text("mnemonic")?;
        if !is_mnemonic(&mnemonic) {
            let expected = format!(
                "2 to {LONGEST_NAME} small letters, digits and `_`, of which the first two are letters"
            );
            return Err(field(span, "mnemonic", &mnemonic, expected));
        }
        let (name, span) = fields.text("form")?;
        let names = || RowForm::ALL.map(RowForm::name).join(", ");
        let form = RowForm::by_name(&name)
            .ok_or_else(|| field(span, "form", &name, format!("one of {}", names())))?;
        let (name, class_at) = fields.text("class")?;
        let class = CLASSES.into_iter().find(|class| class.name() == name);
        let class = class.ok_or_else(|| {
            let names = CLASSES.map(Class::name).join(", ");
            field(class_at.clone(), "class", &name, format!("one of {names}"))
        })?;
        let opcode = fields.integer("opcode", 0..=u64::from(super::OPCODES) - 1)?;
        let latency = fields.integer("latency", 1..=LONGEST_LATENCY)?;
        let units = |key, least: u32| -> Flawed<u32> {
            let found = fields.integer(key, u64::from(least)..=MOST_UNITS)?;
            Ok(found.map_or(least, |units| units as u32))
        };
        let multipliers = units("multipliers", SECTION_UNITS.0)?;
        let adders = units("adders", SECTION_UNITS.1)?;
        let doc = fields
            .optional_text("doc")?
            .map_or(String::new(), |(doc, _)| doc);
        if doc.chars().count() > LONGEST_DOC || doc.chars().any(char::is_control) {
            let expected = format!("one line of at most {LONGEST_DOC} characters");
            return Err(field(fields.at.clone(), "doc", &doc, expected));
        }
        let (text, span) = fields.text("lanes")?;
        let statements = parse::parse(&text).map_err(|(at, flaw)| {
            let place = self.inside(&span, &text, at);
            (place, flaw)
        })?;
        let flow = flow::build(form, &statements).map_err(|flaw| (span.clone(), flaw))?;
        if latency.is_none() {
            flow.check_class(class).map_err(|flaw| (class_at, flaw))?;
        }
        for (unit, found, most) in [
            ("multipliers", flow.muls(), multipliers),
            ("adders", flow.adds(), adders),
        ] {
            if found > most {
                return Err((span, RowFlaw::Units { unit, found, most }));
            }
        }
        let definition = RowDefinition {
            mnemonic,
            form,
            class,
            opcode: 0,
            latency: latency.map(Cycles),
            multipliers,
            adders,
            lanes: parse::print(&statements),
            flow,
            doc,
            origin: fields.origin()?,
        };
        Ok(RowSetting {
            definition,
            opcode: opcode.map(|code| code as u8),
            place: self.place(fields.at.clone()),
        })
    }

    /// Returns the place of byte `at` of a string whose literal takes `span`: the whole literal where it has
    /// escapes.
    fn inside(&self, span: &Range<usize>, text: &str, at: usize) -> Range<usize> {
        let literal = self.layer.file.text.get(span.clone()).unwrap_or_default();
        let Some(begin) = literal.find(text).filter(|_| !text.is_empty()) else {
            return span.clone();
        };
        let from = span.start + begin + at;
        let width = text[at..].chars().next().map_or(1, char::len_utf8);
        from..(from + width).min(span.end)
    }
}

fn field(
    span: Range<usize>,
    key: &'static str,
    found: &str,
    expected: String,
) -> (Range<usize>, RowFlaw) {
    let found: String = found.chars().take(60).collect();
    let found = format!("`{}`", found.escape_debug());
    (
        span,
        RowFlaw::Field {
            key,
            found,
            expected,
        },
    )
}

/// True for a name that no register has.
fn is_mnemonic(name: &str) -> bool {
    let small = |c: char| c.is_ascii_lowercase();
    let letters = name.chars().take(2).filter(|&c| small(c)).count();
    letters == 2
        && name.len() <= LONGEST_NAME
        && name
            .chars()
            .all(|c| small(c) || c.is_ascii_digit() || c == '_')
}

impl Fields<'_, '_> {
    fn find(&self, key: &'static str) -> Option<&Spanned<DeValue<'_>>> {
        let found = self.table.iter().find(|(name, _)| name.get_ref() == key);
        found.map(|(_, value)| value)
    }

    fn optional_text(&self, key: &'static str) -> Flawed<Option<(String, Range<usize>)>> {
        let Some(value) = self.find(key) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some((text.to_string(), value.span()))),
            other => Err(field(
                value.span(),
                key,
                other.type_str(),
                "a string".to_owned(),
            )),
        }
    }

    fn text(&self, key: &'static str) -> Flawed<(String, Range<usize>)> {
        let found = self.optional_text(key)?;
        found.ok_or_else(|| (self.at.clone(), RowFlaw::NoField { key }))
    }

    fn integer(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Flawed<Option<u64>> {
        let Some(value) = self.find(key) else {
            return Ok(None);
        };
        let (text, number) = match value.get_ref() {
            DeValue::Integer(i) => {
                let number = u64::from_str_radix(i.as_str(), i.radix()).ok();
                (i.to_string(), number)
            }
            other => (other.type_str().to_owned(), None),
        };
        match number.filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let unit = if key == "latency" { " cycles" } else { "" };
                let expected =
                    format!("a whole number, {} to {}{unit}", range.start(), range.end());
                Err(field(value.span(), key, &text, expected))
            }
        }
    }

    fn origin(&self) -> Flawed<Origin> {
        let source = match self.optional_text("source")? {
            None => Source::default(),
            Some((name, span)) => {
                let known = Source::ALL.into_iter().find(|one| one.name() == name);
                known.ok_or_else(|| {
                    let names = Source::ALL.map(Source::name).join(", ");
                    field(span, "source", &name, format!("one of {names}"))
                })?
            }
        };
        let reference = self.optional_text("ref")?;
        Ok(Origin {
            source,
            reference: reference.map_or(String::new(), |(text, _)| text),
        })
    }
}
