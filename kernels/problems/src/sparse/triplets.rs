//! Builds matrices from entries in any order.

use super::matrix::{MOST_SIDE, is_rounded_to_zero, room};
use super::{MatrixEntries, MatrixError, SparseMatrix, Symmetry};
use num_complex::{Complex32, Complex64};

/// Entries in any order, each with its row and column from 0. Entries of equal position are added up.
#[derive(Clone, Debug, PartialEq)]
pub enum Triplets {
    /// Positions of ones. (If a position occurs twice, the result is a matrix of real numbers.)
    Pattern(Vec<(u32, u32)>),
    /// Real numbers.
    Real(Vec<(u32, u32, f64)>),
    /// Complex numbers.
    Complex(Vec<(u32, u32, Complex64)>),
}

/// A position with a value that can be added up.
trait Entry: Copy {
    type Sum: Copy + std::ops::AddAssign;
    fn place(self) -> (usize, usize);
    fn value(self) -> Self::Sum;
}

impl Entry for (u32, u32) {
    type Sum = f64;
    fn place(self) -> (usize, usize) {
        (self.0 as usize, self.1 as usize)
    }
    fn value(self) -> f64 {
        1.0
    }
}

impl Entry for (u32, u32, f64) {
    type Sum = f64;
    fn place(self) -> (usize, usize) {
        (self.0 as usize, self.1 as usize)
    }
    fn value(self) -> f64 {
        self.2
    }
}

impl Entry for (u32, u32, Complex64) {
    type Sum = Complex64;
    fn place(self) -> (usize, usize) {
        (self.0 as usize, self.1 as usize)
    }
    fn value(self) -> Complex64 {
        self.2
    }
}

/// Row starts, columns and sums of sorted entries.
struct Sorted<S> {
    starts: Vec<usize>,
    columns: Vec<u32>,
    sums: Vec<S>,
}

/// Returns zeros; none if there is no memory for them.
fn zeros(count: usize) -> Option<Vec<usize>> {
    let mut all = room(count)?;
    all.resize(count, 0);
    Some(all)
}

/// Sorts entries by rows and columns; those of equal position are added up in their order.
fn sort_entries<E: Entry>(
    rows: usize,
    cols: usize,
    entries: &[E],
) -> Result<Sorted<E::Sum>, MatrixError> {
    let too_large = || MatrixError::TooLarge {
        rows,
        cols,
        entries: entries.len(),
    };
    if rows == 0 || cols == 0 {
        return Err(MatrixError::Zero { rows, cols });
    }
    if rows > MOST_SIDE || cols > MOST_SIDE {
        return Err(too_large());
    }
    for (entry, (row, column)) in entries.iter().map(|entry| entry.place()).enumerate() {
        if row >= rows || column >= cols {
            return Err(MatrixError::Outside {
                entry: entry + 1,
                row,
                column,
                rows,
                cols,
            });
        }
    }
    let no_room = || MatrixError::OutOfMemory {
        rows,
        cols,
        entries: entries.len(),
    };
    let mut starts = zeros(rows + 1).ok_or_else(no_room)?;
    // A counting sort by rows: first the number of entries of each row, then the end of each row.
    for entry in entries {
        starts[entry.place().0 + 1] += 1;
    }
    for row in 0..rows {
        starts[row + 1] += starts[row];
    }
    let mut order = zeros(entries.len()).ok_or_else(no_room)?;
    let mut next = room(starts.len()).ok_or_else(no_room)?;
    next.extend_from_slice(&starts);
    for (i, entry) in entries.iter().enumerate() {
        let place = &mut next[entry.place().0];
        order[*place] = i;
        *place += 1;
    }
    drop(next);
    let mut columns = room(entries.len()).ok_or_else(no_room)?;
    let mut sums = room::<E::Sum>(entries.len()).ok_or_else(no_room)?;
    for row in 0..rows {
        let own = &mut order[starts[row]..starts[row + 1]];
        starts[row] = columns.len();
        // The sort is stable, so that sums are computed in the entries' order.
        own.sort_by_key(|&i| entries[i].place().1);
        let first = columns.len();
        for &i in &*own {
            let column = entries[i].place().1 as u32;
            let value = entries[i].value();
            match sums.last_mut() {
                Some(sum) if columns.len() > first && columns.last() == Some(&column) => {
                    *sum += value
                }
                _ => {
                    columns.push(column);
                    sums.push(value);
                }
            }
        }
    }
    starts[rows] = columns.len();
    Ok(Sorted {
        starts,
        columns,
        sums,
    })
}

impl SparseMatrix {
    /// Returns a matrix of these entries, without a symmetry. Sums are computed in double precision and
    /// rounded once; zeros are entries like others.
    ///
    /// # Errors
    /// No rows or columns, too many of them, or an entry outside the matrix.
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        triplets: &Triplets,
    ) -> Result<Self, MatrixError> {
        let made = |starts, columns, coefficients, rounded_to_zero| Self {
            rows,
            cols,
            starts,
            columns,
            coefficients,
            symmetry: Symmetry::General,
            rounded_to_zero,
        };
        let vanished = |sums: &[f64]| sums.iter().filter(|&&sum| is_rounded_to_zero(sum)).count();
        let no_room = |entries| MatrixError::OutOfMemory {
            rows,
            cols,
            entries,
        };
        let single = |sums: &[f64]| {
            let mut all = room(sums.len()).ok_or_else(|| no_room(sums.len()))?;
            all.extend(sums.iter().map(|&sum| sum as f32));
            Ok::<_, MatrixError>(all)
        };
        Ok(match triplets {
            Triplets::Pattern(entries) => {
                let Sorted {
                    starts,
                    columns,
                    sums,
                } = sort_entries(rows, cols, entries)?;
                let coefficients = match columns.len() == entries.len() {
                    true => MatrixEntries::Pattern,
                    false => MatrixEntries::Real(single(&sums)?),
                };
                made(starts, columns, coefficients, 0)
            }
            Triplets::Real(entries) => {
                let Sorted {
                    starts,
                    columns,
                    sums,
                } = sort_entries(rows, cols, entries)?;
                let zeros = vanished(&sums);
                made(starts, columns, MatrixEntries::Real(single(&sums)?), zeros)
            }
            Triplets::Complex(entries) => {
                let Sorted {
                    starts,
                    columns,
                    sums,
                } = sort_entries(rows, cols, entries)?;
                let mut rounded = room(sums.len()).ok_or_else(|| no_room(sums.len()))?;
                let single = sums
                    .iter()
                    .map(|z| Complex32::new(z.re as f32, z.im as f32));
                rounded.extend(single);
                let parts = |z: &&Complex64| is_rounded_to_zero(z.re) || is_rounded_to_zero(z.im);
                let zeros = sums.iter().filter(parts).count();
                made(starts, columns, MatrixEntries::Complex(rounded), zeros)
            }
        })
    }
}
