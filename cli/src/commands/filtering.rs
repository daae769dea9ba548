//! The work of `cp2 conv` and `cp2 fir`: plans, filters, compares, reports.

mod elsewhere;

use super::MachineArg;
use super::channels::{ChannelArgs, Channels};
use super::ways::Spoiled;
use crate::backends::{BackendArg, MeasuredBackend, add_simulated_clock};
use crate::digits::decimal;
use crate::interrupt;
use crate::io::{self, NonFinite, Noted, TimedSource, display_path};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::provenance::ReportProvenance;
use crate::simulation::{SimulationArgs, conclude, figures, merge, outside_time, table};
use crate::table::seconds;
use cp2_host::{Buffer, HostError, ValueSource};
use cp2_kernels::conv::{
    AllowedMethods, ConvProblem, ConvolutionMode, Convolver, FilterMethod, FilterSample,
    OutputRate, source,
};
use cp2_kernels::{KernelRun, Verdict, judged};
use cp2_machine::Machine;
use cp2_problems::Problem as _;
use num_complex::Complex32;
use serde_json::{Value, json};
use std::sync::Arc;

/// Phrases about a wrong result.
const WRONG: WrongResult<'_> = WrongResult {
    whose: "a channel's",
    tolerance: "the tolerance",
    cause: "samples are so large or small that f32 overflows or underflows",
};

/// Work of a filter command.
pub(crate) struct FilterTask<'a> {
    /// Name and version of the JSON object's layout.
    pub(crate) schema: &'static str,
    /// Options for signal, taps and output.
    pub(crate) channels: &'a ChannelArgs,
    /// Option for the machine.
    pub(crate) machine: &'a MachineArg,
    /// Options for the backend.
    pub(crate) backend: &'a BackendArg,
    /// Options of the simulation.
    pub(crate) simulation: &'a SimulationArgs,
    /// Outputs that a convolution keeps.
    pub(crate) mode: ConvolutionMode,
    /// Number of outputs per sample, by decimation or interpolation.
    pub(crate) rate: OutputRate,
    /// Kinds of filters that may be chosen.
    pub(crate) ways: AllowedMethods,
}

/// Runs the filter command; `change` converts the given taps, for example for a correlation.
pub(crate) fn run(
    task: &FilterTask<'_>,
    change: impl FnOnce(Vec<Complex32>) -> Vec<Complex32>,
    json: bool,
) -> Result<CommandOutcome, CommandFailure> {
    let mut outputs = task.channels.check_outputs(task.machine)?;
    task.simulation.check_outputs(&mut outputs)?;
    if let Some(backend) = task.backend.measured()? {
        let machine = MeasuredBackend::unlimited_machine()?;
        let mut channels = task.channels.load(&machine, (task.mode, task.rate))?;
        channels.taps = change(channels.taps);
        return elsewhere::run(task, channels, &backend);
    }
    let machine: Arc<Machine> = Arc::new(task.machine.load()?);
    let mut channels = task.channels.load(&machine, (task.mode, task.rate))?;
    channels.taps = change(channels.taps);
    let mut outcome = match channels.real {
        true => filter::<f32>(task, &machine, &mut channels, json)?,
        false => filter::<Complex32>(task, &machine, &mut channels, json)?,
    };
    outcome.json = ReportProvenance::new(task.schema, &machine, channels.seed)
        .engine(task.simulation.engine().resolve_engine(&machine))
        .add_figures(outcome.json);
    outcome.json["input"] = json!(task.channels.input.as_deref().map(display_path));
    add_simulated_clock(&mut outcome);
    Ok(outcome)
}

