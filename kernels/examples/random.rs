//! Runs random trials: machine, kernel, size and input are drawn by a seed.
//!
//! `cargo run --release -p cp2-kernels --example random --
//! [--subject NAME] [--seed FIRST] [--count RUNS] [--threads N] [--show]`
//!
//! A seed stands for a run. With `--subject`, seeds of other kernels and problems are skipped: RUNS are left,
//! the first of them from FIRST on, or from 2^32 + FIRST on for benchmarks. For each run that is wrong, does
//! not end or panics, a line is printed and the command that repeats it; `--show` prints every run, and for a
//! single one the machine as a file.
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
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use subjects::{BENCHMARKS, Subject};
use trial::{End, Trial};

/// Host time after which a run gets a line, whatever its result.
const LONG: Duration = Duration::from_secs(20);

struct Args {
    subject: Option<String>,
    seed: u64,
    count: u64,
    threads: usize,
    show: bool,
}

impl Args {
    fn read() -> Option<Self> {
        let mut args = Self {
            subject: None,
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
            if word == "--subject" {
                args.subject = Some(words.next()?);
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

    /// Returns the seeds that may stand for the runs asked for: all from the first one on, or those of
    /// benchmarks or of everything else.
    fn seeds(&self) -> Result<Box<dyn Iterator<Item = u64> + Send>, String> {
        let Some(subject) = &self.subject else {
            let first = self.seed;
            return Ok(Box::new((0..).map(move |index| first.wrapping_add(index))));
        };
        let names = |benchmarks| Subject::all(benchmarks).into_iter().map(Subject::name);
        if names(true).any(|name| name == subject) {
            let first = match self.seed < BENCHMARKS {
                true => self.seed + BENCHMARKS,
                false => self.seed,
            };
            return Ok(Box::new(first..=u64::MAX));
        }
        if names(false).any(|name| name == subject) {
            return match self.seed < BENCHMARKS {
                true => Ok(Box::new(self.seed..BENCHMARKS)),
                false => Err(format!(
                    "--seed {}: expected less than {BENCHMARKS}, from where on runs are of benchmarks",
                    self.seed
                )),
            };
        }
        let all: Vec<_> = names(false).chain(names(true)).collect();
        Err(format!(
            "--subject {subject}: expected one of {}",
            all.join(", ")
        ))
    }
}

fn main() -> ExitCode {
    let Some(args) = Args::read() else {
        eprintln!("expected [--subject NAME] [--seed FIRST] [--count RUNS] [--threads N] [--show]");
        return ExitCode::from(2);
    };
    let seeds = match args.seeds() {
        Ok(seeds) => seeds,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let is_of = |trial: &Trial| {
        let subject = args.subject.as_deref();
        subject.is_none_or(|subject| trial.subject.name() == subject)
    };
    let trials = seeds.map(Trial::of).filter(is_of);
    let trials = Mutex::new(trials.take(usize::try_from(args.count).unwrap_or(usize::MAX)));
    let counts = [const { AtomicU64::new(0) }; 3];
    std::thread::scope(|scope| {
        let work = || {
            loop {
                let Some(trial) = trials.lock().unwrap().next() else {
                    return;
                };
                let which = carry_out(&trial, &args);
                counts[which].fetch_add(1, Ordering::Relaxed);
            }
        };
        for _ in 1..args.threads {
            // Fewer threads suffice where no more can be started.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let [right, refused, wrong] = counts.map(AtomicU64::into_inner);
    println!(
        "{} runs: {right} right, {refused} refused, {wrong} wrong",
        right + refused + wrong
    );
    ExitCode::from(u8::from(wrong > 0))
}

/// Carries a run out; returns 0 if it is right, 1 if it is refused, 2 if it is wrong.
fn carry_out(trial: &Trial, args: &Args) -> usize {
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
            "  again: cargo run --release -p cp2-kernels --example random -- --seed {} --show",
            trial.seed
        );
    }
    if args.show && args.count == 1 {
        println!("{}", trial.text);
    }
    which
}
