//! Convolutions: few taps as sums of products, many by transforms of blocks.

mod filter;

pub(crate) use filter::{FilterPlan, FilterShape};

use crate::backend::{GpuProblem, wrap_output};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::Shader;
use cp2_problems::Problem;
use cp2_problems::conv::ConvProblem;
use num_complex::Complex32;
use std::sync::Arc;

pub(crate) const DIRECT: Shader = Shader {
    name: "conv/direct",
    parts: &[
        include_str!("conv/samples.wgsl"),
        include_str!("conv/direct.wgsl"),
    ],
};

/// Filters by transforms of blocks in a workgroup; an entry point is generated.
pub(crate) const FUSED: Shader = Shader {
    name: "conv/fused",
    parts: &[
        include_str!("fft/butterflies.wgsl"),
        include_str!("conv/samples.wgsl"),
        include_str!("fft/convolved.wgsl"),
    ],
};

/// The columns of filters by transforms of long blocks; an entry point is generated.
pub(crate) const FILTER_COLUMNS: Shader = Shader {
    name: "conv/columns",
    parts: &[
        include_str!("fft/butterflies.wgsl"),
        include_str!("conv/samples.wgsl"),
        include_str!("fft/columns.wgsl"),
    ],
};

/// Prepares a convolution at any rate.
pub(crate) fn filter(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<ConvProblem>()?.clone();
    Some(prepare(device, problem))
}

fn prepare(device: &Arc<GpuDevice>, problem: ConvProblem) -> Result<GpuProblem, GpuError> {
    let (channels, samples) = (problem.channels(), problem.samples());
    let (count, outputs) = (channels * samples, channels * problem.outputs());
    let shape = FilterShape {
        taps: problem.taps().to_vec(),
        channels,
        samples,
        start: problem.wanted().start,
        outputs: problem.outputs(),
        decimate: problem.rate().decimate(),
        interpolate: problem.rate().interpolate(),
        is_real: problem.is_real(),
        apart: [problem.outputs(), 1],
    };
    if problem.is_real() {
        let x: GpuBuffer<f32> = GpuBuffer::new(device, "the samples", count)?;
        let y: GpuBuffer<f32> = GpuBuffer::new(device, "the outputs", outputs)?;
        let plan = FilterPlan::new(device, &shape, [&x.memory, &y.memory])?;
        return Ok(GpuProblem::new(
            device,
            plan.recipe.clone(),
            move |session, input| {
                x.write(input.get_sized("x", count)?)?;
                session.execute(&plan.steps)?;
                Ok(wrap_output(&problem, session.read(&y)?))
            },
        ));
    }
    let x: GpuBuffer<Complex32> = GpuBuffer::new(device, "the samples", count)?;
    let y: GpuBuffer<Complex32> = GpuBuffer::new(device, "the outputs", outputs)?;
    let plan = FilterPlan::new(device, &shape, [&x.memory, &y.memory])?;
    Ok(GpuProblem::new(
        device,
        plan.recipe.clone(),
        move |session, input| {
            x.write(input.get_sized("x", count)?)?;
            session.execute(&plan.steps)?;
            Ok(wrap_output(&problem, session.read(&y)?))
        },
    ))
}
