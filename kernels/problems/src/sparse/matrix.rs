//! A sparse matrix, stored by compressed rows.

use super::Symmetry;
use crate::ProblemError;
use crate::double_single::{join_double, split_double};
use crate::npb::Precision;
use num_complex::Complex32;
use std::ops::Range;

/// Entries of a matrix, in the order of its rows.
#[derive(Clone, Debug, PartialEq)]
pub enum MatrixEntries {
    /// Every entry is 1.
    Pattern,
    /// Real numbers.
    Real(Vec<f32>),
    /// Real numbers in double precision, which only machines with the extension `double` compute with.
    Double(Vec<f64>),
    /// Real numbers as sums of two binary32, the upper part first, which only machines with the extension
    /// `double-single` compute with.
    DoubleSingle(Vec<[f32; 2]>),
    /// Complex numbers.
    Complex(Vec<Complex32>),
}

/// A sparse matrix, stored by rows: all entries, also those that a symmetry implies.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) starts: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) coefficients: MatrixEntries,
    pub(super) symmetry: Symmetry,
    pub(super) rounded_to_zero: usize,
}

/// Reason why there is no such matrix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// No rows or no columns.
    #[error("a matrix of {rows} rows and {cols} columns is none; expected at least one of each")]
    Zero {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
    },
    /// More rows, columns or entries than can be numbered or stored.
    #[error(
        "a matrix of {rows} rows, {cols} columns and {entries} entries is too large; expected sides of at most 2^31 that fit the memory"
    )]
    TooLarge {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
        /// Number of entries.
        entries: usize,
    },
    /// This computer does not have the memory for the matrix.
    #[error(
        "this computer has not the memory for a matrix of {rows} rows, {cols} columns and {entries} entries; use a smaller one, \
         or let the program have more memory (`ulimit -v`, other programs)"
    )]
    OutOfMemory {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
        /// Number of entries, as far as they were counted.
        entries: usize,
    },
    /// An entry outside the matrix.
    #[error(
        "entry {entry} (from 1 on) is in row {row}, column {column} (from 0 on); expected one of {rows} rows and {cols} columns"
    )]
    Outside {
        /// Number of the entry, from 1.
        entry: usize,
        /// Row of the entry, from 0.
        row: usize,
        /// Column of the entry, from 0.
        column: usize,
        /// Number of rows of the matrix.
        rows: usize,
        /// Number of columns of the matrix.
        cols: usize,
    },
    /// A symmetry was declared of a matrix that is not square.
    #[error(
        "a {symmetry} matrix of {rows} rows and {cols} columns is none; expected as many rows as columns"
    )]
    NotSquare {
        /// The symmetry that was declared.
        symmetry: Symmetry,
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        cols: usize,
    },
    /// The declared symmetry does not hold.
    #[error(
        "the entries at row {row}, column {column} and its mirror image (from 0 on) are not those of a {symmetry} matrix; declare it general"
    )]
    Unlike {
        /// The symmetry that was declared.
        symmetry: Symmetry,
        /// Row of the first entry that violates it, from 0.
        row: usize,
        /// Column of that entry, from 0.
        column: usize,
    },
}

/// Most rows or columns: column indices have 32 bits.
pub(super) const MOST_SIDE: usize = 1 << 31;

/// True if a number is 0 in single precision and not in double precision.
pub(super) fn is_rounded_to_zero(value: f64) -> bool {
    value != 0.0 && value as f32 == 0.0
}

/// Returns an empty list with room for `count` elements; none if there is no memory for them.
pub(super) fn room<T>(count: usize) -> Option<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).ok()?;
    Some(all)
}

/// Returns so many copies of values, one after the other; none if there is no memory for them.
fn repeated<T: Copy>(values: &[T], copies: usize) -> Option<Vec<T>> {
    let mut all = room(values.len().checked_mul(copies)?)?;
    for _ in 0..copies {
        all.extend_from_slice(values);
    }
    Some(all)
}

impl SparseMatrix {
    /// Returns a square matrix from its rows, with real numbers that are rounded to a precision; the symmetry is not
    /// checked.
    pub(crate) fn from_rows(
        starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
        (precision, symmetry): (Precision, Symmetry),
    ) -> Self {
        let rows = starts.len().saturating_sub(1);
        let lost = values.iter().filter(|&&value| is_rounded_to_zero(value));
        let rounded_to_zero = match precision {
            Precision::Single => lost.count(),
            // The lower parts of such numbers are 0 too.
            Precision::DoubleSingle => lost.count(),
            Precision::Double => 0,
        };
        Self {
            rows,
            cols: rows,
            starts,
            columns,
            coefficients: match precision {
                Precision::Single => {
                    MatrixEntries::Real(values.iter().map(|&value| value as f32).collect())
                }
                Precision::DoubleSingle => {
                    MatrixEntries::DoubleSingle(values.into_iter().map(split_double).collect())
                }
                Precision::Double => MatrixEntries::Double(values),
            },
            symmetry,
            rounded_to_zero,
        }
    }

