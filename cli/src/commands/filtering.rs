//! What `cp2 conv` and `cp2 fir` do: plan, filter, compare, report.

use super::MachineArg;
use super::channels::{ChannelArgs, Samples};
use crate::io::shown;
use crate::outcome::{Failure, Outcome, UNVERIFIED};
use crate::provenance::Provenance;
use crate::simulation::{SimulationArgs, conclude, figures, merge, table};
use crate::table::seconds;
use cp2_kernels::Verdict;
use cp2_kernels::conv::{ConvProblem, ConvRun, Convolver, Mode, Numbers, Rate, source};
use cp2_machine::Machine;
use cp2_problems::Problem as _;
use num_complex::Complex32;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// A filter command's work.
pub(crate) struct Task<'a> {
    /// Name and version of the JSON object.
    pub(crate) schema: &'static str,
    /// Signal, taps, output.
    pub(crate) channels: &'a ChannelArgs,
    /// Machine.
    pub(crate) machine: &'a MachineArg,
    /// Options of the simulation.
    pub(crate) simulation: &'a SimulationArgs,
    /// Outputs of a convolution.
    pub(crate) mode: Mode,
    /// Of a direct filter its rate.
    pub(crate) rate: Option<Rate>,
}

/// Filters the channels with the taps that `change` makes of those given.
pub(crate) fn run(
    task: &Task<'_>,
    change: impl FnOnce(Vec<Complex32>) -> Vec<Complex32>,
    json: bool,
) -> Result<Outcome, Failure> {
    let mut outputs = task.channels.check_outputs(task.machine)?;
    task.simulation.check_outputs(&mut outputs)?;
    let machine: Arc<Machine> = Arc::new(task.machine.load()?);
    let mut channels = task
        .channels
        .load(&machine, (task.mode, task.rate.unwrap_or_default()))?;
    channels.taps = change(channels.taps);
    let (taps, count) = (&channels.taps, channels.channels);
    let (mut outcome, output) = match &channels.samples {
        Samples::Real(x) => {
            let (outcome, y) = filter(task, &machine, taps, count, x, json)?;
            (outcome, y.map(Samples::Real))
        }
        Samples::Complex(x) => {
            let (outcome, y) = filter(task, &machine, taps, count, x, json)?;
            (outcome, y.map(Samples::Complex))
        }
    };
    outcome.json = Provenance::new(task.schema, &machine, channels.seed)
        .engine(task.simulation.engine().on(&machine))
        .with(outcome.json);
    outcome.json["input"] = json!(task.channels.input.as_deref().map(shown));
    if let Some(output) = output {
        let (text, json) = (&mut outcome.text, &mut outcome.json);
        task.channels.write(&channels, &output, text, json)?;
    }
    Ok(outcome)
}

fn filter<T: Numbers>(
    task: &Task<'_>,
    machine: &Arc<Machine>,
    taps: &[Complex32],
    channels: usize,
    x: &[T],
    json: bool,
) -> Result<(Outcome, Option<Vec<T>>), Failure> {
    let samples = x.len() / channels.max(1);
    let planning = crate::progress::planning(json);
    let planned = match task.rate {
        Some(rate) => {
            Convolver::resampler::<T>(machine, taps, channels, samples, rate).and_then(|filter| {
                let problem = ConvProblem::resampled(taps, channels, samples, rate)?;
                Ok((problem, filter))
            })
        }
        None => {
            Convolver::new::<T>(machine, taps, channels, samples, task.mode).and_then(|filter| {
                let problem = ConvProblem::new(taps, channels, samples, task.mode)?;
                Ok((problem, filter))
            })
        }
    };
    drop(planning);
    let (problem, filter) = planned.map_err(Failure::input)?;
    let known = filter.figures::<T>(channels);
    if task.channels.plan {
        let outcome = Outcome {
            text: format!(
                "{}\n{}\n{:#}",
                problem.title(),
                known.text(),
                filter.choice()
            ),
            json: merge(choice(&problem, &filter), json!(known)),
            ..Outcome::default()
        };
        return Ok((outcome, None));
    }
    let (options, progress) = task.simulation.begin(Some(known.reference.get()), json);
    let started = Instant::now();
    let run = filter.process_with(x, options).map_err(Failure::input)?;
    let host_seconds = started.elapsed().as_secs_f64();
    drop(progress);
    let verdict = run
        .output
        .as_ref()
        .and_then(|y| problem.compare_finite(x, y));
    let mut outcome = Outcome {
        text: text(&problem, &filter, &run, verdict, host_seconds),
        json: fields(&problem, &filter, &run, verdict, host_seconds),
        ..Outcome::default()
    };
    task.simulation.emit(&run.run, &mut outcome)?;
    conclude(
        task.simulation,
        &run.run.report,
        Some(filter.program()),
        &format!("{} on {}", problem.title(), machine.name),
        |file| source(file).map(str::to_owned),
        &mut outcome,
    )?;
    if let Some((v, _)) = verdict.filter(|(v, _)| !v.holds()) {
        outcome.exit = outcome.exit.max(UNVERIFIED);
        outcome.notes += &format!(
            "error: a channel's error is {:.3} of the tolerance; either samples are so large or small that f32 overflows or underflows, or this is a fault of cp2\n",
            v.worst
        );
    }
    Ok((outcome, run.output))
}

