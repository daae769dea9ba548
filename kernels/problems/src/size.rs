//! Sizes of problems and kernels: named numbers and words.

use serde::Serialize;
use std::borrow::Cow;
use std::fmt;

/// Value of a parameter of a size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum SizeValue {
    /// A length or a count.
    Number(u64),
    /// A word: the letter of a class, the name of a mode or of a file.
    Word(Cow<'static, str>),
}

impl SizeValue {
    /// Returns the number, if the value is one.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Word(_) => None,
        }
    }
}

impl From<u64> for SizeValue {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<usize> for SizeValue {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<&'static str> for SizeValue {
    fn from(word: &'static str) -> Self {
        Self::Word(word.into())
    }
}

impl From<String> for SizeValue {
    fn from(word: String) -> Self {
        Self::Word(word.into())
    }
}

impl fmt::Display for SizeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// A parameter of sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeParameter {
    /// Name of the parameter, and of its option on the command line.
    pub name: &'static str,
    /// Default value; its type is that of all values.
    pub default: SizeValue,
    /// Meaning of the parameter, with its unit.
    pub help: &'static str,
    /// True if sizes leave the parameter out where it has its default.
    pub optional: bool,
}

impl SizeParameter {
    /// Returns a parameter whose values are numbers.
    #[must_use]
    pub const fn new(name: &'static str, default: u64, help: &'static str) -> Self {
        Self {
            name,
            default: SizeValue::Number(default),
            help,
            optional: false,
        }
    }

    /// Returns a parameter whose values are words.
    #[must_use]
    pub const fn word(name: &'static str, default: &'static str, help: &'static str) -> Self {
        Self {
            name,
            default: SizeValue::Word(Cow::Borrowed(default)),
            help,
            optional: false,
        }
    }

    /// Returns the parameter as one that sizes leave out where it has its default. Optional parameters come last.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Returns true if sizes leave out this value.
    #[must_use]
    pub fn leaves_out(&self, value: &SizeValue) -> bool {
        self.optional && *value == self.default
    }
}

impl SizeParameter {
    /// Parses a value of this parameter; none if the text is none.
    #[must_use]
    pub fn value(&self, text: &str) -> Option<SizeValue> {
        match self.default {
            SizeValue::Number(_) => text.parse().ok().map(SizeValue::Number),
            SizeValue::Word(_) => Some(text.to_owned().into()),
        }
    }
}

/// A size: a value for each parameter, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size(Vec<(&'static str, SizeValue)>);

impl Size {
    /// Builds a size from names and values.
    #[must_use]
    pub fn new<V: Clone + Into<SizeValue>>(values: &[(&'static str, V)]) -> Self {
        let values = values.iter().cloned();
        Self(values.map(|(name, value)| (name, value.into())).collect())
    }

    /// Parses the text form of [`Size`], `n=64 batch=3`. Parameters that the text does not name have their
    /// defaults.
    ///
    /// # Errors
    /// A name that is no parameter, or an invalid value.
    pub fn parse(parameters: &[SizeParameter], text: &str) -> Result<Self, SizeError> {
        let wrong = |name: &'static str, expected| SizeError {
            name,
            size: text.to_owned(),
            expected,
        };
        let size = parameters.iter().map(|p| (p.name, p.default.clone()));
        let mut size = Self(size.collect());
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let at = parameters.iter().position(|p| p.name == name);
            let at = at.ok_or_else(|| wrong("name", "`name=value` of a parameter"))?;
            let (parameter, place) = (&parameters[at], &mut size.0[at]);
            let value = parameter.value(value);
            place.1 = value.ok_or_else(|| wrong(parameter.name, "a number"))?;
        }
        let named = parameters.iter().zip(size.0);
        let kept = named.filter(|(parameter, (_, value))| !parameter.leaves_out(value));
        Ok(Self(kept.map(|(_, named)| named).collect()))
    }

