//! Tests FFTs through the whole machine, under the checkers.

#![allow(clippy::unwrap_used, clippy::panic)]

mod cycles;
mod random;
mod recipes;
mod uses;
mod values;

use cp2_emu::Cause;
use cp2_host::DeviceOptions;
use cp2_host::testing::on_both_engines;
use cp2_kernels::fft::{Fft, FftPlanner, FftProblem, FftRun, LocalFft, TransformDirection};
use cp2_kernels::{Random, Verdict};
use cp2_machine::Machine;
use num_complex::Complex32;
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

const DIRECTIONS: [TransformDirection; 2] =
    [TransformDirection::Forward, TransformDirection::Inverse];

fn lengths() -> impl Iterator<Item = usize> {
    (4..=12).map(|b| 1 << b)
}

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

/// Plans for vm7, `[direction][log2 n - 4]`.
static PLANS: LazyLock<[Vec<Arc<LocalFft>>; 2]> = LazyLock::new(|| {
    let planner = FftPlanner::new(machine("vm7"));
    DIRECTIONS.map(|d| {
        lengths()
            .map(|n| planner.plan_local(n, d).unwrap())
            .collect()
    })
});

fn plan(n: usize, direction: TransformDirection) -> &'static LocalFft {
    &PLANS[direction as usize][n.ilog2() as usize - 4]
}

/// Runs under the checkers, which must find nothing, and on the fast engine.
fn run(fft: &LocalFft, x: &[Complex32]) -> FftRun {
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
    assert_eq!(report.causes.total(), report.cycles, "{}", fft.recipe());
    let findings: Vec<String> = report
        .findings
        .iter()
        .map(|f| {
            let place = f.pc.and_then(|pc| fft.kernel().location(pc as usize));
            format!("{f} at {place:?}")
        })
        .collect();
    assert!(findings.is_empty(), "{}: {findings:#?}", fft.recipe());
    done
}

fn output(fft: &LocalFft, x: &[Complex32]) -> Vec<Complex32> {
    run(fft, x).output.unwrap()
}

fn bits(x: &[Complex32]) -> Vec<(u32, u32)> {
    x.iter().map(|z| (z.re.to_bits(), z.im.to_bits())).collect()
}

fn judge(n: usize, direction: TransformDirection, x: &[Complex32], y: &[Complex32]) -> Verdict {
    FftProblem::new(n, direction, x.len() / n)
        .unwrap()
        .verdict(x, y)
}
