//! The last stages of receivers: window, transforms, decibels.

use super::{ENDS, SPECTRA};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::fft::generator::{GroupTask, Numbering, entry_point};
use crate::fft::layout::{GroupLayout, GroupLimits};
use crate::fft::plan::{LineTransforms, Lines};
use crate::fft::tables::roots;
use crate::program::{Dispatch, read, write};
use crate::session::Session;
use cp2_problems::NamedArrays;
use cp2_problems::vector::WindowFunction;
use num_complex::Complex32;
use std::sync::Arc;

/// Threads of a workgroup that works element by element.
const THREADS: usize = 256;

/// The steps from rows to spectra and decibels.
#[derive(Debug)]
pub(crate) struct SpectraPlan {
    pub(crate) steps: Vec<Dispatch>,
    pub(crate) recipe: String,
    spectra: GpuBuffer<Complex32>,
    levels: GpuBuffer<f32>,
}

impl SpectraPlan {
    /// Makes the steps for rows of so many points.
    pub(crate) fn new(
        device: &Arc<GpuDevice>,
        points: usize,
        rows: &GpuBuffer<Complex32>,
    ) -> Result<Self, GpuError> {
        let count = rows.len() / points;
        let spectra = GpuBuffer::new(device, "the spectra", rows.len())?;
        let levels = GpuBuffer::new(device, "the decibels", rows.len())?;
        let coefficients = WindowFunction::Hann.coefficients(points);
        let window = GpuBuffer::from_slice(device, "the window", &coefficients)?;
        let limits = GroupLimits::new(&device.limits);
        if let Some(layout) = GroupLayout::new(points, false, limits) {
            let roots = GpuBuffer::from_slice(device, "a table of factors", &roots(points))?;
            let arrays = [
                read(&roots),
                read(rows),
                read(&window),
                write(&spectra),
                write(&levels),
            ];
            let lanes = [Numbering::Lanes; 2];
            let text = SPECTRA.text() + &entry_point(&layout, GroupTask::Transform, lanes, count);
            let constants = [("POINTS", points as f64)];
            let groups = layout.groups(count);
            let step = device.step_of_text(SPECTRA.name, text, &constants, &arrays, groups)?;
            return Ok(Self {
                steps: vec![step],
                recipe: format!("spectra of {points} in a workgroup"),
                spectra,
                levels,
            });
        }
        let windowed = GpuBuffer::new(device, "the windowed rows", rows.len())?;
        let unused = GpuBuffer::new(device, "nothing", 0)?;
        let end = |last: bool, from: &GpuBuffer<Complex32>, to: &GpuBuffer<Complex32>| {
            let constants = [
                ("POINTS", points as f64),
                ("COUNT", rows.len() as f64),
                ("LAST", f64::from(u8::from(last))),
            ];
            let arrays = [read(from), read(&window), write(to), write(&levels)];
            device.step(&ENDS, &constants, &arrays, rows.len().div_ceil(THREADS))
        };
        let mut plan = LineTransforms::default();
        plan.steps.push(end(false, rows, &windowed)?);
        let lines = Lines {
            n: points,
            outer: count,
            inner: 1,
        };
        plan.add_axis(device, lines, false, [&windowed, &spectra])?;
        plan.steps.push(end(true, &spectra, &unused)?);
        Ok(Self {
            recipe: format!("spectra in memory; {}", plan.recipe()),
            steps: plan.steps,
            spectra,
            levels,
        })
    }

    /// Reads spectra and decibels.
    pub(crate) fn output(
        &self,
        session: &mut Session,
        shape: &[usize],
    ) -> Result<NamedArrays, GpuError> {
        let spectra = session.read(&self.spectra)?;
        let levels: Vec<f32> = session.read(&self.levels)?;
        let output = NamedArrays::from_array("spectra", shape, spectra);
        Ok(output.add_array("decibels", shape, levels))
    }
}
