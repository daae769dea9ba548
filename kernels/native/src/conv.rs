//! Convolutions: few taps by the definition, many by transforms of blocks.

use crate::NativeProblem;
use crate::fft::wrap_output;
use cp2_problems::conv::{ConvProblem, Sample};
use cp2_problems::{NamedArrays, Problem};
use cp2_rustfft::{Fft, FftDirection};
use num_complex::Complex32;
use std::sync::Arc;

/// Most taps for which outputs are sums of products.
const FEW: usize = 64;

/// Fewest points of a block's transform.
const BLOCK: usize = 1024;

pub(crate) fn filter(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<ConvProblem>()?.clone();
    let (recipe, full) = Full::new(problem.taps());
    Some(NativeProblem::new(recipe, move |input| {
        let count = problem.channels() * problem.samples();
        Ok(match problem.is_real() {
            true => channels::<f32>(&problem, input.get_sized("x", count)?, &full, |z| z.re),
            false => channels::<Complex32>(&problem, input.get_sized("x", count)?, &full, |z| z),
        })
    }))
}

/// Computes the outputs that the problem asks for, of all channels.
fn channels<T: Sample>(
    problem: &ConvProblem,
    x: &[T],
    full: &Full,
    number: impl Fn(Complex32) -> T,
) -> NamedArrays {
    let rate = problem.rate();
    let mut y = Vec::with_capacity(problem.channels() * problem.outputs());
    for x in x.chunks(problem.samples()) {
        let spread = rate.interpolate();
        let mut all = vec![Complex32::default(); (x.len() - 1) * spread + 1];
        for (place, x) in all.iter_mut().step_by(spread).zip(x) {
            *place = x.complex();
        }
        let all = full.convolve(&all);
        let wanted = all.get(problem.wanted()).unwrap_or_default();
        y.extend(wanted.iter().step_by(rate.decimate()).map(|&z| number(z)));
    }
    wrap_output(problem, y)
}

/// A full convolution with fixed taps.
pub(crate) enum Full {
    Sums(Vec<Complex32>),
    /// Forward and inverse transforms, and the spectrum of the taps divided by the transform's length.
    Blocks {
        fft: [Arc<dyn Fft<f32>>; 2],
        spectrum: Vec<Complex32>,
        taps: usize,
    },
}

impl Full {
    pub(crate) fn new(taps: &[Complex32]) -> (&'static str, Self) {
        if taps.len() <= FEW {
            return ("sums of products", Self::Sums(taps.to_vec()));
        }
        let n = BLOCK.max(4 * taps.len()).next_power_of_two();
        let fft = [FftDirection::Forward, FftDirection::Inverse]
            .map(|direction| cp2_rustfft::single(n, direction));
        let mut spectrum = taps.to_vec();
        spectrum.resize(n, Complex32::default());
        fft[0].process(&mut spectrum);
        for h in &mut spectrum {
            *h /= n as f32;
        }
        let taps = taps.len();
        let blocks = Self::Blocks {
            fft,
            spectrum,
            taps,
        };
        ("overlap-add by rustfft in single precision", blocks)
    }

    /// Returns all outputs of the full convolution with a signal.
    pub(crate) fn convolve(&self, x: &[Complex32]) -> Vec<Complex32> {
        match self {
            Self::Sums(taps) => {
                let mut y = vec![Complex32::default(); x.len() + taps.len() - 1];
                for (i, x) in x.iter().enumerate() {
                    for (y, h) in y.iter_mut().skip(i).zip(taps) {
                        *y += x * h;
                    }
                }
                y
            }
            Self::Blocks {
                fft,
                spectrum,
                taps,
            } => {
                let mut y = vec![Complex32::default(); x.len() + taps - 1];
                let hop = spectrum.len() + 1 - taps;
                for (i, x) in x.chunks(hop).enumerate() {
                    let mut part = x.to_vec();
                    part.resize(spectrum.len(), Complex32::default());
                    fft[0].process(&mut part);
                    for (z, h) in part.iter_mut().zip(spectrum) {
                        *z *= h;
                    }
                    fft[1].process(&mut part);
                    for (y, z) in y.iter_mut().skip(i * hop).zip(part) {
                        *y += z;
                    }
                }
                y
            }
        }
    }
}
