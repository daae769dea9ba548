//! Sparse products and power iterations on backends whose times are measured.

use super::power::{IteratedRun, PowerInput, WRONG_POWER, error_text, finish, outcome_of};
use super::{Args, find_shape, report};
use crate::backends::{MeasuredBackend, MeasuredRun, SIMULATED_KEYS};
use crate::interrupt;
use crate::io::display_path;
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::picture::matrix::MatrixPicture;
use crate::simulation::merge;
use cp2_problems::Problem as _;
use serde_json::json;

/// Keys of packed matrices.
const PACKED: [&str; 5] = [
    "format",
    "packed_bytes",
    "pack_seconds",
    "pack_seconds_simulated",
    "pays_after",
];
/// Keys of figures of plans of products.
const PLANNED: [&str; 3] = ["formats", "padding", "csr_ratio"];

/// Multiplies on a backend, and reports measured times.
pub(super) fn run(
    args: &Args,
    backend: &MeasuredBackend<'_>,
) -> Result<CommandOutcome, CommandFailure> {
    let (problem, x) = args.load(&MeasuredBackend::unlimited_machine()?)?;
    let run = MeasuredRun::new(backend, &problem, &x)?;
    let verdict = interrupt::run_interruptible(|| problem.judge(&x, &run.output))?;
    let figures = json!({
        "matrix": display_path(&args.matrix),
        "rel_error": verdict.rms,
        "worst_error_over_tolerance": verdict.worst,
        "verified": verdict.is_within_tolerance(),
    });
    let flops = 2.0 * (problem.matrix().nnz() * problem.vectors()) as f64;
    let rate = flops / run.seconds / 1e9;
    let mut outcome = CommandOutcome {
        text: run.text(&problem.title(), Some((rate, "GFLOPS (2 for an entry)")))
            + &report::not_finite(problem.matrix())
            + &report::error_text(Some(verdict)),
        json: run.json(
            "cp2-spmv/1",
            args.x.is_none().then(|| args.generated_seed()),
            &[&SIMULATED_KEYS, &PACKED, &PLANNED],
            merge(report::describe_problem(&problem), figures),
        ),
        ..CommandOutcome::default()
    };
    let wrong = WrongResult {
        whose: "the result's",
        tolerance: "the tolerance",
        cause: "sums overflow in f32",
    };
    outcome.report_verdict(true, Some(verdict), wrong);
    let shape = find_shape(&problem, &x)?;
    run.write(args.output.as_deref(), ("y", &shape), &mut outcome)?;
    let picture = MatrixPicture::new(problem.title(), problem.matrix());
    draw(args, picture, &mut outcome)?;
    Ok(outcome)
}

/// Iterates on a backend, and reports measured times.
pub(super) fn iterate(
    args: &Args,
    iterations: usize,
    backend: &MeasuredBackend<'_>,
) -> Result<CommandOutcome, CommandFailure> {
    let PowerInput { problem, x, shape } =
        PowerInput::load(args, iterations, &MeasuredBackend::unlimited_machine()?)?;
    let input = cp2_problems::NamedArrays::from_array("x", &[x.len()], x.clone());
    let run = MeasuredRun::new(backend, &problem, &input)?;
    let judged = interrupt::run_interruptible(|| {
        let exact = problem.solve::<f64>(&x);
        let iterated = IteratedRun::read_output(&run.output, &exact);
        iterated.map(|iterated| (iterated, problem.verdict(exact, &run.output)))
    })?;
    let (iterated, verdict) = judged.unzip();
    let (lines, found) = outcome_of(&problem, iterated.as_ref(), verdict);
    let own = json!({ "matrix": display_path(&args.matrix) });
    let mut outcome = CommandOutcome {
        text: run.text(&problem.title(), None) + &lines + &error_text(verdict),
        json: run.json(
            "cp2-power/1",
            args.x.is_none().then(|| args.generated_seed()),
            &[&SIMULATED_KEYS, &PACKED],
            merge(found, own),
        ),
        ..CommandOutcome::default()
    };
    let cause = format!("{WRONG_POWER} (multiply --x or the matrix by a power of two)");
    let wrong = WrongResult {
        whose: "the result's",
        tolerance: "the tolerance",
        cause: &cause,
    };
    outcome.report_verdict(true, verdict, wrong);
    if let Some(iterated) = &iterated {
        finish(args, iterated, shape, &mut outcome)?;
    }
    let picture = MatrixPicture::new(problem.title(), problem.matrix());
    draw(args, picture, &mut outcome)?;
    Ok(outcome)
}

/// Draws the pattern, which no backend but the emulated one divides.
fn draw(
    args: &Args,
    picture: MatrixPicture,
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    if let Some(path) = &args.picture {
        picture.write(path)?;
        outcome.text += &format!("picture: {}\n", path.display());
        outcome.json["picture"] = json!(display_path(path));
    }
    Ok(())
}