    /// Returns a matrix of the same pattern, without a known symmetry, whose entries are these numbers, by their
    /// position in the order of rows, rounded to a precision.
    #[must_use]
    pub fn with_numbers(self, precision: Precision, number: impl FnMut(usize) -> f64) -> Self {
        let values = (0..self.nnz()).map(number).collect();
        let kind = (precision, Symmetry::General);
        Self {
            cols: self.cols,
            ..Self::from_rows(self.starts, self.columns, values, kind)
        }
    }

    /// Returns the format of the entries' real numbers, or of their parts.
    #[must_use]
    pub fn precision(&self) -> Precision {
        match self.coefficients {
            MatrixEntries::Double(_) => Precision::Double,
            MatrixEntries::DoubleSingle(_) => Precision::DoubleSingle,
            _ => Precision::Single,
        }
    }

    /// Returns the bytes of a number of the vectors.
    #[must_use]
    pub fn number_bytes(&self) -> u64 {
        self.precision().bytes() * if self.is_complex() { 2 } else { 1 }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.columns.len()
    }

    /// Returns the number of the first entry of each row, and at the end the number of entries.
    #[must_use]
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Returns the columns of all entries, ascending within each row.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Returns the values of the entries.
    #[must_use]
    pub fn coefficients(&self) -> &MatrixEntries {
        &self.coefficients
    }

    /// Returns the known relation between an entry and its mirror image.
    #[must_use]
    pub fn symmetry(&self) -> Symmetry {
        self.symmetry
    }