fn filter<T: FilterSample + io::MaybeNonFinite>(
    task: &FilterTask<'_>,
    machine: &Arc<Machine>,
    signal: &mut Channels,
    json: bool,
) -> Result<CommandOutcome, CommandFailure>
where
    Channels: ValueSource<T>,
{
    let (taps, channels) = (&signal.taps, signal.channels);
    let spoiled = NonFinite::count_values(taps);
    Spoiled::check(spoiled, (task.mode, task.ways))?;
    let samples = signal.shape.last().copied().unwrap_or(0);
    let planning = crate::progress::planning(json);
    let what = (task.mode, task.rate);
    let all = (channels as u64).saturating_mul(samples as u64);
    let count = task.rate.count(samples, taps.len()) as u64;
    let outputs = (channels as u64).saturating_mul(count);
    let bytes = memory::filter_bytes(all, outputs, std::mem::size_of::<T>() as u64);
    memory::check_memory(format!("{channels} channels of {samples} samples"), bytes)?;
    let filter = Convolver::with_methods::<T>(machine, (taps, channels, samples), what, task.ways);
    let planned = filter.and_then(|filter| {
        let problem = ConvProblem::new_at_rate(taps, channels, samples, what)?;
        Ok((problem, filter))
    });
    drop(planning);
    let (problem, filter) = planned.map_err(CommandFailure::input)?;
    let known = filter.figures::<T>(channels);
    if task.channels.plan {
        return Ok(CommandOutcome {
            text: format!(
                "{}\n{}\n{:#}",
                problem.title(),
                known.text(),
                filter.choice()
            ),
            json: merge(choice(&problem, &filter), json!(known)),
            ..CommandOutcome::default()
        });
    }
    let outside = list_host_work(&filter, signal.is_widened());
    let (options, progress) = task.simulation.begin(Some(known.reference.get()), json);
    let threads = options.threads;
    let mut noted = Noted::<T>::new(signal);
    let mut input = TimedSource::<T>::new(&mut noted);
    let run = filter
        .process_from(&mut input, options)
        .map_err(CommandFailure::input)?;
    let host_seconds = input.seconds();
    let spoiled = Spoiled {
        samples: noted.seen,
        taps: spoiled,
    };
    drop(progress);
    let kept = run.keeps_inputs().map_err(CommandFailure::input)?;
    let verdict = match run.output {
        Some(output) if kept => {
            let judged = interrupt::run_interruptible(|| judge(&problem, &run, output, threads))?;
            judged.map_err(CommandFailure::input)?
        }
        _ => None,
    };
    let mut outcome = CommandOutcome {
        text: text(&problem, &filter, &run, verdict, host_seconds) + &outside_time(&outside),
        json: merge(
            fields(&problem, &filter, &run, verdict, host_seconds),
            json!({
                "nonfinite_samples": spoiled.samples.count,
                "nonfinite_taps": spoiled.taps.count,
                "nonfinite_spread": spoiled.spreads(&problem, &filter),
                "outside_time": outside,
            }),
        ),
        notes: spoiled.warnings(&problem, &filter),
        ..CommandOutcome::default()
    };
    task.simulation.emit(&run.run, &mut outcome)?;
    conclude(
        task.simulation,
        &run.run,
        &format!("{} on {}", problem.title(), machine.name),
        |file| source(file).map(str::to_owned),
        &mut outcome,
    )?;
    outcome.report_verdict(kept, verdict.map(|(v, _)| v), WRONG);
    if let Some(output) = run.output {
        let (text, json) = (&mut outcome.text, &mut outcome.json);
        let result = (&run.run, output);
        task.channels.write(signal, result, text, json)?;
    }
    Ok(outcome)
}

/// Lists the work of the host on taps and samples before simulated time begins.
fn list_host_work(filter: &Convolver, widened: bool) -> Vec<&'static str> {
    let taps = match filter.method() {
        FilterMethod::Direct => "the taps are put into the order of the kernel",
        FilterMethod::OverlapSave => "the taps are transformed",
    };
    let samples = "the real numbers of the file become complex ones as they are read";
    let samples = widened.then_some(samples);
    [taps].into_iter().chain(samples).collect()
}

