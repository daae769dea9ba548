//! `cp2 tune`: tries all passes and blocks of a benchmark by their prices.

use super::MachineArg;
use super::npb::mg::{describe_price, split};
use super::npb::tuned::TuningFile;
use crate::interrupt;
use crate::io::{Outputs, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::progress;
use crate::table::{Align, TextTable};
use cp2_kernels::npb::mg::{MultigridPlan, PassPrice, PassShape, SplitRequest};
use cp2_machine::Machine;
use cp2_problems::npb::NpbClass;
use cp2_problems::npb::mg::MgClass;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    benchmark: Tuned,
}

/// Benchmark to tune.
#[derive(Debug, clap::Subcommand)]
enum Tuned {
    /// MG: which operators are done in one pass, and the rows of each pass's blocks
    #[command(after_help = "Example: cp2 tune mg --class W --procs 8")]
    Mg(MgArgs),
}

/// Arguments of `cp2 tune mg`.
#[derive(Debug, clap::Args)]
struct MgArgs {
    /// Size of the benchmark: S, W, A, B or C
    #[arg(long, value_name = "CLASS", required = true)]
    class: NpbClass,
    #[command(flatten)]
    machine: MachineArg,
    /// Do every operator in a pass of its own, to see what each takes [default: several in one where that is
    /// faster]
    #[arg(long)]
    single: bool,
    /// Compare the splits of planes and rows among so many processors instead, a power of two up to 1024 [default:
    /// blocks and passes of one processor]
    #[arg(long, value_name = "P", conflicts_with_all = ["single", "output"], value_parser = clap::value_parser!(u16).range(2..=1024))]
    procs: Option<u16>,
    /// File for what is found (TOML), to be used by `cp2 npb mg --tuned FILE` [default: only shown]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Formats the rows of a pass's blocks, marked with + if blocks hand rows over to the next.
fn rows(shape: &PassShape) -> String {
    match shape.handed {
        true => format!("{} +", shape.rows),
        false => shape.rows.to_string(),
    }
}

/// Runs `cp2 tune`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    match &args.benchmark {
        Tuned::Mg(args) => mg(args, json),
    }
}

