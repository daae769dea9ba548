//! Operations on vectors and small matrices, by plain loops.

use crate::NativeProblem;
use crate::fft::wrap_output;
use cp2_problems::vector::{
    BeamProblem, MapOp, MapProblem, ProductProblem, ReduceProblem, ReductionOp, TransposeProblem,
};
use cp2_problems::{NamedArrays, Problem};
use num_complex::Complex32;

const RECIPE: &str = "plain loops in single precision";

pub(crate) fn map(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<MapProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let x = input.get_sized::<f32>("x", problem.len())?;
        let y = match problem.op().inputs() {
            1 => x,
            _ => input.get_sized::<f32>("y", problem.len())?,
        };
        Ok(wrap_output(&problem, mapped(problem.op(), x, y)))
    }))
}

fn mapped(op: &MapOp, x: &[f32], y: &[f32]) -> Vec<f32> {
    let each = |f: &dyn Fn(f32) -> f32| x.iter().map(|&x| f(x)).collect();
    let both = |f: &dyn Fn(f32, f32) -> f32| x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect();
    let complex = |f: &dyn Fn(f32, f32) -> f32| x.chunks(2).map(|z| f(z[0], z[1])).collect();
    match op {
        MapOp::Scale(a) => each(&|x| a * x),
        MapOp::Axpy(a) => both(&|x, y| a * x + y),
        MapOp::Add => both(&|x, y| x + y),
        MapOp::Subtract => both(&|x, y| x - y),
        MapOp::Multiply => both(&|x, y| x * y),
        MapOp::ComplexMultiply => {
            let pairs = numbers(x).zip(numbers(y)).map(|(x, y)| x * y);
            pairs.flat_map(|z| [z.re, z.im]).collect()
        }
        MapOp::Window(w) => x.iter().zip(w.iter().cycle()).map(|(x, w)| x * w).collect(),
        MapOp::Power => complex(&|re, im| re * re + im * im),
        MapOp::Magnitude => complex(&|re, im| (re * re + im * im).sqrt()),
        MapOp::Phase => complex(&|re, im| libm::atan2f(im, re)),
        MapOp::Decibels => complex(&|re, im| 10.0 * libm::log10f(re * re + im * im)),
    }
}

/// Iterates over pairs of floats as complex numbers.
fn numbers(x: &[f32]) -> impl Iterator<Item = Complex32> {
    x.chunks_exact(2).map(|z| Complex32::new(z[0], z[1]))
}

pub(crate) fn reduce(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<ReduceProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let (op, n, count) = (problem.op(), problem.row(), problem.row() * problem.rows());
        let x = input.get_sized::<f32>("x", count)?;
        let y = match op.inputs() {
            1 => x,
            _ => input.get_sized::<f32>("y", count)?,
        };
        let rows = || x.chunks(n).zip(y.chunks(n));
        let sums = |f: &dyn Fn(&[f32], &[f32]) -> f32| -> Vec<f32> {
            rows().map(|(x, y)| f(x, y)).collect()
        };
        Ok(match op {
            ReductionOp::Sum => wrap_output(&problem, sums(&|x, _| sum(x.iter().copied()))),
            ReductionOp::Dot => wrap_output(
                &problem,
                sums(&|x, y| sum(x.iter().zip(y).map(|(x, y)| x * y))),
            ),
            ReductionOp::Norm => {
                wrap_output(&problem, sums(&|x, _| sum(x.iter().map(|x| x * x)).sqrt()))
            }
            ReductionOp::ComplexDot => {
                let part = |(x, y): (&[f32], &[f32])| {
                    let products = || numbers(x).zip(numbers(y)).map(|(x, y)| x * y.conj());
                    let re = sum(products().map(|z| z.re));
                    Complex32::new(re, sum(products().map(|z| z.im)))
                };
                wrap_output(&problem, rows().map(part).collect())
            }
            ReductionOp::Max => {
                let (values, places) = x.chunks(n).map(largest).unzip();
                let shape = [problem.rows()];
                NamedArrays::from_array::<f32>("value", &shape, values)
                    .add_array::<u32>("place", &shape, places)
            }
        })
    }))
}

/// Adds up terms in eight partial sums: the chains are shorter, and the rounding errors smaller, than in one
/// sum.
fn sum(terms: impl Iterator<Item = f32>) -> f32 {
    let mut parts = [0.0f32; 8];
    for (i, term) in terms.enumerate() {
        parts[i % 8] += term;
    }
    parts.iter().sum()
}

fn largest(row: &[f32]) -> (f32, u32) {
    let first = row.first().copied().unwrap_or_default();
    row.iter().zip(0..).fold(
        (first, 0),
        |best, (&x, place)| {
            if x > best.0 { (x, place) } else { best }
        },
    )
}

pub(crate) fn beams(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<BeamProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let n = problem.vector();
        let x = input.get_sized::<Complex32>("x", n * problem.snapshots())?;
        let rows = || problem.weights().chunks(n);
        let vectors = x.chunks(n);
        let dot = |w: &[Complex32], x: &[Complex32]| w.iter().zip(x).map(|(w, x)| w * x).sum();
        let y = vectors.flat_map(|x| rows().map(move |w| dot(w, x)));
        Ok(wrap_output::<Complex32>(&problem, y.collect()))
    }))
}

pub(crate) fn products(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<ProductProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let ([m, k, n], count) = (problem.sides(), problem.count());
        let a = input.get_sized::<Complex32>("a", count * m * k)?;
        let b = input.get_sized::<Complex32>("b", count * k * n)?;
        let mut c = Vec::with_capacity(count * m * n);
        for (a, b) in a.chunks(m * k).zip(b.chunks(k * n)) {
            for row in a.chunks(k) {
                for column in 0..n {
                    let column = b.iter().skip(column).step_by(n);
                    c.push(row.iter().zip(column).map(|(a, b)| a * b).sum());
                }
            }
        }
        Ok(wrap_output::<Complex32>(&problem, c))
    }))
}

pub(crate) fn transpose(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<TransposeProblem>()?.clone();
    Some(NativeProblem::new(RECIPE, move |input| {
        let [count, rows, columns] = problem.shape();
        let x = input.get_sized::<Complex32>("x", count * rows * columns)?;
        let mut y = Vec::with_capacity(x.len());
        for matrix in x.chunks(rows * columns) {
            for column in 0..columns {
                y.extend(matrix.iter().skip(column).step_by(columns));
            }
        }
        Ok(wrap_output::<Complex32>(&problem, y))
    }))
}
