//! Prints the table of `docs/engine.md`: paged transforms on host threads.
//!
//! `cargo run --release -p cp2-kernels --example threads [THREADS] [NUMBERS]`
//!
//! Jobs are prepared once and run in turns on one thread and on several; the least time counts.

use cp2_host::{DeviceOptions, Trace};
use cp2_kernels::Random;
use cp2_kernels::fft::{Fft as _, FftPlanner, TransformDirection};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Number of runs for each number of threads.
const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |n| n.parse());
    let (threads, numbers) = (number(2)?, number(1 << 23)?);
    let machine: Arc<Machine> = Machine::builtin("vm7").ok_or("no vm7")?.into();
    println!("| N | batch | one thread, ms | {threads} threads, ms | times as fast | ran ahead |");
    println!("|---:|---:|---:|---:|---:|---:|");
    for n in [256, 1024, 4096] {
        let fft = FftPlanner::new(machine.clone()).plan_local(n, TransformDirection::Forward)?;
        let mut random = Random::new(1);
        let x: Vec<Complex32> = (0..numbers / n * n).map(|_| random.complex()).collect();
        let taken = Arc::new(AtomicU64::new(0));
        let options = |threads| DeviceOptions {
            threads,
            taken_over: Some(taken.clone()),
            trace: Trace::none(),
            ..DeviceOptions::default()
        };
        let mut jobs = [
            fft.prepare(&x, options(1))?,
            fft.prepare(&x, options(threads))?,
        ];
        let mut least = [f64::INFINITY; 2];
        let mut cycles = [0; 2];
        for _ in 0..RUNS {
            for (k, job) in jobs.iter_mut().enumerate() {
                let start = Instant::now();
                cycles[k] = job.run()?.cycles;
                least[k] = least[k].min(start.elapsed().as_secs_f64());
            }
        }
        if cycles[0] != cycles[1] {
            return Err(format!("{n}: {cycles:?} cycles").into());
        }
        println!(
            "| {n} | {} | {:.1} | {:.1} | {:.2} | {} |",
            x.len() / n,
            1e3 * least[0],
            1e3 * least[1],
            least[0] / least[1],
            taken.load(Ordering::Relaxed) / RUNS as u64,
        );
    }
    Ok(())
}
