//! Reads the entries of a Matrix Market text.

use super::lines::{MarketLine, number};
use super::{MarketError, MarketField, MarketHeader};
use crate::sparse::{MatrixError, Symmetry, Triplets};
use num_complex::Complex64;

/// Most entries for which memory is reserved before they are read.
const RESERVED: u64 = 1 << 16;

/// Position of the next entry of an array, column by column, among those that its symmetry does not imply.
pub(super) struct Cursor {
    symmetry: Symmetry,
    rows: usize,
    row: usize,
    column: usize,
}

impl Cursor {
    pub(super) fn new(header: MarketHeader, rows: usize) -> Self {
        let mut cursor = Self {
            symmetry: header.symmetry,
            rows,
            row: 0,
            column: 0,
        };
        cursor.row = cursor.top();
        cursor
    }

    /// Returns the first row of the column that is given.
    fn top(&self) -> usize {
        match self.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric | Symmetry::Hermitian => self.column,
            Symmetry::Skew => self.column + 1,
        }
    }

    fn next(&mut self) -> (usize, usize) {
        let place = (self.row, self.column);
        self.row += 1;
        if self.row >= self.rows {
            self.column += 1;
            self.row = self.top();
        }
        place
    }
}

/// Entries read so far, with those that a symmetry adds.
pub(super) struct Entries {
    header: MarketHeader,
    rows: usize,
    cols: usize,
    triplets: Triplets,
}

impl Entries {
    pub(super) fn new(header: MarketHeader, rows: usize, cols: usize, declared: u64) -> Self {
        let reserved = declared.min(RESERVED) as usize;
        let triplets = match header.field {
            MarketField::Pattern => Triplets::Pattern(Vec::with_capacity(reserved)),
            MarketField::Real | MarketField::Integer | MarketField::Unsigned => {
                Triplets::Real(Vec::with_capacity(reserved))
            }
            MarketField::Complex => Triplets::Complex(Vec::with_capacity(reserved)),
        };
        Self {
            header,
            rows,
            cols,
            triplets,
        }
    }

    /// Adds the entry of a line, and its mirror image.
    pub(super) fn add(
        &mut self,
        line: &MarketLine,
        cursor: &mut Cursor,
    ) -> Result<(), MarketError> {
        let mut words = line.words();
        let expected = || match (self.header.coordinate, self.header.field) {
            (true, MarketField::Pattern) => "row and column",
            (true, MarketField::Complex) => "row, column, real part, imaginary part",
            (true, _) => "row, column, number",
            (false, MarketField::Complex) => "real part, imaginary part",
            (false, _) => "a number",
        };
        let wrong = || line.make_error("an entry", expected());
        let mut word = || words.next().ok_or_else(wrong);
        let (i, j) = match self.header.coordinate {
            true => (
                index(line, word()?, "a row", self.rows)?,
                index(line, word()?, "a column", self.cols)?,
            ),
            false => cursor.next(),
        };
        let value = match self.header.field {
            MarketField::Pattern => Complex64::from(1.0),
            MarketField::Real => real(line, word()?)?.into(),
            MarketField::Integer => integer(line, word()?, true)?.into(),
            MarketField::Unsigned => integer(line, word()?, false)?.into(),
            MarketField::Complex => Complex64::new(real(line, word()?)?, real(line, word()?)?),
        };
        if words.next().is_some() {
            return Err(wrong());
        }
        let image = match self.header.symmetry {
            Symmetry::General => None,
            Symmetry::Symmetric => Some(value),
            Symmetry::Skew => Some(-value),
            Symmetry::Hermitian => Some(value.conj()),
        };
        if let Some(image) = image {
            if j > i {
                return Err(line.make_error(
                    "an entry above the diagonal",
                    "one on or below it: the symmetry gives those above",
                ));
            }
            // A NaN on the diagonal counts as its own mirror image.
            let differs = |a: f64, b: f64| a != b && !a.is_nan();
            if i == j && (differs(value.re, image.re) || differs(value.im, image.im)) {
                let expected = match self.header.symmetry {
                    Symmetry::Skew => "none, or 0: a skew-symmetric matrix has no others",
                    _ => "a real number: a hermitian matrix has no others there",
                };
                return Err(line.make_error("an entry on the diagonal", expected));
            }
        }
        let image = image.filter(|_| i != j).map(|image| (j, i, image));
        for (i, j, value) in [Some((i, j, value)), image].into_iter().flatten() {
            let (i, j) = (i as u32, j as u32);
            let pushed = match &mut self.triplets {
                Triplets::Pattern(all) => push(all, (i, j)),
                Triplets::Real(all) => push(all, (i, j, value.re)),
                Triplets::Complex(all) => push(all, (i, j, value)),
            };
            pushed.map_err(|entries| MarketError::Matrix {
                line: line.number,
                source: MatrixError::OutOfMemory {
                    rows: self.rows,
                    cols: self.cols,
                    entries,
                },
            })?;
        }
        Ok(())
    }
}

/// Appends an entry; if there is no memory for it, returns the number of entries there are.
fn push<T>(all: &mut Vec<T>, entry: T) -> Result<(), usize> {
    all.try_reserve(1).map_err(|_| all.len())?;
    all.push(entry);
    Ok(())
}

impl From<Entries> for Triplets {
    fn from(entries: Entries) -> Self {
        entries.triplets
    }
}

/// Reads an index, converted to count from 0.
fn index(
    line: &MarketLine,
    word: &[u8],
    what: &'static str,
    count: usize,
) -> Result<usize, MarketError> {
    let index = number(word).filter(|index| (1..=count as u64).contains(index));
    let index = index.ok_or_else(|| line.wrong_word(word, what, &format!("1 to {count}")))?;
    Ok(index as usize - 1)
}

/// Reads an integer of any length, rounded like a real number.
fn integer(line: &MarketLine, word: &[u8], signed: bool) -> Result<f64, MarketError> {
    let digits = match word {
        [b'+', digits @ ..] => digits,
        [b'-', digits @ ..] if signed => digits,
        digits => digits,
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        let expected = match signed {
            true => "digits, with a sign if it is negative",
            false => "digits: an unsigned integer",
        };
        return Err(line.wrong_word(word, "an integer", expected));
    }
    real(line, word)
}

/// Reads a real number; a D before the exponent, as Fortran writes it in double precision, is allowed.
fn real(line: &MarketLine, word: &[u8]) -> Result<f64, MarketError> {
    let wrong = |expected| line.wrong_word(word, "a number", expected);
    let decimal = word.iter().any(u8::is_ascii_digit);
    let text: String = word
        .iter()
        .map(|&byte| match byte {
            b'd' | b'D' if decimal => 'e',
            byte => char::from(byte),
        })
        .collect();
    let number: f64 = text
        .parse()
        .map_err(|_| wrong("a decimal number such as -1.5e-3, inf or nan"))?;
    // A number written with digits must be finite in single precision too, the precision of the matrix.
    if decimal && number.abs() > f64::from(f32::MAX) {
        return Err(wrong(
            "at most 3.4028234e38, the largest number of single precision",
        ));
    }
    Ok(number)
}
