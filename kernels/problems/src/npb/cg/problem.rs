//! Inverse iteration (CG) as a problem.

use super::{CgClass, WideMatrix};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::double_single::DoubleSingle;
use crate::error::ProblemError;
use crate::npb::Precision;
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::real::{Real, add, direct, dot};
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::{Size, SizeParameter};
use crate::sparse::SparseMatrix;
use std::sync::Arc;

/// Inverse iterations, the algorithm of the benchmark CG. In each iteration z is an approximate solution of A
/// z = x by 25 steps of conjugate gradients, zeta = shift + 1 / (x . z), and x becomes z / |z|.
///
/// The input is the first vector `x`. The outputs are `zeta` and `rnorm` = |x - A z| of each iteration, and
/// `x` after the last one. The matrix is part of the problem. Matrix and `x` are in the precision of the problem, which
/// is single unless [`CgProblem::with_precision`] says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct CgProblem {
    matrix: Arc<SparseMatrix>,
    rows: usize,
    entries: usize,
    iterations: usize,
    shift: f64,
}

/// Results of inverse iterations.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterated<T> {
    /// Values of zeta, one for each iteration.
    pub zeta: Vec<f64>,
    /// Residuals |x - A z|, one for each iteration.
    pub rnorm: Vec<f64>,
    /// Norms |x| before each iteration; all but the first are 1.
    pub norms: Vec<f64>,
    /// The vector x after the last iteration.
    pub x: Vec<T>,
}

/// Computes inverse iterations in any precision; `times` multiplies by the matrix. Inner products are
/// computed in double precision.
pub fn inverse_iterations<T: Real>(
    mut x: Vec<T>,
    shift: f64,
    iterations: usize,
    mut times: impl FnMut(&[T]) -> Vec<T>,
) -> Iterated<T> {
    let mut all = Iterated {
        zeta: Vec::with_capacity(iterations),
        rnorm: Vec::with_capacity(iterations),
        norms: Vec::with_capacity(iterations),
        x: Vec::new(),
    };
    for _ in 0..iterations {
        let mut z = vec![T::default(); x.len()];
        let (mut r, mut p) = (x.clone(), x.clone());
        let mut rho = dot(&r, &r);
        all.norms.push(rho.sqrt());
        for _ in 0..CgClass::STEPS {
            let q = times(&p);
            let alpha = rho / dot(&p, &q);
            add(&mut z, alpha, &p);
            add(&mut r, -alpha, &q);
            let before = std::mem::replace(&mut rho, dot(&r, &r));
            direct(&mut p, rho / before, &r);
        }
        let mut left = x.clone();
        add(&mut left, -1.0, &times(&z));
        all.rnorm.push(dot(&left, &left).sqrt());
        all.zeta.push(shift + 1.0 / dot(&x, &z));
        let scale = T::from_f64(1.0 / dot(&z, &z).sqrt());
        x = z.into_iter().map(|z| z * scale).collect();
    }
    all.x = x;
    all
}

/// Most rows, and most entries of a random vector.
const MOST_ROWS: usize = 1 << 20;
const MOST_ENTRIES: usize = 32;
/// Most iterations.
const MOST_ITERATIONS: usize = 1000;

/// Returns the allowed error of x after the last iteration, relative to |x| = 1: the errors of roundings in a vector
/// that is the result of many steps of conjugate gradients. The values are not proved but measured: the classes S, W
/// and A have less than a tenth of that of single precision.
fn vector_error(precision: Precision) -> f64 {
    match precision {
        Precision::Single => 2e-6,
        Precision::DoubleSingle | Precision::Double => 1e-12,
    }
}

/// Returns the allowed |x - A z|, relative to |x|, for any matrix of this kind: several times that of the benchmark's
/// classes, whose shifts are further from the spectrum.
fn residual(precision: Precision) -> f64 {
    4.0 * CgClass::residual(precision)
}

