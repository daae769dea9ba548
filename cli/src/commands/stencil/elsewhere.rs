//! Stencils on backends whose times are measured.

use super::{Args, StencilInput, described_problem};
use crate::backends::{BackendName, MeasuredRun};
use crate::io::{Kind, NpyArray, display_path, write_npy};
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::simulation::merge;
use cp2_machine::Machine;
use cp2_problems::Problem as _;
use serde_json::json;

/// Carries out the steps on a backend, and reports measured times.
pub(super) fn run(args: &Args, backend: BackendName) -> Result<CommandOutcome, CommandFailure> {
    let mut machine = Machine::load("vm7")?;
    // Only this computer's memory limits what is read.
    machine.host.memory.0 = u64::MAX;
    let given = args.load(&machine)?;
    let StencilInput { problem, seed, .. } = &given;
    let run = MeasuredRun::new(backend, problem, &given.data())?;
    let updates = problem.elements() as f64 * problem.steps() as f64;
    let rate = updates / run.seconds / 1e6;
    let rate = rate.is_finite().then_some(rate);
    let figures = json!({
        "rel_error": run.verdict.map(|v| v.rms),
        "relayouts": null,
        "million_updates_per_second": rate,
        "input": args.input.as_deref().map(display_path),
    });
    let rate = rate.map_or_else(String::new, |rate| format!(", {rate:.1} million updates/s"));
    let mut outcome = CommandOutcome {
        text: run.text(&problem.title(), &rate) + &run.error_text("f64", "element"),
        json: run.json(
            "cp2-stencil/1",
            *seed,
            merge(described_problem(problem), figures),
        ),
        ..CommandOutcome::default()
    };
    if let Some(path) = &args.output {
        let v = run.output.array("v").map_err(CommandFailure::input)?;
        let array = NpyArray {
            kind: Kind::Float32,
            shape: v.shape.clone(),
            bytes: v.values.bytes(),
        };
        write_npy(path, &array)?;
        outcome.text += &format!("output: {}\n", path.display());
        outcome.json["output"] = json!(display_path(path));
    }
    outcome.report_verdict(
        true,
        run.verdict,
        WrongResult {
            whose: "the result's",
            tolerance: "the tolerance",
            cause: "numbers are so large that f32 overflows",
        },
    );
    Ok(outcome)
}
