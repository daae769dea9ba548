//! Tests transforms of every length, complex and real, by double precision.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::by_halves;
use cp2_host::DeviceOptions;
use cp2_kernels::Random;
use cp2_kernels::fft::{
    Fft, FftPlanner, FftProblem, LongBluestein, RowStrides, TransformDirection, hermitian,
};
use cp2_machine::Machine;
use num_complex::Complex32;
use proptest::prelude::*;
use std::sync::Arc;

const DIRECTIONS: [TransformDirection; 2] =
    [TransformDirection::Forward, TransformDirection::Inverse];

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

fn planner() -> FftPlanner {
    FftPlanner::new(machine("vm7"))
}

fn checked() -> DeviceOptions {
    DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    }
}

fn complex(n: usize, seed: u64) -> Vec<Complex32> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.complex()).collect()
}

/// Returns the error of rustfft's scalar code.
fn scalar(problem: &FftProblem, x: &[Complex32]) -> f64 {
    let fft = cp2_rustfft::scalar_single(problem.len(), problem.direction().into());
    let mut y = x.to_vec();
    fft.process(&mut y);
    problem.verdict(x, &y).rms.max(2.0e-8)
}

/// Least number of values whose error is judged: errors of fewer values scatter.
const MANY: usize = 2048;

fn output(fft: &dyn Fft, x: &[Complex32], options: DeviceOptions) -> Vec<Complex32> {
    let done = fft.process_with(x, options).unwrap();
    let report = &done.run.report;
    assert!(report.end.is_finished(), "{:?}", report.end);
    assert_eq!(report.findings, [], "{}", fft.recipe());
    assert!(done.efficiency() <= 1.0, "{}", fft.recipe());
    let expected = fft.expected(x.len() / fft.len()).unwrap().0 as f64;
    let ratio = expected / report.cycles as f64;
    println!(
        "{}: {} cycles, bound {}, efficiency {:.3}, expected {ratio:.3}",
        fft.recipe(),
        report.cycles,
        done.figures.reference,
        done.efficiency()
    );
    done.output.unwrap()
}

fn assert_accurate(fft: &dyn Fft, x: &[Complex32], options: DeviceOptions) -> Vec<Complex32> {
    let (n, direction) = (fft.len(), fft.direction());
    let problem = FftProblem::new(n, direction, x.len() / n).unwrap();
    let y = output(fft, x, options);
    let verdict = problem.verdict(x, &y);
    let theirs = scalar(&problem, x);
    assert!(
        verdict.rms <= 1.5 * theirs,
        "{}: {:e}, rustfft {theirs:e}",
        fft.recipe(),
        verdict.rms
    );
    y
}

/// Products of radices are transformed beyond local memory in two passes.
///
/// Odd lengths, or twice an odd number, are padded, one at a time and several; some have columns of a single
/// radix.
#[test]
fn mixed_radices_in_two_passes() {
    for (n, batch) in [
        (4000, 3),
        (3000, 1),
        (10_000, 2),
        (44_100, 1),
        (2187, 1),
        (3125, 3),
        (4095, 2),
        (3150, 1),
        (4374, 3),
        (1859, 2),
        (3844, 1),
        (2197, 1),
        (7429, 1),
    ] {
        for direction in DIRECTIONS {
            assert_two_passes(n, batch, direction, checked());
        }
    }
}

/// Long lengths work with two page buffers and, at 1000 x 1000, with one.
#[test]
fn long_mixed_radices_in_two_passes() {
    for n in [250_000, 393_216, 1_000_000] {
        assert_two_passes(n, 1, TransformDirection::Forward, DeviceOptions::default());
    }
}

fn assert_two_passes(
    n: usize,
    batch: usize,
    direction: TransformDirection,
    options: DeviceOptions,
) {
    let fft = planner().plan(n, direction).unwrap();
    assert!(fft.recipe().contains("mixed columns"), "{}", fft.recipe());
    assert_accurate(&*fft, &complex(n * batch, n as u64), options);
}

