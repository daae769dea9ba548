//! Expressions of a macro's body, with the values that they had before.

use super::token::{Known, Lexeme, Tok};
use std::cell::{Cell, RefCell};
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

/// Identifies a reading of a source among all of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading(u64);

impl Reading {
    /// Returns one that no reading of the thread had before.
    pub(crate) fn begin() -> Self {
        thread_local! {
            static LATEST: Cell<u64> = const { Cell::new(0) };
        }
        LATEST.set(LATEST.get() + 1);
        Self(LATEST.get())
    }
}

/// Tokens of a line that may be an expression.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Range of the tokens in the line.
    pub(crate) place: Range<usize>,
    /// Distinct parameters among the tokens; `None` if there are more than [`PARAMETERS`].
    parameters: Option<Vec<Rc<str>>>,
    values: RefCell<PieceValues>,
}

/// Values of an expression, each with the numbers that its parameters stood for.
#[derive(Clone, Debug, Default)]
struct PieceValues {
    /// The reading of a source in which they were found: in another one names may have other values.
    reading: Reading,
    all: Vec<(Numbers, Known)>,
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

    /// Returns the value that was found for these numbers in a reading, if there is one.
    pub(crate) fn value(&self, numbers: &Numbers, reading: Reading) -> Option<Known> {
        let values = self.values.borrow();
        let mut all = values.all.iter().filter(|_| values.reading == reading);
        all.find(|(n, _)| n == numbers).map(|(_, value)| *value)
    }

    /// Keeps the value for these numbers, on which alone it depends in a reading.
    pub(crate) fn keep(&self, numbers: Numbers, value: Known, reading: Reading) {
        let mut values = self.values.borrow_mut();
        if values.reading != reading {
            values.reading = reading;
            values.all.clear();
        }
        if values.all.len() < VALUES {
            values.all.push((numbers, value));
        }
    }
}
