//! Punctuation and the characters of operators.

use std::fmt;

/// Longest first, so that `<<` is not two `<`.
pub(crate) const PUNCTUATION: [&str; 35] = [
    "||", "&&", "<<", ">>", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "!", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", "?", "=", "@", "#", "$", "'", ".",
];

/// One or two characters that are no name and no number.
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

    /// The character, where it is one.
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
