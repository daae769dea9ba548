//! Filters on backends whose times are measured.

use super::{FilterTask, WRONG, describe_problem, error_text};
use crate::backends::{MeasuredBackend, MeasuredRun, SIMULATED_KEYS};
use crate::commands::channels::Channels;
use crate::interrupt;
use crate::io::{MaybeNonFinite, NonFinite, display_path};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::simulation::merge;
use cp2_host::ValueSource;
use cp2_kernels::Verdict;
use cp2_kernels::conv::{ConvProblem, FilterSample};
use cp2_problems::{Element, NamedArrays, Problem as _};
use num_complex::Complex32;
use serde_json::json;

/// Keys of figures of plans.
const PLANNED: [&str; 6] = [
    "method",
    "exact_nonfinite",
    "kernel",
    "candidates",
    "buffering",
    "pages",
];

/// Bytes of memory for a byte of a sample or output: input, output, both runs, and double precision.
const FILTERED: u64 = 8;

/// Filters the channels on a backend, and reports measured times.
pub(super) fn run(
    task: &FilterTask<'_>,
    channels: Channels,
    backend: &MeasuredBackend<'_>,
) -> Result<CommandOutcome, CommandFailure> {
    match channels.real {
        true => filter::<f32>(task, channels, backend),
        false => filter::<Complex32>(task, channels, backend),
    }
}

fn filter<T: FilterSample + MaybeNonFinite + Element>(
    task: &FilterTask<'_>,
    mut signal: Channels,
    backend: &MeasuredBackend<'_>,
) -> Result<CommandOutcome, CommandFailure>
where
    Channels: ValueSource<T>,
{
    let rate = (task.mode, task.rate);
    let (channels, samples) = (signal.channels, signal.shape.last().copied().unwrap_or(0));
    let problem = ConvProblem::new_at_rate(&signal.taps, channels, samples, rate);
    let problem = problem.map_err(CommandFailure::input)?;
    let problem = match T::REAL {
        true => problem.into_real().map_err(CommandFailure::input)?,
        false => problem,
    };
    let numbers = (channels as u64).saturating_mul((samples + problem.outputs()) as u64);
    let bytes = numbers.saturating_mul(FILTERED * std::mem::size_of::<T>() as u64);
    memory::check_memory(problem.title(), bytes)?;
    let mut x = vec![T::default(); channels * samples];
    signal.fill_values(&mut x).map_err(CommandFailure::input)?;
    let input = NamedArrays::from_array("x", &[channels, samples], x);
    let run = MeasuredRun::new(backend, &problem, &input)?;
    let x: &[T] = input.get("x").map_err(CommandFailure::input)?;
    let y: &[T] = run.output.get("y").map_err(CommandFailure::input)?;
    let verdict = interrupt::run_interruptible(|| problem.compare_finite(x, y))?;
    let spoiled = [
        NonFinite::count_values(x),
        NonFinite::count_values(&signal.taps),
    ];
    let mut outcome = report(task, &signal, &problem, (&run, verdict), spoiled);
    let mut shape = signal.shape.clone();
    if let Some(last) = shape.last_mut() {
        *last = problem.outputs();
    }
    let output = task.channels.output.as_deref();
    run.write(output, ("y", &shape), &mut outcome)?;
    outcome.report_verdict(true, verdict.map(|(v, _)| v), WRONG);
    Ok(outcome)
}

fn report(
    task: &FilterTask<'_>,
    signal: &Channels,
    problem: &ConvProblem,
    (run, verdict): (&MeasuredRun, Option<(Verdict, usize)>),
    [samples, taps]: [NonFinite; 2],
) -> CommandOutcome {
    let figures = json!({
        "rel_error": verdict.map(|(v, _)| v.rms),
        "worst_error_over_tolerance": verdict.map(|(v, _)| v.worst),
        "verified": verdict.map(|(v, _)| v.is_within_tolerance()),
        "channels_judged": verdict.map_or(0, |(_, channels)| channels),
        "nonfinite_samples": samples.count,
        "nonfinite_taps": taps.count,
        // A backend may transform blocks, and does not say which.
        "nonfinite_spread": samples.count + taps.count > 0,
        "input": task.channels.input.as_deref().map(display_path),
    });
    let outputs = problem.channels() as f64 * problem.outputs() as f64;
    let rate = outputs / run.seconds / 1e6;
    let notes = [(samples, "samples"), (taps, "taps")].into_iter();
    let notes = notes
        .filter(|(found, _)| found.count > 0)
        .map(|(found, what)| {
            format!(
                "warning: {}; other outputs of their channels may become NaN too\n",
                found.text(what)
            )
        });
    CommandOutcome {
        text: run.text(&problem.title(), Some((rate, "million outputs/s")))
            + &error_text(problem, verdict),
        json: run.json(
            task.schema,
            signal.seed,
            &[&SIMULATED_KEYS, &PLANNED],
            merge(describe_problem(problem), figures),
        ),
        notes: notes.collect(),
        ..CommandOutcome::default()
    }
}
