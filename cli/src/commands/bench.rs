//! `cp2 bench`: measures speed on this computer, of this emulator and of shaders.

mod gpu;
mod scale;

use super::MachineArg;
use crate::interrupt;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::provenance::ReportProvenance;
use crate::simulation::EngineArg;
use crate::table::{Align, TextTable, seconds};
use cp2_emu::Engine;
use cp2_kernels::bench::{BenchFigures, measure};
use cp2_machine::Machine;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: BenchTarget,
}

/// Subject of the measurement.
#[derive(Debug, clap::Subcommand)]
enum BenchTarget {
    /// How fast this computer emulates: words per second, and transforms beside rustfft's
    Emu(EmuArgs),
    /// How host time and memory grow with the number of processors, on one host thread and on several
    Scale(scale::ScaleArgs),
    /// How fast the shaders of a graphics card are, beside a copy on it
    Gpu(gpu::GpuArgs),
}

/// Arguments of `bench emu`.
#[derive(Debug, clap::Args)]
struct EmuArgs {
    #[command(flatten)]
    machine: MachineArg,
    /// Host seconds to repeat the workloads for; each runs at least once
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = parse_seconds)]
    seconds: f64,
    #[command(flatten)]
    engine: EngineArg,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (0.0..=3600.0).contains(&number) {
        Ok(number)
    } else {
        Err("expected 0 to 3600 seconds".to_owned())
    }
}

/// Runs `cp2 bench`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    match &args.what {
        BenchTarget::Emu(args) => emulate(args),
        BenchTarget::Scale(args) => scale::run(args, json),
        BenchTarget::Gpu(args) => gpu::run(args, json),
    }
}

/// Runs `cp2 bench emu`.
fn emulate(args: &EmuArgs) -> Result<CommandOutcome, CommandFailure> {
    let machine = Arc::new(args.machine.load()?);
    let engine = Engine::from(args.engine).resolve_engine(&machine);
    let time = Duration::from_secs_f64(args.seconds);
    let figures = measure(&machine, engine, time, &|| interrupt::check().is_err())
        .map_err(CommandFailure::input)?;
    interrupt::check()?;
    let workloads: Vec<Value> = figures.iter().map(|f| object(f, &machine)).collect();
    let features = host_features();
    let json = json!({
        "engine": engine,
        "tier": engine.tier(),
        "host": { "architecture": std::env::consts::ARCH, "features": features },
        "threads": 1,
        "native": "rustfft",
        "workloads": workloads,
    });
    Ok(CommandOutcome {
        text: text(&figures, &machine, engine, &features),
        json: ReportProvenance::new("cp2-bench-emu/1", &machine, None).add_figures(json),
        ..CommandOutcome::default()
    })
}

fn object(figures: &BenchFigures, machine: &Machine) -> Value {
    json!({
        "name": figures.name,
        "words_per_second": figures.words_per_second(),
        "real_time_factor": figures.real_time_factor(machine),
        "slowdown_vs_rustfft": figures.slowdown(),
        "words": figures.best.words,
        "cycles": figures.best.cycles,
        "host_seconds": figures.best.seconds,
        "rustfft_seconds": figures.native,
        "transforms": figures.transforms,
        "repetitions": figures.repetitions,
    })
}

fn text(figures: &[BenchFigures], machine: &Machine, engine: Engine, features: &[&str]) -> String {
    use Align::{Left, Right};
    let mut table = TextTable::new(&[Left, Right, Right, Right, Right, Right]);
    table.row([
        "workload",
        "M words/s",
        "x real time",
        "host time",
        "per transform",
        "x rustfft",
    ]);
    let number = |x: f64| format!("{x:.2}");
    for f in figures {
        let each = f.transforms.map(|n| f.best.seconds / n as f64);
        table.row([
            f.name.clone(),
            number(f.words_per_second() / 1e6),
            number(f.real_time_factor(machine)),
            seconds(f.best.seconds),
            each.map(seconds).unwrap_or_default(),
            f.slowdown().map(number).unwrap_or_default(),
        ]);
    }
    format!(
        "{table}least host time of repetitions in bursts on one thread; executed words; \
         real time is that of {}, {} MHz\ntier: {}, host: {}{}{}\n",
        machine.name,
        machine.cp2.clock_hz / 1_000_000,
        engine.tier(),
        std::env::consts::ARCH,
        if features.is_empty() { "" } else { ", " },
        features.join(" "),
    )
}

/// Returns the names of the host's SIMD features that the emulator and rustfft may use.
fn host_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let found = [
            ("sse4.1", is_x86_feature_detected!("sse4.1")),
            ("avx", is_x86_feature_detected!("avx")),
            ("avx2", is_x86_feature_detected!("avx2")),
            ("fma", is_x86_feature_detected!("fma")),
            ("avx512f", is_x86_feature_detected!("avx512f")),
            ("avx512bw", is_x86_feature_detected!("avx512bw")),
            ("avx512dq", is_x86_feature_detected!("avx512dq")),
            ("avx512vl", is_x86_feature_detected!("avx512vl")),
        ];
        found.iter().filter(|f| f.1).map(|f| f.0).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}
