//! Where the entries of matrices lie that are made for tests and tables: families of patterns.

use super::places::EntryGenerator;
use super::{MatrixError, SparseMatrix, Symmetry, Triplets};
use crate::error::ProblemError;
use crate::random::Random;
use crate::size::{Size, SizeParameter};
use num_complex::Complex64;
use std::fmt;

/// A way in which entries lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Diagonals.
    Band,
    /// The points of a square, each with the four beside it. Symmetric.
    Grid5,
    /// The points of a cube, each with the six beside it. Symmetric.
    Grid7,
    /// The points of a cube, each with all 26 around it. Symmetric.
    Grid27,
    /// Finite elements: the points of a square with all eight around them and several unknowns each, whose rows have the same columns. Symmetric.
    Fem,
    /// So many in every row, anywhere.
    Random,
    /// Few in most rows and columns, very many in some.
    PowerLaw,
    /// So many in every row, anywhere, and one row that is full.
    DenseRow,
    /// The same with a column that is full.
    DenseColumn,
    /// So many in every row, anywhere, but every third row and every fifth column is empty.
    Empty,
    /// The corners of a mesh of triangles, each with the six around it, numbered at random. Symmetric.
    Mesh,
}

/// What the entries are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberField {
    /// Real numbers.
    Real,
    /// Complex numbers.
    Complex,
    /// Each of them is 1.
    Pattern,
}

/// A matrix that is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedMatrix {
    /// Where its entries lie.
    pub pattern: Pattern,
    /// Rows; of grids the points along an axis.
    pub n: usize,
    /// Columns, or 0 for as many as there are rows. Bands, grids, finite elements and meshes are square.
    pub cols: usize,
    /// Entries of a row, where the pattern leaves that open; of finite elements the unknowns of a point.
    pub each: usize,
    /// Diagonals of a band: columns to the right of the main one.
    pub diagonals: Vec<i64>,
    /// What the entries are.
    pub field: NumberField,
    /// Whether the sizes of a row's other entries add up to less than that on its diagonal, which is positive then (and there, whatever the pattern).
    pub dominant: bool,
    /// What random places and numbers it has.
    pub seed: u64,
}

/// Parameters of the size of a made matrix that all problems with one have.
pub(super) const EACH: SizeParameter = SizeParameter::new(
    "each",
    5,
    "entries of a row; of fem unknowns of a point, 3 to 6",
);
/// See [`EACH`].
pub(super) const DIAGONALS: SizeParameter = SizeParameter::word(
    "diagonals",
    "-2,-1,0,1,2",
    "diagonals of a band, to the right of the main one",
);
/// See [`EACH`].
pub(super) const SEED: SizeParameter = SizeParameter::new("seed", 1, "seed of places and values");

/// Entries at most of what is made.
const MOST_ENTRIES: u64 = 1 << 28;

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Band,
        Self::Grid5,
        Self::Grid7,
        Self::Grid27,
        Self::Fem,
        Self::Random,
        Self::PowerLaw,
        Self::DenseRow,
        Self::DenseColumn,
        Self::Empty,
        Self::Mesh,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Band => "band",
            Self::Grid5 => "grid5",
            Self::Grid7 => "grid7",
            Self::Grid27 => "grid27",
            Self::Fem => "fem",
            Self::Random => "random",
            Self::PowerLaw => "power-law",
            Self::DenseRow => "dense-row",
            Self::DenseColumn => "dense-column",
            Self::Empty => "empty",
            Self::Mesh => "mesh",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// Whether an entry and its mirror image are the same.
    #[must_use]
    pub fn is_symmetric(self) -> bool {
        matches!(
            self,
            Self::Grid5 | Self::Grid7 | Self::Grid27 | Self::Fem | Self::Mesh
        )
    }

    /// Whether there are as many columns as rows.
    fn is_square(self) -> bool {
        self.is_symmetric() || self == Self::Band
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl NumberField {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Real, Self::Complex, Self::Pattern];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Complex => "complex",
            Self::Pattern => "pattern",
        }
    }
}

impl GeneratedMatrix {
    /// A pattern with real numbers, five entries a row (unknowns a point), a band of five diagonals, seed 1.
    #[must_use]
    pub fn new(pattern: Pattern, n: usize) -> Self {
        Self {
            pattern,
            n,
            cols: 0,
            each: 5,
            diagonals: (-2..=2).collect(),
            field: NumberField::Real,
            dominant: false,
            seed: 1,
        }
    }

    /// Of a size with the first of [`SpmvProblem::PARAMETERS`](super::SpmvProblem::PARAMETERS).
    ///
    /// # Errors
    /// Another size.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let pattern = Pattern::find(size.word("pattern")?);
        let pattern = pattern.ok_or_else(|| {
            size.wrong(
                "pattern",
                "band, grid5, grid7, grid27, fem, random, power-law, dense-row, dense-column, empty or mesh",
            )
        })?;
        let field = size.word("field")?;
        let field = NumberField::ALL.into_iter().find(|f| f.name() == field);
        let field = field.ok_or_else(|| size.wrong("field", "real, complex or pattern"))?;
        let diagonals = size.word("diagonals")?.split(',').map(str::parse);
        let diagonals: Result<Vec<i64>, _> = diagonals.collect();
        let [n, each] = size.all_positive(["n", "each"])?;
        let seed = size.find("seed").and_then(|seed| seed.number());
        Ok(Self {
            pattern,
            n,
            cols: size.length("cols")?,
            each,
            diagonals: diagonals
                .map_err(|_| size.wrong("diagonals", "integers with commas between them"))?,
            field,
            dominant: false,
            seed: seed.ok_or_else(|| size.wrong("seed", "a number"))?,
        })
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> Size {
        let diagonals: Vec<String> = self.diagonals.iter().map(i64::to_string).collect();
        Size::new(&[("pattern", self.pattern.name())])
            .add_value("n", self.n)
            .add_value("cols", self.cols)
            .add_value("each", self.each)
            .add_value("diagonals", diagonals.join(","))
            .add_value("field", self.field.name())
            .add_value("seed", self.seed)
    }

