//! Judges the elementary functions on all 2^32 arguments.
//!
//! `cargo run --release -p cp2-emu --example elementary_error [function..]`
//! prints, per function, the number of results that are not the correctly
//! rounded ones and the largest error in units in the last place. The figures
//! in `docs/numerics.md` are its output.

use cp2_emu::semantics::elementary::{Function, evaluate};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

#[allow(dead_code)]
#[path = "../tests/emulator/support/oracle.rs"]
mod oracle;

/// Arguments in one unit of work.
const BLOCK: u32 = 1 << 20;

#[derive(Default)]
struct Report {
    finite: u64,
    misrounded: Vec<u32>,
    wrong: Vec<u32>,
}

fn check(function: Function, first: u32, report: &mut Report) {
    for x in first..=first + (BLOCK - 1) {
        let (got, exact) = (
            f32::from_bits(evaluate(function, x)),
            oracle::rounded(function, f32::from_bits(x)),
        );
        if got.is_finite() {
            report.finite += 1;
        }
        if got.to_bits() == exact.to_bits()
            || got.is_nan() && exact.is_nan()
            || got == 0.0 && exact == 0.0
        {
            continue;
        }
        if got.is_finite()
            && exact.is_finite()
            && (i64::from(got.to_bits()) - i64::from(exact.to_bits())).abs() <= 1
        {
            report.misrounded.push(x);
        } else {
            report.wrong.push(x);
        }
    }
}

fn sweep(function: Function) -> Report {
    let (next, total) = (AtomicU32::new(0), Mutex::new(Report::default()));
    let work = || {
        let mut report = Report::default();
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block > u32::MAX / BLOCK {
                break;
            }
            check(function, block * BLOCK, &mut report);
        }
        if let Ok(mut total) = total.lock() {
            total.finite += report.finite;
            total.misrounded.extend(report.misrounded);
            total.wrong.extend(report.wrong);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..std::thread::available_parallelism().map_or(1, NonZero::get) {
            // Fewer threads do where the host refuses to start more.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    total.into_inner().unwrap_or_default()
}

fn main() {
    let names: Vec<String> = std::env::args()
        .skip(1)
        .map(|name| name.to_lowercase())
        .collect();
    for function in Function::ALL {
        let name = format!("{function:?}").to_lowercase();
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let mut report = sweep(function);
        report.misrounded.sort_unstable();
        report.wrong.sort_unstable();
        let error = |&x: &u32| {
            oracle::ulps(
                function,
                f32::from_bits(x),
                f32::from_bits(evaluate(function, x)),
            )
        };
        // A correctly rounded result is within half a unit.
        let worst = report.misrounded.iter().map(error).fold(0.5, f64::max);
        println!(
            "{name}: {} finite results, {} not correctly rounded, largest error {worst:.9} ulp, {} wrong",
            report.finite,
            report.misrounded.len(),
            report.wrong.len()
        );
        for (label, list) in [
            ("not correctly rounded", &report.misrounded),
            ("wrong", &report.wrong),
        ] {
            for x in list.iter().take(8) {
                println!(
                    "  {label}: x = {x:08x} gives {:08x}",
                    evaluate(function, *x)
                );
            }
        }
    }
}
