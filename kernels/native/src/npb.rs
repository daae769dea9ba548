//! The NAS benchmarks FT and MG, by rustfft and plain loops.

use crate::NativeProblem;
use crate::fft::columns;
use cp2_problems::fft::TransformDirection;
use cp2_problems::npb::mg::MgProblem;
use cp2_problems::npb::{FtProblem, Precision};
use cp2_problems::{DoubleSingle, Element, NamedArrays, Problem};
use cp2_rustfft::{Fft, FftDirection, FftNum};
use num_complex::{Complex, Complex64};
use std::sync::Arc;

/// Prepares MG: multigrid cycles with the operators as they are defined.
pub(crate) fn mg(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<MgProblem>()?.clone();
    let shape = problem.shape();
    Some(NativeProblem::new(
        match problem.precision() {
            Precision::Single => "plain loops in single precision",
            Precision::DoubleSingle => "plain loops in double-single precision",
            Precision::Double => "plain loops in double precision",
        },
        move |input| {
            let (u, norms) = match problem.precision() {
                Precision::Single => {
                    let v = input.get_sized::<f32>("v", problem.count())?;
                    let solution = problem.solve::<f32>(v);
                    let u = solution.u.into_points();
                    (NamedArrays::from_array("u", &shape, u), solution.norms)
                }
                Precision::DoubleSingle => {
                    let v: &[[f32; 2]] = input.get_sized("v", problem.count())?;
                    let v: Vec<DoubleSingle> = v.iter().map(|&x| x.into()).collect();
                    let solution = problem.solve::<DoubleSingle>(&v);
                    let u = solution.u.into_points().into_iter();
                    let u = u.map(<[f32; 2]>::from).collect();
                    (NamedArrays::from_array("u", &shape, u), solution.norms)
                }
                Precision::Double => {
                    let v = input.get_sized::<f64>("v", problem.count())?;
                    let solution = problem.solve::<f64>(v);
                    let u = solution.u.into_points();
                    (NamedArrays::from_array("u", &shape, u), solution.norms)
                }
            };
            Ok(u.add_array("norms", &[2], norms.to_vec()))
        },
    ))
}

/// Prepares FT: every step multiplies the transform of the field by its factors and transforms it back.
pub(crate) fn ft(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<FtProblem>()?.clone();
    match problem.precision() {
        Precision::Single => {
            let recipe = "rustfft in single precision";
            Some(prepare_ft(problem, cp2_rustfft::single, recipe))
        }
        Precision::DoubleSingle => None,
        Precision::Double => {
            let recipe = "rustfft in double precision";
            Some(prepare_ft(problem, cp2_rustfft::double, recipe))
        }
    }
}

/// Returns true for a problem of a known kind whose numbers rustfft does not have: FT in double-single precision.
pub(crate) fn has_other_numbers(problem: &dyn Problem) -> bool {
    let ft = problem.downcast_ref::<FtProblem>();
    ft.is_some_and(|ft| ft.precision() == Precision::DoubleSingle)
}

/// Prepares FT with numbers of a type, whose transforms `plan` makes.
fn prepare_ft<T>(
    problem: FtProblem,
    plan: fn(usize, FftDirection) -> Arc<dyn Fft<T>>,
    recipe: &'static str,
) -> NativeProblem
where
    T: FftNum + Into<f64>,
    Complex<T>: Element,
{
    let shape = problem.shape();
    let [forward, inverse] = [TransformDirection::Forward, TransformDirection::Inverse]
        .map(|direction| shape.map(|n| plan(n, direction.into())));
    NativeProblem::new(recipe, move |input| {
        let over_all = |axes: &[Arc<dyn Fft<T>>; 3], y: &mut [_]| {
            let mut width = 1;
            for fft in axes.iter().rev() {
                match width {
                    1 => fft.process(y),
                    _ => columns(y, &**fft, width),
                }
                width *= fft.len();
            }
        };
        let mut transform = input.get_sized::<Complex<T>>("x", problem.len())?.to_vec();
        over_all(&forward, &mut transform);
        let mut field = Vec::new();
        let mut checksums = Vec::new();
        for step in 1..=problem.steps() {
            let factors = shape.map(|n| FtProblem::factors(n, step));
            field.clone_from(&transform);
            evolve(&mut field, &factors, shape);
            over_all(&inverse, &mut field);
            let numbers = problem.points().filter_map(|at| field.get(at));
            let sum: Complex64 = numbers
                .map(|z| Complex64::new(z.re.into(), z.im.into()))
                .sum();
            let sum = sum / problem.len() as f64;
            checksums.extend([sum.re, sum.im]);
        }
        let sums = NamedArrays::from_array("checksums", &[problem.steps(), 2], checksums);
        Ok(sums.add_array("w", &shape, field))
    })
}

/// Multiplies a field by the product of the factors along its axes.
fn evolve<T: FftNum>(
    field: &mut [Complex<T>],
    [z, y, x]: &[Vec<f64>; 3],
    [_, rows, columns]: [usize; 3],
) {
    for (z, plane) in z.iter().zip(field.chunks_exact_mut(rows * columns)) {
        for (y, row) in y.iter().zip(plane.chunks_exact_mut(columns)) {
            for (x, number) in x.iter().zip(row) {
                let factor = T::from_f64(z * y * x).unwrap_or_else(T::zero);
                *number = number.scale(factor);
            }
        }
    }
}
