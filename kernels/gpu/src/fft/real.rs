//! Transforms of real numbers: even lengths as half as many complex numbers.

use super::plan::{LineTransforms, Lines};
use super::tables::roots;
use super::{ODD_REAL, REAL};
use crate::backend::{GpuProblem, wrap_output};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{read, write};
use cp2_problems::Problem;
use cp2_problems::fft::{RealFftProblem, TransformDirection};
use num_complex::Complex32;
use std::sync::Arc;

/// Threads of a workgroup.
const THREADS: usize = 256;

/// Prepares transforms of real numbers, or to them.
pub(crate) fn real(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<RealFftProblem>()?.clone();
    Some(match problem.len().is_multiple_of(2) {
        true => prepare_even(device, problem),
        false => prepare_odd(device, problem),
    })
}

fn prepare_even(device: &Arc<GpuDevice>, problem: RealFftProblem) -> Result<GpuProblem, GpuError> {
    let (n, batch) = (problem.len(), problem.batch());
    let half = n / 2;
    // Two real numbers are stored as one complex number.
    let reals: GpuBuffer<Complex32> = GpuBuffer::new(device, "the real numbers", half * batch)?;
    let middle: GpuBuffer<Complex32> = GpuBuffer::new(device, "half transforms", half * batch)?;
    let spectra: GpuBuffer<Complex32> =
        GpuBuffer::new(device, "the half spectra", (half + 1) * batch)?;
    let roots = GpuBuffer::from_slice(device, "a table of factors", &roots(n))?;
    let lines = Lines {
        n: half,
        outer: batch,
        inner: 1,
    };
    let mut plan = LineTransforms::default();
    let constants = |merge: f64| {
        [
            ("HALF", half as f64),
            ("ROWS", batch as f64),
            ("MERGE", merge),
        ]
    };
    let groups = ((half + 1) * batch).div_ceil(THREADS);
    match problem.direction() {
        TransformDirection::Forward => {
            plan.add_axis(device, lines, false, [&reals, &middle])?;
            let arrays = [read(&middle), write(&spectra), read(&roots)];
            plan.steps
                .push(device.step(&REAL, &constants(0.0), &arrays, groups)?);
            let recipe = format!("half as many complex numbers; {}", plan.recipe());
            Ok(GpuProblem::new(device, recipe, move |session, input| {
                let x: &[f32] = input.get_sized("x", n * batch)?;
                reals.write(bytemuck::cast_slice(x))?;
                session.execute(&plan.steps)?;
                Ok(wrap_output(&problem, session.read(&spectra)?))
            }))
        }
        TransformDirection::Inverse => {
            let arrays = [read(&spectra), write(&middle), read(&roots)];
            plan.steps
                .push(device.step(&REAL, &constants(1.0), &arrays, groups)?);
            plan.add_axis(device, lines, true, [&middle, &reals])?;
            let recipe = format!("half as many complex numbers; {}", plan.recipe());
            Ok(GpuProblem::new(device, recipe, move |session, input| {
                spectra.write(input.get_sized("x", (half + 1) * batch)?)?;
                session.execute(&plan.steps)?;
                let pairs = session.read(&reals)?;
                let y: &[f32] = bytemuck::cast_slice(&pairs);
                Ok(wrap_output(&problem, y.to_vec()))
            }))
        }
    }
}

fn prepare_odd(device: &Arc<GpuDevice>, problem: RealFftProblem) -> Result<GpuProblem, GpuError> {
    let (n, batch) = (problem.len(), problem.batch());
    let half = n / 2 + 1;
    let reals: GpuBuffer<f32> = GpuBuffer::new(device, "the real numbers", n * batch)?;
    let a: GpuBuffer<Complex32> = GpuBuffer::new(device, "complex numbers", n * batch)?;
    let b: GpuBuffer<Complex32> = GpuBuffer::new(device, "the transforms", n * batch)?;
    let spectra: GpuBuffer<Complex32> = GpuBuffer::new(device, "the half spectra", half * batch)?;
    let forward = problem.direction() == TransformDirection::Forward;
    let constants = |stage: f64| [("N", n as f64), ("ROWS", batch as f64), ("STAGE", stage)];
    let groups = (n * batch).div_ceil(THREADS);
    let mut plan = LineTransforms::default();
    let (before, after) = match forward {
        true => ([read(&reals), write(&a)], [read(&b), write(&spectra)]),
        false => ([read(&spectra), write(&a)], [read(&b), write(&reals)]),
    };
    let stages = if forward { [0.0, 1.0] } else { [2.0, 3.0] };
    plan.steps
        .push(device.step(&ODD_REAL, &constants(stages[0]), &before, groups)?);
    let lines = Lines {
        n,
        outer: batch,
        inner: 1,
    };
    plan.add_axis(device, lines, !forward, [&a, &b])?;
    plan.steps
        .push(device.step(&ODD_REAL, &constants(stages[1]), &after, groups)?);
    Ok(GpuProblem::new(
        device,
        plan.recipe(),
        move |session, input| {
            match forward {
                true => reals.write(input.get_sized("x", n * batch)?)?,
                false => spectra.write(input.get_sized("x", half * batch)?)?,
            }
            session.execute(&plan.steps)?;
            Ok(match forward {
                true => wrap_output(&problem, session.read(&spectra)?),
                false => wrap_output(&problem, session.read(&reals)?),
            })
        },
    ))
}
