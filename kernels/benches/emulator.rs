//! Benchmarks the emulator on FFTs in DMEM and paged, and the FFT planner.
//!
//! Every engine is measured, in words per second of host time (`cp2 bench emu` is the short form):
//! `cargo bench -p cp2-kernels --bench emulator [-- FILTER]`.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use cp2_emu::Engine;
use cp2_host::{DeviceOptions, Trace};
use cp2_kernels::Random;
use cp2_kernels::fft::{Fft as _, FftPlanner, TransformDirection};
use cp2_machine::Machine;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use num_complex::Complex32;
use std::sync::Arc;
use std::time::Duration;

const ENGINES: [(&str, Engine); 4] = [
    ("reference", Engine::Reference),
    ("portable", Engine::Portable),
    ("avx2", Engine::Avx2),
    ("fast", Engine::Fast),
];

fn options(engine: Engine) -> DeviceOptions {
    DeviceOptions {
        engine,
        trace: Trace::none(),
        ..DeviceOptions::default()
    }
}

fn ffts(criterion: &mut Criterion) {
    let machine: Arc<Machine> = Machine::builtin("vm7").unwrap().into();
    let planner = FftPlanner::new(machine);
    for n in [256, 1024, 4096] {
        let fft = planner.plan_local(n, TransformDirection::Forward).unwrap();
        let mut group = criterion.benchmark_group(format!("fft-{n}"));
        for (name, engine) in ENGINES {
            let (mut resident, _) = fft.resident(name, options(engine)).unwrap();
            group.throughput(Throughput::Elements(resident.run().unwrap().words));
            group.bench_function(BenchmarkId::new("resident", name), |b| {
                // Restoring the input is no work of the emulator and is not timed.
                b.iter_custom(|times| {
                    let run = |_| Duration::from_secs_f64(resident.run().unwrap().seconds);
                    (0..times).map(run).sum()
                });
            });
            let mut random = Random::new(1);
            let x: Vec<Complex32> = (0..64 * n).map(|_| random.complex()).collect();
            let words = |engine| {
                let done = fft.process_with(&x, options(engine)).unwrap();
                done.run.report.counters.words
            };
            group.throughput(Throughput::Elements(words(engine)));
            group.bench_function(BenchmarkId::new("paged", name), |b| {
                b.iter(|| words(engine))
            });
        }
        group.finish();
    }
}

/// Benchmarks the planning of FFTs: what a command does before a run, assembling a kernel and comparing
/// recipes.
fn plans(criterion: &mut Criterion) {
    let machine: Arc<Machine> = Machine::builtin("vm7").unwrap().into();
    let mut group = criterion.benchmark_group("plan");
    for n in [256, 1024, 4096] {
        group.bench_function(BenchmarkId::new("kernel", n), |b| {
            let planner = FftPlanner::new(machine.clone());
            b.iter(|| planner.plan_local(n, TransformDirection::Forward).unwrap());
        });
        group.bench_function(BenchmarkId::new("of-4", n), |b| {
            let planner = FftPlanner::with_batch(machine.clone(), 4);
            b.iter(|| planner.choice(n, TransformDirection::Forward).unwrap());
        });
    }
    group.finish();
}

criterion_group! {
    name = emulator;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(2));
    targets = ffts, plans
}
criterion_main!(emulator);
