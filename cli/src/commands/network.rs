//! `cp2 network`: benchmarks of the network, beside their formulas.

use super::MachineArg;
use crate::memory::check_memory;
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use crate::processors::{self, Ranks};
use crate::progress;
use crate::provenance::ReportProvenance;
use crate::table::{Align, TextTable, percent};
use cp2_machine::{Machine, Topology};
use cp2_network::{BenchmarkRun, ClosedForm, LinkReport, NetworkBenchmark, Transport};
use serde_json::{Value, json};
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: cp2 network --procs 64 --topology ring --bytes 256 --bytes 4096\n\
                  Exit code 1: a time is not that of its formula (docs/network.md)."
)]
pub(crate) struct Args {
    /// Number of processors
    #[arg(long, value_name = "P", default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=1024))]
    procs: u16,
    /// Bytes of a message; give it again for each more [default: 8, 4096 and 65536]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=LONGEST))]
    bytes: Vec<u64>,
    /// Topology: ring, mesh, torus, switch or fat-tree [default: that of the machine]
    #[arg(long, value_name = "NAME", value_parser = topology)]
    topology: Option<Topology>,
    #[command(flatten)]
    machine: MachineArg,
}

/// Longest message.
const LONGEST: u64 = 1 << 30;
/// Lengths of messages without `--bytes`: short, the longest that is eager by default, long.
const DEFAULT: [u64; 3] = [8, 4096, 65_536];
/// Bytes of host memory of a message beside its own, and how often these are held: by the sender, under way, by the
/// receiver.
const MESSAGE: u64 = 1024;
const COPIES: u64 = 3;

fn topology(text: &str) -> Result<Topology, String> {
    let found = Topology::ALL.into_iter().find(|one| one.name() == text);
    found.ok_or_else(|| format!("expected {}", Topology::NAMES.join(", ")))
}

/// A benchmark with messages of a length, and its run.
struct BenchmarkRow {
    benchmark: NetworkBenchmark,
    bytes: u64,
    run: BenchmarkRun,
}

/// Runs `cp2 network`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let mut ranks = processors::connect()?;
    let outcome = measure(args, json, &mut ranks)?;
    ranks.finish();
    Ok(outcome)
}

fn measure(args: &Args, json: bool, ranks: &mut Ranks) -> Result<CommandOutcome, CommandFailure> {
    let transport = ranks.transport();
    let count = usize::from(args.procs);
    processors::check_ranks(transport.ranks(), count)?;
    let machine = args.machine.load()?;
    let machine = Arc::new(match args.topology {
        Some(topology) => machine.with_topology(topology),
        None => machine,
    });
    let sizes = match args.bytes.is_empty() {
        true => &DEFAULT[..],
        false => &args.bytes,
    };
    let work: Vec<(NetworkBenchmark, u64)> = NetworkBenchmark::ALL
        .into_iter()
        .flat_map(|benchmark| sizes.iter().map(move |bytes| (benchmark, *bytes)))
        .collect();
    for (benchmark, bytes) in &work {
        let messages = benchmark
            .messages(&machine, count)
            .map_err(CommandFailure::input)?;
        let each = bytes.saturating_mul(COPIES).saturating_add(MESSAGE);
        let what = format!("{benchmark} of {count} processors, {bytes} B");
        check_memory(&what, messages.saturating_mul(each))?;
    }
    let quiet = json || !processors::is_first();
    let progress = progress::steps(work.len() as u64, quiet);
    let mut rows = Vec::with_capacity(work.len());
    for (benchmark, bytes) in work {
        crate::interrupt::check()?;
        progress.begin(&format!("{benchmark}, {bytes} B"));
        let run = benchmark.run(transport, &machine, count, bytes);
        rows.push(BenchmarkRow {
            benchmark,
            bytes,
            run: run.map_err(CommandFailure::input)?,
        });
        progress.count_step();
    }
    drop(progress);
    Ok(outcome(&machine, transport, count, &rows))
}