    /// Parses a row of a table, `64 3`: a value for each parameter, in order. Optional ones may be missing at its end.
    ///
    /// # Errors
    /// More or fewer values than parameters, or an invalid value.
    pub fn from_row(parameters: &[SizeParameter], row: &str) -> Result<Self, SizeError> {
        let wrong = |name: &'static str, expected| SizeError {
            name,
            size: row.to_owned(),
            expected,
        };
        let mut words = row.split_whitespace();
        let mut values = Vec::new();
        for parameter in parameters {
            let Some(word) = words.next() else {
                match parameter.optional {
                    true => break,
                    false => return Err(wrong(parameter.name, "a value")),
                }
            };
            let value = parameter.value(word);
            let value = value.ok_or_else(|| wrong(parameter.name, "a number"))?;
            if !parameter.leaves_out(&value) {
                values.push((parameter.name, value));
            }
        }
        match (words.next(), parameters.last()) {
            (Some(_), Some(last)) => Err(wrong(last.name, "the last value")),
            _ => Ok(Self(values)),
        }
    }

    /// Adds a value.
    #[must_use]
    pub fn add_value(mut self, name: &'static str, value: impl Into<SizeValue>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// Iterates over names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &SizeValue)> + '_ {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Returns a value, if the size has it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&SizeValue> {
        let found = self.0.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| value)
    }

    /// Returns an error about one of its values.
    #[must_use]
    pub fn make_error(&self, name: &'static str, expected: &'static str) -> SizeError {
        SizeError {
            name,
            size: self.to_string(),
            expected,
        }
    }

    /// Returns a parameter's value as a length.
    ///
    /// # Errors
    /// The size has no such parameter, or the value is a word or larger than an address.
    pub fn length(&self, name: &'static str) -> Result<usize, SizeError> {
        let value = self
            .find(name)
            .ok_or_else(|| self.make_error(name, "a value"))?;
        let number = value
            .number()
            .ok_or_else(|| self.make_error(name, "a number"))?;
        usize::try_from(number).map_err(|_| self.make_error(name, "a smaller value"))
    }

    /// Returns a parameter's value as a length above zero.
    ///
    /// # Errors
    /// See [`Size::length`]; or the length is zero.
    pub fn positive(&self, name: &'static str) -> Result<usize, SizeError> {
        match self.length(name)? {
            0 => Err(self.make_error(name, "at least 1")),
            value => Ok(value),
        }
    }

    /// Returns the values of several parameters as lengths above zero.
    ///
    /// # Errors
    /// See [`Size::positive`].
    pub fn all_positive<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<[usize; N], SizeError> {
        let mut values = [0; N];
        for (value, name) in values.iter_mut().zip(names) {
            *value = self.positive(name)?;
        }
        Ok(values)
    }

    /// Returns a parameter's value as a word.
    ///
    /// # Errors
    /// The size has no such parameter, or the value is a number.
    pub fn word(&self, name: &'static str) -> Result<&str, SizeError> {
        match self.find(name) {
            Some(SizeValue::Word(word)) => Ok(word),
            Some(SizeValue::Number(_)) => Err(self.make_error(name, "a word")),
            None => Err(self.make_error(name, "a value")),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{name}={value}")?;
        }
        Ok(())
    }
}

/// A size that a problem or kernel does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("size `{size}`: `{name}` should be {expected}")]
pub struct SizeError {
    /// Name of the parameter.
    pub name: &'static str,
    /// The whole size.
    pub size: String,
    /// Values that were expected.
    pub expected: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_hold_numbers_and_words() {
        let size = Size::new(&[("n", 12u64)]).add_value("class", "S");
        assert_eq!(size.to_string(), "n=12 class=S");
        assert_eq!(size.length("n"), Ok(12));
        assert_eq!(size.word("class"), Ok("S"));
        let said = |e: SizeError| e.to_string();
        let wrong = said(size.length("class").unwrap_err());
        assert_eq!(wrong, "size `n=12 class=S`: `class` should be a number");
        assert!(said(size.word("n").unwrap_err()).ends_with("`n` should be a word"));
        assert!(size.positive("m").is_err());
    }

    #[test]
    fn rows_of_tables_have_a_value_for_each_parameter() {
        let parameters = [
            SizeParameter::word("class", "S", "class"),
            SizeParameter::new("n", 5, "length"),
        ];
        let row = |text: &str| Size::from_row(&parameters, text);
        assert_eq!(row("W 7").unwrap().to_string(), "class=W n=7");
        for (wrong, expected) in [
            ("W", "size `W`: `n` should be a value"),
            ("W x", "size `W x`: `n` should be a number"),
            ("W 7 8", "size `W 7 8`: `n` should be the last value"),
        ] {
            assert_eq!(row(wrong).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn sizes_are_read_as_they_are_written() {
        let parameters = [
            SizeParameter::new("n", 5, "length"),
            SizeParameter::word("class", "S", "class"),
        ];
        let read = |text: &str| Size::parse(&parameters, text);
        let size = read("class=W n=7").unwrap();
        assert_eq!(size.to_string(), "n=7 class=W");
        assert_eq!(read(&size.to_string()), Ok(size));
        assert_eq!(read("").unwrap().to_string(), "n=5 class=S");
        for wrong in ["m=3", "n", "n=x", "n=-1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
