//! What a matrix and its transpose have to do with each other.

use super::{MatrixEntries, MatrixError, SparseMatrix};
use num_complex::Complex32;
use std::fmt;

/// What is known of the two entries at (i, j) and (j, i).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symmetry {
    /// Nothing.
    #[default]
    General,
    /// They are the same.
    Symmetric,
    /// One is the other with its sign changed; what is on the diagonal is 0.
    Skew,
    /// One is the complex conjugate of the other; what is on the diagonal is real.
    Hermitian,
}

impl Symmetry {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::General, Self::Symmetric, Self::Skew, Self::Hermitian];

    /// Its name, as files of the Matrix Market have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::Skew => "skew-symmetric",
            Self::Hermitian => "hermitian",
        }
    }

    /// The one of that name, in letters of any size.
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

/// Whether two numbers are the same, a NaN being one.
fn same(a: Complex32, b: Complex32) -> bool {
    let one = |a: f32, b: f32| a == b || (a.is_nan() && b.is_nan());
    one(a.re, b.re) && one(a.im, b.im)
}

impl SparseMatrix {
    /// The same, known to be symmetric in this way.
    ///
    /// # Errors
    /// It is not square, or two entries are not what the symmetry says.
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

    /// The first entry whose mirror image is not what a symmetry says.
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
                    (Some((j, a)), Some((k, b))) if j == k && same(a, image(b)) => {}
                    (Some((j, _)), Some((k, _))) => return Some((i, j.min(k))),
                    (Some((j, _)), None) | (None, Some((j, _))) => return Some((i, j)),
                }
            }
        })
    }

    /// What of the matrix can change a product.
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
                    (MatrixEntries::Real(_), true) => 1,
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

    /// The fewest bytes that a product with `vectors` vectors moves where no more is known of a matrix than its symmetry, where it has zeros, and that it may
    /// be a pattern: the values that have to be known once, and what of the vectors matters once.
    #[must_use]
    pub fn least_bytes(&self, vectors: usize) -> u64 {
        let Significant {
            values, columns, ..
        } = self.significant();
        let number = if self.is_complex() { 8 } else { 4 };
        4 * values as u64 + number * (self.rows as u64 + columns as u64) * vectors as u64
    }
}

/// What of a matrix can change a product: entries that are 0 cannot, nor what a symmetry makes known, nor columns without other entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Significant {
    /// Entries that are not 0.
    pub entries: usize,
    /// Real numbers that have to be known for all of these to be: those on and below the diagonal of a symmetric matrix, below it of a skew one, all of a
    /// general one, none of a pattern. Parts of complex numbers that are 0, as on the diagonal of a Hermitian matrix, are none.
    pub values: usize,
    /// Columns with such entries.
    pub columns: usize,
}