/// Reports the runs, and says which contradict their formulas.
fn outcome(
    machine: &Machine,
    transport: &dyn Transport,
    count: usize,
    rows: &[BenchmarkRow],
) -> CommandOutcome {
    let align = [
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ];
    let mut table = TextTable::new(&align);
    table.row([
        "benchmark",
        "bytes",
        "time",
        "formula",
        "difference",
        "GB/s",
        "busiest link",
    ]);
    let mut outcome = CommandOutcome::default();
    for row in rows {
        table.row(cells(row));
        if !row.run.closed_form.allows(row.run.time) {
            outcome.exit = UNVERIFIED;
            outcome.notes += &format!(
                "error: {} of {} B takes {}, which its formula contradicts; this is a fault of cp2\n",
                row.benchmark, row.bytes, row.run.time
            );
        }
    }
    let topology = machine.network.topology.name();
    outcome.text = format!("{count} processors, {topology}, {}\n{table}", machine.name);
    let figures = json!({
        "procs": count,
        "ranks": transport.ranks(),
        "transport": transport.name(),
        "topology": topology,
        "benchmarks": rows.iter().map(fields).collect::<Vec<_>>(),
        "agrees": outcome.exit == 0,
    });
    outcome.json = ReportProvenance::new("cp2-network/1", machine, None).add_figures(figures);
    outcome
}

/// Returns the rate of a run's messages.
fn gigabytes_per_second(run: &BenchmarkRun) -> f64 {
    match run.time.get() {
        0 => 0.0,
        time => run.bytes as f64 * 1000.0 / time as f64,
    }
}

/// Returns the link that messages held for the longest time, the first of those.
fn busiest(run: &BenchmarkRun) -> Option<&LinkReport> {
    let links = run.report.links.iter().rev();
    links.max_by_key(|link| link.busy)
}

fn cells(row: &BenchmarkRow) -> [String; 7] {
    let run = &row.run;
    let time = run.time.get();
    let (formula, difference) = match run.closed_form {
        ClosedForm::Exact(expected) => {
            let off = i128::from(time) - i128::from(expected.get());
            (expected.to_string(), format!("{off} ps"))
        }
        ClosedForm::AtLeast(bound) => {
            let ratio = time as f64 / bound.get().max(1) as f64;
            (format!("at least {bound}"), format!("x {ratio:.3}"))
        }
        ClosedForm::Unknown => ("-".to_owned(), "-".to_owned()),
    };
    let whole = run.report.ends.iter().max().map_or(0, |end| end.get());
    let link = busiest(run).map_or_else(String::new, |link| {
        let share = percent(link.busy.get(), whole);
        format!("{} to {}, {}", link.from, link.to, share.trim_start())
    });
    [
        row.benchmark.to_string(),
        row.bytes.to_string(),
        run.time.to_string(),
        formula,
        difference,
        format!("{:.3}", gigabytes_per_second(run)),
        link,
    ]
}

fn fields(row: &BenchmarkRow) -> Value {
    let run = &row.run;
    let time = run.time.get();
    let (expected, bound) = match run.closed_form {
        ClosedForm::Exact(expected) => (Some(expected.get()), None),
        ClosedForm::AtLeast(bound) => (None, Some(bound.get())),
        ClosedForm::Unknown => (None, None),
    };
    let link = busiest(run).map(|link| {
        json!({
            "from": link.from.to_string(),
            "to": link.to.to_string(),
            "busy_picoseconds": link.busy,
            "bytes": link.bytes,
        })
    });
    json!({
        "benchmark": row.benchmark.name(),
        "bytes": row.bytes,
        "messages": run.report.messages,
        "message_bytes": run.report.message_bytes,
        "picoseconds": time,
        "expected_picoseconds": expected,
        "difference_picoseconds": expected.map(|expected| i128::from(time) - i128::from(expected)),
        "bound_picoseconds": bound,
        "ratio_to_bound": bound.map(|bound| time as f64 / bound.max(1) as f64),
        "gigabytes_per_second": gigabytes_per_second(run),
        "busiest_link": link,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_network::{InProcess, Picoseconds};

    /// A time that is a picosecond off is said, and the exit code is 1.
    #[test]
    fn contradictions_are_failures() {
        let machine = Machine::builtin("vm7").unwrap();
        let benchmark = NetworkBenchmark::Halo;
        let run = benchmark.run(&mut InProcess, &machine, 4, 8).unwrap();
        let mut rows = [BenchmarkRow {
            benchmark,
            bytes: 8,
            run,
        }];
        let right = outcome(&machine, &InProcess, 4, &rows);
        assert_eq!((right.exit, &right.json["agrees"]), (0, &json!(true)));
        rows[0].run.time = rows[0].run.time + Picoseconds(1);
        let wrong = outcome(&machine, &InProcess, 4, &rows);
        assert_eq!((wrong.exit, &wrong.json["agrees"]), (1, &json!(false)));
        assert!(wrong.notes.contains("halo of 8 B"), "{}", wrong.notes);
        assert!(wrong.text.contains(" 1 ps"), "{}", wrong.text);
    }
}
