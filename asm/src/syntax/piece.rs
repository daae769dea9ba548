//! Expressions of a macro's body, and the values that they have had.

use super::token::{Known, Lexeme, Tok};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// Parameters at most of an expression whose values are kept.
const PARAMETERS: usize = 4;
/// Values that are kept at most.
const VALUES: usize = 16;

/// What a number that a parameter stands for is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) value: i64,
    /// Of several tokens, joined by operators, by `?`.
    pub(crate) kind: [bool; 3],
}

/// The numbers that the parameters of an expression stand for.
pub(crate) type Numbers = [Number; PARAMETERS];

/// Tokens of a line that may be an expression.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Where in the line they stand.
    pub(crate) place: Range<usize>,
    /// Their parameters; none where they are too many.
    parameters: Option<Vec<Rc<str>>>,
    values: RefCell<Vec<(Numbers, Known)>>,
}

impl Piece {
    pub(crate) fn new(line: &[Lexeme], place: Range<usize>) -> Self {
        let mut parameters: Vec<Rc<str>> = Vec::new();
        for token in line.get(place.clone()).unwrap_or(&[]) {
            if let Tok::Param(name) = &token.tok
                && !parameters.contains(name)
            {
                parameters.push(name.clone());
            }
        }
        Self {
            place,
            parameters: Some(parameters).filter(|p| p.len() <= PARAMETERS),
            values: RefCell::default(),
        }
    }

    /// The numbers that the parameters stand for, if they do.
    pub(crate) fn numbers(&self, of: impl Fn(&Rc<str>) -> Option<Number>) -> Option<Numbers> {
        let mut numbers = Numbers::default();
        for (number, name) in numbers.iter_mut().zip(self.parameters.as_ref()?) {
            *number = of(name)?;
        }
        Some(numbers)
    }

    /// The value that it had where its parameters stood for these numbers.
    pub(crate) fn value(&self, numbers: &Numbers) -> Option<Known> {
        let values = self.values.borrow();
        let found = values.iter().find(|(n, _)| n == numbers);
        found.map(|(_, value)| *value)
    }

    /// Keeps the value, which depends on these numbers alone.
    pub(crate) fn keep(&self, numbers: Numbers, value: Known) {
        let mut values = self.values.borrow_mut();
        if values.len() < VALUES {
            values.push((numbers, value));
        }
    }
}
