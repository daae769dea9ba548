//! The steps of a filter, for convolutions and for receivers.

use super::{DIRECT, FILTER_COLUMNS, FUSED};
use crate::buffer::{DeviceMemory, GpuBuffer};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::fft::convolution::{BlockEnds, BlockMethod};
use crate::fft::generator::Numbering;
use crate::fft::layout::GroupLimits;
use crate::fft::tables::filter_spectrum;
use crate::program::{Dispatch, ShaderArray, read};
use num_complex::Complex32;
use std::sync::Arc;

/// Most taps for which outputs are sums of products, for each output that is wanted of one that is computed.
const FEW: usize = 32;

/// Fewest points of a block's transform, and most of them in a workgroup.
const BLOCK: [usize; 2] = [256, 4096];

/// Threads of a workgroup that works element by element.
const THREADS: usize = 256;

/// A filter: its taps, samples and outputs.
#[derive(Clone, Debug)]
pub(crate) struct FilterShape {
    pub(crate) taps: Vec<Complex32>,
    pub(crate) channels: usize,
    pub(crate) samples: usize,
    /// The first output of the full convolution that is wanted.
    pub(crate) start: usize,
    /// Outputs of a channel.
    pub(crate) outputs: usize,
    pub(crate) decimate: usize,
    pub(crate) interpolate: usize,
    pub(crate) is_real: bool,
    /// Distances of channels and of outputs in memory.
    pub(crate) apart: [usize; 2],
}

impl FilterShape {
    fn constants(&self, block: usize) -> Vec<(&'static str, f64)> {
        let overlap = self.taps.len() - 1;
        vec![
            ("REAL", f64::from(u8::from(self.is_real))),
            ("CHANNELS", self.channels as f64),
            ("SAMPLES", self.samples as f64),
            ("START", self.start as f64),
            ("OUTPUTS", self.outputs as f64),
            ("DECIMATE", self.decimate as f64),
            ("INTERPOLATE", self.interpolate as f64),
            ("CHANNEL_APART", self.apart[0] as f64),
            ("OUTPUT_APART", self.apart[1] as f64),
            ("HOP", block.saturating_sub(overlap).max(1) as f64),
            ("OVERLAP", overlap as f64),
        ]
    }

    /// Returns the transforms for blocks of so many numbers.
    fn transforms(&self, block: usize) -> usize {
        let span = (self.outputs - 1) * self.decimate + 1;
        let blocks = span.div_ceil(block + 1 - self.taps.len());
        let each = match self.is_real {
            true => blocks.div_ceil(2),
            false => blocks,
        };
        self.channels * each
    }
}

/// The steps of a filter from samples to outputs.
#[derive(Debug)]
pub(crate) struct FilterPlan {
    pub(crate) steps: Vec<Dispatch>,
    pub(crate) recipe: String,
}

impl FilterPlan {
    /// Makes the steps of a filter from samples to outputs.
    pub(crate) fn new(
        device: &Arc<GpuDevice>,
        shape: &FilterShape,
        arrays: [&Arc<DeviceMemory>; 2],
    ) -> Result<Self, GpuError> {
        let [samples, outputs] = arrays;
        let arrays = [
            ShaderArray::Read(samples),
            ShaderArray::Read(samples),
            ShaderArray::Write(outputs),
        ];
        let taps = shape.taps.len();
        if taps.div_ceil(shape.interpolate) <= FEW * shape.decimate {
            return Self::direct(device, shape, arrays);
        }
        let limits = GroupLimits::new(&device.limits);
        let block = (4 * taps).next_power_of_two().clamp(BLOCK[0], BLOCK[1]);
        // Blocks in memory are no longer than all outputs.
        let whole = (shape.outputs - 1) * shape.decimate + taps;
        let long = whole.min(4 * taps).next_power_of_two();
        let block = if block >= 2 * taps { block } else { long };
        let method = BlockMethod::new(block, Numbering::Lanes, limits);
        let method = method.ok_or_else(|| GpuError::Unfit {
            what: format!("filters of {taps} taps need longer blocks than there are"),
            instead: "take fewer taps",
        })?;
        let spectrum = filter_spectrum(&shape.taps, block);
        let ends = BlockEnds {
            shaders: [FUSED, FILTER_COLUMNS],
            constants: shape.constants(block),
            arrays,
            numbering: Numbering::Lanes,
        };
        Ok(Self {
            steps: method.steps(device, &ends, shape.transforms(block), &spectrum)?,
            recipe: method.name(),
        })
    }

    fn direct(
        device: &Arc<GpuDevice>,
        shape: &FilterShape,
        [real, complex, outputs]: [ShaderArray<'_>; 3],
    ) -> Result<Self, GpuError> {
        let taps = GpuBuffer::from_slice(device, "the taps", &shape.taps)?;
        let mut constants = shape.constants(shape.taps.len());
        constants.push(("TAPS", shape.taps.len() as f64));
        let groups = (shape.channels * shape.outputs).div_ceil(THREADS);
        let arrays = [real, complex, outputs, read(&taps)];
        let step = device.step(&DIRECT, &constants, &arrays, groups)?;
        Ok(Self {
            steps: vec![step],
            recipe: "sums of products".to_owned(),
        })
    }
}
