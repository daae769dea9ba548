//! The largest eigenvalue of a sparse matrix by power iteration.

mod judge;

use super::pattern::{DIAGONALS, EACH, SEED};
use super::{GeneratedMatrix, SparseMatrix};
use crate::ROUNDING;
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::ProblemError;
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::real::{Real, add, dot};
use crate::reference::Reference;
use crate::size::{Size, SizeParameter};
use crate::verdict::Verdict;
use std::sync::Arc;

/// Power iterations from a vector x: x becomes A x / |A x| in each, and the Rayleigh quotient x . A x / x . x
/// converges to the eigenvalue of largest absolute value.
///
/// The input is `x`, with as many numbers as there are rows, of any norm; it is normalised first. The outputs
/// are `values`, the Rayleigh quotients x . A x / x . x, initially and after each iteration; `residuals`, |A
/// x - value x| / |A x| for each of them; and `x` after the last iteration. If A x is 0, x is 0 from then on,
/// and so are values and residuals.
///
/// # How a result is judged
///
/// * With double precision: the allowed error of x accumulates the roundings of every product, each magnified
///   by later iterations by at most |A| / |A x|; the allowed error of a value is twice |A| times that. If
///   that bound exceeds 1, nothing is asked: an x that lacks the eigenvector of the largest eigenvalue
///   acquires it from roundings, in a different iteration in every precision.
/// * With itself: the last value and residual are those of x, in double precision, except for the roundings
///   of one product.
///
/// Inner products may be summed in single precision over up to 128 terms; longer ones have to be added up
/// from such sums.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerProblem {
    matrix: Arc<SparseMatrix>,
    iterations: usize,
    size: Size,
}

/// Results of power iterations.
#[derive(Clone, Debug, PartialEq)]
pub struct Powers<T> {
    /// Rayleigh quotients x . A x / x . x, initially and after each iteration.
    pub values: Vec<f64>,
    /// Residuals |A x - value x| / |A x|, one for each value.
    pub residuals: Vec<f64>,
    /// Norms |A x|, one for each value.
    norms: Vec<f64>,
    /// Bounds of the roundings of each product, for |x| = 1.
    roundings: Vec<f64>,
    /// The vector x after the last iteration.
    pub x: Vec<T>,
}

/// Returns a quotient, or 0 if the divisor is 0.
fn quotient(of: f64, by: f64) -> f64 {
    if by == 0.0 { 0.0 } else { of / by }
}

impl PowerProblem {
    /// Most iterations.
    pub const MOST_ITERATIONS: usize = 1000;

    /// Parameters of a size, those of the generated matrix first.
    pub const PARAMETERS: [SizeParameter; 7] = [
        SizeParameter::word("pattern", "grid5", "as of spmv"),
        SizeParameter::new("n", 30, "rows; of grids points along an axis"),
        EACH,
        DIAGONALS,
        SizeParameter::word("field", "real", "real, or pattern"),
        SEED,
        SizeParameter::new("iterations", 20, "iterations"),
    ];

    /// Returns a number of power iterations with a matrix.
    ///
    /// # Errors
    /// A matrix that is not square, is complex, or has an entry that is not finite; no iterations or more
    /// than 1000.
    pub fn new(matrix: Arc<SparseMatrix>, iterations: usize) -> Result<Self, ProblemError> {
        let size = Size::new(&[
            ("rows", matrix.rows()),
            ("nnz", matrix.nnz()),
            ("iterations", iterations),
        ]);
        Self::sized(matrix, iterations, size)
    }

    fn sized(
        matrix: Arc<SparseMatrix>,
        iterations: usize,
        size: Size,
    ) -> Result<Self, ProblemError> {
        let (rows, cols) = (matrix.rows(), matrix.cols());
        let what = "the matrix of power iterations";
        if rows != cols {
            let found = format!("{rows} x {cols}");
            return Err(ProblemError::odd(what, found, "as many rows as columns"));
        }
        if matrix.is_complex() {
            return Err(ProblemError::odd(what, "complex", "real numbers"));
        }
        matrix.check_finite("entries of the matrix of power iterations")?;
        let most = Self::MOST_ITERATIONS;
        if !(1..=most).contains(&iterations) {
            let expected = format!("1 to {most}");
            return Err(ProblemError::odd("iterations", iterations, expected));
        }
        Ok(Self {
            matrix,
            iterations,
            size,
        })
    }

