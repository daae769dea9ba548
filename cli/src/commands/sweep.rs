//! `cp2 sweep`: a row of the library on machines with several values.

mod sets;

use super::MachineArg;
use super::whatif::measured::{
    CycleSource, KeptRows, RowCase, RowResult, measure_cases, parse_row, rounded,
};
use super::whatif::show::{csv_line, html_page, html_row};
use crate::io::{FileError, Outputs, extension, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::picture::lines::{LinesChart, svg};
use crate::table::{Align, TextTable};
use cp2_machine::Machine;
use serde_json::{Map, Value, json};
use sets::{SweptValues, multiply, parse_set};
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: cp2 sweep fft-large:n=8192:batch=8 --set cp2.dmem=32,64,128KiB --set dma.bandwidth=8..64"
)]
pub(crate) struct Args {
    /// Row: a kernel with its parameters; those that are not named have the defaults of `cp2 model KERNEL --help`
    #[arg(value_name = "KERNEL:NAME=VALUE:..")]
    kernel: String,
    /// Values of a parameter: V,V.. or A..B (doubling) or A..B/STEP; given again, all combinations [default: none]
    #[arg(long = "set", value_name = "KEY=VALUES", required = true)]
    sets: Vec<String>,
    #[command(flatten)]
    machine: MachineArg,
    /// Folder that keeps results, so that a run that was ended goes on; those of another build are not taken
    /// [default: none]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print comma-separated values instead of text [default: text]
    #[arg(long)]
    csv: bool,
    /// Write cycles over the last set, a line for each combination of the others: .svg, or .html with the table
    /// [default: not written]
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// A point of a sweep.
struct Point {
    values: Vec<String>,
    result: Result<(u64, u64, String), String>,
}

/// A change of the limit between two neighbouring values of a parameter.
struct Crossover {
    key: String,
    between: [String; 2],
    /// Values of the other parameters.
    others: Vec<(String, String)>,
    limits: [String; 2],
}

/// Runs `cp2 sweep`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    if args.csv && json {
        return Err(CommandFailure::input(
            "--csv and --json are two formats of the same; choose one",
        ));
    }
    if let Some(path) = &args.plot {
        check_plot(path)?;
        Outputs::from_inputs(args.machine.file()).check(path)?;
    }
    let row = parse_row(&args.kernel)?;
    let base = Arc::new(args.machine.load()?);
    let sets: Vec<SweptValues> = args
        .sets
        .iter()
        .map(|set| parse_set(set))
        .collect::<Result<_, _>>()?;
    for (at, set) in sets.iter().enumerate() {
        if sets[..at].iter().any(|before| before.key == set.key) {
            return Err(CommandFailure::input(format!(
                "--set {}: given twice; give all its values at once",
                set.key
            )));
        }
        // A value alone must be understood; what only some combinations break is a point that is refused.
        for value in &set.values {
            base.with_changes(&format!("{}={value}", set.key))?;
        }
    }
    let keep = args.keep.as_deref().map(KeptRows::open).transpose()?;
    let combined = multiply(&sets)?;
    let machines: Vec<Result<Arc<Machine>, String>> = combined
        .iter()
        .map(|values| change(&base, &sets, values))
        .collect();
    let cases = machines.iter().filter_map(|machine| {
        let machine = machine.as_ref().ok()?.clone();
        let (row, source) = (row.clone(), CycleSource::Run);
        Some(RowCase {
            row,
            machine,
            source,
        })
    });
    let cases: Vec<RowCase> = cases.collect();
    let mut results = measure_cases(&cases, keep.as_ref(), json)?.into_iter();
    let (mut exit, mut notes) = (0, String::new());
    let mut points = Vec::new();
    for (values, machine) in combined.into_iter().zip(machines) {
        let result = match machine {
            Err(reason) => Err(reason),
            Ok(machine) => match results.next() {
                Some(result) => {
                    if let Err(refusal) = &result
                        && refusal.exit > 0
                    {
                        exit = exit.max(refusal.exit);
                        notes += &format!("error: {row} on {}: {}\n", machine.name, refusal.reason);
                    }
                    figures(result)
                }
                None => Err("not measured".to_owned()),
            },
        };
        points.push(Point { values, result });
    }
    let crossovers = find_crossovers(&sets, &points);
    let title = format!("{row} on {}", base.name);
    if let Some(path) = &args.plot {
        let picture = svg(&chart(&title, &sets, &points));
        let page = match extension(path).as_str() {
            "svg" => picture,
            _ => html_page(
                &title,
                &format!("{picture}\n{}", html_table(&sets, &points)),
            ),
        };
        write_whole(path, page.as_bytes())?;
    }
    let text = match args.csv {
        true => csv(&sets, &points),
        false => text(&title, &sets, &points, &crossovers),
    };
    Ok(CommandOutcome {
        text,
        json: json!({
            "schema": "cp2-sweep/1",
            "tool_version": env!("CARGO_PKG_VERSION"),
            "kernel": row.kernel.name(),
            "size": row.size.to_string(),
            "machine": base.name,
            "machine_hash": base.hash,
            "points": points.iter().map(|point| object(&sets, point)).collect::<Vec<_>>(),
            "crossovers": crossovers.iter().map(crossing).collect::<Vec<_>>(),
        }),
        notes,
        exit,
    })
}

