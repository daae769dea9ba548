//! The report of a chain, as text and as JSON.

use super::ChainOptions;
use super::receive::{ChainRuns, OnMachine, ReceivedBlocks};
use crate::backends::{MeasuredRun, add_simulated_clock};
use crate::digits::scientific;
use crate::io::{NpyArray, display_path, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use crate::picture::{self, HeatMap};
use crate::simulation::merge;
use crate::table::{Align, TextTable, seconds};
use cp2_kernels::chain::{Accuracy, Receiver, StageCost};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Findings of a chain in its signal.
pub(super) struct ChainFindings<'a> {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) json: Value,
    /// Seconds of signal in a block.
    pub(super) seconds: f64,
    /// Errors about a generated scene: targets that were missed, and detections without a target.
    pub(super) missed: Vec<String>,
    /// Shape of a block's spectra; the spectra of several blocks are consecutive.
    pub(super) shape: Vec<usize>,
    /// Pictures: name in the report, file, contents.
    pub(super) pictures: Vec<(&'static str, &'a Path, HeatMap)>,
}

/// Keys of reports of simulations.
const SIMULATED: [&str; 7] = [
    "machines",
    "engine",
    "cycles",
    "expected_cycles",
    "bound_cycles",
    "reference_cycles",
    "efficiency",
];

/// Name and version of the JSON object's layout.
const SCHEMA: &str = "cp2-pipeline/3";

/// Makes the report and writes the files.
pub(super) fn conclude<R: Receiver>(
    common: &ChainOptions,
    results: &ReceivedBlocks<R>,
    found: ChainFindings<'_>,
) -> Result<CommandOutcome, CommandFailure> {
    let mut outcome = CommandOutcome {
        text: found.text.clone(),
        ..CommandOutcome::default()
    };
    let signal = found.seconds * results.blocks as f64;
    match &results.runs {
        ChainRuns::Simulated(machines) => {
            report_machines(
                common,
                (machines, signal),
                results.finite,
                &found,
                &mut outcome,
            );
        }
        ChainRuns::Measured(run, accuracy) => {
            let known = results.finite.then_some(*accuracy);
            report_measured(common, (run, signal), known, &found, &mut outcome);
        }
    }
    for missed in &found.missed {
        outcome.exit = UNVERIFIED;
        outcome.notes += &format!("error: {missed}\n");
    }
    let own = json!({
        "pipeline": found.name,
        "input": common.input.as_deref().map(display_path),
        "blocks": results.blocks,
        "signal_seconds": signal,
        "outside_time": [],
    });
    let mut json = merge(merge(outcome.json, own), found.json);
    if let Some(path) = &common.output {
        let mut shape = found.shape;
        if let Some(first) = shape.first_mut() {
            *first *= results.blocks;
        }
        write_whole(
            path,
            &NpyArray::from_complex(&shape, &results.spectra).to_npy(),
        )?;
        outcome.text += &format!("spectra: {}\n", path.display());
        json["output"] = json!(display_path(path));
    }
    if let Some(folder) = &common.emit {
        outcome.text += &format!("emitted: {}\n", folder.display());
        json["emit"] = json!(display_path(folder));
    }
    for (name, path, field) in &found.pictures {
        picture::write(path, field)?;
        outcome.text += &format!("{name}: {}\n", path.display());
        json[*name] = json!(display_path(path));
    }
    outcome.json = json;
    Ok(outcome)
}

/// Returns the errors of the worst result as JSON.
fn describe_errors(known: Option<Accuracy>, found: &ChainFindings<'_>) -> Value {
    json!({
        "rel_error": known.map(|k| k.rel_error),
        "decibels_error": known.map(|k| k.decibels_error),
        "verified": known.map(|k| k.is_right() && found.missed.is_empty()),
    })
}