/// What was planned.
fn choice(problem: &ConvProblem, filter: &Convolver) -> Value {
    let candidates: Vec<Value> = filter
        .choice()
        .candidates
        .iter()
        .map(|c| {
            let name = if c.made {
                "expected_cycles"
            } else {
                "least_cycles"
            };
            match c.cycles {
                Some(cycles) => json!({ "kernel": c.kernel, name: cycles.round() as u64 }),
                None => json!({ "kernel": c.kernel, "fits": false }),
            }
        })
        .collect();
    json!({
        "channels": problem.channels(),
        "samples": problem.samples(),
        "taps": problem.taps().len(),
        "mode": problem.mode().to_string(),
        "decimate": problem.rate().decimate(),
        "interpolate": problem.rate().interpolate(),
        "outputs": problem.outputs(),
        "kernel": filter.kernel(),
        "candidates": candidates,
    })
}

fn fields<T>(
    problem: &ConvProblem,
    filter: &Convolver,
    run: &ConvRun<T>,
    verdict: Option<(Verdict, usize)>,
    host_seconds: f64,
) -> Value {
    let report = &run.run.report;
    let pass = run.passes.first();
    let own = json!({
        "efficiency": report.end.is_finished().then(|| run.efficiency()),
        "rel_error": verdict.map(|(v, _)| v.rms),
        "worst_error_over_tolerance": verdict.map(|(v, _)| v.worst),
        "verified": verdict.map(|(v, _)| v.holds()),
        "channels_judged": verdict.map_or(0, |(_, channels)| channels),
        "buffering": pass.map(|p| p.buffers()),
        "pages": pass.map(|p| p.pages()),
        "host_seconds": host_seconds,
    });
    let own = merge(own, json!(run.figures));
    merge(figures(report), merge(choice(problem, filter), own))
}

fn text<T>(
    problem: &ConvProblem,
    filter: &Convolver,
    run: &ConvRun<T>,
    verdict: Option<(Verdict, usize)>,
    host_seconds: f64,
) -> String {
    let report = &run.run.report;
    let mut text = format!("{}\n{}", problem.title(), table(report));
    text += &run.figures.text();
    text += &if report.end.is_finished() {
        format!(", efficiency {:.3}\n", run.efficiency())
    } else {
        ", not finished\n".to_owned()
    };
    text += &match verdict {
        Some((v, channels)) => {
            let judged = if channels < problem.channels() {
                let all = problem.channels();
                format!(
                    " of {channels} of {all} channels, the others have samples that are not finite"
                )
            } else {
                String::new()
            };
            format!(
                "error against f64: {:.2e} relative RMS, worst channel {:.2} of the tolerance{judged}\n",
                v.rms, v.worst
            )
        }
        None => "error: not known (no result, or samples or taps that are not finite)\n".to_owned(),
    };
    text += "kernels considered, the one taken first (--plan lists all):\n";
    text += &filter.choice().to_string();
    text + &format!("simulated in {}\n", seconds(host_seconds))
}
