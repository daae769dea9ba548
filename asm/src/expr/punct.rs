//! Punctuation and operators as characters.

use std::fmt;

/// Spellings, the longest first, so that `<<` is not read as two `<`.
pub(crate) const PUNCTUATION: [&str; 35] = [
    "||", "&&", "<<", ">>", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "!", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", "?", "=", "@", "#", "$", "'", ".",
];

/// Punctuation or operator of one or two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Punct(pub(super) [u8; 2]);

impl Punct {
    pub(crate) const fn of(text: &str) -> Self {
        match text.as_bytes() {
            [first, second] => Self([*first, *second]),
            [first] => Self([*first, 0]),
            _ => Self([0; 2]),
        }
    }

    /// Returns the character, if there is only one.
    pub(crate) const fn first(self) -> Option<u8> {
        match self.0 {
            [first, 0] => Some(first),
            _ => None,
        }
    }
}

impl fmt::Display for Punct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let characters = self.0.iter().filter(|b| **b != 0);
        characters
            .map(|&b| char::from(b))
            .try_for_each(|c| write!(f, "{c}"))
    }
}