    /// True if the entries, and with them the vectors, are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        matches!(self.coefficients, MatrixEntries::Complex(_))
    }

    /// True if every entry is 1.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        matches!(self.coefficients, MatrixEntries::Pattern)
    }

    /// Returns the number of entries that were not 0 before they were rounded to 0 in single precision.
    #[must_use]
    pub fn rounded_to_zero(&self) -> usize {
        self.rounded_to_zero
    }

    /// Returns the number of entries that are not finite, with row and column of the first, from 0; none if
    /// all are finite.
    #[must_use]
    pub fn not_finite(&self) -> Option<(usize, [usize; 2])> {
        let odd = |&entry: &usize| {
            let value = self.value(entry);
            !(value.re.is_finite() && value.im.is_finite())
        };
        let mut all = (0..self.nnz()).filter(odd);
        let first = all.next()?;
        let row = self.starts.partition_point(|&start| start <= first) - 1;
        Some((1 + all.count(), [row, self.columns[first] as usize]))
    }

    /// Refuses a matrix, called `what`, with entries that are not finite; the error names the first one's row
    /// and column, from 1.
    pub(super) fn check_finite(&self, what: &'static str) -> Result<(), ProblemError> {
        let Some((count, [row, column])) = self.not_finite() else {
            return Ok(());
        };
        let found = format!(
            "{count} not finite, the first at row {}, column {}",
            row + 1,
            column + 1
        );
        Err(ProblemError::odd(what, found, "finite numbers"))
    }

    /// Returns the number of entries in words.
    #[must_use]
    pub fn entries(&self) -> String {
        match self.nnz() {
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        }
    }

    /// Returns the numbers of the entries of a row; an empty range for a row that the matrix does not have.
    #[must_use]
    pub fn range(&self, row: usize) -> Range<usize> {
        match self.starts.get(row..=row + 1) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        }
    }

    /// Returns the columns of a row's entries, ascending.
    #[must_use]
    pub fn columns_of(&self, row: usize) -> &[u32] {
        &self.columns[self.range(row)]
    }

    /// Returns an entry by its number, in single precision; 0 beyond the last.
    #[must_use]
    pub fn value(&self, entry: usize) -> Complex32 {
        match &self.coefficients {
            MatrixEntries::Complex(values) => values.get(entry).copied().unwrap_or_default(),
            _ => self.real(entry).into(),
        }
    }

    /// Returns the real part of an entry by its number, in single precision; 0 beyond the last.
    #[must_use]
    pub fn real(&self, entry: usize) -> f32 {
        match &self.coefficients {
            MatrixEntries::Pattern if entry < self.nnz() => 1.0,
            MatrixEntries::Pattern => 0.0,
            MatrixEntries::Real(values) => values.get(entry).copied().unwrap_or_default(),
            MatrixEntries::Double(values) => values.get(entry).map_or(0.0, |&value| value as f32),
            MatrixEntries::DoubleSingle(values) => values.get(entry).map_or(0.0, |&[high, _]| high),
            MatrixEntries::Complex(values) => values.get(entry).copied().unwrap_or_default().re,
        }
    }

    /// Returns the real part of an entry by its number, in the precision of the matrix; 0 beyond the last.
    #[must_use]
    pub fn wide(&self, entry: usize) -> f64 {
        match &self.coefficients {
            MatrixEntries::Double(values) => values.get(entry).copied().unwrap_or_default(),
            MatrixEntries::DoubleSingle(_) => join_double(self.double_single(entry)),
            _ => self.real(entry).into(),
        }
    }

    /// Returns the two parts of the real part of an entry in double-single precision, by its number; 0 beyond the last.
    #[must_use]
    pub fn double_single(&self, entry: usize) -> [f32; 2] {
        match &self.coefficients {
            MatrixEntries::DoubleSingle(values) => values.get(entry).copied().unwrap_or_default(),
            _ => split_double(self.wide(entry)),
        }
    }

    /// Iterates over the entries of a row: column and value.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, Complex32)> + '_ {
        self.range(row)
            .map(|entry| (self.columns[entry] as usize, self.value(entry)))
    }

    /// Iterates over the entries of a row of a real matrix: column and value. (For a complex matrix these are
    /// the real parts.)
    pub fn real_row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.range(row)
            .map(|entry| (self.columns[entry] as usize, self.real(entry)))
    }

    /// Exchanges rows and columns; values, also complex ones, are not changed.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let mut starts = vec![0; self.cols + 1];
        for &column in &self.columns {
            starts[column as usize + 1] += 1;
        }
        for column in 0..self.cols {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let (mut rows, mut from) = (vec![0; self.nnz()], vec![0; self.nnz()]);
        for row in 0..self.rows {
            for entry in self.range(row) {
                let place = &mut next[self.columns[entry] as usize];
                rows[*place] = row as u32;
                from[*place] = entry;
                *place += 1;
            }
        }
        let coefficients = match &self.coefficients {
            MatrixEntries::Pattern => MatrixEntries::Pattern,
            MatrixEntries::Real(values) => {
                MatrixEntries::Real(from.iter().map(|&i| values[i]).collect())
            }
            MatrixEntries::Double(values) => {
                MatrixEntries::Double(from.iter().map(|&i| values[i]).collect())
            }
            MatrixEntries::DoubleSingle(values) => {
                MatrixEntries::DoubleSingle(from.iter().map(|&i| values[i]).collect())
            }
            MatrixEntries::Complex(values) => {
                MatrixEntries::Complex(from.iter().map(|&i| values[i]).collect())
            }
        };
        Self {
            rows: self.cols,
            cols: self.rows,
            starts,
            columns: rows,
            coefficients,
            symmetry: self.symmetry,
            rounded_to_zero: self.rounded_to_zero,
        }
    }

    /// Repeats the matrix along the diagonal of a larger one, which is 0 elsewhere.
    ///
    /// # Errors
    /// No copies; the larger matrix has too many rows or columns, or does not fit this computer's memory.
    pub fn repeat_along_diagonal(&self, copies: usize) -> Result<Self, MatrixError> {
        let [rows, cols, entries] =
            [self.rows, self.cols, self.nnz()].map(|n| n.saturating_mul(copies));
        if copies == 0 {
            return Err(MatrixError::Zero { rows, cols });
        }
        if rows.max(cols) > MOST_SIDE {
            return Err(MatrixError::TooLarge {
                rows,
                cols,
                entries,
            });
        }
        let full = MatrixError::OutOfMemory {
            rows,
            cols,
            entries,
        };
        self.tiled([rows, cols, entries], copies).ok_or(full)
    }

    /// Returns the copies along the diagonal; none if there is no memory for them.
    fn tiled(&self, [rows, cols, entries]: [usize; 3], copies: usize) -> Option<Self> {
        let mut starts = room(rows + 1)?;
        let mut columns = room(entries)?;
        starts.push(0);
        for copy in 0..copies {
            let (entry, column) = (copy * self.nnz(), (copy * self.cols) as u32);
            starts.extend(self.starts.iter().skip(1).map(|start| entry + start));
            columns.extend(self.columns.iter().map(|own| column + own));
        }
        let coefficients = match &self.coefficients {
            MatrixEntries::Pattern => MatrixEntries::Pattern,
            MatrixEntries::Real(values) => MatrixEntries::Real(repeated(values, copies)?),
            MatrixEntries::Double(values) => MatrixEntries::Double(repeated(values, copies)?),
            MatrixEntries::DoubleSingle(values) => {
                MatrixEntries::DoubleSingle(repeated(values, copies)?)
            }
            MatrixEntries::Complex(values) => MatrixEntries::Complex(repeated(values, copies)?),
        };
        Some(Self {
            rows,
            cols,
            starts,
            columns,
            coefficients,
            symmetry: self.symmetry,
            rounded_to_zero: self.rounded_to_zero.saturating_mul(copies),
        })
    }

    /// Returns the number of entries of the longest row.
    #[must_use]
    pub fn longest_row(&self) -> usize {
        let lengths = self.starts.windows(2).map(|pair| pair[1] - pair[0]);
        lengths.max().unwrap_or(0)
    }

    /// Returns the bytes of `vectors` vectors that are multiplied, and of their products.
    #[must_use]
    pub fn vector_bytes(&self, vectors: usize) -> u64 {
        self.number_bytes() * (self.rows as u64 + self.cols as u64) * vectors as u64
    }

    /// Returns the bytes that a product with `vectors` vectors moves with compressed rows: a value and a
    /// column for each entry (8 bytes, 12 if complex or in double precision), and the vectors once.
    #[must_use]
    pub fn csr_bytes(&self, vectors: usize) -> u64 {
        let entry = self.number_bytes() + 4;
        entry * self.nnz() as u64 + self.vector_bytes(vectors)
    }
}
