//! Inverse iteration (CG) as a problem.

use super::{CgClass, WideMatrix};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::ProblemError;
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
/// `x` after the last one. The matrix is part of the problem, in single precision.
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

/// Allowed error of x after the last iteration, relative to |x| = 1: the errors of single precision in a
/// vector that is the result of many steps of conjugate gradients. The value is not proved but measured: the
/// classes S, W and A have less than a tenth of it.
const VECTOR: f64 = 2e-6;

/// Allowed |x - A z|, relative to |x|, for any matrix of this kind: several times that of the benchmark's
/// classes, whose shifts are further from the spectrum.
const RESIDUAL: f64 = 4.0 * CgClass::RESIDUAL;

impl CgProblem {
    /// Parameters of a size.
    pub const PARAMETERS: [SizeParameter; 4] = [
        SizeParameter::new("rows", 1400, "rows of the matrix"),
        SizeParameter::new(
            "entries",
            7,
            "entries of each random vector that it is made of",
        ),
        SizeParameter::new("iterations", 15, "outer iterations"),
        SizeParameter::new("shift", 10, "what the matrix is shifted by"),
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
        let matrix = WideMatrix::generated(rows, entries, shift).rounded();
        Ok(Self {
            matrix: Arc::new(matrix),
            rows,
            entries,
            iterations,
            shift,
        })
    }

    pub(super) fn from_benchmark(benchmark: &CgClass) -> Self {
        Self {
            matrix: Arc::new(WideMatrix::from_class(benchmark).rounded()),
            rows: benchmark.rows,
            entries: benchmark.entries,
            iterations: benchmark.iterations,
            shift: benchmark.shift,
        }
    }

    /// Returns the problem of a size with `rows`, `entries`, `iterations` and `shift`.
    ///
    /// # Errors
    /// See [`CgProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [rows, entries, iterations, shift] =
            size.all_positive(["rows", "entries", "iterations", "shift"])?;
        let shift = u32::try_from(shift).map_err(|_| size.make_error("shift", "5 to 1000"))?;
        Self::new(rows, entries, iterations, shift)
    }

    /// Returns the matrix.
    #[must_use]
    pub fn matrix(&self) -> &Arc<SparseMatrix> {
        &self.matrix
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

    /// Computes the iterations in any precision, with the matrix in single precision. If `x` has fewer
    /// numbers than there are rows, the others are 0.
    #[must_use]
    pub fn solve<T: Real>(&self, x: &[f32]) -> Iterated<T> {
        let mut x: Vec<T> = x.iter().map(|&x| T::from_f64(x.into())).collect();
        x.resize(self.rows, T::default());
        let times = |p: &[T]| {
            let row = |i| {
                let products = self.matrix.real_row(i);
                products.fold(T::default(), |sum, (j, a)| {
                    sum + T::from_f64(a.into()) * p[j]
                })
            };
            (0..self.rows).map(row).collect()
        };
        inverse_iterations(x, self.shift, self.iterations, times)
    }

    /// Returns the reference of outputs, from iterations that were computed in double precision.
    #[must_use]
    pub fn make_reference(&self, exact: Iterated<f64>) -> Reference {
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
            .map(|zeta| CgClass::TOLERANCE * zeta.abs().max(self.shift));
        let zeta = zeta.collect();
        let rnorm = exact.norms.iter().map(|norm| RESIDUAL * norm);
        let rnorm = rnorm.collect();
        let x = ExpectedArray {
            name: "x",
            shape: vec![self.rows],
            exact: Exact::Real(exact.x),
            part: self.rows,
            allowed: vec![VECTOR],
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
        format!(
            "{} inverse iterations of {} steps of conjugate gradients, {} rows with {} entries",
            self.iterations,
            CgClass::STEPS,
            self.rows,
            self.matrix.nnz()
        )
    }

    fn size(&self) -> Size {
        Size::new(&[
            ("rows", self.rows),
            ("entries", self.entries),
            ("iterations", self.iterations),
            ("shift", self.shift as usize),
        ])
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("x", Kind::F32, &[self.rows])]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![
            ArrayForm::new("zeta", Kind::F64, &[self.iterations]),
            ArrayForm::new("rnorm", Kind::F64, &[self.iterations]),
            ArrayForm::new("x", Kind::F32, &[self.rows]),
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
        let x = match seed {
            1 => vec![1.0; self.rows],
            _ => (0..self.rows)
                .map(|_| 1.0 + random.uniform() / 4.0)
                .collect(),
        };
        NamedArrays::from_array("x", &[self.rows], x)
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let x = input.get_sized::<f32>("x", self.rows)?;
        Ok(self.make_reference(self.solve::<f64>(x)))
    }
}
