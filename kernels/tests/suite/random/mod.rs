//! Runs drawn at random: machine, kernel, size and input. Each is right, or refused in words: never
//! wrong, endless, or a panic.
//!
//! A seed stands for a run. Any number of them: `cargo run --release -p cp2-kernels --example random -- --count 5000`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod machines;
mod plans;
mod subjects;
mod trial;

use trial::{End, Trial};

/// Those that are always run: of every subject some, and some seconds.
const RUNS: u64 = 160;

#[test]
fn runs_drawn_at_random_are_right_or_refused() {
    let (mut right, mut wrong) = (0, Vec::new());
    for seed in 0..RUNS {
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
    // Most machines have a place for most sizes.
    assert!(right >= RUNS / 2, "{right} of {RUNS}");
}

#[test]
fn a_seed_stands_for_one_run() {
    for seed in [1, 77, 1 << 40] {
        assert_eq!(Trial::of(seed).title(), Trial::of(seed).title());
    }
    assert_ne!(Trial::of(1).title(), Trial::of(2).title());
}
