//! Products and transposes of complex matrices.

use super::{MATRIX, SMALL_PRODUCTS, THREADS, TRANSPOSE};
use crate::backend::{GpuProblem, wrap_output};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, read, write};
use cp2_problems::Problem;
use cp2_problems::vector::{BeamProblem, ProductProblem, TransposeProblem};
use num_complex::Complex32;
use std::sync::Arc;

/// Rows and columns of a tile of a product or transpose.
const TILE: usize = 32;

/// Makes the product c = a b of an `m` x `k` matrix and a `k` x `n` one, whose rows and columns are so far apart.
pub(crate) fn matrix_product(
    device: &Arc<GpuDevice>,
    [m, k, n]: [usize; 3],
    apart: [usize; 2],
    [a, b, c]: [&GpuBuffer<Complex32>; 3],
) -> Result<Dispatch, GpuError> {
    let constants = [
        ("M", m as f64),
        ("K", k as f64),
        ("N", n as f64),
        ("B_ROW", apart[0] as f64),
        ("B_COLUMN", apart[1] as f64),
    ];
    let groups = m.div_ceil(TILE) * n.div_ceil(TILE);
    device.step(&MATRIX, &constants, &[read(a), read(b), write(c)], groups)
}

/// Prepares the products of a matrix with vectors.
pub(crate) fn beams(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<BeamProblem>()?.clone();
    Some(prepare_beams(device, problem))
}

fn prepare_beams(device: &Arc<GpuDevice>, problem: BeamProblem) -> Result<GpuProblem, GpuError> {
    let (elements, snapshots) = (problem.vector(), problem.snapshots());
    let beams = problem.weights().len() / elements;
    let x = GpuBuffer::new(device, "the vectors", elements * snapshots)?;
    let weights = GpuBuffer::from_slice(device, "the matrix", problem.weights())?;
    let y = GpuBuffer::new(device, "the products", beams * snapshots)?;
    // Vectors are the rows of the first factor, rows of the matrix are columns of the second.
    let sides = [snapshots, elements, beams];
    let step = matrix_product(device, sides, [1, elements], [&x, &weights, &y])?;
    let recipe = "tiles of 32 x 32";
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        x.write(input.get_sized("x", elements * snapshots)?)?;
        session.execute([&step])?;
        Ok(wrap_output::<Complex32>(&problem, session.read(&y)?))
    }))
}

/// Prepares products of pairs of small matrices.
pub(crate) fn products(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<ProductProblem>()?.clone();
    Some(prepare_products(device, problem))
}

fn prepare_products(
    device: &Arc<GpuDevice>,
    problem: ProductProblem,
) -> Result<GpuProblem, GpuError> {
    let ([m, k, n], count) = (problem.sides(), problem.count());
    let a: GpuBuffer<Complex32> = GpuBuffer::new(device, "the first factors", count * m * k)?;
    let b: GpuBuffer<Complex32> = GpuBuffer::new(device, "the second factors", count * k * n)?;
    let c: GpuBuffer<Complex32> = GpuBuffer::new(device, "the products", count * m * n)?;
    let constants = [
        ("M", m as f64),
        ("K", k as f64),
        ("N", n as f64),
        ("COUNT", count as f64),
    ];
    let arrays = [read(&a), read(&b), write(&c)];
    let step = device.step(
        &SMALL_PRODUCTS,
        &constants,
        &arrays,
        c.len().div_ceil(THREADS),
    )?;
    let recipe = "a thread for each number of a product";
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        a.write(input.get_sized("a", count * m * k)?)?;
        b.write(input.get_sized("b", count * k * n)?)?;
        session.execute([&step])?;
        Ok(wrap_output(&problem, session.read(&c)?))
    }))
}

/// Prepares transposes.
pub(crate) fn transpose(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<TransposeProblem>()?.clone();
    Some(prepare_transpose(device, problem))
}

fn prepare_transpose(
    device: &Arc<GpuDevice>,
    problem: TransposeProblem,
) -> Result<GpuProblem, GpuError> {
    let [count, rows, columns] = problem.shape();
    let all = count * rows * columns;
    let x: GpuBuffer<Complex32> = GpuBuffer::new(device, "the matrices", all)?;
    let y: GpuBuffer<Complex32> = GpuBuffer::new(device, "the transposes", all)?;
    let constants = [
        ("ROWS", rows as f64),
        ("COLUMNS", columns as f64),
        ("COUNT", count as f64),
    ];
    let groups = count * rows.div_ceil(TILE) * columns.div_ceil(TILE);
    let step = device.step(&TRANSPOSE, &constants, &[read(&x), write(&y)], groups)?;
    Ok(GpuProblem::new(
        device,
        "tiles of 32 x 32",
        move |session, input| {
            x.write(input.get_sized("x", all)?)?;
            session.execute([&step])?;
            Ok(wrap_output(&problem, session.read(&y)?))
        },
    ))
}