impl CgProblem {
    /// Parameters of a size.
    pub const PARAMETERS: [SizeParameter; 5] = [
        SizeParameter::new("rows", 1400, "rows of the matrix"),
        SizeParameter::new(
            "entries",
            7,
            "entries of each random vector that it is made of",
        ),
        SizeParameter::new("iterations", 15, "outer iterations"),
        SizeParameter::new("shift", 10, "what the matrix is shifted by"),
        Precision::PARAMETER,
    ];

    /// Returns inverse iterations with a matrix of the benchmark's kind: rows, entries of a random vector,
    /// iterations and shift.
    ///
    /// # Errors
    /// Fewer rows than 16 or more than 2^20; no entries, more than 32 or than half the rows; no iterations or
    /// more than 1000; a shift that is not from 5 to 1000.
    pub fn new(
        rows: usize,
        entries: usize,
        iterations: usize,
        shift: u32,
    ) -> Result<Self, ProblemError> {
        let within =
            |what, found: usize, least: usize, most: usize| match (least..=most).contains(&found) {
                true => Ok(()),
                false => Err(ProblemError::odd(what, found, format!("{least} to {most}"))),
            };
        within("rows", rows, 16, MOST_ROWS)?;
        within(
            "entries of a random vector",
            entries,
            1,
            MOST_ENTRIES.min(rows / 2),
        )?;
        within("iterations", iterations, 1, MOST_ITERATIONS)?;
        // With a smaller shift the matrix might be singular.
        within("the shift", shift as usize, 5, 1000)?;
        let shift = f64::from(shift);
        let matrix = WideMatrix::generated(rows, entries, shift).rounded(Precision::Single);
        Ok(Self {
            matrix: Arc::new(matrix),
            rows,
            entries,
            iterations,
            shift,
        })
    }

    /// Returns the problem with matrix and `x` in a precision; the matrix is generated again.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        if precision == self.precision() {
            return self;
        }
        let matrix = WideMatrix::generated(self.rows, self.entries, self.shift);
        Self {
            matrix: Arc::new(matrix.rounded(precision)),
            ..self
        }
    }

    pub(super) fn from_benchmark(benchmark: &CgClass) -> Self {
        Self {
            matrix: Arc::new(WideMatrix::from_class(benchmark).rounded(Precision::Single)),
            rows: benchmark.rows,
            entries: benchmark.entries,
            iterations: benchmark.iterations,
            shift: benchmark.shift,
        }
    }

    /// Returns the problem of a size with `rows`, `entries`, `iterations` and `shift`, and with `precision` if that is
    /// not `single`.
    ///
    /// # Errors
    /// See [`CgProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [rows, entries, iterations, shift] =
            size.all_positive(["rows", "entries", "iterations", "shift"])?;
        let shift = u32::try_from(shift).map_err(|_| size.make_error("shift", "5 to 1000"))?;
        let precision = Precision::from_size(size)?;
        Ok(Self::new(rows, entries, iterations, shift)?.with_precision(precision))
    }

    /// Returns the matrix.
    #[must_use]
    pub fn matrix(&self) -> &Arc<SparseMatrix> {
        &self.matrix
    }

    /// Returns the precision of the matrix and of `x`.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.matrix.precision()
    }

    /// Returns the number of outer iterations.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Returns the shift that is subtracted from the matrix's diagonal.
    #[must_use]
    pub fn shift(&self) -> f64 {
        self.shift
    }

    /// Computes the iterations in any precision, with the matrix in its own. If `x` has fewer numbers than there are
    /// rows, the others are 0.
    #[must_use]
    pub fn solve<T: Real>(&self, x: &[impl Real]) -> Iterated<T> {
        let mut x: Vec<T> = x.iter().map(|x| T::from_f64(x.wide())).collect();
        x.resize(self.rows, T::default());
        let times = |p: &[T]| {
            let row = |i| {
                let columns = self.matrix.columns_of(i).iter();
                let products = columns.zip(self.matrix.range(i));
                products.fold(T::default(), |sum, (&j, entry)| {
                    sum + T::from_f64(self.matrix.wide(entry)) * p[j as usize]
                })
            };
            (0..self.rows).map(row).collect()
        };
        inverse_iterations(x, self.shift, self.iterations, times)
    }

    /// Computes the iterations of an input in double precision.
    ///
    /// # Errors
    /// The input has no such array.
    pub fn solve_exactly(&self, input: &NamedArrays) -> Result<Iterated<f64>, DataError> {
        Ok(match self.precision() {
            Precision::Single => self.solve(input.get_sized::<f32>("x", self.rows)?),
            Precision::DoubleSingle => {
                let x = input.get_sized::<[f32; 2]>("x", self.rows)?;
                let x: Vec<DoubleSingle> = x.iter().map(|&x| x.into()).collect();
                self.solve(&x)
            }
            Precision::Double => self.solve(input.get_sized::<f64>("x", self.rows)?),
        })
    }

    /// Returns the reference of outputs, from iterations that were computed in double precision.
    #[must_use]
    pub fn make_reference(&self, exact: Iterated<f64>) -> Reference {
        let precision = self.precision();
        let tolerance = CgClass::tolerance(precision);
        let history = |name, exact: Vec<f64>, allowed| ExpectedArray {
            name,
            shape: vec![self.iterations],
            exact: Exact::Real(exact),
            part: 1,
            allowed,
        };
        // Zeta is the shift plus a small number, and is no more exact than their sum.
        let zeta = exact
            .zeta
            .iter()
            .map(|zeta| tolerance * zeta.abs().max(self.shift));
        let zeta = zeta.collect();
        let rnorm = exact.norms.iter().map(|norm| residual(precision) * norm);
        let rnorm = rnorm.collect();
        let x = ExpectedArray {
            name: "x",
            shape: vec![self.rows],
            exact: Exact::Real(exact.x),
            part: self.rows,
            allowed: vec![vector_error(precision)],
        };
        Reference {
            arrays: vec![
                history("zeta", exact.zeta, zeta),
                history("rnorm", exact.rnorm, rnorm),
                x,
            ],
        }
    }
}

