//! Reads the tables of a job file key by key.
//!
//! A refusal states the place, what was found, what is expected and what to do.

use super::text::JobText;
use crate::outcome::CommandFailure;
use std::fmt::Display;
use std::num::NonZeroU32;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place in the file.
pub(super) type SpannedValue<'i> = Spanned<DeValue<'i>>;

/// Longest piece of a file that a message repeats, in characters.
const REPEATED: usize = 40;

/// Table whose keys are read one by one.
pub(super) struct Keys<'t, 'i> {
    text: &'t JobText<'t>,
    /// Name of the table in messages.
    whose: String,
    place: Range<usize>,
    table: &'t DeTable<'i>,
    known: Vec<&'static str>,
}

/// Requirements of a key, for messages.
#[derive(Clone, Copy)]
pub(super) struct WantedKey {
    /// Expected value: the text after "expected".
    pub(super) what: &'static str,
    /// Advice on how to fix the value.
    pub(super) help: &'static str,
}

impl WantedKey {
    pub(super) const fn new(what: &'static str, help: &'static str) -> Self {
        Self { what, help }
    }
}

const NAME: WantedKey = WantedKey::new("text in quotes", "");
const TRUTH: WantedKey = WantedKey::new("true or false", "without quotes");
const NUMBER: WantedKey = WantedKey::new("a number", "numbers have no quotes");
const WHOLE: WantedKey = WantedKey::new("a whole number from 0 on", "numbers have no quotes");
const EXTENTS: WantedKey = WantedKey::new(
    "a list of whole numbers from 0 on",
    "one for each axis, slowest first, such as [8, 64]",
);

impl<'t, 'i> Keys<'t, 'i> {
    /// Makes a reader of the file's top-level keys.
    pub(super) fn from_file(text: &'t JobText<'t>, table: &'t Spanned<DeTable<'i>>) -> Self {
        Self {
            text,
            whose: "the job".to_owned(),
            place: table.span(),
            table: table.get_ref(),
            known: Vec::new(),
        }
    }

    /// Makes a reader of the keys of a value, which must be a table.
    pub(super) fn from_value(
        text: &'t JobText<'t>,
        whose: &str,
        value: &'t SpannedValue<'i>,
        help: &str,
    ) -> Result<Self, CommandFailure> {
        let Some(table) = value.get_ref().as_table() else {
            let message = format!(
                "{whose} is {}; expected a table",
                describe_value(value.get_ref())
            );
            return Err(text.fail(value.span(), &message, help));
        };
        Ok(Self {
            text,
            whose: whose.to_owned(),
            place: value.span(),
            table,
            known: Vec::new(),
        })
    }

    /// Returns the byte range of the table in the file.
    pub(super) fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// Returns the value of a key.
    pub(super) fn find(&mut self, key: &'static str) -> Option<&'t SpannedValue<'i>> {
        self.known.push(key);
        self.table.get(key)
    }