fn mg(args: &MgArgs, json: bool) -> Result<CommandOutcome, CommandFailure> {
    crate::processors::refuse_ranks()?;
    let mut outputs = Outputs::from_inputs(args.machine.file());
    if let Some(path) = &args.output {
        outputs.check(path)?;
    }
    let machine = Arc::new(args.machine.load()?);
    let problem = MgClass::from_class(args.class).problem();
    if let Some(procs) = args.procs {
        MultigridPlan::check_splits(&problem, procs.into(), &SplitRequest::default())
            .map_err(CommandFailure::input)?;
    }
    let planning = progress::planning(json);
    let before = interrupt::plan_interruptible(|| MultigridPlan::new(problem.clone(), &machine))?;
    let before = before.map_err(CommandFailure::input)?;
    drop(planning);
    if let Some(procs) = args.procs {
        return compare_splits(args, &machine, &before, usize::from(procs), json);
    }
    let (mut steps, mut trials, mut ended) = (None, 0, Ok(()));
    let found = MultigridPlan::tune(problem, &machine, !args.single, |trial| {
        let steps = steps.get_or_insert_with(|| progress::steps(trial.total as u64, json));
        if trial.before > 0 {
            steps.count_step();
        }
        let shape = &trial.shape;
        steps.begin(&format!(
            "{} {}, blocks of {} rows",
            shape.operator, shape.points, shape.rows
        ));
        trials = trial.total;
        ended = interrupt::check();
        match ended {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    drop(steps);
    ended?;
    let Some(found) = found.map_err(CommandFailure::input)? else {
        return Err(CommandFailure::input(
            "the search was ended before it was done; start it again",
        ));
    };
    let passes = found.passes().map_err(CommandFailure::input)?;
    let by_price = before.passes().map_err(CommandFailure::input)?;
    let shapes = passes.iter().map(|one| one.shape.clone()).collect();
    if let Some(path) = &args.output {
        let text = TuningFile::new(args.class, &machine, shapes).text()?;
        write_whole(path, text.as_bytes())?;
    }
    let sum = |all: &[PassPrice]| {
        all.iter()
            .map(|one| one.times * one.cycles.get())
            .sum::<u64>()
    };
    let [tuned, untuned] = [sum(&passes), sum(&by_price)];
    let mut table = TextTable::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    table.row(["pass", "rows", "by price", "times", "cycles"]);
    for PassPrice {
        shape,
        times,
        cycles,
    } in &passes
    {
        let other = by_price.iter().find(|other| {
            (&other.shape.operator, other.shape.add, other.shape.points)
                == (&shape.operator, shape.add, shape.points)
        });
        let add = if shape.add { ", added" } else { "" };
        table.row([
            format!("{}{add} {}", shape.operator, shape.points),
            rows(shape),
            other.map_or_else(|| "-".to_owned(), |other| rows(&other.shape)),
            times.to_string(),
            cycles.get().to_string(),
        ]);
    }
    let marked = passes.iter().chain(&by_price).any(|one| one.shape.handed);
    let legend = match marked {
        true => "+ blocks hand rows of the residual over to the next ones of their sections\n",
        false => "",
    };
    let text = format!(
        "NPB MG, class {}, on {}: {trials} shapes tried\n{table}all passes  {tuned} cycles; {untuned} as the price decides without a search\n{legend}",
        args.class, machine.name
    );
    let pass = |one: &PassPrice| {
        json!({
            "operator": one.shape.operator,
            "add": one.shape.add,
            "points": one.shape.points,
            "rows": one.shape.rows,
            "handed": one.shape.handed,
            "times": one.times,
            "cycles": one.cycles.get(),
        })
    };
    Ok(CommandOutcome {
        text,
        json: json!({
            "schema": "cp2-tune/1",
            "benchmark": "MG",
            "class": args.class.name(),
            "machine": machine.name,
            "machine_hash": machine.hash,
            "tried": trials,
            "single": args.single,
            "passes": passes.iter().map(pass).collect::<Vec<_>>(),
            "cycles": tuned,
            "cycles_by_price": untuned,
        }),
        ..CommandOutcome::default()
    })
}

/// Compares the splits among several processors by their prices.
fn compare_splits(
    args: &MgArgs,
    machine: &Machine,
    whole: &MultigridPlan,
    procs: usize,
    json: bool,
) -> Result<CommandOutcome, CommandFailure> {
    let request = SplitRequest {
        every_price: true,
        ..SplitRequest::default()
    };
    let (_, prices) = split(whole, procs, &request, json)?;
    let passes = whole.passes().map_err(CommandFailure::input)?;
    let alone: u64 = passes.iter().map(|one| one.times * one.cycles.get()).sum();
    let mut table = TextTable::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ]);
    table.row([
        "rows x planes",
        "gathered",
        "cycles",
        "speed-up",
        "passes",
        "messages",
    ]);
    for price in &prices {
        let [planes, rows] = price.split.parts;
        let share = price.passes.get() as f64 / price.cycles.get().max(1) as f64;
        table.row([
            format!("{rows}x{planes}"),
            price.split.gather.to_string(),
            price.cycles.get().to_string(),
            format!("{:.2}", alone as f64 / price.cycles.get().max(1) as f64),
            format!("{:.1} %", 100.0 * share),
            price.messages[0].to_string(),
        ]);
    }
    let text = format!(
        "NPB MG, class {}, on {procs} x {}, a {}: {} splits compared; {alone} cycles on one processor, both without norms\n{table}gathered: points along a row of the finest level that every processor computes whole; passes: their part of the cycles, the rest is messages\n",
        args.class,
        machine.name,
        machine.network.topology.name(),
        prices.len(),
    );
    Ok(CommandOutcome {
        text,
        json: json!({
            "schema": "cp2-tune-splits/1",
            "benchmark": "MG",
            "class": args.class.name(),
            "machine": machine.name,
            "machine_hash": machine.hash,
            "procs": procs,
            "tried": prices.len(),
            "splits": prices.iter().map(describe_price).collect::<Vec<_>>(),
            "cycles": prices.first().map(|price| price.cycles.get()),
            "cycles_of_one": alone,
        }),
        ..CommandOutcome::default()
    })
}
