//! Operations on vectors and small matrices.

mod matrices;
pub(crate) mod reductions;

pub(crate) use matrices::{beams, matrix_product, products, transpose};
pub(crate) use reductions::reduce;

use crate::backend::{GpuProblem, wrap_output};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Shader, read, write};
use cp2_problems::Problem;
use cp2_problems::vector::{MapOp, MapProblem};
use std::sync::Arc;

pub(crate) const MAP: Shader = Shader {
    name: "vector/map",
    parts: &[
        include_str!("vector/elementary.wgsl"),
        include_str!("vector/map.wgsl"),
    ],
};

pub(crate) const REDUCE: Shader = Shader {
    name: "vector/reduce",
    parts: &[include_str!("vector/reduce.wgsl")],
};

pub(crate) const MATRIX: Shader = Shader {
    name: "vector/matrix",
    parts: &[include_str!("vector/matrix.wgsl")],
};

pub(crate) const SMALL_PRODUCTS: Shader = Shader {
    name: "vector/small_products",
    parts: &[include_str!("vector/small_products.wgsl")],
};

pub(crate) const TRANSPOSE: Shader = Shader {
    name: "vector/transpose",
    parts: &[include_str!("vector/transpose.wgsl")],
};

/// Threads of a workgroup that works element by element.
pub(crate) const THREADS: usize = 256;

/// Returns the number by which the shader knows an operation, and its factor.
fn operation(op: &MapOp) -> (u32, f32) {
    match op {
        MapOp::Scale(factor) => (0, *factor),
        MapOp::Axpy(factor) => (1, *factor),
        MapOp::Add => (2, 1.0),
        MapOp::Subtract => (3, 1.0),
        MapOp::Multiply => (4, 1.0),
        MapOp::ComplexMultiply => (5, 1.0),
        MapOp::Window(_) => (6, 1.0),
        MapOp::Power => (7, 1.0),
        MapOp::Magnitude => (8, 1.0),
        MapOp::Phase => (9, 1.0),
        MapOp::Decibels => (10, 1.0),
    }
}

/// Prepares an operation on every element.
pub(crate) fn map(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<MapProblem>()?.clone();
    Some(prepare_map(device, problem))
}

fn prepare_map(device: &Arc<GpuDevice>, problem: MapProblem) -> Result<GpuProblem, GpuError> {
    let (len, inputs) = (problem.len(), problem.op().inputs());
    let x: GpuBuffer<f32> = GpuBuffer::new(device, "the first input", len)?;
    let second = if inputs == 2 { len } else { 0 };
    let y: GpuBuffer<f32> = GpuBuffer::new(device, "the second input", second)?;
    let z: GpuBuffer<f32> = GpuBuffer::new(device, "the output", len / problem.op().ratio())?;
    let window: &[f32] = match problem.op() {
        MapOp::Window(window) => window,
        _ => &[],
    };
    let coefficients = GpuBuffer::from_slice(device, "a window", window)?;
    let (number, factor) = operation(problem.op());
    let pairs = if matches!(problem.op(), MapOp::ComplexMultiply) {
        2
    } else {
        1
    };
    let count = z.len() / pairs;
    let constants = [
        ("OPERATION", f64::from(number)),
        ("FACTOR", f64::from(factor)),
        ("COUNT", count as f64),
        ("ROW", window.len().max(1) as f64),
    ];
    let arrays = [read(&x), read(&y), write(&z), read(&coefficients)];
    let step = device.step(&MAP, &constants, &arrays, count.div_ceil(THREADS))?;
    Ok(GpuProblem::new(
        device,
        "a thread for each element",
        move |session, input| {
            x.write(input.get_sized("x", len)?)?;
            if inputs == 2 {
                y.write(input.get_sized("y", len)?)?;
            }
            session.execute([&step])?;
            Ok(wrap_output(&problem, session.read(&z)?))
        },
    ))
}
