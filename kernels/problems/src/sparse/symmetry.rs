//! Symmetries of a matrix, and the entries that can change a product.

use super::{MatrixEntries, MatrixError, SparseMatrix};
use num_complex::Complex32;
use std::fmt;

/// Known relation between the entries at (i, j) and (j, i).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symmetry {
    /// No relation.
    #[default]
    General,
    /// Both are equal.
    Symmetric,
    /// One is the negative of the other; the diagonal is 0.
    Skew,
    /// One is the complex conjugate of the other; the diagonal is real.
    Hermitian,
}

impl Symmetry {
    /// All symmetries.
    pub const ALL: [Self; 4] = [Self::General, Self::Symmetric, Self::Skew, Self::Hermitian];

    /// Returns the name in files of the Matrix Market.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::Skew => "skew-symmetric",
            Self::Hermitian => "hermitian",
        }
    }

    /// Returns the symmetry of a name, in letters of either case.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let of = |symmetry: &Self| symmetry.name().eq_ignore_ascii_case(name);
        Self::ALL.into_iter().find(of)
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// True if two numbers are equal, where a NaN equals a NaN.
fn are_equal(a: Complex32, b: Complex32) -> bool {
    let one = |a: f32, b: f32| a == b || (a.is_nan() && b.is_nan());
    one(a.re, b.re) && one(a.im, b.im)
}

impl SparseMatrix {
    /// Returns the matrix with a declared symmetry.
    ///
    /// # Errors
    /// The matrix is not square, or two entries violate the symmetry.
    pub fn declared(mut self, symmetry: Symmetry) -> Result<Self, MatrixError> {
        self.symmetry = symmetry;
        if symmetry == Symmetry::General {
            return Ok(self);
        }
        if self.rows != self.cols {
            return Err(MatrixError::NotSquare {
                symmetry,
                rows: self.rows,
                cols: self.cols,
            });
        }
        match self.first_unlike(symmetry) {
            None => Ok(self),
            Some((row, column)) => Err(MatrixError::Unlike {
                symmetry,
                row,
                column,
            }),
        }
    }

    /// Returns row and column of the first entry whose mirror image violates a symmetry.
    fn first_unlike(&self, symmetry: Symmetry) -> Option<(usize, usize)> {
        let mirrored = self.transpose();
        let image = |z: Complex32| match symmetry {
            Symmetry::General | Symmetry::Symmetric => z,
            Symmetry::Skew => -z,
            Symmetry::Hermitian => z.conj(),
        };
        (0..self.rows).find_map(|i| {
            let (mut own, mut other) = (self.row(i), mirrored.row(i));
            loop {
                match (own.next(), other.next()) {
                    (None, None) => return None,
                    (Some((j, a)), Some((k, b))) if j == k && are_equal(a, image(b)) => {}
                    (Some((j, _)), Some((k, _))) => return Some((i, j.min(k))),
                    (Some((j, _)), None) | (None, Some((j, _))) => return Some((i, j)),
                }
            }
        })
    }

    /// Counts the entries, values and columns that can change a product.
    #[must_use]
    pub fn significant(&self) -> Significant {
        let mut used = vec![false; self.cols];
        let (mut entries, mut values) = (0, 0);
        for i in 0..self.rows {
            for (j, value) in self.row(i) {
                let parts = [value.re, value.im].into_iter().filter(|part| *part != 0.0);
                if parts.clone().next().is_none() {
                    continue;
                }
                entries += 1;
                used[j] = true;
                let known = match self.symmetry {
                    Symmetry::General => true,
                    Symmetry::Symmetric | Symmetry::Hermitian => j <= i,
                    Symmetry::Skew => j < i,
                };
                values += match (&self.coefficients, known) {
                    (MatrixEntries::Pattern, _) | (_, false) => 0,
                    (
                        MatrixEntries::Real(_)
                        | MatrixEntries::Double(_)
                        | MatrixEntries::DoubleSingle(_),
                        true,
                    ) => 1,
                    (MatrixEntries::Complex(_), true) => parts.count(),
                };
            }
        }
        Significant {
            entries,
            values,
            columns: used.into_iter().filter(|&used| used).count(),
        }
    }

    /// Returns the fewest bytes that a product with `vectors` vectors moves if only the matrix's symmetry,
    /// its zeros, and whether it is a pattern are known: the significant values once, and the significant
    /// parts of the vectors once.
    #[must_use]
    pub fn least_bytes(&self, vectors: usize) -> u64 {
        let Significant {
            values, columns, ..
        } = self.significant();
        let (value, number) = (self.precision().bytes(), self.number_bytes());
        value * values as u64 + number * (self.rows as u64 + columns as u64) * vectors as u64
    }
}

/// Counts of the parts of a matrix that can change a product. Entries that are 0 cannot, nor can values that
/// a symmetry implies, nor columns without other entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Significant {
    /// Number of entries that are not 0.
    pub entries: usize,
    /// Number of real values that determine all of these entries: those on and below the diagonal of a
    /// symmetric matrix, below it of a skew one, all of a general one, none of a pattern. Parts of complex
    /// numbers that are 0, as on the diagonal of a Hermitian matrix, are not counted.
    pub values: usize,
    /// Number of columns with such entries.
    pub columns: usize,
}
