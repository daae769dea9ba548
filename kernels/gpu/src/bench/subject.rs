//! Computations that are measured, and the least that each of them takes.

use cp2_problems::npb::Precision;
use cp2_problems::npb::mg::MgClass;
use cp2_problems::sparse::{MatrixError, SparseMatrix, SpmvProblem};
use cp2_problems::{Case, NamedArrays, Problem, ProblemError};
use std::sync::Arc;

/// A computation of a row at a size.
#[derive(Debug)]
pub struct SpeedSubject {
    /// Its problem.
    pub problem: Box<dyn Problem>,
    /// Sides of the arrays, the innermost one last.
    pub size: Vec<usize>,
    /// Fewest bytes that known algorithms read and write.
    pub bytes: u64,
    /// Floating-point operations of known algorithms, as they are usually counted.
    pub operations: f64,
    pub(super) check: OutputCheck,
}

/// The means by which an output is judged.
#[derive(Clone, Copy, Debug)]
pub(super) enum OutputCheck {
    /// The problem's reference in double precision.
    Reference,
    /// The official norm of a class of the benchmark MG, on the benchmark's own input.
    Norm(f64),
}

impl SpeedSubject {
    /// Returns the product with a matrix that is repeated along the diagonal until it has so many entries, and the
    /// number of copies.
    ///
    /// # Errors
    /// The matrix has no entries, or the repeated one is too large.
    pub fn from_tiles(
        matrix: &SparseMatrix,
        entries: usize,
    ) -> Result<(Self, usize), MatrixTileError> {
        let own = matrix.nnz();
        if own == 0 {
            return Err(MatrixTileError::Empty);
        }
        let copies = entries.div_ceil(own).max(1);
        let tiled = matrix.repeat_along_diagonal(copies)?;
        let size = vec![tiled.rows(), tiled.cols()];
        let problem = SpmvProblem::new(Arc::new(tiled), 1)?;
        Ok((Self::from_product(problem, size), copies))
    }

    /// Returns a product, whose matrix is read by compressed rows.
    pub(super) fn from_product(problem: SpmvProblem, size: Vec<usize>) -> Self {
        let matrix = problem.matrix();
        // A product and a sum for each entry; four products and four sums for a complex one.
        let each = if matrix.is_complex() { 8.0 } else { 2.0 };
        let entries = matrix.nnz() as u64;
        // The values of a pattern are all 1 and need not be read.
        let unread = if matrix.is_pattern() {
            REAL * entries
        } else {
            0
        };
        Self {
            bytes: problem.csr_bytes() - unread,
            operations: each * entries as f64,
            size,
            problem: Box::new(problem),
            check: OutputCheck::Reference,
        }
    }

    /// Returns all cycles of a class of the benchmark MG.
    pub(super) fn from_multigrid(class: &MgClass) -> Self {
        Self {
            problem: Box::new(class.problem()),
            size: vec![class.n; 3],
            bytes: multigrid_bytes(class.n as u64, class.cycles as u64),
            operations: MgClass::count_operations(class.n.pow(3), class.cycles),
            check: OutputCheck::Norm(class.official),
        }
    }

    /// Returns the input of a seed; a benchmark with an official value has one input, whatever the seed.
    #[must_use]
    pub fn input(&self, seed: u64) -> NamedArrays {
        let seed = match self.check {
            OutputCheck::Reference => seed,
            OutputCheck::Norm(_) => 1,
        };
        self.problem.input(Case::Random, seed)
    }

    /// Returns the error of an output in units of the allowed one.
    pub(super) fn judge(&self, input: &NamedArrays, output: &NamedArrays) -> f64 {
        match self.check {
            OutputCheck::Reference => self.problem.judge(input, output).worst,
            OutputCheck::Norm(official) => {
                let norms = output.get::<f64>("norms").unwrap_or_default();
                let last = norms.last().copied().unwrap_or(f64::NAN);
                (last / official - 1.0).abs() / MgClass::tolerance(Precision::Single)
            }
        }
    }
}