/// Compares the finite channels with the reference; returns the verdict and their number, or `None` if no
/// channel is finite.
fn judge<T: FilterSample>(
    problem: &ConvProblem,
    run: &KernelRun<Buffer<T>>,
    output: Buffer<T>,
    threads: usize,
) -> Result<Option<(Verdict, usize)>, HostError> {
    let Some(x) = run.inputs.first() else {
        return Ok(None);
    };
    let input = Buffer::<T>::from_address(x.address, x.bytes / T::BYTES as u64);
    let run = &run.run;
    let judge = || {
        let mut judge = problem.channel_judge(true);
        move |channel: usize| {
            let fetch = |buffer: Buffer<T>, row: usize, from: usize, out: &mut [T]| {
                let first = (channel * row + from) as u64;
                run.fetch(buffer.part(first, out.len() as u64), out)
            };
            judge.judge(
                |from, out| fetch(input, problem.samples(), from, out),
                |from, out| fetch(output, problem.outputs(), from, out),
            )
        }
    };
    let (tally, channels) = judged(problem.channels(), threads, judge)?;
    Ok((channels > 0).then(|| (tally.verdict(), channels)))
}

/// Returns the filter chosen and the candidates as JSON.
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
    let own = json!({
        "method": filter.method().to_string(),
        "exact_nonfinite": filter.is_exact(),
        "kernel": filter.kernel(),
        "recipe": filter.kernel(),
        "candidates": candidates,
    });
    merge(describe_problem(problem), own)
}

/// Returns the problem as JSON.
fn describe_problem(problem: &ConvProblem) -> Value {
    json!({
        "channels": problem.channels(),
        "samples": problem.samples(),
        "taps": problem.taps().len(),
        "mode": problem.mode().to_string(),
        "decimate": problem.rate().decimate(),
        "interpolate": problem.rate().interpolate(),
        "outputs": problem.outputs(),
    })
}

fn fields<T>(
    problem: &ConvProblem,
    filter: &Convolver,
    run: &KernelRun<T>,
    verdict: Option<(Verdict, usize)>,
    host_seconds: f64,
) -> Value {
    let report = &run.run.report;
    let pass = run.passes.first();
    let own = json!({
        "efficiency": report.end.is_finished().then(|| run.efficiency()),
        "expected_cycles": run.expected.map(|price| price.0),
        "rel_error": verdict.map(|(v, _)| v.rms),
        "worst_error_over_tolerance": verdict.map(|(v, _)| v.worst),
        "verified": verdict.map(|(v, _)| v.is_within_tolerance()),
        "channels_judged": verdict.map_or(0, |(_, channels)| channels),
        "buffering": pass.map(|p| p.buffers()),
        "pages": pass.map(|p| p.pages()),
        "host_seconds": host_seconds,
    });
    let own = merge(own, json!(run.figures));
    merge(figures(report), merge(choice(problem, filter), own))
}

/// Returns the line about the error of the channels that could be judged.
fn error_text(problem: &ConvProblem, verdict: Option<(Verdict, usize)>) -> String {
    let Some((v, channels)) = verdict else {
        return "error: not known (no result, or samples or taps that are not finite)\n".to_owned();
    };
    let all = problem.channels();
    let judged = match channels < all {
        true => {
            format!(" of {channels} of {all} channels, the others have samples that are not finite")
        }
        false => String::new(),
    };
    format!(
        "error against f64: {:.2e} relative RMS, worst channel {} of the tolerance{judged}\n",
        v.rms,
        decimal(v.worst, 2, 1.0)
    )
}

fn text<T>(
    problem: &ConvProblem,
    filter: &Convolver,
    run: &KernelRun<T>,
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
    text += &error_text(problem, verdict);
    text += "kernels considered, the one taken first (--plan lists all):\n";
    text += &filter.choice().to_string();
    text + &format!("simulated in {}\n", seconds(host_seconds))
}
