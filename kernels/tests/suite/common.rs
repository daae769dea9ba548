//! Helpers that the tests of kernels share.

#![allow(dead_code, clippy::unwrap_used, reason = "every test uses a part")]
#![allow(
    clippy::disallowed_methods,
    reason = "oracles may use the host's functions"
)]

use cp2_host::DeviceOptions;
use cp2_host::testing::on_both_engines;
use cp2_kernels::dsp::Extreme;
use cp2_kernels::registry::{Kernel, Size};
use cp2_kernels::{KernelRun, Random};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::fmt;
use std::sync::Arc;

pub(crate) fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::load(name).unwrap())
}

/// Returns the registered size of a kernel with the smallest product of its numbers.
pub(crate) fn smallest_size(kernel: &dyn Kernel) -> Size {
    let numbers = |size: &Size| {
        let each = kernel.parameters().iter();
        each.map(|p| size.length(p.name).unwrap_or(1) as u128)
            .product::<u128>()
    };
    kernel.sizes().into_iter().min_by_key(numbers).unwrap()
}

pub(crate) fn floats(seed: u64, count: usize) -> Vec<f32> {
    Random::new(seed).uniforms(count)
}

pub(crate) fn complex(seed: u64, count: usize) -> Vec<Complex32> {
    Random::new(seed).complexes(count)
}

/// Bits of a number, by which NaNs can be compared too.
pub(crate) trait Bits: Copy {
    fn bits(self) -> [u32; 3];
}

impl Bits for f32 {
    fn bits(self) -> [u32; 3] {
        [self.to_bits(), 0, 0]
    }
}

impl Bits for Complex32 {
    fn bits(self) -> [u32; 3] {
        [self.re.to_bits(), self.im.to_bits(), 0]
    }
}

impl Bits for Extreme {
    fn bits(self) -> [u32; 3] {
        [self.value.to_bits(), self.imaginary.to_bits(), self.place]
    }
}

/// Runs under the checkers, which must find nothing, and on the fast engine, which must agree to the bit and
/// the cycle; no efficiency is above 1.
pub(crate) fn clean<T: Bits, E: fmt::Display>(
    run: impl Fn(DeviceOptions) -> Result<KernelRun<Vec<T>>, E>,
) -> KernelRun<Vec<T>> {
    let [done, fast] = on_both_engines(&DeviceOptions::default(), run, |d| &d.run.report).unwrap();
    let report = &done.run.report;
    assert!(report.end.is_finished(), "{:?}", report.end);
    assert_eq!(report.findings, []);
    assert!(done.efficiency() <= 1.0, "{}", done.efficiency());
    let bits = |run: &KernelRun<Vec<T>>| -> Vec<[u32; 3]> {
        let output = run.output.iter().flatten();
        output.map(|y| y.bits()).collect()
    };
    assert!(bits(&done) == bits(&fast), "the engines' outputs differ");
    done
}

/// Computes half spectra of rows of n real numbers, n even, in f32 as realfft does, with rustfft's scalar
/// code.
///
/// A transform of half the length is followed by the separation of even and odd parts.
pub(crate) fn by_halves(x: &[f32], n: usize) -> Vec<Complex32> {
    let m = n / 2;
    let mut z: Vec<Complex32> = x.chunks(2).map(|x| Complex32::new(x[0], x[1])).collect();
    let fft = cp2_rustfft::scalar_single(m, cp2_rustfft::FftDirection::Forward);
    fft.process(&mut z);
    let separate = |z: &[Complex32]| -> Vec<Complex32> {
        let number = |k: usize| {
            let (p, q) = (z[k % m], z[(m - k) % m].conj());
            let turns = -std::f64::consts::TAU * (k as f64 / n as f64 + 0.25);
            let turned = Complex32::new(turns.cos() as f32, turns.sin() as f32);
            ((p + q) + (p - q) * turned) * 0.5
        };
        (0..=m).map(number).collect()
    };
    z.chunks(m).flat_map(separate).collect()
}

/// Computes rows of n real numbers, n even, from half spectra in f32 as realfft does.
///
/// Parts are joined, then come transforms of half the length. The imaginary parts of numbers 0 and n/2 count
/// as 0.
pub(crate) fn from_halves(spectra: &[Complex32], n: usize) -> Vec<f32> {
    let m = n / 2;
    let join = |x: &[Complex32]| -> Vec<Complex32> {
        let at = |k: usize| {
            if k.is_multiple_of(m) {
                x[k].re.into()
            } else {
                x[k]
            }
        };
        let number = |k: usize| {
            let (p, q) = (at(k), at(m - k).conj());
            let turns = std::f64::consts::TAU * (k as f64 / n as f64 + 0.25);
            let turned = Complex32::new(turns.cos() as f32, turns.sin() as f32);
            (p + q) + (p - q) * turned
        };
        (0..m).map(number).collect()
    };
    let mut z: Vec<Complex32> = spectra.chunks(m + 1).flat_map(join).collect();
    let fft = cp2_rustfft::scalar_single(m, cp2_rustfft::FftDirection::Inverse);
    fft.process(&mut z);
    z.iter().flat_map(|z| [z.re, z.im]).collect()
}