/// Reason why there is no product with a repeated matrix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixTileError {
    /// The matrix is empty.
    #[error(
        "the matrix has no entries, so that no number of copies has enough of them; take one with entries"
    )]
    Empty,
    /// The repeated matrix is too large.
    #[error("repeated along the diagonal: {0}")]
    Matrix(#[from] MatrixError),
    /// There is no product of this size.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

/// Bytes of a real number.
const REAL: u64 = 4;

/// Returns the fewest bytes of so many V-cycles of MG on n^3 points that known algorithms move.
///
/// A pass over a level computes planes one after the other, and carries out all operators of the level a few planes
/// behind each other, so that nothing is written between them (wavefronts: Wellein et al., COMPSAC 2009; of multigrid:
/// Williams, Kalamkar et al., SC12). In a cycle
///
/// * the pass over the finest level reads u, v and the coarse correction, interpolates, computes the residual, smooths,
///   computes the residual again, projects it, and writes u and the projection. So u and v are read and u is written: 3
///   numbers a point. The residual itself is never written;
/// * of a coarser level, the residual is written by the pass above it and read by its own, and the correction is
///   written by its own pass and read by that above: 4 numbers a point. Projections to further levels ride along.
///
/// The first projection reads v alone, and the first pass does not read u, which is 0: an array more and one less.
/// Norms are added up in passes that have the numbers anyhow. A cache that keeps all coarse levels would save at most
/// 4/7 of a number a point of the finest one.
fn multigrid_bytes(n: u64, cycles: u64) -> u64 {
    let sides = std::iter::successors(Some(n / 2), |side| Some(side / 2));
    let coarse: u64 = sides
        .take_while(|&side| side >= 2)
        .map(|side| side.pow(3))
        .sum();
    REAL * cycles * (3 * n.pow(3) + 4 * coarse)
}

/// Returns the operations of a transform of n complex numbers, whatever n: those by which speeds of transforms are
/// usually compared (Frigo, Johnson 2005).
pub(super) fn transform_operations(n: f64) -> f64 {
    5.0 * n * libm::log2(n)
}

/// Returns the operations of a point of a stencil whose points of a class share a coefficient.
pub(super) fn stencil_operations(points: usize) -> f64 {
    match points {
        // The sums of the four points beside and of the four across an edge serve three neighbours of a row (NPB, MG):
        // 6 additions for both, 8 that join them, and 4 products.
        27 => 18.0,
        // All points are added up but the centre; a product for it and one for the others.
        _ => points as f64 + 1.0,
    }
}

/// Returns the operations of an output of a complex filter: the fewest of direct sums, and of blocks of 2^b, by
/// transforms there and back with products between.
pub(super) fn filter_operations(taps: usize) -> f64 {
    let blocks = (1..24).map(|bits| 1usize << bits);
    let blocks = blocks.filter(|&block| block >= taps).map(|block| {
        let numbers = block as f64;
        let all = 2.0 * transform_operations(numbers) + 6.0 * numbers;
        all / (block - taps + 1) as f64
    });
    blocks.fold(8.0 * taps as f64 - 2.0, f64::min)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use cp2_problems::Exact;
    use cp2_problems::sparse::Triplets;

    /// Class S by hand: 32^3 points, 16^3 to 2^3 below them, 4 cycles.
    #[test]
    fn multigrid_moves_three_numbers_a_point_and_four_a_coarse_one() {
        let coarse = 4096 + 512 + 64 + 8;
        assert_eq!(multigrid_bytes(32, 4), 4 * 4 * (3 * 32768 + 4 * coarse));
    }

    #[test]
    fn operations_are_counted() {
        assert_eq!(transform_operations(1024.0), 51_200.0);
        assert_eq!([7, 27].map(stencil_operations), [8.0, 18.0]);
        // Few taps directly, many by blocks: 4096 numbers have 3584 outputs of 513 taps.
        assert_eq!(filter_operations(3), 22.0);
        let block = (2.0 * 5.0 * 4096.0 * 12.0 + 6.0 * 4096.0) / 3584.0;
        assert!((filter_operations(513) / block - 1.0).abs() < 1e-12);
    }

    #[test]
    fn matrices_are_repeated_until_there_are_enough_entries() {
        let made = |entries| SparseMatrix::from_triplets(2, 3, &Triplets::Real(entries)).unwrap();
        let matrix = made(vec![(0, 0, 2.0), (0, 1, 1.0), (1, 2, 3.0)]);
        let (subject, copies) = SpeedSubject::from_tiles(&matrix, 7).unwrap();
        assert_eq!((copies, &subject.size), (3, &vec![6, 9]));
        assert_eq!(subject.operations, 18.0);
        // Nine entries of 8 bytes, 9 numbers that are read and 6 that are written.
        assert_eq!(subject.bytes, 9 * 8 + (9 + 6) * 4);
        let input = subject.input(1);
        let x = input.get::<f32>("x").unwrap();
        let expected = subject.problem.reference(&input).unwrap();
        let Exact::Real(y) = &expected.arrays[0].exact else {
            panic!("{expected:?}");
        };
        // The first row of the second copy.
        let second = 2.0 * f64::from(x[3]) + f64::from(x[4]);
        assert!((y[2] - second).abs() < 1e-12);
        let empty = SpeedSubject::from_tiles(&made(Vec::new()), 7);
        assert!(matches!(empty, Err(MatrixTileError::Empty)));
    }
}
