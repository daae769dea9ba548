//! Prints the arrays of docs/fft-arrays.md that are far from their bound.
//!
//! The table "What is below 0.80" has arrays of two and three axes that take more than 1/0.8 of their bound,
//! and where their cycles go.
//!
//! `cargo run --release -p cp2-kernels --example far_arrays [BITS [BATCH..]]`: arrays of up to 2^BITS
//! numbers, 2^18 by default, in batches of BATCH, one array, 4 and 8 by default.

use cp2_emu::Cause;
use cp2_kernels::fft::{Fft as _, FftNd, TransformDirection};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::sync::Arc;

fn shapes(most: u32) -> Vec<Vec<usize>> {
    let mut shapes = Vec::new();
    for first in 2..=11 {
        for last in 4..=11 {
            for middle in [None].into_iter().chain((2..=11).map(Some)) {
                if (10..=most).contains(&(first + last + middle.unwrap_or(0))) {
                    let bits = [Some(first), middle, Some(last)];
                    shapes.push(bits.into_iter().flatten().map(|b| 1 << b).collect());
                }
            }
        }
    }
    shapes.sort_by_key(|shape: &Vec<usize>| (shape.iter().product::<usize>(), shape.clone()));
    shapes
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let most = args.next().map_or(Ok(18), |bits| bits.parse())?;
    let mut batches = args
        .map(|batch| batch.parse())
        .collect::<Result<Vec<usize>, _>>()?;
    if batches.is_empty() {
        batches = vec![1, 4, 8];
    }
    for batch in batches {
        for shape in shapes(most) {
            for name in ["vm7", "vm9"] {
                let machine = Arc::new(Machine::builtin(name).ok_or("no such machine")?);
                let Ok(fft) = FftNd::new(&shape, TransformDirection::Forward, machine) else {
                    continue;
                };
                let expected = fft.expected(batch)?.0 as f64;
                if fft.figures(batch).reference.0 as f64 / expected >= 0.82 {
                    continue;
                }
                let numbers = (0..batch * fft.len()).map(|i| (i * 37 % 101) as f32 - 50.0);
                let x: Vec<Complex32> = numbers.map(|x| Complex32::new(x, -x)).collect();
                let done = fft.process(&x)?;
                if done.efficiency() >= 0.8 {
                    continue;
                }
                let report = &done.run.report;
                let waits = [
                    Cause::WaitLoad,
                    Cause::WaitStore,
                    Cause::WaitHost,
                    Cause::Launch,
                ];
                let waits = waits.map(|cause| report.causes.get(cause));
                let text: Vec<String> = shape.iter().map(usize::to_string).collect();
                let pages: u64 = done.passes.iter().map(|pass| pass.pages()).sum();
                let [loads, stores, host, launches] = waits;
                println!(
                    "| {} | {batch} | {name} | {pages} | {} | {} | {:.3} | {} | {loads} | {stores} | {host} | {launches} | {} |",
                    text.join("x"),
                    report.cycles,
                    done.figures.reference.0,
                    done.efficiency(),
                    report.cycles - waits.iter().sum::<u64>(),
                    fft.least_of_plans(batch).floor(),
                );
            }
        }
    }
    Ok(())
}
