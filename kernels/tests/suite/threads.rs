//! Tests kernels on several host threads: equal results, real parallelism.
//!
//! Everything visible is equal to one thread, and kernels that repeat themselves really run ahead of their
//! turn.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::{Bits, complex, machine};
use cp2_host::{DeviceOptions, RunReport};
use cp2_kernels::conv::{ConvolutionMode, Convolver};
use cp2_kernels::fft::{Fft, FftPlanner, FourStepFft, TransformDirection};
use num_complex::Complex32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Compares one thread with several; returns how many stretches ran ahead of their turn.
fn compared<T: Bits>(threads: usize, run: impl Fn(DeviceOptions) -> (RunReport, Vec<T>)) -> u64 {
    let taken = Arc::new(AtomicU64::new(0));
    let [one, many] = [1, threads].map(|threads| {
        let (report, output) = run(DeviceOptions {
            threads,
            taken_over: Some(taken.clone()),
            ..DeviceOptions::default()
        });
        assert!(report.end.is_finished());
        (report, output)
    });
    assert_eq!(one.0.cycles, many.0.cycles);
    assert!(one.0 == many.0);
    let bits = |output: &[T]| output.iter().map(|x| x.bits()).collect::<Vec<_>>();
    assert!(bits(&one.1) == bits(&many.1));
    taken.load(Ordering::Relaxed)
}

fn transforms(fft: &dyn Fft, batch: usize, threads: usize) -> u64 {
    let x = complex(7, fft.len() * batch);
    compared(threads, |options| {
        let done = fft.process_with(&x, options).unwrap();
        (done.run.report, done.output.unwrap())
    })
}

#[test]
fn transforms_run_ahead_of_their_turn() {
    let planner = FftPlanner::new(machine("vm7"));
    for (n, batch) in [(256, 6000), (1024, 1500), (4096, 1600)] {
        let fft = planner.plan_local(n, TransformDirection::Forward).unwrap();
        assert!(transforms(&*fft, batch, 2) > 0, "{n}");
    }
}

#[test]
fn prepared_jobs_run_again_on_several_threads() {
    let fft = FftPlanner::new(machine("vm7"))
        .plan_local(64, TransformDirection::Inverse)
        .unwrap();
    let inputs = [1, 2, 3].map(|seed| complex(seed, 64 * 20_000));
    let taken = compared(3, |options| {
        let mut job = fft.prepare(&inputs[0], options).unwrap();
        let mut reports = Vec::new();
        let mut all = Vec::new();
        for input in &inputs {
            job.write("x", input).unwrap();
            reports.push(job.run().unwrap());
            let mut output = vec![Complex32::default(); input.len()];
            job.read("y", &mut output).unwrap();
            all.extend(output);
        }
        assert!(reports.iter().all(|report| *report == reports[0]));
        (reports.remove(0), all)
    });
    assert_eq!(taken, 6);
}

#[test]
fn passes_that_hang_on_each_other_are_the_same() {
    let vm7 = machine("vm7");
    let large = FourStepFft::new(1 << 16, TransformDirection::Forward, vm7.clone()).unwrap();
    transforms(&large, 4, 2);
    let taps = complex(3, 1025);
    let samples = complex(4, 1 << 19);
    let filter =
        Convolver::new::<Complex32>(&vm7, &taps, 1, samples.len(), ConvolutionMode::Same).unwrap();
    compared(2, |options| {
        let done = filter.process_with(&samples, options).unwrap();
        (done.run.report, done.output.unwrap())
    });
}
