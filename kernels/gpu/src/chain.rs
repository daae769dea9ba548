//! Radar and sonar receivers: filters, beams, and spectra with their decibels.

mod spectra;

use crate::backend::GpuProblem;
use crate::buffer::GpuBuffer;
use crate::conv::{FilterPlan, FilterShape};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::Shader;
use crate::vector::matrix_product;
use cp2_problems::Problem;
use cp2_problems::chain::{RadarProblem, ReceiverProblem, SonarProblem};
use cp2_problems::conv::matched;
use num_complex::Complex32;
use spectra::SpectraPlan;
use std::sync::Arc;

/// Windowed spectra in a workgroup; an entry point is generated.
pub(crate) const SPECTRA: Shader = Shader {
    name: "chain/spectra",
    parts: &[
        include_str!("fft/butterflies.wgsl"),
        include_str!("vector/elementary.wgsl"),
        include_str!("chain/spectra.wgsl"),
    ],
};

pub(crate) const ENDS: Shader = Shader {
    name: "chain/ends",
    parts: &[
        include_str!("vector/elementary.wgsl"),
        include_str!("chain/ends.wgsl"),
    ],
};

/// Prepares a radar: pulses are compressed into columns of a map, whose rows become spectra.
pub(crate) fn radar(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<RadarProblem>()?.clone();
    Some(prepare_radar(device, problem))
}

fn prepare_radar(device: &Arc<GpuDevice>, problem: RadarProblem) -> Result<GpuProblem, GpuError> {
    let [pulses, samples] = problem.block();
    let (chirp, ranges) = (problem.spec().chirp, problem.spec().ranges);
    let x: GpuBuffer<Complex32> = GpuBuffer::new(device, "the echoes", pulses * samples)?;
    let map: GpuBuffer<Complex32> =
        GpuBuffer::new(device, "the compressed pulses", pulses * ranges)?;
    let shape = FilterShape {
        taps: matched(problem.pulse()),
        channels: pulses,
        samples,
        start: chirp - 1,
        outputs: ranges,
        decimate: 1,
        interpolate: 1,
        is_real: false,
        apart: [1, pulses],
    };
    let filter = FilterPlan::new(device, &shape, [&x.memory, &map.memory])?;
    let spectra = SpectraPlan::new(device, pulses, &map)?;
    let recipe = format!("{}; {}", filter.recipe, spectra.recipe);
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        x.write(input.get_sized("x", pulses * samples)?)?;
        session.execute(filter.steps.iter().chain(&spectra.steps))?;
        Ok(spectra.output(session, &problem.spectra())?)
    }))
}

/// Prepares a sonar: hydrophones are filtered, beams are steered, their frames become spectra.
pub(crate) fn sonar(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<SonarProblem>()?.clone();
    Some(prepare_sonar(device, problem))
}

fn prepare_sonar(device: &Arc<GpuDevice>, problem: SonarProblem) -> Result<GpuProblem, GpuError> {
    let spec = problem.spec();
    let ([hydrophones, samples], time) = (problem.block(), spec.filtered());
    let x: GpuBuffer<Complex32> = GpuBuffer::new(device, "the samples", hydrophones * samples)?;
    let filtered: GpuBuffer<Complex32> =
        GpuBuffer::new(device, "the filtered samples", hydrophones * time)?;
    let beams: GpuBuffer<Complex32> = GpuBuffer::new(device, "the beams", spec.beams * time)?;
    let shape = FilterShape {
        taps: spec.low_pass(),
        channels: hydrophones,
        samples,
        start: 0,
        outputs: time,
        decimate: spec.decimate,
        interpolate: 1,
        is_real: false,
        apart: [time, 1],
    };
    let filter = FilterPlan::new(device, &shape, [&x.memory, &filtered.memory])?;
    let weights = GpuBuffer::from_slice(device, "the weights of beams", &spec.weights())?;
    let sides = [spec.beams, hydrophones, time];
    let steered = matrix_product(device, sides, [time, 1], [&weights, &filtered, &beams])?;
    let spectra = SpectraPlan::new(device, spec.points, &beams)?;
    let recipe = format!("{}; {}", filter.recipe, spectra.recipe);
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        x.write(input.get_sized("x", hydrophones * samples)?)?;
        let steps = filter.steps.iter().chain([&steered]).chain(&spectra.steps);
        session.execute(steps)?;
        Ok(spectra.output(session, &problem.spectra())?)
    }))
}