/// Reports time and errors of every machine.
fn report_machines<R: Receiver>(
    common: &ChainOptions,
    (machines, signal): (&[OnMachine<R>], f64),
    finite: bool,
    found: &ChainFindings<'_>,
    outcome: &mut CommandOutcome,
) {
    let mut rows = Vec::new();
    let mut worst = Accuracy::default();
    let first = machines.first().map(|on| on.machine.name.as_str());
    for (i, on) in machines.iter().enumerate() {
        let engine = common
            .host
            .engine
            .runs(common.check)
            .resolve_engine(&on.machine);
        let (mut row, text) = figures(on, signal, finite, first.filter(|_| i > 0));
        row["engine"] = json!(engine);
        outcome.text += &text;
        rows.push(row);
        worst = worst.worst(on.accuracy);
        if finite {
            judge(on.accuracy, &on.machine.name, outcome);
        } else {
            outcome.notes += &format_spread(on);
        }
    }
    let mut json = json!({
        "schema": SCHEMA,
        "tool_version": env!("CARGO_PKG_VERSION"),
        "seed": common.input.is_none().then_some(common.seed),
        "machines": rows,
        "recipe": machines.first().map(|on| on.receiver.recipe()),
    });
    // The first machine's figures also stand at the top level, for readers that want one machine only.
    if let Some(first) = rows.first() {
        let own = ["seconds_simulated", "real_time_factor"];
        for key in SIMULATED.iter().skip(1).chain(&own) {
            json[*key] = first[*key].clone();
        }
    }
    outcome.json = merge(json, describe_errors(finite.then_some(worst), found));
    add_simulated_clock(outcome);
}

/// Reports time and errors of a backend whose times are measured.
fn report_measured(
    common: &ChainOptions,
    (run, signal): (&MeasuredRun, f64),
    known: Option<Accuracy>,
    found: &ChainFindings<'_>,
    outcome: &mut CommandOutcome,
) {
    let factor = signal / run.seconds;
    let title = format!("{} of signal", seconds(signal));
    outcome.text += &run.text(&title, Some((factor, "times real time")));
    outcome.text += &format!("error against double precision: {}\n\n", error_text(known));
    if let Some(accuracy) = known {
        judge(accuracy, run.backend(), outcome);
    }
    let figures = merge(
        describe_errors(known, found),
        json!({ "real_time_factor": factor }),
    );
    let seed = common.input.is_none().then_some(common.seed);
    let nulls: [&[&str]; 2] = [&SIMULATED, &["seconds_simulated"]];
    outcome.json = run.json(SCHEMA, seed, &nulls, figures);
}

/// Returns errors in words.
fn error_text(known: Option<Accuracy>) -> String {
    match known {
        Some(a) => format!(
            "{:.2e} relative RMS, decibels {:.1e} dB",
            a.rel_error, a.decibels_error
        ),
        None => "not known (an input that is not finite)".to_owned(),
    }
}

/// Returns the warning about samples that are not finite, which the first filter of the chain spreads.
fn format_spread<R: Receiver>(on: &OnMachine<R>) -> String {
    let (stage, filter) = on.receiver.filter();
    if filter.is_exact() {
        return String::new();
    }
    format!(
        "warning: samples are not finite; the stage `{stage}` on {} filters them by `{}`, which spreads them beyond the outputs whose definition they are in; \
         `cp2 conv --exact-nonfinite` and `cp2 fir --exact-nonfinite` are filters that do not\n",
        on.machine.name,
        filter.kernel(),
    )
}

