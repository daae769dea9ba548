//! The filters in the registry of kernels.

use super::{ConvError, Convolver, Mode, Rate};
use crate::random::Random;
use crate::registry::{Kernel, KernelError, Parameter, Prepared, Size};
use cp2_host::Options;
use cp2_machine::Machine;
use num_complex::Complex32;
use std::sync::Arc;

/// Most taps that random ones are made of.
const MOST_TAPS: usize = 1 << 16;

const TAPS: Parameter = Parameter {
    name: "taps",
    default: 129,
    help: "taps of the filter",
};
const SAMPLES: Parameter = Parameter {
    name: "samples",
    default: 131_072,
    help: "samples of a channel",
};
const CHANNELS: Parameter = Parameter {
    name: "channels",
    default: 1,
    help: "channels",
};

/// Complex channels convolved with complex taps, by whatever kernel is fastest.
#[derive(Clone, Copy, Debug)]
pub struct ConvKernel;

/// Direct filters, also decimating and interpolating.
#[derive(Clone, Copy, Debug)]
pub struct FirKernel;

impl Kernel for ConvKernel {
    fn name(&self) -> &'static str {
        "conv"
    }

    fn summary(&self) -> &'static str {
        "convolution of complex channels: overlap-save or direct"
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "conv/overlap.s",
            "conv/middle.s",
            "conv/long.s",
            "fft/frame8.s",
            "fft/radix8.s",
        ]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[TAPS, SAMPLES, CHANNELS]
    }

    fn sizes(&self) -> Vec<Size> {
        [
            (5, 131_072, 1),
            (17, 131_072, 1),
            (65, 262_144, 1),
            (129, 262_144, 1),
            (4097, 225_000, 1),
            (4097, 1_900_000, 1),
            (64, 960, 256),
        ]
        .map(|(taps, samples, channels)| {
            Size::new(&[("taps", taps), ("samples", samples), ("channels", channels)])
        })
        .to_vec()
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (channels, samples) = (size.positive("channels")?, size.positive("samples")?);
        let taps = taps(self.name(), size, false)?;
        let wrong = |e| KernelError::of(self.name(), e);
        let filter = Convolver::new::<Complex32>(machine, &taps, channels, samples, Mode::Full)
            .map_err(wrong)?;
        prepared(&filter, channels, samples, options).map_err(wrong)
    }
}

impl Kernel for FirKernel {
    fn name(&self) -> &'static str {
        "fir"
    }

    fn summary(&self) -> &'static str {
        "direct FIR filters of complex samples, decimating or interpolating"
    }

    fn sources(&self) -> &'static [&'static str] {
        &["conv/direct.s"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter {
                default: 64,
                ..TAPS
            },
            SAMPLES,
            CHANNELS,
            Parameter {
                name: "decimate",
                default: 1,
                help: "samples for an output",
            },
            Parameter {
                name: "interpolate",
                default: 1,
                help: "outputs for a sample; one of the two factors is 1",
            },
            Parameter {
                name: "real",
                default: 1,
                help: "1: real taps",
            },
        ]
    }

    fn sizes(&self) -> Vec<Size> {
        let size = |taps, samples, decimate, interpolate, real| {
            Size::new(&[
                ("taps", taps),
                ("samples", samples),
                ("channels", 1),
                ("decimate", decimate),
                ("interpolate", interpolate),
                ("real", real),
            ])
        };
        vec![
            size(16, 131_072, 1, 1, 1),
            size(64, 65_536, 1, 1, 1),
            size(16, 65_536, 1, 1, 0),
            size(64, 131_072, 4, 1, 1),
            size(64, 131_072, 4, 1, 0),
            size(64, 32_768, 1, 4, 1),
        ]
    }

    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        let (channels, samples) = (size.positive("channels")?, size.positive("samples")?);
        let rate = match (size.positive("decimate")?, size.positive("interpolate")?) {
            (m, 1) => Rate::Decimate(m),
            (_, i) => Rate::Interpolate(i),
        };
        let taps = taps(self.name(), size, size.length("real")? != 0)?;
        let wrong = |e| KernelError::of(self.name(), e);
        let filter = Convolver::resampler::<Complex32>(machine, &taps, channels, samples, rate)
            .map_err(wrong)?;
        prepared(&filter, channels, samples, options).map_err(wrong)
    }
}

fn taps(name: &'static str, size: &Size, real: bool) -> Result<Vec<Complex32>, KernelError> {
    let taps = size.positive("taps")?;
    if taps > MOST_TAPS {
        let most = MOST_TAPS;
        return Err(KernelError::of(name, ConvError::TooManyTaps { taps, most }));
    }
    let mut random = Random::new(2);
    let mut next = || {
        if real {
            random.uniform().into()
        } else {
            random.complex()
        }
    };
    Ok((0..taps).map(|_| next()).collect())
}

fn prepared(
    filter: &Convolver,
    channels: usize,
    samples: usize,
    options: Options,
) -> Result<Prepared, ConvError> {
    filter.fits::<Complex32>(channels.saturating_mul(samples))?;
    let mut random = Random::new(1);
    let x: Vec<Complex32> = (0..channels * samples).map(|_| random.complex()).collect();
    let (job, _) = filter.job(&x, options)?;
    Ok(Prepared {
        job,
        least: filter.least::<Complex32>(channels),
        operations: filter.operations::<Complex32>(channels),
    })
}
