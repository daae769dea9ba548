//! Sparse matrices: products, solvers, power iterations, and the benchmark CG.

mod cg;
mod krylov;
mod matrix;
mod power;
mod solve;

pub(crate) use cg::inverse_iterations;
pub(crate) use power::power;
pub(crate) use solve::solve;

use crate::backend::{GpuProblem, wrap_output};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::Shader;
use cp2_problems::Problem;
use cp2_problems::sparse::SpmvProblem;
use matrix::DeviceMatrix;
use num_complex::Complex32;
use std::sync::Arc;

pub(crate) const ROWS: Shader = Shader {
    name: "sparse/rows",
    parts: &[include_str!("sparse/rows.wgsl")],
};

pub(crate) const SLICED: Shader = Shader {
    name: "sparse/sliced",
    parts: &[include_str!("sparse/sliced.wgsl")],
};

pub(crate) const UPDATE: Shader = Shader {
    name: "sparse/update",
    parts: &[include_str!("sparse/update.wgsl")],
};

pub(crate) const SCALARS: Shader = Shader {
    name: "sparse/scalars",
    parts: &[include_str!("sparse/scalars.wgsl")],
};

/// Prepares products of a matrix with vectors.
pub(crate) fn product(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<SpmvProblem>()?.clone();
    Some(prepare(device, problem))
}

fn prepare(device: &Arc<GpuDevice>, problem: SpmvProblem) -> Result<GpuProblem, GpuError> {
    let vectors = problem.vectors();
    let matrix = DeviceMatrix::new(device, problem.matrix(), vectors)?;
    let [rows, columns] = [problem.matrix().rows(), problem.matrix().cols()].map(|n| n * vectors);
    let recipe = matrix.recipe.clone();
    if problem.matrix().is_complex() {
        let x: GpuBuffer<Complex32> = GpuBuffer::new(device, "the vectors", columns)?;
        let y: GpuBuffer<Complex32> = GpuBuffer::new(device, "the products", rows)?;
        let step = matrix.product(&x.memory, &y.memory)?;
        return Ok(GpuProblem::new(device, recipe, move |session, input| {
            x.write(input.get_sized("x", columns)?)?;
            session.execute([&step])?;
            Ok(wrap_output(&problem, session.read(&y)?))
        }));
    }
    let x: GpuBuffer<f32> = GpuBuffer::new(device, "the vectors", columns)?;
    let y: GpuBuffer<f32> = GpuBuffer::new(device, "the products", rows)?;
    let step = matrix.product(&x.memory, &y.memory)?;
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        x.write(input.get_sized("x", columns)?)?;
        session.execute([&step])?;
        Ok(wrap_output(&problem, session.read(&y)?))
    }))
}
