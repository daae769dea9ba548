//! How every chain ends: Hann window, FFT, decibels.

use super::error::{planned, staged};
use super::stages::Stages;
use super::{ChainError, ChainJob};
use crate::dsp::{Map, MapOp, Window};
use crate::fft::{Fft, FftPlanner, Rows};
use crate::job::Given;
use cp2_host::Buffer;
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use rustfft::FftPlanner as ReferencePlanner;
use std::sync::Arc;

/// Points around a peak that belong to it: the main lobe of the Hann window has
/// two on each side.
pub(super) const LOBE: usize = 3;
/// Highest sidelobe of the Hann window, and room for noise, in dB below the peak.
pub(super) const HANN: f32 = 31.5 - 3.0;

/// A window over rows.
#[derive(Debug)]
pub(super) struct Windowed {
    map: Map,
    /// The window again and again, where a row and its window have no room in
    /// DMEM: then it is an array like the data.
    repeated: Option<Vec<f32>>,
}

impl Windowed {
    /// These coefficients over so many rows, which are called `size`.
    pub(super) fn new(
        coefficients: Vec<f32>,
        rows: usize,
        size: String,
        machine: &Arc<Machine>,
    ) -> Result<Self, ChainError> {
        let floats = rows * coefficients.len();
        // A row comes, its window stays, a row goes: 4 bytes a float each, and pages of two buffers.
        let short = 16 * coefficients.len() as u64 <= machine.cp2.dmem.0;
        let (op, repeated) = match short {
            true => (MapOp::Window(coefficients), None),
            false => (MapOp::Multiply, Some(coefficients.repeat(rows))),
        };
        let map = Map::new(op, floats, machine.clone());
        Ok(Self {
            map: planned("window", size, map)?,
            repeated,
        })
    }

    /// Adds its stage to those that leave the rows.
    pub(super) fn append(
        &self,
        stages: &mut Stages,
        rows: Buffer<f32>,
    ) -> Result<Buffer<f32>, ChainError> {
        let mut inputs = vec![Given::Array(rows)];
        if let Some(repeated) = &self.repeated {
            let table = staged("window", stages.job().table(repeated))?;
            inputs.push(Given::Array(table));
        }
        stages.add("window", self.map.figures(), |job| {
            self.map.append(job, &inputs)
        })
    }
}

/// Windowed spectra of rows, and their power.
#[derive(Debug)]
pub(super) struct Spectra {
    window: Windowed,
    fft: Arc<dyn Fft>,
    decibels: Map,
}

impl Spectra {
    /// For `rows` rows of `points`, which a chain calls `name`.
    pub(super) fn new(
        rows: usize,
        points: usize,
        name: &str,
        machine: &Arc<Machine>,
    ) -> Result<Self, ChainError> {
        let floats = 2 * rows * points;
        let map = |op| Map::new(op, floats, machine.clone());
        let size = || format!("{points} {name}");
        let coefficients = Window::Hann.complex_coefficients(points);
        let fft = FftPlanner::for_batch(machine.clone(), rows).plan_forward(points);
        Ok(Self {
            window: Windowed::new(coefficients, rows, size(), machine)?,
            fft: planned("spectra", size(), fft)?,
            decibels: planned("decibels", size(), map(MapOp::Decibels))?,
        })
    }

    /// Adds its stages to those that leave the rows.
    pub(super) fn append(
        &self,
        mut stages: Stages,
        rows: Buffer<Complex32>,
        shape: &[u64],
    ) -> Result<ChainJob, ChainError> {
        let windowed = self.window.append(&mut stages, floats(rows))?;
        let windowed = Buffer::at(windowed.address(), windowed.len() / 2);
        let count = rows.len() as usize / self.fft.len();
        let spectra = stages.add("spectra", self.fft.figures(count), |job| {
            let rows = Rows::of(self.fft.len());
            self.fft
                .append_rows(job, Given::Array(windowed), count, rows)
        })?;
        let decibels = stages.add("decibels", self.decibels.figures(), |job| {
            self.decibels.append(job, &[Given::Array(floats(spectra))])
        })?;
        Ok(stages.ending(spectra, decibels, shape))
    }
}

/// The window in double precision.
pub(super) fn window(points: usize) -> Vec<Complex64> {
    let coefficients = Window::Hann.coefficients(points);
    coefficients.iter().map(|w| f64::from(*w).into()).collect()
}

/// Transforms of rows of `points` in double precision.
pub(super) fn transform(rows: &mut [Complex64], points: usize) {
    ReferencePlanner::new()
        .plan_fft_forward(points)
        .process(rows);
}

/// Windowed spectra of rows of `points` in double precision.
pub(super) fn reference(rows: &mut [Complex64], points: usize) {
    let window = window(points);
    for row in rows.chunks_mut(points) {
        for (x, w) in row.iter_mut().zip(&window) {
            *x *= w;
        }
    }
    transform(rows, points);
}

/// Sums of x(i + k) conj(x(i)) for k from 0.
pub(super) fn autocorrelation(x: &[Complex64]) -> Vec<Complex64> {
    let n = (2 * x.len()).next_power_of_two();
    let mut power = x.to_vec();
    power.resize(n, Complex64::default());
    transform(&mut power, n);
    for z in &mut power {
        *z = Complex64::from(z.norm_sqr() / n as f64);
    }
    // The spectrum is real: the inverse is the conjugate of the transform.
    transform(&mut power, n);
    power.iter().take(x.len()).map(|z| z.conj()).collect()
}

/// Complex numbers as consecutive floats.
fn floats(z: Buffer<Complex32>) -> Buffer<f32> {
    Buffer::at(z.address(), 2 * z.len())
}