    /// Reads the value of a key with `read`, which returns `None` for a value of another type and an error
    /// for an invalid value.
    fn read<T, E: Display>(
        &mut self,
        key: &'static str,
        wanted: WantedKey,
        read: impl FnOnce(&DeValue<'i>) -> Option<Result<T, E>>,
    ) -> Result<Option<Spanned<T>>, CommandFailure> {
        let Some(value) = self.find(key) else {
            return Ok(None);
        };
        let span = value.span();
        match read(value.get_ref()) {
            Some(Ok(made)) => Ok(Some(Spanned::new(span, made))),
            Some(Err(why)) => Err(self.text.fail(span, &format!("`{key}`: {why}"), "")),
            None => Err(self.refuse_value_type(key, value, wanted)),
        }
    }

    /// Makes the refusal of a value of another type.
    fn refuse_value_type(
        &self,
        key: &str,
        value: &SpannedValue<'_>,
        WantedKey { what, help }: WantedKey,
    ) -> CommandFailure {
        let message = format!(
            "`{key}` is {}; expected {what}",
            describe_value(value.get_ref())
        );
        self.text.fail(value.span(), &message, help)
    }

    /// Reads a string.
    pub(super) fn name<T: From<String>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Spanned<T>>, CommandFailure> {
        self.read(key, NAME, |value| {
            value
                .as_str()
                .map(|text| Ok::<_, String>(T::from(text.to_owned())))
        })
    }

    /// Reads a string that stands for one of several choices.
    pub(super) fn word<T>(
        &mut self,
        key: &'static str,
        meaning: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, CommandFailure> {
        let read = |value: &DeValue<'i>| value.as_str().map(meaning);
        Ok(self.read(key, NAME, read)?.map(Spanned::into_inner))
    }

    /// Reads a number, written as on a command line.
    pub(super) fn number<T: std::str::FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, CommandFailure> {
        let read = |value: &DeValue<'i>| Some(digits(value)?.parse::<T>());
        Ok(self.read(key, NUMBER, read)?.map(Spanned::into_inner))
    }

    /// Reads a whole number.
    pub(super) fn read_whole_number<T: TryFrom<u64>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Spanned<T>>, CommandFailure> {
        self.read(key, WHOLE, |value| {
            let number = parse_whole_number(value)?;
            Some(T::try_from(number).map_err(|_| format!("{number} is too large a number for it")))
        })
    }

    /// Reads a whole number from 1 on.
    pub(super) fn positive(
        &mut self,
        key: &'static str,
    ) -> Result<Option<NonZeroU32>, CommandFailure> {
        let read = |value: &DeValue<'i>| {
            let number = parse_whole_number(value)?;
            let fits =
                u32::try_from(number).map_err(|_| format!("{number} is too large a number for it"));
            Some(fits.and_then(|number| {
                NonZeroU32::new(number).ok_or_else(|| "0 is too small a number for it".to_owned())
            }))
        };
        Ok(self.read(key, WHOLE, read)?.map(Spanned::into_inner))
    }

    /// Reads a list of extents along axes.
    pub(super) fn extents(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Spanned<Vec<u64>>>, CommandFailure> {
        self.read(key, EXTENTS, |value| {
            let list = value.as_array()?.iter();
            let numbers: Option<Vec<u64>> = list.map(|n| parse_whole_number(n.get_ref())).collect();
            Some(Ok::<_, String>(numbers?))
        })
    }

    /// Reads a boolean; false if the key is missing.
    pub(super) fn truth(&mut self, key: &'static str) -> Result<bool, CommandFailure> {
        let found = self.read(key, TRUTH, |value| value.as_bool().map(Ok::<_, String>))?;
        Ok(found.is_some_and(Spanned::into_inner))
    }

    /// Reads a list, each value with `each`; empty if the key is missing.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        wanted: WantedKey,
        each: impl Fn(&'t SpannedValue<'i>, usize) -> Result<T, CommandFailure>,
    ) -> Result<Vec<T>, CommandFailure> {
        let Some(value) = self.find(key) else {
            return Ok(Vec::new());
        };
        let Some(list) = value.get_ref().as_array() else {
            return Err(self.refuse_value_type(key, value, wanted));
        };
        let numbered = list.iter().zip(1..);
        numbered
            .map(|(value, number)| each(value, number))
            .collect()
    }

    /// Returns a required value, or the refusal of its absence.
    pub(super) fn needed<T>(
        &self,
        key: &str,
        value: Option<T>,
        help: &str,
    ) -> Result<T, CommandFailure> {
        let message = format!("{} has no `{key}`", self.whose);
        value.ok_or_else(|| self.text.fail(self.place(), &message, help))
    }

    /// Refuses keys that were not read.
    pub(super) fn end(self) -> Result<(), CommandFailure> {
        let other = |key: &&Spanned<_>| {
            let key: &toml::de::DeString<'_> = key.get_ref();
            !self.known.contains(&key.as_ref())
        };
        let mut unknown: Vec<_> = self.table.keys().filter(other).collect();
        unknown.sort_by_key(|key| key.span().start);
        let Some(key) = unknown.first() else {
            return Ok(());
        };
        let message = format!("{} has no key `{}`", self.whose, short(key.get_ref()));
        let help = format!("its keys are {}", self.known.join(", "));
        Err(self.text.fail(key.span(), &message, &help))
    }
}

/// Returns a number as it is written in the file.
pub(super) fn digits(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

fn parse_whole_number(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// Describes a value in words.
pub(super) fn describe_value(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text \"{}\"", short(text)),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {}", short(number.as_str())),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(time) => format!("the time {time}"),
        DeValue::Array(list) => match list
            .iter()
            .find(|one| parse_whole_number(one.get_ref()).is_none())
        {
            Some(other) if !other.get_ref().is_table() && !other.get_ref().is_array() => {
                format!("a list with {}", describe_value(other.get_ref()))
            }
            _ => "a list".to_owned(),
        },
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// Shortens a text to its beginning.
fn short(text: &str) -> String {
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}
