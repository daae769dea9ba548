//! The filters in the registry of kernels.

use super::filter::Numbers;
use super::{ConvError, Convolver, Mode, Rate};
use crate::random::Random;
use crate::registry::{Entry, KernelError, Parameter, Prepared, Request, SizeError};
use num_complex::Complex32;

/// Most taps that random ones are made of.
const MOST_TAPS: usize = 1 << 18;

const SAMPLES: Parameter = Parameter::new("samples", 131_072, "samples of a channel");
const CHANNELS: Parameter = Parameter::new("channels", 1, "channels");

/// Convolution, whatever its kernel, and direct filters.
pub(crate) const KERNELS: [Entry; 3] = [
    Entry {
        name: "conv",
        summary: "convolution of complex channels: overlap-save or direct",
        sources: &[
            "conv/overlap.s",
            "conv/overlap4096.s",
            "conv/middle.s",
            "conv/long.s",
            "fft/frame8.s",
            "fft/pass8.s",
            "fft/hooks4096.s",
        ],
        parameters: &[
            Parameter::new("taps", 129, "taps of the filter"),
            SAMPLES,
            CHANNELS,
        ],
        sizes: &[
            &[5, 131_072, 1],
            &[17, 131_072, 1],
            &[65, 262_144, 1],
            &[129, 262_144, 1],
            &[300, 250_000, 1],
            &[600, 128_000, 1],
            &[600, 1_000_000, 1],
            &[941, 25_380, 1],
            &[1025, 1_000_000, 1],
            &[4097, 225_000, 1],
            &[4097, 1_900_000, 1],
            &[16_385, 1_900_000, 1],
            &[64, 960, 256],
            &[129, 1140, 64],
        ],
        prepare: |request| {
            let [channels, samples] = request.positive(["channels", "samples"])?;
            prepared::<Complex32>(request, channels, samples, false, |taps| {
                let machine = request.machine;
                Convolver::new::<Complex32>(machine, taps, channels, samples, Mode::Full)
            })
        },
    },
    Entry {
        name: "conv-real",
        summary: "convolution of real channels with real taps: two numbers in one complex one",
        sources: &[],
        parameters: &[
            Parameter::new("taps", 129, "taps of the filter"),
            SAMPLES,
            CHANNELS,
        ],
        sizes: &[
            &[5, 131_072, 1],
            &[129, 262_144, 1],
            &[1025, 1_000_000, 1],
            &[129, 1140, 64],
        ],
        prepare: |request| {
            let [channels, samples] = request.positive(["channels", "samples"])?;
            prepared::<f32>(request, channels, samples, true, |taps| {
                let machine = request.machine;
                Convolver::new::<f32>(machine, taps, channels, samples, Mode::Full)
            })
        },
    },
    Entry {
        name: "fir",
        summary: "direct FIR filters of complex samples, decimating or interpolating",
        sources: &["conv/direct.s", "conv/carried.s"],
        parameters: &[
            Parameter::new("taps", 64, "taps of the filter"),
            SAMPLES,
            CHANNELS,
            Parameter::new("decimate", 1, "samples for an output"),
            Parameter::new(
                "interpolate",
                1,
                "outputs for a sample; one of the two factors is 1",
            ),
            Parameter::new("real", 1, "1: real taps"),
        ],
        sizes: &[
            &[16, 131_072, 1, 1, 1, 1],
            &[64, 65_536, 1, 1, 1, 1],
            &[16, 65_536, 1, 1, 1, 0],
            &[64, 131_072, 1, 4, 1, 1],
            &[64, 131_072, 1, 4, 1, 0],
            &[64, 32_768, 1, 1, 4, 1],
            &[16, 65_536, 1, 1, 3, 1],
            &[32, 32_768, 1, 1, 8, 1],
            &[512, 32_768, 1, 1, 1, 1],
            &[300, 16_384, 1, 1, 1, 0],
            &[256, 131_072, 1, 8, 1, 1],
            &[100, 524_288, 1, 151, 1, 1],
            &[300, 524_288, 1, 100, 1, 1],
            &[2000, 524_288, 1, 200, 1, 1],
            &[1000, 262_144, 1, 151, 1, 0],
            &[500, 4096, 1, 1, 100, 1],
        ],
        prepare: |request| {
            let [channels, samples] = request.positive(["channels", "samples"])?;
            let rate = match request.positive(["decimate", "interpolate"])? {
                [m, 1] => Rate::Decimate(m),
                [1, i] => Rate::Interpolate(i),
                _ => {
                    return Err(wrong(
                        request,
                        "interpolate",
                        "1 where samples are decimated",
                    ));
                }
            };
            let real = match request.size.length("real")? {
                real @ 0..=1 => real == 1,
                _ => return Err(wrong(request, "real", "0 or 1")),
            };
            prepared::<Complex32>(request, channels, samples, real, |taps| {
                let machine = request.machine;
                Convolver::resampler::<Complex32>(machine, taps, channels, samples, rate)
            })
        },
    },
];

/// A value that the kernel does not have.
fn wrong(request: &Request<'_>, name: &'static str, expected: &'static str) -> KernelError {
    KernelError::Size(SizeError {
        name,
        size: request.size.to_string(),
        expected,
    })
}

fn prepared<T: Numbers>(
    request: &Request<'_>,
    channels: usize,
    samples: usize,
    real: bool,
    plan: impl FnOnce(&[Complex32]) -> Result<Convolver, ConvError>,
) -> Result<Prepared, KernelError> {
    let wrong = |error: ConvError| request.refused(error);
    let [taps] = request.positive(["taps"])?;
    if taps > MOST_TAPS {
        let most = MOST_TAPS;
        return Err(wrong(ConvError::TooManyTaps { taps, most }));
    }
    let mut random = Random::new(2);
    let taps: Vec<Complex32> = if real {
        random.uniforms(taps).into_iter().map(Into::into).collect()
    } else {
        random.complexes(taps)
    };
    let filter = plan(&taps).map_err(wrong)?;
    let numbers = request.elements(&[channels, samples])?;
    filter.fits::<T>(numbers).map_err(wrong)?;
    let x = request.array(|random| T::random(random, numbers));
    let (job, _) = filter.job(&x, request.options.clone()).map_err(wrong)?;
    Ok(Prepared {
        job,
        recipe: Some(filter.kernel().to_owned()),
        figures: filter.figures::<T>(channels),
        operations: filter.operations::<T>(channels),
    })
}