fn check_plot(path: &std::path::Path) -> Result<(), FileError> {
    match extension(path).as_str() {
        "svg" | "html" => Ok(()),
        _ => Err(FileError::Extension {
            path: path.to_owned(),
            expected: ".svg or .html",
        }),
    }
}

fn change(base: &Machine, sets: &[SweptValues], values: &[String]) -> Result<Arc<Machine>, String> {
    let changes = sets.iter().zip(values);
    let changes: Vec<String> = changes
        .map(|(set, value)| format!("{}={value}", set.key))
        .collect();
    let machine = base.with_changes(&changes.join("+")).map(Arc::new);
    machine.map_err(|e| e.to_string().lines().next().unwrap_or_default().to_owned())
}

fn figures(result: RowResult) -> Result<(u64, u64, String), String> {
    let row = result.map_err(|refusal| refusal.reason)?;
    Ok((row.cycles, row.reference_cycles, row.limit))
}

fn efficiency(cycles: u64, reference: u64) -> f64 {
    rounded(reference as f64 / cycles.max(1) as f64)
}

/// Returns where the limit changes from a value of one parameter to the next, the others staying.
fn find_crossovers(sets: &[SweptValues], points: &[Point]) -> Vec<Crossover> {
    let mut found = Vec::new();
    // Points stand in the order of the product, the last set fastest.
    let mut stride = points.len();
    for (along, set) in sets.iter().enumerate() {
        let outer = stride;
        stride /= set.values.len().max(1);
        for (at, point) in points.iter().enumerate() {
            if at % outer + stride >= outer {
                continue;
            }
            let Some(next) = points.get(at + stride) else {
                continue;
            };
            let (Ok((.., from)), Ok((.., to))) = (&point.result, &next.result) else {
                continue;
            };
            if from != to {
                let others = sets.iter().zip(&point.values).enumerate();
                let others = others.filter(|(other, _)| *other != along);
                found.push(Crossover {
                    key: set.key.clone(),
                    between: [point.values[along].clone(), next.values[along].clone()],
                    others: others
                        .map(|(_, (set, value))| (set.key.clone(), value.clone()))
                        .collect(),
                    limits: [from.clone(), to.clone()],
                });
            }
        }
    }
    found
}

/// Returns the cells of a point behind its values.
fn cells(point: &Point) -> [String; 5] {
    match &point.result {
        Ok((cycles, reference, limit)) => [
            cycles.to_string(),
            reference.to_string(),
            format!("{:.3}", efficiency(*cycles, *reference)),
            limit.clone(),
            String::new(),
        ],
        Err(reason) => ["", "", "", "", reason].map(str::to_owned),
    }
}

