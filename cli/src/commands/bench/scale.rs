//! `cp2 bench scale`: host time and memory of many processors.

use super::MachineArg;
use crate::interrupt;
use crate::memory::check_memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::progress;
use crate::provenance::ReportProvenance;
use crate::simulation::EngineArg;
use crate::table::{Align, TextTable, seconds};
use cp2_emu::Engine;
use cp2_kernels::bench::{ScaleFigures, ScaleLoad};
use serde_json::{Value, json};
use std::sync::Arc;

/// Bytes of host memory that a processor of a load takes at most.
const PROCESSOR: u64 = 4 << 20;

/// Arguments of `bench scale`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: cp2 bench scale --workload mg --procs 1,64 --threads 1,2")]
pub(super) struct ScaleArgs {
    #[command(flatten)]
    machine: MachineArg,
    /// Share of each processor: a slab of a stencil with halos, or V-cycles of multigrid by itself
    #[arg(long, value_name = "LOAD", value_enum, default_value_t = WorkloadName::Stencil)]
    workload: WorkloadName,
    /// Numbers of processors, 1 to 1024 each
    #[arg(long, value_name = "P,..", value_delimiter = ',', default_values_t = [1, 16, 64],
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    procs: Vec<u16>,
    /// Numbers of host threads that processors share, 1 to 64 each
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1, 2],
        value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: Vec<u8>,
    #[command(flatten)]
    engine: EngineArg,
}

/// The `--workload` option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum WorkloadName {
    /// A slab of 4 planes of 64 x 64, 7 points, 8 steps with halos
    Stencil,
    /// 4 V-cycles on 32^3 points, without messages
    Mg,
}

/// Runs `cp2 bench scale`.
pub(super) fn run(args: &ScaleArgs, json: bool) -> Result<CommandOutcome, CommandFailure> {
    crate::processors::refuse_ranks()?;
    let machine = Arc::new(args.machine.load()?);
    let engine = Engine::from(args.engine).resolve_engine(&machine);
    let load = match args.workload {
        WorkloadName::Stencil => ScaleLoad::Stencil,
        WorkloadName::Mg => ScaleLoad::Multigrid,
    };
    // Ascending: what a run before has left to the allocator is then never more than the next one takes.
    let mut procs: Vec<usize> = args.procs.iter().map(|&procs| procs.into()).collect();
    procs.sort_unstable();
    procs.dedup();
    let mut threads: Vec<usize> = args.threads.iter().map(|&threads| threads.into()).collect();
    threads.sort_unstable();
    threads.dedup();
    let most = procs.last().copied().unwrap_or(1);
    check_memory(
        format!("{most} processors"),
        PROCESSOR.saturating_mul(most as u64),
    )?;
    let bar = progress::steps((procs.len() * threads.len()) as u64, json);
    let mut figures: Vec<ScaleFigures> = Vec::new();
    for &procs in &procs {
        for &threads in &threads {
            bar.begin(&format!("{procs} processors on {threads} threads"));
            let flag = Some(interrupt::flag());
            let measured = load.measure(&machine, engine, (procs, threads), flag);
            interrupt::check()?;
            figures.push(measured.map_err(CommandFailure::input)?);
            bar.count_step();
        }
    }
    drop(bar);
    let report = json!({
        "engine": engine,
        "tier": engine.tier(),
        "workload": load.name(),
        "runs": figures.iter().map(object).collect::<Vec<_>>(),
    });
    Ok(CommandOutcome {
        text: text(load, &figures),
        json: ReportProvenance::new("cp2-bench-scale/1", &machine, None).add_figures(report),
        ..CommandOutcome::default()
    })
}

fn object(figures: &ScaleFigures) -> Value {
    json!({
        "procs": figures.processors,
        "threads": figures.threads,
        "plan_seconds": figures.plan.as_secs_f64(),
        "make_seconds": figures.make.as_secs_f64(),
        "host_seconds": figures.run.as_secs_f64(),
        "work_seconds": figures.work.as_secs_f64(),
        "seconds_per_message": figures.seconds_per_message(),
        "resident_bytes": figures.resident,
        "cycles": figures.cycles,
        "messages": figures.network.messages,
        "message_bytes": figures.network.message_bytes,
    })
}

fn text(load: ScaleLoad, figures: &[ScaleFigures]) -> String {
    let mut table = TextTable::new(&[Align::Right; 9]);
    table.row([
        "processors",
        "threads",
        "jobs made",
        "run",
        "per processor",
        "times one thread",
        "messages",
        "each beside work",
        "resident",
    ]);
    for own in figures {
        let run = own.run.as_secs_f64();
        let alone = figures
            .iter()
            .find(|other| other.processors == own.processors && other.threads == 1);
        let times = alone.map(|alone| format!("{:.2}", alone.run.as_secs_f64() / run));
        let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        table.row([
            own.processors.to_string(),
            own.threads.to_string(),
            seconds(own.make.as_secs_f64()),
            seconds(run),
            seconds(run / own.processors as f64),
            times.unwrap_or_default(),
            own.network.messages.to_string(),
            own.seconds_per_message().map(seconds).unwrap_or_default(),
            own.resident.map(mib).unwrap_or_default(),
        ]);
    }
    format!(
        "{}, one share for each processor; host time and memory, each measured once\n{table}",
        load.name()
    )
}