/// Checks both directions of real transforms against the complex one in double precision.
fn assert_real(n: usize, batch: usize, seed: u64, options: &DeviceOptions) {
    let x: Vec<f32> = complex(n * batch, seed).iter().map(|z| z.re).collect();
    let fft = planner().plan_real_forward(n).unwrap();
    let done = fft.process_with(&x, options.clone()).unwrap();
    assert_eq!(done.run.report.findings, [], "{}", fft.recipe());
    assert!(done.efficiency() <= 1.0, "{}", fft.recipe());
    println!(
        "{}: {} cycles, bound {}, efficiency {:.3}, expected {:.3}",
        fft.recipe(),
        done.run.report.cycles,
        done.figures.reference,
        done.efficiency(),
        fft.expected(batch).unwrap().0 as f64 / done.run.report.cycles as f64
    );
    let half = done.output.unwrap();
    assert_eq!(half.len(), batch * (n / 2 + 1));
    let wide: Vec<Complex32> = x.iter().map(|&x| x.into()).collect();
    let problem = FftProblem::new(n, TransformDirection::Forward, batch).unwrap();
    let judge = |half: &[Complex32]| problem.verdict(&wide, &hermitian(half, n)).rms;
    // Real transforms of even length are made of halves, which a complex transform is not, so their error is
    // compared too.
    let halves = if n.is_multiple_of(2) {
        judge(&by_halves(&x, n))
    } else {
        0.0
    };
    let theirs = scalar(&problem, &wide).max(halves);
    let error = judge(&half);
    assert!(
        error <= 1.5 * theirs,
        "{}: {error:e}, {theirs:e}",
        fft.recipe()
    );

    let fft = planner().plan_real_inverse(n).unwrap();
    let mut half = complex(batch * (n / 2 + 1), seed ^ 1);
    let done = fft.process_with(&half, options.clone()).unwrap();
    assert_eq!(done.run.report.findings, [], "{}", fft.recipe());
    let back: Vec<Complex32> = done.output.unwrap().iter().map(|&x| x.into()).collect();
    // Numbers without a conjugate count as real.
    for row in half.chunks_mut(n / 2 + 1) {
        row[0].im = 0.0;
        if n.is_multiple_of(2) {
            row[n / 2].im = 0.0;
        }
    }
    let whole = hermitian(&half, n);
    let problem = FftProblem::new(n, TransformDirection::Inverse, batch).unwrap();
    let theirs = scalar(&problem, &whole).max(halves);
    let error = problem.verdict(&whole, &back).rms;
    assert!(
        error <= 1.5 * theirs,
        "{}: {error:e}, {theirs:e}",
        fft.recipe()
    );
}

#[test]
fn every_odd_length_to_41_real() {
    // Even lengths are tested in `real.rs`.
    for n in (1..=41).step_by(2) {
        assert_real(n, 3.max(MANY.div_ceil(n)), n as u64, &checked());
    }
}

#[test]
fn primes_and_products_beyond_local_memory() {
    // Primes, powers of primes, products, and neighbours of powers of two.
    for n in [509, 521, 1009, 1331, 2187, 2809, 4095, 4097, 10_007] {
        for direction in DIRECTIONS {
            let fft = planner().plan(n, direction).unwrap();
            let batch = MANY.div_ceil(n);
            assert_accurate(&*fft, &complex(n * batch, n as u64), checked());
        }
    }
}

#[test]
fn long_lengths_and_the_longest() {
    for n in [65_537, 100_000, 130_321, 1_048_575] {
        let fft = planner().plan(n, TransformDirection::Forward).unwrap();
        assert_accurate(&*fft, &complex(n, n as u64), DeviceOptions::default());
    }
}

#[test]
fn real_lengths_beyond_local_memory() {
    for n in [509, 1013, 1018, 2044, 4096, 6000, 8192, 65_536] {
        assert_real(n, 1, n as u64, &checked());
    }
}

#[test]
fn rows_and_batches_give_the_same_bits() {
    let n = 1009;
    let fft = LongBluestein::new(n, TransformDirection::Forward, &machine("vm7"), 64).unwrap();
    let x = complex(19 * n, 5);
    let y = assert_accurate(&fft, &x, checked());
    for batch in [1, 2, 17] {
        assert_eq!(output(&fft, &x[..batch * n], checked()), y[..batch * n]);
    }
    let there = LongBluestein::new(n, TransformDirection::Forward, &machine("vm9"), 64).unwrap();
    assert_eq!(output(&there, &x, checked()), y);
    let mut apart = vec![Complex32::new(f32::NAN, 1.0); 19 * 1013];
    for (to, from) in apart.chunks_mut(1013).zip(x.chunks(n)) {
        to[..n].copy_from_slice(from);
    }
    let rows = RowStrides {
        input: 1013,
        output: 1010,
    };
    let done = fft.process_rows(&apart, rows, checked()).unwrap();
    for (y, expected) in done.output.unwrap().chunks(1010).zip(y.chunks(n)) {
        assert_eq!((&y[..n], y[n]), (expected, Complex32::default()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_length(n in 1usize..6000, batch in 1usize..4, forward in any::<bool>(), k in -40i32..40) {
        let direction = DIRECTIONS[usize::from(forward)];
        let fft = planner().plan(n, direction).unwrap();
        let batch = batch.max(MANY.div_ceil(n));
        let x = complex(n * batch, n as u64);
        let y = assert_accurate(&*fft, &x, DeviceOptions::default());
        let scale = 2.0f32.powi(k);
        let scaled: Vec<Complex32> = x.iter().map(|x| x * scale).collect();
        let expected: Vec<Complex32> = y.iter().map(|y| y * scale).collect();
        prop_assert_eq!(output(&*fft, &scaled, DeviceOptions::default()), expected);
    }

    #[test]
    fn any_real_length(n in 1usize..6000, batch in 1usize..4) {
        let batch = batch.max(MANY.div_ceil(n));
        assert_real(n, batch, n as u64, &DeviceOptions::default());
    }
}
