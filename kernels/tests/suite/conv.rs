//! Tests filters through the whole machine, under the checkers.

#![allow(
    clippy::disallowed_methods,
    reason = "oracles may use the host's functions"
)]
#![allow(clippy::unwrap_used, clippy::panic)]

mod fast;
mod isolation;
mod joined;
mod parts;
mod places;
mod random;
mod rates;
mod terms;
mod uses;
mod values;

use crate::common::{Bits, clean, floats, machine};
use cp2_emu::Cause;
use cp2_host::RunReport;
use cp2_kernels::Job;
use cp2_kernels::conv::{
    ChannelArrays, ConvError, ConvProblem, ConvRun, ConvolutionMode, Convolver, FilterSample,
    OutputRate, Streaming, matched,
};
use cp2_machine::{Class, Machine};
use cp2_problems::Problem as _;
use cp2_reference::Figures;
use num_complex::Complex32;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

static VM7: LazyLock<Arc<Machine>> = LazyLock::new(|| machine("vm7"));
static VM9: LazyLock<Arc<Machine>> = LazyLock::new(|| machine("vm9"));

/// Returns the cycles of the direct algorithm: every tap times the samples of an output, or the bytes that
/// must be moved.
///
/// The best known algorithm may take less, see `cp2_reference`.
fn directly(taps: &[Complex32], samples: usize, rate: OutputRate, figures: &Figures) -> f64 {
    let products = (samples / rate.decimate()) * taps.len();
    let real = taps.iter().all(|h| h.im == 0.0);
    let issues = products as f64 / if real { 2.0 } else { 1.0 };
    (issues / 4.0).max(figures.bound.get() as f64)
}

fn run<T: FilterSample + Bits>(filter: &Convolver, x: &[T]) -> ConvRun<T> {
    clean(|options| filter.process_with(x, options))
}

fn complex(n: usize, seed: u64) -> Vec<Complex32> {
    crate::common::complex(seed, n)
}

fn real_taps(n: usize, seed: u64) -> Vec<Complex32> {
    floats(seed, n).into_iter().map(Complex32::from).collect()
}

/// Plans and runs a filter and compares it with the reference.
fn check<T: FilterSample + Bits>(
    taps: &[Complex32],
    x: &[T],
    channels: usize,
    mode: ConvolutionMode,
) -> ConvRun<T> {
    let samples = x.len() / channels;
    let filter = Convolver::new::<T>(&VM7, taps, channels, samples, mode).unwrap();
    judged(
        &filter,
        x,
        &ConvProblem::new(taps, channels, samples, mode).unwrap(),
    )
}

/// Runs a filter and compares it with the reference.
fn judged<T: FilterSample + Bits>(
    filter: &Convolver,
    x: &[T],
    problem: &ConvProblem,
) -> ConvRun<T> {
    let done = run(filter, x);
    let verdict = problem.compare(x, done.output.as_ref().unwrap());
    assert!(
        verdict.is_within_tolerance(),
        "{} by {}: {verdict:?}",
        problem.title(),
        filter.kernel()
    );
    done
}

/// Returns the classic count of overlap-save: N (log2 N + 1) / (4 (N - L + 1)) cycles an output at the best
/// N.
fn classic(taps: usize) -> f64 {
    (3..=24)
        .map(|b| f64::from(1 << b))
        .map(|n| n * (n.log2() + 1.0) / (4.0 * (n - taps as f64 + 1.0)))
        .filter(|c| *c > 0.0)
        .fold(f64::INFINITY, f64::min)
}

fn resample<T: FilterSample + Bits>(
    taps: &[Complex32],
    x: &[T],
    channels: usize,
    rate: OutputRate,
) -> ConvRun<T> {
    let samples = x.len() / channels;
    let filter = Convolver::resampler::<T>(&VM7, taps, channels, samples, rate).unwrap();
    judged(
        &filter,
        x,
        &ConvProblem::resampled(taps, channels, samples, rate).unwrap(),
    )
}

/// A row of a table: machine, taps, samples.
type Row = (&'static str, usize, usize);

/// Rows that were asked for: one test measures a row, other tests that want it wait.
type Rows = HashMap<Row, Arc<OnceLock<Arc<Measured>>>>;

/// The measured and expected cycles of one channel of complex samples, and true if the result is right.
struct Measured {
    kernel: String,
    expected: f64,
    report: RunReport,
    efficiency: f64,
    operations: Vec<(Class, u64)>,
    holds: bool,
}

/// Plans and runs a row once for several tests, since planning a million samples takes seconds.
fn measured((name, taps, samples): Row) -> Arc<Measured> {
    static ROWS: LazyLock<Mutex<Rows>> = LazyLock::new(Mutex::default);
    let row = {
        let mut rows = ROWS.lock().unwrap();
        rows.entry((name, taps, samples)).or_default().clone()
    };
    let made = row.get_or_init(|| {
        let (h, x) = (complex(taps, 2), complex(samples, 1));
        let filter =
            Convolver::new::<Complex32>(&machine(name), &h, 1, samples, ConvolutionMode::Full)
                .unwrap();
        let problem = ConvProblem::new(&h, 1, samples, ConvolutionMode::Full).unwrap();
        let done = filter.process(&x).unwrap();
        let operations = filter.operations::<Complex32>(1).into_iter().flatten();
        Arc::new(Measured {
            kernel: filter.kernel().to_owned(),
            expected: filter.choice().candidates[0].cycles.unwrap(),
            efficiency: done.efficiency(),
            operations: operations.collect(),
            holds: problem
                .compare(&x, done.output.as_ref().unwrap())
                .is_within_tolerance(),
            report: done.run.report,
        })
    });
    made.clone()
}
