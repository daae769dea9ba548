//! Expressions of a macro's body, with the values that they had before.

use super::token::{Known, Lexeme, Tok};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// Most parameters of an expression whose values are kept.
const PARAMETERS: usize = 4;
/// Most values kept for one expression.
const VALUES: usize = 16;

/// Integer that a parameter stands for, with the form of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) value: i64,
    /// True if the number is the value of several tokens; if operators join them; if `?` does.
    pub(crate) kind: [bool; 3],
}

/// Numbers that the parameters of an expression stand for, in the order of their first use.
pub(crate) type Numbers = [Number; PARAMETERS];

/// Tokens of a line that may be an expression.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Range of the tokens in the line.
    pub(crate) place: Range<usize>,
    /// Distinct parameters among the tokens; `None` if there are more than [`PARAMETERS`].
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

    /// Returns the numbers that the parameters stand for, if each of them is a number.
    pub(crate) fn numbers(&self, of: impl Fn(&Rc<str>) -> Option<Number>) -> Option<Numbers> {
        let mut numbers = Numbers::default();
        for (number, name) in numbers.iter_mut().zip(self.parameters.as_ref()?) {
            *number = of(name)?;
        }
        Some(numbers)
    }

    /// Returns the value kept for these numbers, if there is one.
    pub(crate) fn value(&self, numbers: &Numbers) -> Option<Known> {
        let values = self.values.borrow();
        let found = values.iter().find(|(n, _)| n == numbers);
        found.map(|(_, value)| *value)
    }

    /// Keeps the value for these numbers, on which alone it depends.
    pub(crate) fn keep(&self, numbers: Numbers, value: Known) {
        let mut values = self.values.borrow_mut();
        if values.len() < VALUES {
            values.push((numbers, value));
        }
    }
}
