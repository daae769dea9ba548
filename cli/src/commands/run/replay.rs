//! Runs a directory again that `--emit` wrote.

use super::Args;
use crate::commands::load_machine;
use crate::io::{Kind, display_path, write_array};
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use crate::provenance::ReportProvenance;
use crate::simulation::{figures, merge, table, unknown_limits};
use cp2_host::FinishedRun;
use cp2_host::emit::{self, RecordedFigures, Replay};
use serde_json::json;
use std::sync::Arc;

/// Work of the recorded command before simulated time begins: its results are in memory already.
const OUTSIDE: &[&str] = &["what the recorded command had made before its time began"];

/// Replays the directory and reports whether the run equals the recorded one. If inputs hold other data,
/// commands and cycles are still equal, but the results differ.
pub(super) fn replay(
    args: &Args,
    json: bool,
) -> Result<(FinishedRun, CommandOutcome), CommandFailure> {
    let assembles = args.assembler.is_given();
    if !args.dmem.is_empty() || args.args != 0 || !args.post.is_empty() || assembles {
        let message = "--dmem, --args, --post, -D and -I belong to programs; a recorded run brings its own data";
        return Err(CommandFailure::in_file(&args.input, message));
    }
    let replay = Replay::read(&args.input).map_err(CommandFailure::input)?;
    let result = match &args.output {
        Some(_) => Some(result(args, &replay)?),
        None => None,
    };
    let machine = match &args.machine {
        Some(machine) => Arc::new(load_machine(machine)?),
        None => replay.machine.clone(),
    };
    let recorded = &replay.expected;
    let (options, progress) = args.simulation.begin(Some(recorded.cycles), json);
    let run = replay
        .run(machine.clone(), options)
        .map_err(CommandFailure::input)?;
    drop(progress);
    let found =
        RecordedFigures::measure_run(&run, &replay.outputs).map_err(CommandFailure::input)?;
    let other_data = !replay.other_data.is_empty();
    let same_bits = found.outputs_sha256 == recorded.outputs_sha256;
    let has_outputs = !replay.outputs.is_empty();
    let same_cycles = found.cycles == recorded.cycles;
    let mut outcome = CommandOutcome {
        text: table(&run.report),
        json: ReportProvenance::new("cp2-run/1", &machine, None)
            .engine(args.simulation.engine().resolve_engine(&machine))
            .add_figures(merge(figures(&run.report), unknown_limits(OUTSIDE))),
        ..CommandOutcome::default()
    };
    outcome.not_judged();
    outcome.json["replay"] = json!({
        "recorded_cycles": recorded.cycles,
        "recorded_machine_hash": replay.machine.hash,
        "other_data": replay.other_data,
        "same_commands": !replay.is_changed,
        "same_bits": has_outputs.then_some(same_bits),
        "same_cycles": same_cycles,
    });
    let finished = run.report.end.is_finished();
    let bits = match (other_data, same_bits) {
        (true, _) if !replay.is_changed => {
            format!(
                "same commands, other data ({})",
                replay.other_data.join(", ")
            )
        }
        (_, true) if has_outputs => "bits equal".to_owned(),
        (_, true) => "no output to compare".to_owned(),
        (_, false) => "bits DIFFER".to_owned(),
    };
    let cycles = if same_cycles { "equal" } else { "differ" };
    outcome.text += &format!(
        "recorded: {} cycles on {}; {}\n",
        recorded.cycles,
        replay.machine.name,
        match finished {
            true => format!("{bits}, cycles {cycles}"),
            false => "not finished".to_owned(),
        },
    );
    // Another machine may take other cycles but gives the same bits. Cycles do not depend on data.
    let cycles_hold = same_cycles || machine.hash != replay.machine.hash;
    let bits_hold = same_bits || other_data;
    if finished && (replay.is_changed || !bits_hold || !cycles_hold) {
        outcome.exit = UNVERIFIED;
        outcome.notes += match replay.is_changed {
            true => {
                "error: something else than an input is not what was recorded; was a file of the directory changed?\n"
            }
            false => "error: the replay differs from the recorded run\n",
        };
    }
    if let (Some((kind, shape, address, bytes)), Some(path), true) =
        (result, &args.output, finished)
    {
        write_array(path, (kind, &shape), &run, (address, bytes))?;
        outcome.text += &format!("output: {}\n", path.display());
        outcome.json["output"] = json!(display_path(path));
    }
    Ok((run, outcome))
}

/// Returns element type, shape, address and bytes of the requested result.
fn result(args: &Args, replay: &Replay) -> Result<(Kind, Vec<usize>, u64, u64), CommandFailure> {
    let fail = |message: String| Err(CommandFailure::in_file(&args.input, message));
    let named =
        |output: &&emit::EmittedArray| args.result.as_ref().is_none_or(|name| *name == output.name);
    let Some(output) = replay.outputs.iter().find(named) else {
        let names: Vec<&str> = replay.outputs.iter().map(|y| y.name.as_str()).collect();
        return fail(match (&args.result, names.as_slice()) {
            (_, []) => "--output expects a run with a result; this has none".to_owned(),
            (name, names) => format!(
                "--result {}: expected one of {}",
                name.as_deref().unwrap_or_default(),
                names.join(", ")
            ),
        });
    };
    let Some(kind) = Kind::RESULTS.iter().find(|k| k.name() == output.element) else {
        return fail(format!(
            "--output: an .npy of {} is not known; --result names another of {}",
            output.element,
            replay
                .outputs
                .iter()
                .map(|y| y.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ));
    };
    let shape: Option<Vec<usize>> = output
        .shape
        .iter()
        .map(|&d| usize::try_from(d).ok())
        .collect();
    let numbers = output
        .shape
        .iter()
        .try_fold(kind.bytes() as u64, |n, &d| n.checked_mul(d));
    match shape.filter(|_| numbers == Some(output.bytes)) {
        Some(shape) => Ok((*kind, shape, output.address, output.bytes)),
        None => fail(format!(
            "commands.json: `{}` has {} B, which is not its shape",
            output.name, output.bytes
        )),
    }
}
