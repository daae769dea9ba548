//! Products of a sparse matrix with vectors.

use super::pattern::{DIAGONALS, EACH, SEED};
use super::{GeneratedMatrix, SparseMatrix};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::multiply_add::MultiplyAdd;
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::{Size, SizeParameter};
use crate::{ROUNDING, TINIEST, widen};
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

/// Product of a matrix with one or several vectors: y = A x.
///
/// The input is `x`: a vector with a number for each column, or columns x K numbers of K vectors, row by row.
/// The output is `y`, with a number for each row, or rows x K numbers. Both are complex if the matrix is. The
/// matrix is part of the problem: it may be packed before anything is computed.
#[derive(Clone, Debug, PartialEq)]
pub struct SpmvProblem {
    matrix: Arc<SparseMatrix>,
    vectors: usize,
    size: Size,
}

impl SpmvProblem {
    /// Parameters of a size: those of the generated matrix, and the number of vectors.
    pub const PARAMETERS: [SizeParameter; 8] = [
        SizeParameter::word(
            "pattern",
            "band",
            "band, grid5, grid7, grid27, fem, random, power-law, dense-row, dense-column, empty or mesh",
        ),
        SizeParameter::new("n", 1000, "rows; of grids points along an axis"),
        SizeParameter::new("cols", 0, "columns; 0 for as many as rows"),
        EACH,
        DIAGONALS,
        SizeParameter::word("field", "real", "real, complex or pattern"),
        SEED,
        SizeParameter::new("vectors", 1, "vectors that are multiplied"),
    ];

    /// Returns the products of a matrix with `vectors` vectors.
    ///
    /// # Errors
    /// No vectors, or more bytes than fit the address space.
    pub fn new(matrix: Arc<SparseMatrix>, vectors: usize) -> Result<Self, ProblemError> {
        let size = Size::new(&[
            ("rows", matrix.rows()),
            ("cols", matrix.cols()),
            ("nnz", matrix.nnz()),
            ("vectors", vectors),
        ]);
        Self::sized(matrix, vectors, size)
    }

    /// Returns the problem of a size with [`SpmvProblem::PARAMETERS`].
    ///
    /// # Errors
    /// A size with other parameters, or a matrix that cannot be generated.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let made = GeneratedMatrix::from_size(size)?;
        Self::from_generated(&made, size.positive("vectors")?)
    }

    /// Returns the products of a generated matrix with `vectors` vectors.
    ///
    /// # Errors
    /// The matrix cannot be generated, or see [`SpmvProblem::new`].
    pub fn from_generated(made: &GeneratedMatrix, vectors: usize) -> Result<Self, ProblemError> {
        let size = made.size().add_value("vectors", vectors);
        Self::sized(Arc::new(made.matrix()?), vectors, size)
    }

    fn sized(matrix: Arc<SparseMatrix>, vectors: usize, size: Size) -> Result<Self, ProblemError> {
        let (rows, cols) = (matrix.rows(), matrix.cols());
        let what = || format!("{vectors} vectors of a matrix of {rows} x {cols}");
        elements(&what, &[("rows", rows.max(cols)), ("vectors", vectors)])?;
        Ok(Self {
            matrix,
            vectors,
            size,
        })
    }

    /// Returns the matrix.
    #[must_use]
    pub fn matrix(&self) -> &Arc<SparseMatrix> {
        &self.matrix
    }

    /// Returns K, the number of vectors that are multiplied.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Returns the bytes of a product with compressed rows, see [`SparseMatrix::csr_bytes`].
    #[must_use]
    pub fn csr_bytes(&self) -> u64 {
        self.matrix.csr_bytes(self.vectors)
    }

    /// Returns the fewest bytes of a product, see [`SparseMatrix::least_bytes`].
    #[must_use]
    pub fn least_bytes(&self) -> u64 {
        self.matrix.least_bytes(self.vectors)
    }

    fn kind(&self) -> Kind {
        match self.matrix.is_complex() {
            true => Kind::Complex64,
            false => Kind::F32,
        }
    }

    fn shape(&self, count: usize) -> Vec<usize> {
        match self.vectors {
            1 => vec![count],
            vectors => vec![count, vectors],
        }
    }
}

