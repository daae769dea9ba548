//! Tests FFTs larger than DMEM, of one axis and of arrays.

#![allow(clippy::unwrap_used, clippy::panic)]

mod arrays;
mod cross_section;
mod line;
mod ways;

use cp2_host::DeviceOptions;
use cp2_kernels::Random;
use cp2_kernels::fft::{Fft, FftRun, TransformDirection};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

const DIRECTIONS: [TransformDirection; 2] =
    [TransformDirection::Forward, TransformDirection::Inverse];

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

fn random(len: usize, seed: u64) -> Vec<Complex32> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.complex()).collect()
}

fn run(fft: &dyn Fft, x: &[Complex32], check: bool) -> FftRun {
    let options = DeviceOptions {
        check,
        ..DeviceOptions::default()
    };
    let done = fft.process_with(x, options).unwrap();
    let report = &done.run.report;
    assert!(report.end.is_finished(), "{}: {}", fft.recipe(), report.end);
    assert_eq!(report.causes.total(), report.cycles, "{}", fft.recipe());
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}: {findings:#?}", fft.recipe());
    done
}

fn output(fft: &dyn Fft, x: &[Complex32]) -> Vec<Complex32> {
    run(fft, x, true).output.unwrap()
}

/// Returns the bound of the documents on these transforms: all butterflies, or every number in and out of
/// DMEM, whichever takes longer.
///
/// Numbers are moved once if a section can hold whole arrays, and twice if the sections share them. The
/// reference may be less, where sections keep numbers that are theirs already.
fn counted(numbers: usize, batch: usize, machine: &Machine) -> u64 {
    let sections = machine.cp2.sections;
    let rate = machine.dma.bandwidth;
    let of = |computed: usize, visits: usize| {
        let butterflies = computed * numbers / 2 * numbers.ilog2() as usize;
        let moved = (16 * visits * numbers) as u64 * rate.den;
        (butterflies.div_ceil(sections) as u64).max(moved.div_ceil(rate.num))
    };
    if 8 * numbers as u64 >= machine.cp2.dmem.0 {
        return of(batch, 2 * batch);
    }
    let even = of(batch, 2 * batch - batch / sections * sections);
    even.min(of(batch.next_multiple_of(sections), batch))
}

fn bits(x: &[Complex32]) -> Vec<(u32, u32)> {
    x.iter().map(|z| (z.re.to_bits(), z.im.to_bits())).collect()
}

/// Returns the RMS error relative to the RMS of the exact result.
fn error(exact: &[Complex64], y: &[Complex32]) -> f64 {
    let (mut error, mut norm) = (0.0, 0.0);
    for (x, y) in exact.iter().zip(y) {
        error += (x - Complex64::new(y.re.into(), y.im.into())).norm_sqr();
        norm += x.norm_sqr();
    }
    (error / norm).sqrt()
}