const COLUMNS: [&str; 5] = [
    "cycles",
    "reference_cycles",
    "efficiency",
    "limit",
    "refused",
];

fn lines(sets: &[SweptValues], points: &[Point]) -> Vec<Vec<String>> {
    let keys = sets.iter().map(|set| set.key.clone());
    let head = keys.chain(COLUMNS.map(str::to_owned)).collect();
    let lines = points
        .iter()
        .map(|point| [point.values.as_slice(), &cells(point)].concat());
    std::iter::once(head).chain(lines).collect()
}

fn csv(sets: &[SweptValues], points: &[Point]) -> String {
    let lines = lines(sets, points).into_iter();
    lines
        .map(|line| csv_line(line.iter().map(String::as_str)))
        .collect()
}

fn html_table(sets: &[SweptValues], points: &[Point]) -> String {
    let lines = lines(sets, points).into_iter().enumerate();
    let rows = lines.map(|(at, line)| {
        let tag = if at == 0 { "th" } else { "td" };
        html_row(tag, line.iter().map(String::as_str))
    });
    format!("<table>\n{}</table>\n", rows.collect::<String>())
}

fn text(title: &str, sets: &[SweptValues], points: &[Point], crossovers: &[Crossover]) -> String {
    let mut align = vec![Align::Right; sets.len() + 3];
    align.extend([Align::Left; 2]);
    let mut table = TextTable::new(&align);
    for line in lines(sets, points) {
        table.row(line);
    }
    let mut out = format!("{title}\n{table}");
    for one in crossovers {
        let [from, to] = &one.limits;
        let [low, high] = &one.between;
        let others: String = one
            .others
            .iter()
            .map(|(key, value)| format!(", {key} = {value}"))
            .collect();
        out += &format!(
            "limit: {from} -> {to} between {} = {low} and {high}{others}\n",
            one.key
        );
    }
    if crossovers.is_empty() {
        out += "limit: the same in all points that are next to each other\n";
    }
    out
}

fn object(sets: &[SweptValues], point: &Point) -> Value {
    let set = sets.iter().zip(&point.values);
    let set: Map<String, Value> = set
        .map(|(set, value)| (set.key.clone(), json!(value)))
        .collect();
    let row = point.result.as_ref().ok();
    json!({
        "set": set,
        "cycles": row.map(|row| row.0),
        "reference_cycles": row.map(|row| row.1),
        "efficiency": row.map(|row| efficiency(row.0, row.1)),
        "limit": row.map(|row| &row.2),
        "refused": point.result.as_ref().err(),
    })
}

fn crossing(one: &Crossover) -> Value {
    let others = one
        .others
        .iter()
        .map(|(key, value)| (key.clone(), json!(value)));
    json!({
        "key": one.key,
        "between": one.between,
        "at": others.collect::<Map<_, _>>(),
        "from": one.limits[0],
        "to": one.limits[1],
    })
}

/// Returns the chart: cycles over the values of the last set.
fn chart(title: &str, sets: &[SweptValues], points: &[Point]) -> LinesChart {
    let last = sets.last();
    let width = last.map_or(1, |set| set.values.len()).max(1);
    let line = |part: &[Point]| {
        let others = sets
            .iter()
            .zip(part.first().map_or(&[][..], |point| &point.values));
        let others = others.take(sets.len().saturating_sub(1));
        let name: Vec<String> = others
            .map(|(set, value)| format!("{} = {value}", set.key))
            .collect();
        let cycles = part
            .iter()
            .map(|point| point.result.as_ref().ok().map(|row| row.0 as f64));
        (name.join(", "), cycles.collect())
    };
    LinesChart {
        title: title.to_owned(),
        x: last.map(|set| set.key.clone()).unwrap_or_default(),
        y: "cycles".to_owned(),
        values: last.map(|set| set.values.clone()).unwrap_or_default(),
        lines: points.chunks(width).map(line).collect(),
    }
}
