//! Sparse products, solvers, power iterations and CG, by plain loops.

use crate::NativeProblem;
use crate::fft::wrap_output;
use cp2_problems::npb::Precision;
use cp2_problems::npb::cg::{CgProblem, Iterated};
use cp2_problems::sparse::{PowerProblem, SolveProblem, SparseMatrix, SpmvProblem};
use cp2_problems::{DoubleSingle, Element, NamedArrays, Problem};
use num_complex::Complex32;
use std::ops::{AddAssign, Mul};

const RECIPE: &str = "plain loops in single precision";
const DOUBLE_SINGLE_RECIPE: &str = "plain loops in double-single precision";
const DOUBLE_RECIPE: &str = "plain loops in double precision";

/// Prepares products of a matrix with vectors.
pub(crate) fn product(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<SpmvProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let (matrix, vectors) = (&**problem.matrix(), problem.vectors());
        let count = matrix.cols() * vectors;
        Ok(match matrix.is_complex() {
            true => {
                let x: &[Complex32] = input.get_sized("x", count)?;
                wrap_output(
                    &problem,
                    times(matrix, vectors, x, |entry| matrix.value(entry)),
                )
            }
            false => {
                let x: &[f32] = input.get_sized("x", count)?;
                wrap_output(
                    &problem,
                    times(matrix, vectors, x, |entry| matrix.real(entry)),
                )
            }
        })
    }))
}

/// Multiplies a matrix, whose entry `k` is `value(k)`, by vectors that are interleaved element by element.
fn times<T: Copy + Default + AddAssign + Mul<Output = T>>(
    matrix: &SparseMatrix,
    vectors: usize,
    x: &[T],
    value: impl Fn(usize) -> T,
) -> Vec<T> {
    let mut y = vec![T::default(); matrix.rows() * vectors];
    for (row, sums) in y.chunks_exact_mut(vectors).enumerate() {
        let range = matrix.range(row);
        for (entry, &column) in range.clone().zip(&matrix.columns()[range]) {
            let a = value(entry);
            let x = &x[column as usize * vectors..][..vectors];
            for (sum, &x) in sums.iter_mut().zip(x) {
                *sum += a * x;
            }
        }
    }
    y
}

/// Prepares the solution of a system of equations.
pub(crate) fn solve(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<SolveProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let b = input.get_sized::<f32>("b", problem.matrix().rows())?;
        let found = problem.solve::<f32>(b);
        Ok(problem.output(found.x, &found.residuals, found.end))
    }))
}

/// Prepares power iterations.
pub(crate) fn power(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<PowerProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let rows = problem.matrix().rows();
        let found = problem.solve::<f32>(input.get_sized("x", rows)?);
        Ok(problem.output(found.x, found.values, found.residuals))
    }))
}

/// Prepares inverse iterations, the benchmark CG.
pub(crate) fn inverse_iterations(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<CgProblem>()?.clone();
    let recipe = match problem.precision() {
        Precision::Single => RECIPE,
        Precision::DoubleSingle => DOUBLE_SINGLE_RECIPE,
        Precision::Double => DOUBLE_RECIPE,
    };
    Some(NativeProblem::new(recipe, move |input| {
        let rows = problem.matrix().rows();
        Ok(match problem.precision() {
            Precision::Single => {
                let x = input.get_sized::<f32>("x", rows)?;
                name_results(problem.solve::<f32>(x))
            }
            Precision::DoubleSingle => {
                let x: &[[f32; 2]] = input.get_sized("x", rows)?;
                let x: Vec<DoubleSingle> = x.iter().map(|&x| x.into()).collect();
                let found = problem.solve::<DoubleSingle>(&x);
                name_results(Iterated {
                    zeta: found.zeta,
                    rnorm: found.rnorm,
                    norms: found.norms,
                    x: found.x.into_iter().map(<[f32; 2]>::from).collect(),
                })
            }
            Precision::Double => {
                let x = input.get_sized::<f64>("x", rows)?;
                name_results(problem.solve::<f64>(x))
            }
        })
    }))
}

/// Returns the results of inverse iterations as named arrays.
fn name_results<T: Element>(found: Iterated<T>) -> NamedArrays {
    let (count, rows) = (found.zeta.len(), found.x.len());
    let zeta = NamedArrays::from_array("zeta", &[count], found.zeta);
    let both = zeta.add_array("rnorm", &[count], found.rnorm);
    both.add_array("x", &[rows], found.x)
}
