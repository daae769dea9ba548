//! Tests mixed-radix transforms through the whole machine.

#![allow(clippy::unwrap_used, clippy::panic)]

use cp2_host::DeviceOptions;
use cp2_host::testing::on_both_engines;
use cp2_kernels::fft::{
    Fft, FftPlanner, FftProblem, FftRun, MixedRecipe, RowStrides, TransformDirection,
};
use cp2_machine::Machine;
use num_complex::Complex32;
use proptest::prelude::*;
use std::sync::Arc;

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

fn plan(n: usize, direction: TransformDirection) -> Arc<dyn Fft> {
    FftPlanner::new(machine("vm7")).plan(n, direction).unwrap()
}

/// Runs under the checkers, which must find nothing, and on the fast engine.
fn run(fft: &dyn Fft, x: &[Complex32]) -> FftRun {
    let process = |options| fft.process_with(x, options);
    let [done, fast] =
        on_both_engines(&DeviceOptions::default(), process, |d| &d.run.report).unwrap();
    let output = |done: &FftRun| done.output.as_deref().map(bits);
    assert_eq!(output(&done), output(&fast), "{}", fft.recipe());
    let report = &done.run.report;
    assert!(
        report.end.is_finished(),
        "{}: {:?}",
        fft.recipe(),
        report.end
    );
    assert_eq!(report.findings, [], "{}", fft.recipe());
    let efficiency = done.efficiency();
    assert!(efficiency <= 1.0, "{}: {efficiency}", fft.recipe());
    done
}

fn output(fft: &dyn Fft, x: &[Complex32]) -> Vec<Complex32> {
    run(fft, x).output.unwrap()
}

fn bits(x: &[Complex32]) -> Vec<(u32, u32)> {
    x.iter().map(|z| (z.re.to_bits(), z.im.to_bits())).collect()
}

/// Returns the error of a batch, and that of rustfft's scalar code on the same data.
fn errors(n: usize, direction: TransformDirection, x: &[Complex32], y: &[Complex32]) -> (f64, f64) {
    let problem = FftProblem::new(n, direction, x.len() / n).unwrap();
    let ours = problem.verdict(x, y);
    assert!(ours.is_within_tolerance(), "{n} {direction}: {ours:?}");
    let mut scalar = x.to_vec();
    let fft = cp2_rustfft::scalar_single(n, direction.into());
    fft.process(&mut scalar);
    (ours.rms, problem.verdict(x, &scalar).rms)
}

/// Least number of values whose error is judged: errors of fewer values scatter.
const MANY: usize = 4096;

/// Checks the error of at least [`MANY`] numbers and `batch` transforms.
fn assert_accurate(fft: &dyn Fft, batch: usize, seed: u64) {
    let (n, direction) = (fft.len(), fft.direction());
    let batch = batch.max(MANY.div_ceil(n));
    let x = FftProblem::new(n, direction, batch).unwrap().random(seed);
    let (ours, theirs) = errors(n, direction, &x, &output(fft, &x));
    assert!(
        ours <= 1.5 * theirs,
        "{n} {direction}: {ours:e}, rustfft {theirs:e}"
    );
}

/// One rule holds for all lengths: those of large radices, those by convolutions, and others.
#[test]
fn every_length_is_accurate() {
    let large = [143, 169, 187, 221, 242, 289, 341, 361, 385, 440, 529, 624];
    // The last one has an odd number of columns in the first pass.
    let long = [961, 1001, 1331, 1000, 1050, 1058, 1250, 2002, 1960];
    let convolved = [211, 251, 267, 282, 287, 331, 356, 376, 449, 499];
    for n in (1..=130).chain(large).chain(long).chain(convolved) {
        let mixed = MixedRecipe::new(n, TransformDirection::Forward).is_some();
        let fft = plan(n, TransformDirection::Forward);
        assert_eq!(
            !mixed,
            fft.recipe().contains("bluestein"),
            "{}",
            fft.recipe()
        );
        assert_accurate(&*fft, 9, n as u64);
        if mixed || n < 60 {
            assert_accurate(&*plan(n, TransformDirection::Inverse), 9, n as u64);
        }
    }
}

