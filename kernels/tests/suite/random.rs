//! Tests random runs: machine, kernel, size and input are drawn by a seed.
//!
//! Each run is right, or refused in words: never wrong, endless, or a panic.
//!
//! A seed stands for a run. Any number of them:
//! `cargo run --release -p cp2-kernels --example random -- --count 5000`; from `--seed 4294967296` on they
//! are benchmarks.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod machines;
mod plans;
mod subjects;
mod trial;

pub(crate) use subjects::BENCHMARKS;
use trial::End;
pub(crate) use trial::Trial;

/// Number of runs that are always carried out: some of every subject, within seconds.
const RUNS: u64 = 160;
/// Number of runs of benchmarks that are always carried out.
const BENCHMARK_RUNS: u64 = 40;

#[test]
fn runs_drawn_at_random_are_right_or_refused() {
    // Most machines have room for most sizes.
    let right = all_right(0..RUNS);
    assert!(right >= RUNS / 2, "{right} of {RUNS}");
}

#[test]
fn benchmarks_drawn_at_random_are_right_or_refused() {
    let right = all_right(BENCHMARKS..BENCHMARKS + BENCHMARK_RUNS);
    assert!(right >= BENCHMARK_RUNS / 4, "{right} of {BENCHMARK_RUNS}");
}

/// Carries runs out, none of which may be wrong; returns how many are right.
#[track_caller]
fn all_right(seeds: std::ops::Range<u64>) -> u64 {
    let (mut right, mut wrong) = (0, Vec::new());
    for seed in seeds {
        let trial = Trial::of(seed);
        match trial.run() {
            End::Right => right += 1,
            End::Refused(_) => {}
            End::Wrong(what) => wrong.push(format!(
                "{}: {what}\n  again: cargo run --release -p cp2-kernels --example random -- --seed {seed}",
                trial.title()
            )),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    right
}

#[test]
fn a_seed_stands_for_one_run() {
    for seed in [1, 77, 1 << 40] {
        assert_eq!(Trial::of(seed).title(), Trial::of(seed).title());
    }
    assert_ne!(Trial::of(1).title(), Trial::of(2).title());
}