impl Problem for CgProblem {
    fn name(&self) -> &'static str {
        "npb-cg"
    }

    fn title(&self) -> String {
        let numbers = match self.precision() {
            Precision::Single => "",
            Precision::DoubleSingle => ", double-single precision",
            Precision::Double => ", double precision",
        };
        format!(
            "{} inverse iterations of {} steps of conjugate gradients, {} rows with {} entries{numbers}",
            self.iterations,
            CgClass::STEPS,
            self.rows,
            self.matrix.nnz()
        )
    }

    fn size(&self) -> Size {
        let size = Size::new(&[
            ("rows", self.rows),
            ("entries", self.entries),
            ("iterations", self.iterations),
            ("shift", self.shift as usize),
        ]);
        self.precision().add_to(size)
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("x", self.precision().kind(), &[self.rows])]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![
            ArrayForm::new("zeta", Kind::F64, &[self.iterations]),
            ArrayForm::new("rnorm", Kind::F64, &[self.iterations]),
            ArrayForm::new("x", self.precision().kind(), &[self.rows]),
        ]
    }

    fn cases(&self) -> &'static [Case] {
        // The initial vector is forgotten during the iterations, unless x . z is about 0, which makes zeta
        // any number.
        &[Case::Random]
    }

    /// Returns ones for seed 1, as the benchmark has them, and numbers around 1 for other seeds.
    fn input(&self, _: Case, seed: u64) -> NamedArrays {
        let mut random = Random::new(seed);
        let x: Vec<f32> = match seed {
            1 => vec![1.0; self.rows],
            _ => (0..self.rows)
                .map(|_| 1.0 + random.uniform() / 4.0)
                .collect(),
        };
        match self.precision() {
            Precision::Single => NamedArrays::from_array("x", &[self.rows], x),
            precision => {
                let mut fill = |x| match seed {
                    1 => f64::from(x),
                    _ => random.fill_digits(x),
                };
                let x: Vec<f64> = x.into_iter().map(&mut fill).collect();
                precision.add_wide_array(NamedArrays::default(), ("x", &[self.rows]), x)
            }
        }
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        Ok(self.make_reference(self.solve_exactly(input)?))
    }
}
