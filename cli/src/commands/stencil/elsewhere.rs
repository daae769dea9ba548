//! Stencils on backends whose times are measured.

use super::{Args, StencilInput, described_problem};
use crate::backends::{MeasuredBackend, MeasuredRun, SIMULATED_KEYS, error_text};
use crate::io::display_path;
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::simulation::merge;
use cp2_problems::Problem as _;
use serde_json::json;

/// Keys of figures of plans.
const PLANNED: [&str; 2] = ["relayouts", "passes"];

/// Carries out the steps on a backend, and reports measured times.
pub(super) fn run(
    args: &Args,
    backend: &MeasuredBackend<'_>,
) -> Result<CommandOutcome, CommandFailure> {
    let given = args.load(&MeasuredBackend::unlimited_machine()?)?;
    let StencilInput { problem, seed, .. } = &given;
    let data = given.data();
    let run = MeasuredRun::new(backend, problem, &data)?;
    let verdict = run.judge(problem, &data)?;
    let updates = problem.elements() as f64 * problem.steps() as f64;
    let rate = updates / run.seconds / 1e6;
    let figures = json!({
        "rel_error": verdict.map(|v| v.rms),
        "verified": verdict.map(|v| v.is_within_tolerance()),
        "worst_error_over_tolerance": verdict.map(|v| v.worst),
        "million_updates_per_second": rate.is_finite().then_some(rate),
        "input": args.input.as_deref().map(display_path),
    });
    let mut outcome = CommandOutcome {
        text: run.text(&problem.title(), Some((rate, "million updates/s")))
            + &error_text(verdict, "f64", "element"),
        json: run.json(
            "cp2-stencil/1",
            *seed,
            &[&SIMULATED_KEYS, &PLANNED],
            merge(described_problem(problem), figures),
        ),
        ..CommandOutcome::default()
    };
    let output = args.output.as_deref();
    run.write(output, ("v", problem.shape()), &mut outcome)?;
    outcome.report_verdict(
        true,
        verdict,
        WrongResult {
            whose: "the result's",
            tolerance: "the tolerance",
            cause: "numbers are so large that f32 overflows",
        },
    );
    Ok(outcome)
}
