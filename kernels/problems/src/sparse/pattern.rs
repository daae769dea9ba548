//! Matrices generated for tests and tables, by families of patterns.

use super::places::EntryGenerator;
use super::{MatrixError, SparseMatrix, Symmetry, Triplets};
use crate::error::ProblemError;
use crate::random::Random;
use crate::size::{Size, SizeParameter};
use num_complex::Complex64;
use std::fmt;

/// A family of positions of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// Diagonals.
    Band,
    /// Points of a square grid, each with its four neighbours. Symmetric.
    Grid5,
    /// Points of a cubic grid, each with its six neighbours. Symmetric.
    Grid7,
    /// Points of a cubic grid, each with all 26 around it. Symmetric.
    Grid27,
    /// Finite elements: points of a square grid with all eight around them and several unknowns each, whose
    /// rows have the same columns. Symmetric.
    Fem,
    /// A fixed number of entries in every row, at random columns.
    Random,
    /// Few entries in most rows and columns, very many in some.
    PowerLaw,
    /// A fixed number of entries in every row, at random columns, and one full row.
    DenseRow,
    /// A fixed number of entries in every row, at random columns, and one full column.
    DenseColumn,
    /// A fixed number of entries in every row, at random columns, but every third row and every fifth column
    /// is empty.
    Empty,
    /// Corners of a mesh of triangles, each with the six around it, numbered at random. Symmetric.
    Mesh,
}

/// Type of the entries of a generated matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberField {
    /// Real numbers.
    Real,
    /// Complex numbers.
    Complex,
    /// Every entry is 1.
    Pattern,
}

/// Parameters of a generated matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedMatrix {
    /// Family of the positions of entries.
    pub pattern: Pattern,
    /// Number of rows; for grids the points along an axis.
    pub n: usize,
    /// Number of columns, or 0 for as many as rows. Bands, grids, finite elements and meshes are square.
    pub cols: usize,
    /// Entries of a row, if the pattern does not fix them; for finite elements the unknowns of a point.
    pub each: usize,
    /// Diagonals of a band, as columns to the right of the main one.
    pub diagonals: Vec<i64>,
    /// Type of the entries.
    pub field: NumberField,
    /// True if the diagonal dominates: every diagonal entry is present, whatever the pattern, and larger than
    /// the sum of the absolute values of its row's other entries.
    pub dominant: bool,
    /// Seed of random positions and numbers.
    pub seed: u64,
}

/// Parameter `each` of the sizes of problems with a generated matrix.
pub(super) const EACH: SizeParameter = SizeParameter::new(
    "each",
    5,
    "entries of a row; of fem unknowns of a point, 3 to 6",
);
/// Parameter `diagonals` of the sizes of problems with a generated matrix.
pub(super) const DIAGONALS: SizeParameter = SizeParameter::word(
    "diagonals",
    "-2,-1,0,1,2",
    "diagonals of a band, to the right of the main one",
);
/// Parameter `seed` of the sizes of problems with a generated matrix.
pub(super) const SEED: SizeParameter = SizeParameter::new("seed", 1, "seed of places and values");

/// Most entries of a generated matrix.
const MOST_ENTRIES: u64 = 1 << 28;

impl Pattern {
    /// All patterns.
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

    /// Returns the name of the pattern.
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

    /// Returns the pattern of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// True if every entry equals its mirror image.
    #[must_use]
    pub fn is_symmetric(self) -> bool {
        matches!(
            self,
            Self::Grid5 | Self::Grid7 | Self::Grid27 | Self::Fem | Self::Mesh
        )
    }

    /// True if there are as many columns as rows.
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
    /// All types.
    pub const ALL: [Self; 3] = [Self::Real, Self::Complex, Self::Pattern];

    /// Returns the name of the type.
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
    /// Returns a pattern with real numbers, five entries a row (unknowns a point), a band of five diagonals,
    /// seed 1.
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

    /// Returns the matrix of a size with the first parameters of
    /// [`SpmvProblem::PARAMETERS`](super::SpmvProblem::PARAMETERS).
    ///
    /// # Errors
    /// A size with other parameters, or invalid values.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let pattern = Pattern::find(size.word("pattern")?);
        let pattern = pattern.ok_or_else(|| {
            size.make_error(
                "pattern",
                "band, grid5, grid7, grid27, fem, random, power-law, dense-row, dense-column, empty or mesh",
            )
        })?;
        let field = size.word("field")?;
        let field = NumberField::ALL.into_iter().find(|f| f.name() == field);
        let field = field.ok_or_else(|| size.make_error("field", "real, complex or pattern"))?;
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
                .map_err(|_| size.make_error("diagonals", "integers with commas between them"))?,
            field,
            dominant: false,
            seed: seed.ok_or_else(|| size.make_error("seed", "a number"))?,
        })
    }

    /// Returns the size of the matrix's parameters.
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

    /// Returns the number of rows; none if it overflows.
    fn rows(&self) -> Option<usize> {
        match self.pattern {
            Pattern::Grid5 => self.n.checked_pow(2),
            Pattern::Grid7 | Pattern::Grid27 => self.n.checked_pow(3),
            _ => Some(self.n),
        }
    }

    /// Returns the entries of a row, as far as they are known before the matrix is generated.
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

    /// Generates the matrix.
    ///
    /// # Errors
    /// No rows or columns, too many entries, another number of columns than rows in a square pattern, more
    /// entries in a row than there are columns, or a number of unknowns of a point other than 3 to 6 in
    /// finite elements.
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
        // In a symmetric matrix only one triangle is drawn, in the order of its positions.
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
            // Off-diagonal entries of a matrix with dominant diagonal are negative, as in a discretised
            // Laplacian.
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
