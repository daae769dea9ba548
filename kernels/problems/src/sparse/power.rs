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

/// Power iterations from a vector x on: x becomes A x / |A x|, again and again, and x . A x / x . x comes near the eigenvalue of the largest size.
///
/// The input is `x`, of any length but as many numbers as there are rows; it is divided by its length first. The outputs are `values`: the Rayleigh quotients
/// x . A x / x . x, at first and behind each iteration; `residuals`: |A x - value x| / |A x| of each; and `x` behind the last iteration. Where A x is 0, x is 0 from then on, and
/// so are values and residuals.
///
/// # How a result is judged
///
/// * By double precision: what x may be off by is the roundings of every product, each magnified by later iterations by at most |A| / |A x|; a value by twice |A| times that. Where that bound
///   becomes larger than 1 nothing is asked: an x that lacks the eigenvector of the largest eigenvalue gets it from roundings, not in the same iteration in every precision.
/// * By itself: the last value and residual are those of x, in double precision, but for the roundings of one product.
///
/// Sums of products of vectors' numbers may be made in single precision of up to 128 terms; what is longer is to be added up from such sums.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerProblem {
    matrix: Arc<SparseMatrix>,
    iterations: usize,
    size: Size,
}

/// What power iterations give.
#[derive(Clone, Debug, PartialEq)]
pub struct Powers<T> {
    /// x . A x / x . x, at first and behind each iteration.
    pub values: Vec<f64>,
    /// |A x - value x| / |A x| of each.
    pub residuals: Vec<f64>,
    /// |A x| of each.
    norms: Vec<f64>,
    /// The roundings of each product, of |x| = 1.
    roundings: Vec<f64>,
    /// x behind the last iteration.
    pub x: Vec<T>,
}

/// A quotient, or 0 where it is divided by 0.
fn quotient(of: f64, by: f64) -> f64 {
    if by == 0.0 { 0.0 } else { of / by }
}

impl PowerProblem {
    /// Iterations at most.
    pub const MOST_ITERATIONS: usize = 1000;

    /// What a size of a matrix that is made and iterated with consists of.
    pub const PARAMETERS: [SizeParameter; 7] = [
        SizeParameter::word("pattern", "grid5", "as of spmv"),
        SizeParameter::new("n", 30, "rows; of grids points along an axis"),
        EACH,
        DIAGONALS,
        SizeParameter::word("field", "real", "real, or pattern"),
        SEED,
        SizeParameter::new("iterations", 20, "iterations"),
    ];

    /// So many iterations with a matrix.
    ///
    /// # Errors
    /// A matrix that is not square or complex, or with an entry that is not finite; no iterations or more than 1000.
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

    /// Whether iterations can begin with a vector: the square of its length is a number that single precision holds.
    ///
    /// # Errors
    /// It is not.
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

    /// Of a size with [`PowerProblem::PARAMETERS`].
    ///
    /// # Errors
    /// See [`PowerProblem::new`]; another size.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let made = GeneratedMatrix::from_size(&size.clone().add_value("cols", 0usize))?;
        let iterations = size.positive("iterations")?;
        Self::sized(Arc::new(made.matrix()?), iterations, size.clone())
    }

    /// The matrix.
    #[must_use]
    pub fn matrix(&self) -> &Arc<SparseMatrix> {
        &self.matrix
    }

    /// How often x is multiplied and divided by its length.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The iterations in a precision; sums of vectors' products are made in double precision. What `x` lacks of as many numbers as there are rows is 0.
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

    /// A x, and the length of what single precision may have it off by in whatever order sums are made (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., section
    /// 3.1).
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

    /// The arrays of an output.
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
        // Squares are summed up: those of smaller numbers are 0.
        &Case::NORMAL
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let n = self.matrix.rows();
        NamedArrays::from_array("x", &[n], case.floats(&mut Random::new(seed), n, n, 30))
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let x = input.get_sized::<f32>("x", self.matrix.rows())?;
        Ok(self.reference_of(self.solve(x)))
    }

    /// See [`PowerProblem`].
    fn judge(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
        let x = input.get_sized::<f32>("x", self.matrix.rows());
        x.map_or(Verdict::SHAPELESS, |x| self.verdict(self.solve(x), output))
    }
}
