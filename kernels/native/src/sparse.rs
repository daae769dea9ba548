//! Sparse products and what is made of them, by plain loops over rows.

use crate::NativeProblem;
use crate::fft::like;
use cp2_problems::npb::cg::CgProblem;
use cp2_problems::sparse::{PowerProblem, SolveProblem, SparseMatrix, SpmvProblem};
use cp2_problems::{NamedArrays, Problem};
use num_complex::Complex32;
use std::ops::{AddAssign, Mul};

const RECIPE: &str = "plain loops in single precision";

/// A matrix times vectors.
pub(crate) fn product(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<SpmvProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let (matrix, vectors) = (&**problem.matrix(), problem.vectors());
        let count = matrix.cols() * vectors;
        Ok(match matrix.is_complex() {
            true => {
                let x: &[Complex32] = input.get_sized("x", count)?;
                like(
                    &problem,
                    times(matrix, vectors, x, |entry| matrix.value(entry)),
                )
            }
            false => {
                let x: &[f32] = input.get_sized("x", count)?;
                like(
                    &problem,
                    times(matrix, vectors, x, |entry| matrix.real(entry)),
                )
            }
        })
    }))
}

/// The products of a matrix whose entries are `value` with vectors that lie side by side.
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

/// A system of equations.
pub(crate) fn solve(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<SolveProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let b = input.get_sized::<f32>("b", problem.matrix().rows())?;
        let found = problem.solve::<f32>(b);
        Ok(problem.output(found.x, &found.residuals, found.end))
    }))
}

/// Power iterations.
pub(crate) fn power(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<PowerProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let rows = problem.matrix().rows();
        let found = problem.solve::<f32>(input.get_sized("x", rows)?);
        Ok(problem.output(found.x, found.values, found.residuals))
    }))
}

/// The benchmark CG.
pub(crate) fn inverse_iterations(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<CgProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let rows = problem.matrix().rows();
        let found = problem.solve::<f32>(input.get_sized("x", rows)?);
        let count = problem.iterations();
        let zeta = NamedArrays::from_array("zeta", &[count], found.zeta);
        let both = zeta.add_array("rnorm", &[count], found.rnorm);
        Ok(both.add_array("x", &[rows], found.x))
    }))
}
