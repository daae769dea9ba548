//! A x = b by an iterative method: the problem, and how it is judged.

use super::method::{MethodEnd, SolverMethod, Watch};
use super::pattern::{DIAGONALS, EACH, SEED};
use super::{GeneratedMatrix, Pattern, SparseMatrix, Symmetry};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays, Values};
use crate::error::ProblemError;
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::{Size, SizeParameter};
use crate::verdict::Verdict;
use std::sync::Arc;

/// The solution of A x = b by an iterative method.
///
/// The input is `b`. The outputs are `x`; `residuals`, |r| / |b| of the residual that the method updates,
/// initially and after each iteration, with NaN for iterations that were not made; and `end`, the
/// [number](MethodEnd::number) of the method's end.
///
/// # How a result is judged
///
/// Iterates differ between precisions, so they are not compared. The judgement checks the result's own
/// statements:
///
/// * the true residual |b - A x| / |b|, in double precision, equals the last one of `residuals` up to
///   rounding errors;
/// * the end is the one that `residuals` imply: converged if the last one is as small as was asked for, and
///   so on;
/// * if double precision and plain loops in single precision converge in at most [half](SolveProblem::SLOWER)
///   of the allowed iterations, and the tolerance is no smaller than rounding leaves, the result has
///   converged.
///
/// The residual that a method updates drifts from the true one by the roundings of x, of r and of products.
/// In k iterations, with n entries in the longest row and u = 2^-24, the drift is at most a multiple of (k +
/// n) u (||A| |x|| + max |r|) (Greenbaum, *Estimating the attainable accuracy of recursively computed
/// residual methods*, 1997). Roundings that do not add up leave about sqrt(k + n) u of it. Conjugate
/// gradients are allowed half of that, and stabilised biconjugate gradients, whose iterates grow and shrink,
/// three times that: several times the measured drift. The bound itself would hide a wrong solution. If the
/// latter method did not converge, its true residual is not checked, as its x may have been far larger on the
/// way.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveProblem {
    matrix: Arc<SparseMatrix>,
    method: SolverMethod,
    tolerance: f64,
    most_iterations: usize,
    size: Size,
}

impl SolveProblem {
    /// Largest limit of iterations.
    pub const MOST_ITERATIONS: usize = 1 << 20;

    /// Ratio of the residual to |b| from which on the method has diverged.
    pub const DIVERGED: f64 = 1e10;

    /// Ratio to the smallest earlier residual below which a residual is progress.
    pub const PROGRESS: f64 = 0.99;

    /// Number of iterations without progress that is stagnation, or the number of rows if that is larger:
    /// without rounding, conjugate gradients would have ended by then.
    pub const STAGNATED: usize = 300;

    /// Share of the allowed iterations in which plain loops must converge for convergence to be required of a
    /// result.
    pub const SLOWER: f64 = 0.5;

    /// Parameters of a size, those of the generated matrix first.
    pub const PARAMETERS: [SizeParameter; 9] = [
        SizeParameter::word("pattern", "grid5", "as of spmv; a band is not symmetric"),
        SizeParameter::new("n", 30, "rows; of grids points along an axis"),
        EACH,
        DIAGONALS,
        SizeParameter::word("field", "real", "real, or pattern"),
        SEED,
        SizeParameter::word("method", "cg", "cg, pcg or bicgstab"),
        SizeParameter::word(
            "tolerance",
            "1e-5",
            "residual to be reached, relative to the right-hand side",
        ),
        SizeParameter::new("iterations", 300, "iterations at most"),
    ];