impl Problem for SpmvProblem {
    fn name(&self) -> &'static str {
        "spmv"
    }

    fn title(&self) -> String {
        let a = &self.matrix;
        let vectors = match self.vectors {
            1 => "a vector".to_owned(),
            several => format!("{several} vectors"),
        };
        format!(
            "a sparse matrix of {} x {} with {} times {vectors}",
            a.rows(),
            a.cols(),
            a.entries()
        )
    }

    fn size(&self) -> Size {
        self.size.clone()
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new(
            "x",
            self.kind(),
            &self.shape(self.matrix.cols()),
        )]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new(
            "y",
            self.kind(),
            &self.shape(self.matrix.rows()),
        )]
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let count = self.matrix.cols() * self.vectors;
        let (row, shape) = (count, self.shape(self.matrix.cols()));
        let mut random = Random::new(seed);
        let most = self.largest_exponent();
        match self.matrix.is_complex() {
            true => {
                NamedArrays::from_array("x", &shape, case.complexes(&mut random, count, row, most))
            }
            false => {
                NamedArrays::from_array("x", &shape, case.floats(&mut random, count, row, most))
            }
        }
    }

    fn cases(&self) -> &'static [Case] {
        &Case::ALL
    }

    fn tolerance_in_words(&self) -> &'static str {
        "(n + 2) 2^-24 sum |a x| for a row of n entries (Higham, 2nd ed., 3.1: a sum in any order)"
    }

    fn compute_in_order(&self, input: &NamedArrays, rounding: MultiplyAdd) -> Option<NamedArrays> {
        if self.matrix.is_complex() {
            return None;
        }
        let x = input.get_sized::<f32>("x", self.matrix.cols() * self.vectors);
        let x = x.ok()?;
        let mut y = Vec::new();
        for i in 0..self.matrix.rows() {
            for vector in 0..self.vectors {
                let mut sum = 0.0;
                for (j, a) in self.matrix.real_row(i) {
                    sum = rounding.compute(a, *x.get(j * self.vectors + vector)?, sum);
                }
                y.push(sum);
            }
        }
        let shape = self.shape(self.matrix.rows());
        Some(NamedArrays::from_array("y", &shape, y))
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let count = self.matrix.cols() * self.vectors;
        let (exact, allowed) = match self.matrix.is_complex() {
            true => self.complex(input.get_sized::<Complex32>("x", count)?),
            false => self.real(input.get_sized::<f32>("x", count)?),
        };
        Ok(Reference::from_array(ExpectedArray {
            name: "y",
            shape: self.shape(self.matrix.rows()),
            exact,
            part: 1,
            allowed,
        }))
    }
}

/// Returns the error that a sum of `terms` products may have in any order, if their sizes add up to `size`.
/// Each term goes through its product and fewer additions than there are terms (Higham, *Accuracy and
/// Stability of Numerical Algorithms*, 2nd ed., section 3.1; a unit more for the higher orders), and each
/// subnormal product has an error of half the smallest number.
fn allowed(terms: usize, size: f64) -> f64 {
    let n = terms as f64;
    (n + 2.0) * ROUNDING * size + n * TINIEST
}

/// Converts a sum that exceeds single precision to infinity, as single precision has it.
fn bounded(sum: f64) -> f64 {
    match sum.abs() > f64::from(f32::MAX) * (1.0 + ROUNDING) {
        true => f64::INFINITY.copysign(sum),
        false => sum,
    }
}

impl SpmvProblem {
    fn real(&self, x: &[f32]) -> (Exact, Vec<f64>) {
        let (mut y, mut errors) = (Vec::new(), Vec::new());
        let (mut sums, mut sizes) = (vec![0.0; self.vectors], vec![0.0; self.vectors]);
        for i in 0..self.matrix.rows() {
            sums.fill(0.0);
            sizes.fill(0.0);
            for (j, a) in self.matrix.real_row(i) {
                let x = &x[j * self.vectors..][..self.vectors];
                for ((sum, size), &x) in sums.iter_mut().zip(&mut sizes).zip(x) {
                    let product = f64::from(a) * f64::from(x);
                    *sum += product;
                    *size += product.abs();
                }
            }
            let terms = self.matrix.range(i).len();
            y.extend(sums.iter().map(|&sum| bounded(sum)));
            errors.extend(sizes.iter().map(|&size| allowed(terms, size)));
        }
        (Exact::Real(y), errors)
    }

    /// Computes the product of a complex matrix with the allowed errors: each part is a sum of twice as many
    /// products as there are entries.
    fn complex(&self, x: &[Complex32]) -> (Exact, Vec<f64>) {
        let (mut y, mut errors) = (Vec::new(), Vec::new());
        let zeros = vec![Complex64::default(); self.vectors];
        let (mut sums, mut sizes) = (zeros.clone(), zeros);
        for i in 0..self.matrix.rows() {
            sums.fill(Complex64::default());
            sizes.fill(Complex64::default());
            for (j, a) in self.matrix.row(i) {
                let a = widen(a);
                let x = &x[j * self.vectors..][..self.vectors];
                for ((sum, size), &x) in sums.iter_mut().zip(&mut sizes).zip(x) {
                    let x = widen(x);
                    sum.re += a.re * x.re - a.im * x.im;
                    sum.im += a.re * x.im + a.im * x.re;
                    size.re += (a.re * x.re).abs() + (a.im * x.im).abs();
                    size.im += (a.re * x.im).abs() + (a.im * x.re).abs();
                }
            }
            let terms = 2 * self.matrix.range(i).len();
            y.extend(
                sums.iter()
                    .map(|z| Complex64::new(bounded(z.re), bounded(z.im))),
            );
            let error = |z: &Complex64| libm::hypot(allowed(terms, z.re), allowed(terms, z.im));
            errors.extend(sizes.iter().map(error));
        }
        (Exact::Complex(y), errors)
    }

    /// Returns the largest exponent of two of the numbers of x for which no sum is infinite, at most 100.
    fn largest_exponent(&self) -> i32 {
        let row = |i| {
            self.matrix
                .row(i)
                .map(|(_, a)| f64::from(a.re).abs() + f64::from(a.im).abs())
                .filter(|a| a.is_finite())
                .sum::<f64>()
        };
        let largest = (0..self.matrix.rows()).map(row).fold(1.0, f64::max);
        (125 - libm::ilogb(largest)).clamp(-125, 100)
    }
}
