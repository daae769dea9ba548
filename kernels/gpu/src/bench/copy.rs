//! The copy that rows are compared with, and what overwrites outputs.

use super::{RepeatedRuns, SpeedError, SpeedFigures, SpeedPlan};
use crate::buffer::{DeviceMemory, GpuBuffer};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, Shader, ShaderArray, read, write};
use crate::session::Session;
use cp2_problems::fft::{FftProblem, TransformDirection};
use num_complex::Complex32;
use std::sync::Arc;

pub(crate) const COPY: Shader = Shader {
    name: "bench/copy",
    parts: &[include_str!("copy.wgsl")],
};

pub(crate) const POISON: Shader = Shader {
    name: "bench/poison",
    parts: &[include_str!("poison.wgsl")],
};

/// Threads of a workgroup.
const THREADS: usize = 256;

/// Measures the copy.
pub(super) fn measure(
    device: &Arc<GpuDevice>,
    plan: &SpeedPlan,
) -> Result<SpeedFigures, SpeedError> {
    // Two numbers are a vector of four floats.
    let count = (plan.bytes as usize / 16).max(1) * 2;
    let values = FftProblem::new(count, TransformDirection::Forward, 1)?.random(plan.seed);
    let from: GpuBuffer<Complex32> = GpuBuffer::from_slice(device, "the numbers", &values)?;
    let to: GpuBuffer<Complex32> = GpuBuffer::new(device, "the copies", count)?;
    let groups = (count / 2).div_ceil(THREADS);
    let step = device.step(&COPY, &[], &[read(&from), write(&to)], groups)?;
    let mut session = Session::repeated(device, RepeatedRuns::new(plan.repetitions))?;
    session.execute([&step])?;
    let copies = session.read(&to)?;
    // Bits are compared.
    let equal = bytemuck::cast_slice::<_, u32>(&copies) == bytemuck::cast_slice::<_, u32>(&values);
    let worst = if equal { 0.0 } else { f64::INFINITY };
    let bytes = 2 * from.bytes();
    let recipe = "16 bytes a thread".to_owned();
    let seconds = session.take_repeated_seconds();
    let size = vec![2 * count];
    Ok(SpeedFigures::new(
        size,
        recipe,
        seconds,
        (bytes, 0.0),
        worst,
    ))
}

/// Makes a step that overwrites an array.
pub(super) fn poison(
    device: &Arc<GpuDevice>,
    memory: &Arc<DeviceMemory>,
) -> Result<Dispatch, GpuError> {
    let words = memory.raw.size() as usize / size_of::<u32>();
    let arrays = [ShaderArray::Write(memory)];
    device.step(&POISON, &[], &arrays, words.div_ceil(THREADS))
}
