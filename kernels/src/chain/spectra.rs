//! The last stages of every chain: Hann window, FFT, decibels.

use super::error::{name_stage, staged};
use super::stages::ChainBuilder;
use super::{ChainError, ChainJob};
use crate::dsp::{ElementwisePlan, MapOp, WindowFunction};
use crate::fft::{Fft, FftPlanner, RowStrides};
use crate::job::KernelInput;
use cp2_host::Buffer;
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// A window that is applied to rows.
#[derive(Debug)]
pub(super) struct Windowed {
    map: ElementwisePlan,
    /// The window once for each row, where a row and its window have no room in DMEM: then it is an array of
    /// the size of the data.
    repeated: Option<Vec<f32>>,
}

impl Windowed {
    /// Plans a window of these coefficients over so many rows; errors call the rows `size`.
    pub(super) fn new(
        coefficients: Vec<f32>,
        rows: usize,
        size: String,
        machine: &Arc<Machine>,
    ) -> Result<Self, ChainError> {
        let floats = rows * coefficients.len();
        // DMEM holds a row that is loaded, its window, and a row that is stored, of 4 bytes a float each, in
        // pages of two buffers.
        let short = 16 * coefficients.len() as u64 <= machine.cp2.dmem.0;
        let (op, repeated) = match short {
            true => (MapOp::Window(coefficients), None),
            false => (MapOp::Multiply, Some(coefficients.repeat(rows))),
        };
        let map = ElementwisePlan::new(op, floats, machine.clone());
        Ok(Self {
            map: name_stage("window", size, map)?,
            repeated,
        })
    }

    /// Returns the least that the pass has to issue.
    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        self.map.operations()
    }

    /// Adds the window's stage behind the stage that leaves the rows.
    pub(super) fn append(
        &self,
        stages: &mut ChainBuilder,
        rows: Buffer<f32>,
    ) -> Result<Buffer<f32>, ChainError> {
        let mut inputs = vec![KernelInput::Array(rows)];
        if let Some(repeated) = &self.repeated {
            let table = staged("window", stages.job().table(repeated))?;
            inputs.push(KernelInput::Array(table));
        }
        stages.add("window", self.map.figures(), |job| {
            self.map.append(job, &inputs)
        })
    }
}

/// Stages that compute windowed spectra of rows, and their power.
#[derive(Debug)]
pub(super) struct Spectra {
    window: Windowed,
    fft: Arc<dyn Fft>,
    decibels: ElementwisePlan,
    rows: usize,
}

impl Spectra {
    /// Plans the spectra of `rows` rows of `points`; errors call the points `name`.
    pub(super) fn new(
        rows: usize,
        points: usize,
        name: &str,
        machine: &Arc<Machine>,
    ) -> Result<Self, ChainError> {
        let floats = 2 * rows * points;
        let map = |op| ElementwisePlan::new(op, floats, machine.clone());
        let size = || format!("{points} {name}");
        let coefficients = WindowFunction::Hann.complex_coefficients(points);
        let fft = FftPlanner::with_batch(machine.clone(), rows).plan_forward(points);
        Ok(Self {
            window: Windowed::new(coefficients, rows, size(), machine)?,
            fft: name_stage("spectra", size(), fft)?,
            decibels: name_stage("decibels", size(), map(MapOp::Decibels))?,
            rows,
        })
    }

    /// Returns the recipe of the transforms.
    pub(super) fn recipe(&self) -> String {
        self.fft.recipe()
    }

    /// Returns the least that the passes have to issue.
    pub(super) fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let stages = [
            self.window.operations(),
            self.fft.operations(self.rows),
            self.decibels.operations(),
        ];
        stages.concat()
    }

    /// Adds window, transform and decibels behind the stage that leaves the rows, and ends the chain.
    pub(super) fn append(
        &self,
        mut stages: ChainBuilder,
        rows: Buffer<Complex32>,
        shape: &[usize],
    ) -> Result<ChainJob, ChainError> {
        let windowed = self.window.append(&mut stages, floats(rows))?;
        let windowed = Buffer::from_address(windowed.address(), windowed.len() / 2);
        let spectra = stages.add("spectra", self.fft.figures(self.rows), |job| {
            let rows = RowStrides::contiguous(self.fft.len());
            self.fft
                .append_rows(job, KernelInput::Array(windowed), self.rows, rows)
        })?;
        let decibels = stages.add("decibels", self.decibels.figures(), |job| {
            self.decibels
                .append(job, &[KernelInput::Array(floats(spectra))])
        })?;
        let shape: Vec<u64> = shape.iter().map(|&side| side as u64).collect();
        Ok(stages.ending(spectra, decibels, &shape))
    }
}

/// Views complex numbers as consecutive floats.
fn floats(z: Buffer<Complex32>) -> Buffer<f32> {
    Buffer::from_address(z.address(), 2 * z.len())
}
