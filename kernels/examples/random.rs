//! Runs drawn at random, any number of them: machine, kernel, size and input.
//!
//! `cargo run --release -p cp2-kernels --example random -- [--seed FIRST] [--count RUNS] [--threads N] [--show]`
//!
//! A seed stands for a run. Of each that is wrong, does not end or panics there is a line, and the
//! command that repeats it; `--show` prints every run, and of a single one the machine as a file.
#![allow(clippy::unwrap_used, reason = "shared with tests")]

#[path = "../tests/suite/random/machines.rs"]
mod machines;
#[path = "../tests/suite/random/plans.rs"]
mod plans;
#[path = "../tests/suite/random/subjects.rs"]
mod subjects;
#[path = "../tests/suite/random/trial.rs"]
mod trial;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trial::{End, Trial};

/// Host time after which a run is worth a line, whatever comes of it.
const LONG: Duration = Duration::from_secs(20);

struct Args {
    seed: u64,
    count: u64,
    threads: usize,
    show: bool,
}

impl Args {
    fn read() -> Option<Self> {
        let mut args = Self {
            seed: 0,
            count: 1,
            threads: 1,
            show: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            if word == "--show" {
                args.show = true;
                continue;
            }
            let number: u64 = words.next()?.parse().ok()?;
            match word.as_str() {
                "--seed" => args.seed = number,
                "--count" => args.count = number,
                "--threads" => args.threads = usize::try_from(number).ok()?,
                _ => return None,
            }
        }
        Some(args)
    }
}

fn main() -> ExitCode {
    let Some(args) = Args::read() else {
        eprintln!("expected [--seed FIRST] [--count RUNS] [--threads N] [--show]");
        return ExitCode::from(2);
    };
    let (next, counts) = (AtomicU64::new(0), [const { AtomicU64::new(0) }; 3]);
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= args.count {
                    return;
                }
                let which = carry_out(args.seed.wrapping_add(index), &args);
                counts[which].fetch_add(1, Ordering::Relaxed);
            }
        };
        for _ in 1..args.threads {
            // Fewer where no more can be started.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let [right, refused, wrong] = counts.map(AtomicU64::into_inner);
    println!(
        "{} runs: {right} right, {refused} refused, {wrong} wrong",
        args.count
    );
    ExitCode::from(u8::from(wrong > 0))
}

/// 0 for right, 1 for refused, 2 for wrong.
fn carry_out(seed: u64, args: &Args) -> usize {
    let trial = Trial::of(seed);
    let started = Instant::now();
    let end = trial.run();
    let seconds = started.elapsed();
    let (which, said) = match &end {
        End::Right => (0, "right".to_owned()),
        End::Refused(why) => (1, format!("refused: {why}")),
        End::Wrong(what) => (2, format!("WRONG: {what}")),
    };
    if args.show || which == 2 || seconds > LONG {
        println!("{}: {said} ({:.1} s)", trial.title(), seconds.as_secs_f64());
    }
    if which == 2 {
        println!(
            "  again: cargo run --release -p cp2-kernels --example random -- --seed {seed} --show"
        );
    }
    if args.show && args.count == 1 {
        println!("{}", trial.text);
    }
    which
}