/// Reports time and cost of a machine for the signal; `first` is the machine that it is compared with.
fn figures<R>(
    on: &OnMachine<R>,
    signal: f64,
    finite: bool,
    first: Option<&str>,
) -> (Value, String) {
    let sum = |f: fn(&StageCost) -> u64| on.stages.iter().map(f).sum::<u64>();
    let (cycles, bound) = (sum(|s| s.cycles), sum(|s| s.bound_cycles));
    let reference = sum(|s| s.reference_cycles);
    let simulated = cycles as f64 / on.machine.cp2.clock_hz as f64;
    let factor = signal / simulated;
    let mut table = TextTable::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    table.row([
        "stage",
        "cycles",
        "bound",
        "reference",
        "efficiency",
        "programs",
    ]);
    for stage in &on.stages {
        let efficiency = stage.reference_cycles as f64 / stage.cycles.max(1) as f64;
        table.row([
            stage.name.to_owned(),
            stage.cycles.to_string(),
            stage.bound_cycles.to_string(),
            stage.reference_cycles.to_string(),
            format!("{efficiency:.3}"),
            stage.programs.join(", "),
        ]);
    }
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, cycles) in on.stages.iter().flat_map(|stage| &stage.causes) {
        *causes.entry(cause).or_default() += cycles;
    }
    let known = finite.then_some(on.accuracy);
    let error = error_text(known);
    let bits = match (first, on.same_bits) {
        (None, _) => String::new(),
        (Some(first), true) => format!("; the same bits as on {first}"),
        (Some(first), false) => format!("; other bits than on {first}"),
    };
    let text = format!(
        "{}: {} of signal in {cycles} cycles = {} simulated: {factor:.1} times real time\n{table}{}error against double precision: {error}{bits}\n\n",
        on.machine.name,
        seconds(signal),
        seconds(simulated),
        shares(&causes, cycles)
    );
    let row = json!({
        "machine": on.machine.name,
        "machine_hash": on.machine.hash,
        "cycles": cycles,
        "expected_cycles": on.stages.iter().map(|s| s.expected_cycles).sum::<Option<u64>>(),
        "bound_cycles": bound,
        "reference_cycles": reference,
        "efficiency": reference as f64 / cycles.max(1) as f64,
        "causes": causes,
        "seconds_simulated": simulated,
        "real_time_factor": factor,
        "rel_error": known.map(|k| k.rel_error),
        "decibels_error": known.map(|k| k.decibels_error),
        "verified": known.map(|k| k.is_right()),
        "same_bits": on.same_bits,
        "stages": on.stages,
    });
    (row, text)
}

/// Lists the causes of all stages' cycles, the largest first.
fn shares(causes: &BTreeMap<&str, u64>, cycles: u64) -> String {
    let mut all: Vec<_> = causes.iter().collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    let share = |(cause, n): (&&str, &u64)| {
        format!("{cause} {:.1} %", 100.0 * *n as f64 / cycles.max(1) as f64)
    };
    let shares: Vec<String> = all.into_iter().map(share).collect();
    format!("cycles: {}\n", shares.join(", "))
}

/// Sets exit code and notes for a machine or backend whose result is wrong.
fn judge(a: Accuracy, name: &str, outcome: &mut CommandOutcome) {
    if a.is_right() {
        return;
    }
    outcome.exit = UNVERIFIED;
    outcome.notes += &if !a.spectra_hold() {
        format!(
            "error: {name}: the spectra's relative error is {}; expected at most {:.0e}; either samples are so large or small that f32 overflows or underflows, or this is a fault of cp2\n",
            scientific(a.rel_error, 2, a.rel_allowed),
            a.rel_allowed
        )
    } else {
        format!(
            "error: {name}: a decibel is off by {} dB; expected at most {:.0e} dB; the power of spectra above 1.8e19 or below 1e-19 leaves the range of f32: scale the input\n",
            scientific(a.decibels_error, 2, Accuracy::DECIBELS),
            Accuracy::DECIBELS
        )
    };
}

/// Returns the report's part about a generated scene: its contents, and whether it can be judged. Empty for a
/// signal from a file.
pub(super) fn scene(common: &ChainOptions, there: Value, resolved: bool) -> (Value, &'static str) {
    if common.input.is_some() {
        return (Value::Null, "");
    }
    let note = if resolved {
        ""
    } else {
        "too few cells to tell the scene's parts apart: what was found is not judged\n"
    };
    (json!({"contents": there, "judged": resolved}), note)
}

/// Formats findings as a table of at most 20 rows; empty without findings.
pub(super) fn listed<const N: usize>(
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    const SHOWN: usize = 20;
    let mut table = TextTable::new(&[Align::Right; N]);
    table.row(head);
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let hidden = rows.len().saturating_sub(SHOWN);
    for row in rows.into_iter().take(SHOWN) {
        table.row(row);
    }
    match hidden {
        0 => format!("{table}\n"),
        more => format!("{table}and {more} more\n\n"),
    }
}
