//! FT: transforms, factors of each step, and the points of checksums.

use super::{EVOLVE, GATHER};
use crate::backend::GpuProblem;
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::fft::plan::{LineTransforms, Lines};
use crate::program::{Dispatch, read, write};
use cp2_problems::npb::{FtProblem, Precision};
use cp2_problems::{NamedArrays, Problem};
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

/// Threads of a workgroup.
const THREADS: usize = 256;

/// Prepares the benchmark FT.
pub(crate) fn ft(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<FtProblem>()?.clone();
    Some(prepare(device, problem))
}

/// Makes the transforms over three axes, from the first array to the second and back, so that the second has
/// the result.
fn three_axes(
    device: &Arc<GpuDevice>,
    shape: [usize; 3],
    inverse: bool,
    [from, to]: [&GpuBuffer<Complex32>; 2],
) -> Result<LineTransforms, GpuError> {
    let mut plan = LineTransforms::default();
    let count: usize = shape.iter().product();
    let (mut both, mut inner) = ([from, to], 1);
    for &n in shape.iter().rev() {
        let lines = Lines {
            n,
            outer: count / (n * inner),
            inner,
        };
        plan.add_axis(device, lines, inverse, both)?;
        both.reverse();
        inner *= n;
    }
    Ok(plan)
}

fn prepare(device: &Arc<GpuDevice>, problem: FtProblem) -> Result<GpuProblem, GpuError> {
    let precision = problem.precision();
    if precision != Precision::Single {
        return Err(GpuError::Precision {
            precision: precision.name(),
        });
    }
    let (shape, steps, count) = (problem.shape(), problem.steps(), problem.len());
    let x: GpuBuffer<Complex32> = GpuBuffer::new(device, "the field", count)?;
    let transformed: GpuBuffer<Complex32> = GpuBuffer::new(device, "the transform", count)?;
    let w: GpuBuffer<Complex32> = GpuBuffer::new(device, "the field of a step", count)?;
    let forward = three_axes(device, shape, false, [&x, &transformed])?;
    let back = three_axes(device, shape, true, [&x, &w])?;
    let all = (1..=steps).flat_map(|step| shape.map(|n| FtProblem::factors(n, step)));
    let factors: Vec<f32> = all.flatten().map(|factor| factor as f32).collect();
    let factors = GpuBuffer::from_slice(device, "the factors of all steps", &factors)?;
    let places: Vec<u32> = problem.points().map(|place| place as u32).collect();
    let each = places.len();
    let points = GpuBuffer::from_slice(device, "the points of a checksum", &places)?;
    let found: GpuBuffer<Complex32> =
        GpuBuffer::new(device, "the numbers of all checksums", each * steps)?;
    let constants = [
        ("PLANES", shape[0] as f64),
        ("ROWS", shape[1] as f64),
        ("COLUMNS", shape[2] as f64),
    ];
    let recipe = forward.recipe();
    let mut sequence: Vec<Dispatch> = forward.steps;
    for step in 0..steps as u32 {
        let number = GpuBuffer::from_slice(device, "the number of a step", &[step])?;
        let arrays = [read(&transformed), write(&x), read(&factors), read(&number)];
        sequence.push(device.step(&EVOLVE, &constants, &arrays, count.div_ceil(THREADS))?);
        sequence.extend(back.steps.iter().cloned());
        let arrays = [read(&w), read(&points), write(&found), read(&number)];
        let count = [("COUNT", each as f64)];
        sequence.push(device.step(&GATHER, &count, &arrays, each.div_ceil(THREADS))?);
    }
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        x.write(input.get_sized("x", count)?)?;
        session.execute(&sequence)?;
        let numbers = session.read(&found)?;
        let wide = |z: &Complex32| Complex64::new(z.re.into(), z.im.into());
        let sums = numbers.chunks(each.max(1)).map(|numbers| {
            let sum = numbers.iter().map(wide).sum::<Complex64>() / count as f64;
            [sum.re, sum.im]
        });
        let checksums: Vec<f64> = sums.flatten().collect();
        let output = NamedArrays::from_array("checksums", &[steps, 2], checksums);
        Ok(output.add_array("w", &shape, session.read(&w)?))
    }))
}
