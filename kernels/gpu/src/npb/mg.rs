//! MG: V-cycles of multigrid, all levels in the device's memory.

use super::{INTERPOLATE, PROJECT};
use crate::backend::GpuProblem;
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, read, write};
use crate::stencil::periodic_classes;
use crate::vector::reductions::PartialSums;
use cp2_problems::npb::Precision;
use cp2_problems::npb::mg::MgProblem;
use cp2_problems::{NamedArrays, Problem};
use num_complex::Complex32;
use std::sync::Arc;

/// Threads of a workgroup that works point by point.
const THREADS: usize = 64;

/// Prepares the benchmark MG.
pub(crate) fn mg(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<MgProblem>()?.clone();
    Some(prepare(device, problem))
}

/// A level: its extents, the solution and the right-hand side or residual.
#[derive(Debug)]
struct GridLevel {
    shape: [usize; 3],
    u: GpuBuffer<f32>,
    r: GpuBuffer<f32>,
}

/// Base of an operator: what it is added to.
#[derive(Clone, Copy, Debug)]
enum OperatorBase<'a> {
    Nothing,
    Array(&'a GpuBuffer<f32>),
    Result,
}

/// Steps of cycles in the course of being made.
struct CycleWriter<'a> {
    device: &'a Arc<GpuDevice>,
    steps: Vec<Dispatch>,
}

fn extents([planes, rows, columns]: [usize; 3]) -> [(&'static str, f64); 3] {
    [
        ("PLANES", planes as f64),
        ("ROWS", rows as f64),
        ("COLUMNS", columns as f64),
    ]
}

impl CycleWriter<'_> {
    /// Adds the operator with these weights, of `u`, to a base.
    fn operator(
        &mut self,
        shape: [usize; 3],
        weights: [f64; 4],
        u: &GpuBuffer<f32>,
        base: OperatorBase<'_>,
        result: &GpuBuffer<f32>,
    ) -> Result<(), GpuError> {
        let (number, array) = match base {
            OperatorBase::Nothing => (0, u),
            OperatorBase::Array(array) => (1, array),
            OperatorBase::Result => (2, u),
        };
        let arrays = [read(u), write(result), read(array)];
        let step = periodic_classes(self.device, shape, weights, number, arrays)?;
        self.steps.push(step);
        Ok(())
    }

    /// Computes the residual of a level: r = v - A u.
    fn residual(
        &mut self,
        level: &GridLevel,
        v: &GpuBuffer<f32>,
        r: &GpuBuffer<f32>,
    ) -> Result<(), GpuError> {
        let weights = MgProblem::OPERATOR.map(|weight| -weight);
        self.operator(level.shape, weights, &level.u, OperatorBase::Array(v), r)
    }

    fn project(&mut self, fine: &GpuBuffer<f32>, coarse: &GridLevel) -> Result<(), GpuError> {
        let groups = coarse.r.len().div_ceil(THREADS);
        let arrays = [read(fine), write(&coarse.r)];
        let step = self
            .device
            .step(&PROJECT, &extents(coarse.shape), &arrays, groups)?;
        self.steps.push(step);
        Ok(())
    }

    fn interpolate(
        &mut self,
        coarse: &GridLevel,
        fine: &GridLevel,
        add: bool,
    ) -> Result<(), GpuError> {
        let mut constants = extents(fine.shape).to_vec();
        constants.push(("ADD", f64::from(u8::from(add))));
        let arrays = [read(&coarse.u), write(&fine.u)];
        let groups = fine.u.len().div_ceil(THREADS);
        self.steps.push(
            self.device
                .step(&INTERPOLATE, &constants, &arrays, groups)?,
        );
        Ok(())
    }
}

fn prepare(device: &Arc<GpuDevice>, problem: MgProblem) -> Result<GpuProblem, GpuError> {
    let precision = problem.precision();
    if precision != Precision::Single {
        return Err(GpuError::Precision {
            precision: precision.name(),
        });
    }
    let count = problem.count();
    let v: GpuBuffer<f32> = GpuBuffer::new(device, "the right-hand side", count)?;
    // Levels from the finest to the one with two points along the shortest axis.
    let mut levels = Vec::new();
    let mut shape = problem.shape();
    loop {
        let points = shape.iter().product();
        levels.push(GridLevel {
            shape,
            u: GpuBuffer::new(device, "the solution of a level", points)?,
            r: GpuBuffer::new(device, "the residual of a level", points)?,
        });
        if shape.iter().any(|&n| n <= 2) {
            break;
        }
        shape = shape.map(|n| n / 2);
    }
    let first = cycle(device, &problem, &levels, &v, true)?;
    let next = cycle(device, &problem, &levels, &v, false)?;
    let given = PartialSums::new(device, &v, &v)?;
    let last = PartialSums::new(device, &levels[0].r, &levels[0].r)?;
    let recipe = format!("{} levels in memory", levels.len());
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        v.write(input.get_sized("v", count)?)?;
        let Some(top) = levels.first() else {
            return Ok(NamedArrays::default());
        };
        let later = std::iter::repeat_n(&next, problem.cycles() - 1).flatten();
        let cycles = first.iter().chain(later);
        // One list, so that repeated runs repeat all of it.
        let steps = std::iter::once(given.step()).chain(cycles);
        session.execute(steps.chain([last.step()]))?;
        let sums = session.read_all(&[given.parts(), last.parts()])?;
        let norm = |parts: &Vec<Complex32>| {
            let sum: f64 = parts.iter().map(|part| f64::from(part.re)).sum();
            (sum / count as f64).sqrt()
        };
        let norms: Vec<f64> = sums.iter().map(norm).collect();
        let u = NamedArrays::from_array("u", &problem.shape(), session.read(&top.u)?);
        Ok(u.add_array("norms", &[2], norms))
    }))
}

/// Makes the steps of a V-cycle, from the residual of the finest level to the next one.
///
/// The first one begins with u = 0: its residual is v, and what it interpolates is u, so that nothing has to be there.
fn cycle(
    device: &Arc<GpuDevice>,
    problem: &MgProblem,
    levels: &[GridLevel],
    v: &GpuBuffer<f32>,
    is_first: bool,
) -> Result<Vec<Dispatch>, GpuError> {
    let mut writer = CycleWriter {
        device,
        steps: Vec::new(),
    };
    let weights = problem.smoother().weights();
    let Some((finest, below)) = levels.split_first() else {
        return Ok(writer.steps);
    };
    let mut residual = if is_first { v } else { &finest.r };
    for level in below {
        writer.project(residual, level)?;
        residual = &level.r;
    }
    // The residual of a level replaces its right-hand side point by point.
    let mut coarser: Option<&GridLevel> = None;
    for level in below.iter().rev() {
        match coarser {
            None => {
                let nothing = OperatorBase::Nothing;
                writer.operator(level.shape, weights, &level.r, nothing, &level.u)?;
            }
            Some(coarse) => {
                writer.interpolate(coarse, level, false)?;
                let negative = MgProblem::OPERATOR.map(|weight| -weight);
                let result = OperatorBase::Result;
                writer.operator(level.shape, negative, &level.u, result, &level.r)?;
                writer.operator(level.shape, weights, &level.r, result, &level.u)?;
            }
        }
        coarser = Some(level);
    }
    if let Some(coarse) = coarser {
        writer.interpolate(coarse, finest, !is_first)?;
    }
    writer.residual(finest, v, &finest.r)?;
    writer.operator(
        finest.shape,
        weights,
        &finest.r,
        OperatorBase::Result,
        &finest.u,
    )?;
    writer.residual(finest, v, &finest.r)?;
    Ok(writer.steps)
}