    /// The number of rows, if there are so many.
    fn rows(&self) -> Option<usize> {
        match self.pattern {
            Pattern::Grid5 => self.n.checked_pow(2),
            Pattern::Grid7 | Pattern::Grid27 => self.n.checked_pow(3),
            _ => Some(self.n),
        }
    }

    /// Entries of a row as far as that is known before they are made.
    fn width(&self) -> usize {
        match self.pattern {
            Pattern::Band => self.diagonals.len(),
            Pattern::Grid5 => 5,
            Pattern::Grid7 | Pattern::Mesh => 7,
            Pattern::Grid27 => 27,
            Pattern::Fem => 9usize.saturating_mul(self.each),
            _ => self.each,
        }
    }

    /// The matrix.
    ///
    /// # Errors
    /// No rows or columns, too many entries, another number of columns than rows where it is square, more entries in a row than there are columns,
    /// other than 3 to 6 unknowns of a point of finite elements.
    pub fn matrix(&self) -> Result<SparseMatrix, ProblemError> {
        let too_large = || MatrixError::TooLarge {
            rows: self.n,
            cols: self.cols,
            entries: self.width(),
        };
        let rows = self.rows().ok_or_else(too_large)?;
        let cols = if self.cols == 0 { rows } else { self.cols };
        let fits = rows < 1 << 31 && cols < 1 << 31 && {
            let entries = (self.width() as u64).saturating_add(2);
            let entries = entries.saturating_mul(rows as u64);
            entries.saturating_add(cols as u64) <= MOST_ENTRIES
        };
        if rows == 0 || !fits {
            return Err(too_large().into());
        }
        let odd =
            |what, found: usize, expected: String| Err(ProblemError::odd(what, found, expected));
        if (self.pattern.is_square() || self.dominant) && cols != rows {
            return odd(
                "the columns of a square matrix",
                cols,
                format!("{rows}, or 0"),
            );
        }
        if self.pattern == Pattern::Fem && !(3..=6).contains(&self.each) {
            return odd("unknowns of a point", self.each, "3 to 6".to_owned());
        }
        if !self.pattern.is_square() && self.each > cols {
            return odd(
                "entries of a row",
                self.each,
                format!("at most {cols}, the columns"),
            );
        }
        let places = EntryGenerator {
            rows,
            cols,
            made: self,
        };
        let mut random = Random::new(self.seed);
        let mut places = places.all(&mut random);
        let symmetric = self.pattern.is_symmetric();
        if self.dominant {
            places.retain(|(i, j)| i != j);
        }
        if self.field == NumberField::Pattern && !self.dominant {
            let made = SparseMatrix::from_triplets(rows, cols, &Triplets::Pattern(places))?;
            return Ok(if symmetric {
                made.declared(Symmetry::Symmetric)?
            } else {
                made
            });
        }
        let mut sizes = vec![0.0; rows];
        let mut entries = Vec::with_capacity(places.len());
        // Of a symmetric matrix one triangle is drawn, in the order of its places.
        for (i, j) in places {
            if symmetric && j > i {
                continue;
            }
            let drawn = match self.field {
                NumberField::Complex => {
                    let z = random.complex();
                    Complex64::new(z.re.into(), z.im.into())
                }
                NumberField::Real | NumberField::Pattern => f64::from(random.uniform()).into(),
            };
            // What comes before a diagonal that dominates is negative, as with a discretised Laplacian.
            let value = match self.dominant {
                true => -drawn.norm(),
                false => 0.0,
            };
            let value = if self.dominant && self.field == NumberField::Real {
                value.into()
            } else {
                drawn
            };
            entries.push((i, j, value));
            sizes[i as usize] += value.norm();
            if symmetric && i != j {
                entries.push((j, i, value));
                sizes[j as usize] += value.norm();
            }
        }
        if self.dominant {
            let diagonal = sizes.iter().zip(0..);
            entries.extend(diagonal.map(|(size, i)| (i, i, Complex64::from(size * 1.01 + 0.01))));
        }
        let triplets = match self.field {
            NumberField::Complex => Triplets::Complex(entries),
            NumberField::Real | NumberField::Pattern => {
                Triplets::Real(entries.into_iter().map(|(i, j, z)| (i, j, z.re)).collect())
            }
        };
        let made = SparseMatrix::from_triplets(rows, cols, &triplets)?;
        Ok(if symmetric {
            made.declared(Symmetry::Symmetric)?
        } else {
            made
        })
    }
}
