//! Power iterations: a product and a normalisation each.

use super::krylov::{Updater, VectorUpdate, dots};
use super::matrix::DeviceMatrix;
use crate::backend::GpuProblem;
use crate::device::GpuDevice;
use crate::error::GpuError;
use cp2_problems::Problem;
use cp2_problems::sparse::PowerProblem;
use std::sync::Arc;

/// Returns a quotient, or 0 if the divisor is 0.
fn quotient(of: f64, by: f64) -> f64 {
    if by == 0.0 { 0.0 } else { of / by }
}

/// Prepares power iterations.
pub(crate) fn power(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<PowerProblem>()?.clone();
    Some(prepare(device, problem))
}

fn prepare(device: &Arc<GpuDevice>, problem: PowerProblem) -> Result<GpuProblem, GpuError> {
    let rows = problem.matrix().rows();
    let matrix = DeviceMatrix::new(device, problem.matrix(), 1)?;
    let vectors = Updater::new(device, rows)?;
    let (x, q) = (vectors.vector("x")?, vectors.vector("the product")?);
    let left = vectors.vector("the residual")?;
    let times = matrix.product(&x.memory, &q.memory)?;
    let copy = vectors.update(VectorUpdate::Copy, &q, &left)?;
    let subtract = vectors.update(VectorUpdate::Add, &x, &left)?;
    let normalise = vectors.update(VectorUpdate::Scale, &q, &x)?;
    let [qq, xq, xx] = [
        vectors.dot(&q, &q)?,
        vectors.dot(&x, &q)?,
        vectors.dot(&x, &x)?,
    ];
    let rest = vectors.dot(&left, &left)?;
    Ok(GpuProblem::new(
        device,
        matrix.recipe.clone(),
        move |session, input| {
            let given: &[f32] = input.get_sized("x", rows)?;
            let square: f64 = given.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            let scale = quotient(1.0, square.sqrt()) as f32;
            let first: Vec<f32> = given.iter().map(|x| scale * x).collect();
            x.write(&first)?;
            let (mut values, mut residuals) = (Vec::new(), Vec::new());
            for iteration in 0..=problem.iterations() {
                let [square, across, size] = dots(session, &[&times], [&qq, &xq, &xx])?;
                let (norm, value) = (square.sqrt(), quotient(across, size));
                let steps = [&copy.step, subtract.set(-value)?];
                let [off] = dots(session, &steps, [&rest])?;
                values.push(value);
                residuals.push(quotient(off.sqrt(), norm));
                if iteration < problem.iterations() {
                    session.execute([normalise.set(quotient(1.0, norm))?])?;
                }
            }
            Ok(problem.output(session.read(&x)?, values, residuals))
        },
    ))
}