/// 256 transforms are efficient and accurate. Where lengths have coprime factors, the reference is by
/// Good-Thomas, without twiddle products.
#[test]
fn batches_are_accurate_and_fast() {
    let mut slow = Vec::new();
    for (n, floor) in [
        (3, 0.60),
        (11, 0.60),
        (13, 0.60),
        (15, 0.70),
        (31, 0.54),
        (48, 0.94),
        (60, 0.65),
        (105, 0.73),
        (121, 0.70),
        (144, 0.80),
        (243, 0.77),
        (343, 0.93),
        (360, 0.82),
        (486, 0.84),
        (625, 0.93),
        (810, 0.86),
        (840, 0.84),
        (961, 0.68),
        (1000, 0.93),
        (1001, 0.58),
        (1200, 0.88),
        (1536, 0.91),
        (1920, 0.89),
        (2000, 0.85),
    ] {
        let fft = plan(n, TransformDirection::Forward);
        let x = FftProblem::new(n, TransformDirection::Forward, 256)
            .unwrap()
            .random(n as u64);
        let done = fft.process(&x).unwrap();
        let y = done.output.as_ref().unwrap();
        let (ours, theirs) = errors(n, TransformDirection::Forward, &x, y);
        let cycles = done.run.report.cycles;
        let expected = fft.expected(256).unwrap().0;
        println!(
            "{}: {cycles} cycles, reference {}, efficiency {:.3}, expected {:.3}, {} pages of {} x{}, rms {ours:.2e} ({:.2} of rustfft's)",
            fft.recipe(),
            done.figures.reference,
            done.efficiency(),
            expected as f64 / cycles as f64,
            done.passes[0].plan().unwrap().pages().len(),
            done.passes[0].plan().unwrap().pages().size(),
            done.passes[0].plan().unwrap().degree(),
            ours / theirs,
        );
        assert!(ours <= 1.5 * theirs, "{n}: {ours:e}, rustfft {theirs:e}");
        if !(floor..=1.0).contains(&done.efficiency()) {
            slow.push(format!("{n}: {:.3}", done.efficiency()));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// The result does not depend on the pages into which a batch is divided.
#[test]
fn any_batch_gives_the_same_rows() {
    for n in [1, 2, 7, 45, 100] {
        let fft = plan(n, TransformDirection::Forward);
        let x = FftProblem::new(n, TransformDirection::Forward, 33)
            .unwrap()
            .random(9);
        let y = bits(&output(&*fft, &x));
        for batch in [1, 2, 3, 8, 17, 32] {
            assert_eq!(
                bits(&output(&*fft, &x[..batch * n])),
                y[..batch * n],
                "{n} x {batch}"
            );
        }
    }
}

#[test]
fn other_machines_give_the_bits_of_vm7() {
    for n in [6, 63, 250] {
        let x = FftProblem::new(n, TransformDirection::Forward, 12)
            .unwrap()
            .random(3);
        let there = FftPlanner::new(machine("vm9")).plan_forward(n).unwrap();
        assert_eq!(
            bits(&output(&*plan(n, TransformDirection::Forward), &x)),
            bits(&output(&*there, &x)),
            "{n}"
        );
    }
}

/// Draws a random length 2^a 3^b 5^c 7^d, or that times a larger radix.
fn length() -> impl Strategy<Value = usize> {
    let large = prop::sample::select(vec![1, 1, 1, 11, 13, 17, 19, 23, 29, 31]);
    (0u32..5, 0u32..4, 0u32..3, 0u32..3, large)
        .prop_map(|(a, b, c, d, p)| {
            2usize.pow(a) * 3usize.pow(b) * 5usize.pow(c) * 7usize.pow(d) * p
        })
        .prop_filter("fits a short test", |n| *n <= 500)
}

fn direction() -> impl Strategy<Value = TransformDirection> {
    prop_oneof![
        Just(TransformDirection::Forward),
        Just(TransformDirection::Inverse)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_lengths_batches_and_scales(n in length(), direction in direction(), batch in 1usize..7, seed in any::<u64>(), k in -60i32..60) {
        let fft = plan(n, direction);
        let x = FftProblem::new(n, direction, batch).unwrap().random(seed);
        let y = output(&*fft, &x);
        assert_accurate(&*fft, batch, seed);
        // Scaling the input by a power of two scales every output exactly.
        let scale = 2.0f32.powi(k);
        let scaled: Vec<Complex32> = x.iter().map(|z| z * scale).collect();
        let y: Vec<Complex32> = y.iter().map(|z| z * scale).collect();
        prop_assert_eq!(bits(&output(&*fft, &scaled)), bits(&y));
    }

    /// A forward transform, then its inverse, gives N times the input.
    #[test]
    fn there_and_back(n in length(), seed in any::<u64>()) {
        let x = FftProblem::new(n, TransformDirection::Forward, 2).unwrap().random(seed);
        let y = output(&*plan(n, TransformDirection::Forward), &x);
        let z = output(&*plan(n, TransformDirection::Inverse), &y);
        for (x, z) in x.iter().zip(&z) {
            prop_assert!((x * n as f32 - z).norm() <= 4.0e-6 * n as f32, "{x} {z}");
        }
    }
}

/// Rows with gaps have the bits of contiguous rows, with zeros between them.
#[test]
fn rows_may_lie_apart() {
    // Rows of the last three do not begin at granules.
    for (n, input, output) in [
        (60, 64, 60),
        (60, 60, 90),
        (100, 102, 128),
        (22, 40, 24),
        (60, 61, 60),
        (60, 60, 63),
        (15, 16, 15),
    ] {
        let fft = plan(n, TransformDirection::Forward);
        let x = FftProblem::new(n, TransformDirection::Forward, 11)
            .unwrap()
            .random(5);
        let dense = output_rows(&*fft, &x);
        let mut apart = vec![Complex32::new(f32::NAN, 1.0); 10 * input + n];
        for (row, x) in x.chunks(n).enumerate() {
            apart[row * input..row * input + n].copy_from_slice(x);
        }
        let rows = RowStrides { input, output };
        let done = fft
            .process_rows(&apart, rows, DeviceOptions::default())
            .unwrap();
        let y = done.output.unwrap();
        assert_eq!(y.len(), 11 * output);
        for (y, expected) in y.chunks(output).zip(dense.chunks(n)) {
            assert_eq!(bits(&y[..n]), bits(expected), "{n} {rows:?}");
            assert!(y[n..].iter().all(|z| *z == Complex32::default()));
        }
        let wrong = RowStrides {
            input: n - 2,
            output: n,
        };
        let error = fft
            .process_rows(&apart, wrong, DeviceOptions::default())
            .unwrap_err();
        assert!(error.to_string().contains("apart"), "{error}");
    }
}

fn output_rows(fft: &dyn Fft, x: &[Complex32]) -> Vec<Complex32> {
    fft.process(x).unwrap().output.unwrap()
}

#[test]
fn convolutions_are_fast() {
    // The reference is by Rader's algorithm, a convolution of about half the length.
    for (n, floor) in [(37, 0.23), (127, 0.40), (251, 0.45), (499, 0.20)] {
        let fft = plan(n, TransformDirection::Forward);
        let x = FftProblem::new(n, TransformDirection::Forward, 256)
            .unwrap()
            .random(1);
        let done = fft.process(&x).unwrap();
        let cycles = done.run.report.cycles;
        let expected = fft.expected(256).unwrap().0 as f64 / cycles as f64;
        println!(
            "{}: {cycles} cycles, reference {}, efficiency {:.3}, expected {expected:.3}",
            fft.recipe(),
            done.figures.reference,
            done.efficiency()
        );
        assert!(
            (floor..=1.0).contains(&done.efficiency()),
            "{n}: {:.3}",
            done.efficiency()
        );
    }
}