    /// Checks that iterations can start from a vector: its squared norm is in the range of normal numbers of
    /// single precision.
    ///
    /// # Errors
    /// The squared norm is outside this range.
    pub fn check(&self, x: &[f32]) -> Result<(), ProblemError> {
        let square: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let held = f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX);
        match held.contains(&square) {
            true => Ok(()),
            false => Err(ProblemError::odd(
                "the square of the length of x",
                format!("{square:.2e}"),
                format!(
                    "{:.2e} to {:.2e}, which single precision holds: multiply x by a power of two",
                    held.start(),
                    held.end()
                ),
            )),
        }
    }

    /// Returns the problem of a size with [`PowerProblem::PARAMETERS`].
    ///
    /// # Errors
    /// See [`PowerProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let made = GeneratedMatrix::from_size(&size.clone().add_value("cols", 0usize))?;
        let iterations = size.positive("iterations")?;
        Self::sized(Arc::new(made.matrix()?), iterations, size.clone())
    }

    /// Returns the matrix.
    #[must_use]
    pub fn matrix(&self) -> &Arc<SparseMatrix> {
        &self.matrix
    }

    /// Returns the number of iterations, each a product and a normalisation.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Computes the iterations in any precision; inner products are computed in double precision. If `x` has
    /// fewer numbers than there are rows, the others are 0.
    #[must_use]
    pub fn solve<T: Real>(&self, x: &[f32]) -> Powers<T> {
        let mut x: Vec<T> = x.iter().map(|&x| T::from_f64(x.into())).collect();
        x.resize(self.matrix.rows(), T::default());
        let scaled = |x: &[T], by: f64| -> Vec<T> {
            let by = T::from_f64(quotient(1.0, by));
            x.iter().map(|&x| by * x).collect()
        };
        x = scaled(&x, dot(&x, &x).sqrt());
        let mut all = Powers {
            values: Vec::new(),
            residuals: Vec::new(),
            norms: Vec::new(),
            roundings: Vec::new(),
            x: Vec::new(),
        };
        for iteration in 0..=self.iterations {
            let (q, rounding) = self.times(&x);
            let norm = dot(&q, &q).sqrt();
            let value = quotient(dot(&x, &q), dot(&x, &x));
            let mut left = q.clone();
            add(&mut left, -value, &x);
            all.values.push(value);
            all.residuals.push(quotient(dot(&left, &left).sqrt(), norm));
            all.norms.push(norm);
            all.roundings.push(rounding);
            if iteration < self.iterations {
                x = scaled(&q, norm);
            }
        }
        all.x = x;
        all
    }

    /// Returns A x, and the norm of the error that single precision may have in it, in any order of summation
    /// (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., section 3.1).
    fn times<T: Real>(&self, x: &[T]) -> (Vec<T>, f64) {
        let mut roundings = 0.0;
        let row = |i| {
            let (mut sum, mut size) = (T::default(), 0.0);
            for (j, a) in self.matrix.real_row(i) {
                let product = T::from_f64(a.into()) * x[j];
                sum = sum + product;
                size += product.wide().abs();
            }
            let error = (self.matrix.range(i).len() as f64 + 2.0) * ROUNDING * size;
            roundings += error * error;
            sum
        };
        let y = (0..self.matrix.rows()).map(row).collect();
        (y, roundings.sqrt())
    }

    /// Builds the arrays of an output.
    #[must_use]
    pub fn output(&self, x: Vec<f32>, values: Vec<f64>, residuals: Vec<f64>) -> NamedArrays {
        let count = self.iterations + 1;
        let histories = NamedArrays::from_array("values", &[count], values);
        let histories = histories.add_array("residuals", &[count], residuals);
        histories.add_array("x", &[self.matrix.rows()], x)
    }
}

impl Problem for PowerProblem {
    fn name(&self) -> &'static str {
        "power-iteration"
    }

    fn title(&self) -> String {
        format!(
            "{} power iterations with a sparse matrix of {} rows with {}",
            self.iterations,
            self.matrix.rows(),
            self.matrix.entries()
        )
    }

    fn size(&self) -> Size {
        self.size.clone()
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("x", Kind::F32, &[self.matrix.rows()])]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        let count = self.iterations + 1;
        vec![
            ArrayForm::new("values", Kind::F64, &[count]),
            ArrayForm::new("residuals", Kind::F64, &[count]),
            ArrayForm::new("x", Kind::F32, &[self.matrix.rows()]),
        ]
    }

    fn cases(&self) -> &'static [Case] {
        // Squares are added up, and those of smaller numbers would be 0.
        &Case::NORMAL
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let n = self.matrix.rows();
        NamedArrays::from_array("x", &[n], case.floats(&mut Random::new(seed), n, n, 30))
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let x = input.get_sized::<f32>("x", self.matrix.rows())?;
        Ok(self.make_reference(self.solve(x)))
    }

    /// Judges an output as [`PowerProblem`] describes.
    fn judge(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
        let x = input.get_sized::<f32>("x", self.matrix.rows());
        x.map_or(Verdict::SHAPELESS, |x| self.verdict(self.solve(x), output))
    }
}