    /// Returns the problem to run a method on a matrix until the residual is `tolerance` times |b|.
    ///
    /// # Errors
    /// A matrix that is not square, is complex, or is not declared symmetric although the method needs that;
    /// an entry that is not finite; a 0 on a diagonal that the method divides by; a tolerance that is not
    /// above 0 and below 1; no iterations or more than 2^20.
    pub fn new(
        matrix: Arc<SparseMatrix>,
        method: SolverMethod,
        tolerance: f64,
        most_iterations: usize,
    ) -> Result<Self, ProblemError> {
        let size = Size::new(&[("rows", matrix.rows()), ("nnz", matrix.nnz())])
            .add_value("method", method.name())
            .add_value("tolerance", tolerance.to_string())
            .add_value("iterations", most_iterations);
        Self::sized(matrix, method, tolerance, most_iterations, size)
    }

    fn sized(
        matrix: Arc<SparseMatrix>,
        method: SolverMethod,
        tolerance: f64,
        most_iterations: usize,
        size: Size,
    ) -> Result<Self, ProblemError> {
        let (rows, cols) = (matrix.rows(), matrix.cols());
        if rows != cols {
            return Err(ProblemError::odd(
                "the matrix of a system",
                format!("{rows} x {cols}"),
                "as many rows as columns",
            ));
        }
        if matrix.is_complex() {
            return Err(ProblemError::odd(
                "the matrix of a system",
                "complex",
                "real numbers",
            ));
        }
        if method != SolverMethod::Bicgstab && matrix.symmetry() != Symmetry::Symmetric {
            return Err(ProblemError::odd(
                "the matrix of conjugate gradients",
                matrix.symmetry(),
                "a symmetric one, declared to be so; bicgstab takes any",
            ));
        }
        matrix.check_finite("entries of the matrix of a system")?;
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(ProblemError::odd(
                "the tolerance",
                tolerance,
                "above 0 and below 1",
            ));
        }
        let most = Self::MOST_ITERATIONS;
        if !(1..=most).contains(&most_iterations) {
            let expected = format!("1 to {most}");
            return Err(ProblemError::odd(
                "iterations at most",
                most_iterations,
                expected,
            ));
        }
        if method == SolverMethod::Pcg
            && let Some(row) = matrix.diagonal().iter().position(|&d| d == 0.0)
        {
            return Err(ProblemError::odd(
                "the diagonal of a matrix that is preconditioned with it",
                format!("0 in row {row} (from 0 on)"),
                "no 0; take cg",
            ));
        }
        Ok(Self {
            matrix,
            method,
            tolerance,
            most_iterations,
            size,
        })
    }

    /// Returns the problem of a size with [`SolveProblem::PARAMETERS`]. The diagonal dominates, so a
    /// symmetric matrix is positive definite.
    ///
    /// # Errors
    /// See [`SolveProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let whole = size.clone().add_value("cols", 0usize);
        let made = GeneratedMatrix {
            dominant: true,
            ..GeneratedMatrix::from_size(&whole)?
        };
        let method = SolverMethod::find(size.word("method")?);
        let method = method.ok_or_else(|| size.make_error("method", "cg, pcg or bicgstab"))?;
        let tolerance = size.word("tolerance")?.parse();
        let tolerance =
            tolerance.map_err(|_| size.make_error("tolerance", "a number above 0 and below 1"))?;
        let most_iterations = size.positive("iterations")?;
        if made.pattern == Pattern::Band && method != SolverMethod::Bicgstab {
            return Err(size
                .make_error("pattern", "a symmetric one for conjugate gradients")
                .into());
        }
        Self::sized(
            Arc::new(made.matrix()?),
            method,
            tolerance,
            most_iterations,
            size.clone(),
        )
    }

    /// Returns the matrix.
    #[must_use]
    pub fn matrix(&self) -> &Arc<SparseMatrix> {
        &self.matrix
    }

    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> SolverMethod {
        self.method
    }

    /// Returns the residual to be reached, relative to |b|.
    #[must_use]
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Returns the largest number of iterations.
    #[must_use]
    pub fn most_iterations(&self) -> usize {
        self.most_iterations
    }

    /// Returns a watch that decides when the method has ended.
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch::new(self.tolerance, self.most_iterations, self.patience())
    }

    /// Returns the number of iterations without progress that is stagnation.
    #[must_use]
    pub fn patience(&self) -> usize {
        self.matrix.rows().max(Self::STAGNATED)
    }

    /// Returns the preconditioner: the inverse of the diagonal, which residuals are multiplied by before
    /// directions are computed. Returns none if the method is not preconditioned or there is a 0 on the
    /// diagonal.
    #[must_use]
    pub fn preconditioner(&self) -> Option<Vec<f32>> {
        if self.method == SolverMethod::Cg {
            return None;
        }
        let diagonal = self.matrix.diagonal();
        let inverse = diagonal.iter().map(|&d| 1.0 / d);
        (!diagonal.contains(&0.0)).then(|| inverse.collect())
    }

    /// Builds the arrays of an output; residuals are padded with NaN.
    #[must_use]
    pub fn output(&self, x: Vec<f32>, residuals: &[f64], end: MethodEnd) -> NamedArrays {
        let mut all = residuals.to_vec();
        all.resize(self.most_iterations + 1, f64::NAN);
        NamedArrays::from_array("x", &[x.len()], x)
            .add_array("residuals", &[self.most_iterations + 1], all)
            .add_array("end", &[1], vec![end.number()])
    }
}

