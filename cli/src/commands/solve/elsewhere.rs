//! Iterative solvers on backends whose times are measured.

use super::ends::SolvedRun;
use super::{Args, SolveInput, describe_solution, judge, title, write};
use crate::backends::{MeasuredBackend, MeasuredRun, SIMULATED_KEYS};
use crate::interrupt;
use crate::outcome::{CommandFailure, CommandOutcome};
use cp2_problems::NamedArrays;

/// Keys of packed matrices.
const PACKED: [&str; 4] = [
    "format",
    "pack_seconds",
    "pack_seconds_simulated",
    "pays_after",
];

/// Solves on a backend, and reports measured times.
pub(super) fn run(
    args: &Args,
    given: &SolveInput,
    backend: &MeasuredBackend<'_>,
) -> Result<CommandOutcome, CommandFailure> {
    let SolveInput { problem, b, shape } = given;
    let input = NamedArrays::from_array("b", &[b.len()], b.clone());
    let run = MeasuredRun::new(backend, problem, &input)?;
    let solved = interrupt::run_interruptible(|| SolvedRun::read_output(problem, b, &run.output))?;
    let solved = solved.ok_or_else(|| {
        CommandFailure::input(format!(
            "{}: the backend gave no solution, which is a fault of cp2",
            backend.name
        ))
    })?;
    let title = title(problem);
    let rate = solved.iterations() as f64 / run.seconds;
    let mut outcome = CommandOutcome {
        text: run.text(&title, Some((rate, "iterations/s"))) + &solved.text(),
        json: run.json(
            "cp2-solve/1",
            None,
            &[&SIMULATED_KEYS, &PACKED],
            describe_solution(args, problem, Some(&solved)),
        ),
        ..CommandOutcome::default()
    };
    write(
        args,
        (&solved, shape),
        &title,
        problem.tolerance(),
        &mut outcome,
    )?;
    judge(&solved, problem, "", &mut outcome);
    Ok(outcome)
}