impl SparseMatrix {
    /// Returns the real parts of the diagonal, 0 where there is no entry.
    #[must_use]
    pub fn diagonal(&self) -> Vec<f32> {
        let entry = |i: usize| {
            let found = self.columns_of(i).binary_search(&(i as u32)).ok();
            found.map_or(0.0, |at| self.real(self.range(i).start + at))
        };
        (0..self.rows().min(self.cols())).map(entry).collect()
    }
}

impl Problem for SolveProblem {
    fn name(&self) -> &'static str {
        "solve"
    }

    fn title(&self) -> String {
        format!(
            "a system of {} equations with {} by {} to {:e}",
            self.matrix.rows(),
            self.matrix.entries(),
            self.method,
            self.tolerance
        )
    }

    fn size(&self) -> Size {
        self.size.clone()
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("b", Kind::F32, &[self.matrix.rows()])]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![
            ArrayForm::new("x", Kind::F32, &[self.matrix.rows()]),
            ArrayForm::new("residuals", Kind::F64, &[self.most_iterations + 1]),
            ArrayForm::new("end", Kind::U32, &[1]),
        ]
    }

    fn cases(&self) -> &'static [Case] {
        // Vectors whose squared norm exceeds single precision are scaled.
        &Case::FINITE
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let n = self.matrix.rows();
        let b = case.floats(&mut Random::new(seed), n, n, 30);
        NamedArrays::from_array("b", &[n], b)
    }

    /// Computes the result in double precision. A right result need not equal it, see [`SolveProblem`].
    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let n = self.matrix.rows();
        let b = input.get_sized::<f32>("b", n)?;
        let exact = self.solve::<f64>(b);
        let mut residuals = exact.residuals;
        residuals.resize(self.most_iterations + 1, f64::NAN);
        let array = |name, shape: usize, exact| ExpectedArray {
            name,
            shape: vec![shape],
            exact,
            part: shape,
            allowed: vec![f64::INFINITY],
        };
        let end = Exact::Same(Values::U32(vec![exact.end.number()]));
        Ok(Reference {
            arrays: vec![
                array("x", n, Exact::Real(exact.x)),
                array(
                    "residuals",
                    self.most_iterations + 1,
                    Exact::Real(residuals),
                ),
                array("end", 1, end),
            ],
        })
    }

    /// Judges an output as [`SolveProblem`] describes; `rms` is the true residual.
    fn judge(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
        self.judge_output(input, output)
    }

    /// Compares two outputs: each has to be right by itself.
    fn agree(&self, input: &NamedArrays, one: &NamedArrays, other: &NamedArrays) -> Verdict {
        let [one, other] = [one, other].map(|output| self.judge(input, output));
        match one.worst >= other.worst || one.worst.is_nan() {
            true => one,
            false => other,
        }
    }
}
