//! `cp2 stencil`: applies steps of a stencil to an array.

mod elsewhere;
mod passes;
mod points;
mod processors;

use super::MachineArg;
use super::map::Extents;
use crate::backends::{BackendArg, add_simulated_clock};
use crate::digits::decimal;
use crate::interrupt;
use crate::io::{Kind, NpyArray, Outputs, check_extension, display_path, read_npy, write_array};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::progress;
use crate::provenance::ReportProvenance;
use crate::simulation::{SIMULATED, SimulationArgs, conclude, figures, merge, table};
use crate::table::seconds;
use cp2_kernels::stencil::Stencils;
use cp2_kernels::{KernelRun, Pass, Random, Verdict};
use cp2_machine::Machine;
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use cp2_problems::{Case, NamedArrays, Problem as _};
use passes::Passes;
use points::Points;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Array: .npy of float32, of two or three dimensions [default: random numbers]
    #[arg(long, value_name = "U.npy")]
    input: Option<PathBuf>,
    /// Extents of a generated array, slowest first: ROWSxCOLS or PLANESxROWSxCOLS [default: 512x512, or
    /// 64x64x64]
    #[arg(long, value_name = "SHAPE", conflicts_with = "input")]
    shape: Option<Extents>,
    /// Points: 5 or 9 of two dimensions, 7, 19 or 27 of three, or a text file with an offset along each axis
    /// and a coefficient in every line [default: 7, of two dimensions 5]
    #[arg(long, value_name = "N|FILE")]
    points: Option<Points>,
    /// Coefficients: one for each class of points with commas between (the element itself, then across faces,
    /// edges, corners); or for every element its own, as `random` numbers or an .npy of planes x rows x
    /// points x columns [default: the file's, or those of a mean, whose sum is 1: 0.4,0.15 for 5 points;
    /// 0.2,0.15,0.05 for 9; 0.4,0.1 for 7; 0.22,0.06,0.035 for 19; 0.2,0.06,0.03,0.01 for 27]
    #[arg(long, value_name = "C0,C1,..|C.npy|random", allow_hyphen_values = true)]
    coefficients: Option<String>,
    /// Steps, one after the other
    #[arg(long, value_name = "N", default_value_t = 1)]
    steps: usize,
    /// Values beyond the edges: zero; fixed (outermost elements keep their values), mirrored (they come
    /// again), periodic (the other side)
    #[arg(long, value_name = "HOW", default_value = "zero", value_parser = edge)]
    edge: Edge,
    /// Processors that share the array in slabs of planes, 1 to 1024; fixed edges. Ranks of `mpirun` share the
    /// processors
    #[arg(long, value_name = "P", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    procs: u16,
    /// Write the array after all steps: .npy [default: not written]
    #[arg(long, value_name = "V.npy")]
    output: Option<PathBuf>,
    /// Seed of generated numbers, uniform in [-1, 1) [default: 1]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Print how it would be computed, its pages and expected time, and compute nothing [default: compute]
    #[arg(long, conflicts_with = "output", conflicts_with_all = SIMULATED)]
    plan: bool,
    #[command(flatten)]
    backend: BackendArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

fn edge(text: &str) -> Result<Edge, String> {
    Edge::find(text).ok_or_else(|| "expected zero, fixed, mirrored or periodic".to_owned())
}

/// Extents without a file or `--shape`.
const DEFAULT: [&[usize]; 2] = [&[512, 512], &[64, 64, 64]];

/// Bytes of host memory per element: measured, with a margin. Coefficients are extra ([`COEFFICIENT`]).
const ELEMENT: u64 = 56;
/// Bytes of host memory per element for the arrays between passes.
const BETWEEN: u64 = 24;
const COEFFICIENT: u64 = 14;

/// The problem with its input arrays.
struct StencilInput {
    problem: StencilProblem,
    u: Vec<f32>,
    c: Option<Vec<f32>>,
    seed: Option<u64>,
}

impl StencilInput {
    /// Returns the input arrays in the form that the problem takes.
    fn data(&self) -> NamedArrays {
        let forms = self.problem.inputs();
        let values = [Some(&self.u), self.c.as_ref()];
        let arrays = forms.into_iter().zip(values.into_iter().flatten());
        arrays.fold(NamedArrays::default(), |data, (form, values)| {
            data.add_array(form.name, &form.shape, values.clone())
        })
    }

    fn is_finite(&self) -> bool {
        let mut all = self.u.iter().chain(self.c.iter().flatten());
        all.all(|x| x.is_finite())
    }
}

/// Runs `cp2 stencil`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let measured = args.backend.measured()?;
    let ranks = crate::processors::connect_for(args.procs)?;
    args.check_outputs()?;
    if let Some(backend) = measured {
        return elsewhere::run(args, &backend);
    }
    let machine: Arc<Machine> = Arc::new(args.machine.load()?);
    let given = args.load(&machine)?;
    if let Some(ranks) = ranks {
        return processors::run(args, &machine, &given, json, ranks);
    }
    let problem = &given.problem;
    let planning = progress::planning(json);
    let plan = Stencils::new(problem, machine.clone());
    drop(planning);
    let plan = plan.map_err(CommandFailure::input)?;
    let mut outcome = match args.plan {
        true => planned(&plan, &given)?,
        false => args.computed(&plan, &given, json)?,
    };
    let mut head = ReportProvenance::new("cp2-stencil/1", &machine, given.seed);
    if !args.plan {
        head = head.engine(args.simulation.engine().resolve_engine(&machine));
    }
    outcome.json = head.add_figures(outcome.json);
    outcome.json["input"] = json!(args.input.as_deref().map(display_path));
    add_simulated_clock(&mut outcome);
    Ok(outcome)
}

/// Reports the plan of a stencil that is not computed.
fn planned(plan: &Stencils, given: &StencilInput) -> Result<CommandOutcome, CommandFailure> {
    let job = plan.job(
        &given.u,
        given.c.as_deref(),
        cp2_host::DeviceOptions::default(),
    );
    let (job, _) = job.map_err(CommandFailure::input)?;
    let expected = job.expected().map(|cycles| cycles.0);
    let figures = plan.figures();
    let passes = Passes::of(plan, &job);
    let nest = job.passes().iter().find_map(Pass::nest);
    let time = expected.map_or_else(String::new, |cycles| format!("expected {cycles} cycles\n"));
    Ok(CommandOutcome {
        text: format!(
            "{}\n{}\n{}\n{time}{}",
            plan.problem().title(),
            plan.recipe(),
            figures.text(),
            passes.text()
        ),
        json: merge(
            merge(described(plan), json!(figures)),
            json!({
                "expected_cycles": expected,
                "passes": passes.json(),
                "plan": serde_json::to_value(nest).unwrap_or_default(),
            }),
        ),
        ..CommandOutcome::default()
    })
}

/// Returns the problem and its plan as JSON.
fn described(plan: &Stencils) -> Value {
    let own = json!({ "recipe": plan.recipe(), "outside_time": [] });
    merge(described_problem(plan.problem()), own)
}

/// Returns the problem as JSON.
fn described_problem(problem: &StencilProblem) -> Value {
    let stencil = problem.stencil();
    json!({
        "shape": problem.shape(),
        "points": stencil.points().len(),
        "steps": problem.steps(),
        "edge": problem.edge().name(),
        "coefficients": match (problem.is_per_element(), stencil.is_of_classes()) {
            (true, _) => "element",
            (false, true) => "class",
            (false, false) => "point",
        },
    })
}

impl Args {
    fn check_outputs(&self) -> Result<(), CommandFailure> {
        let own = self.own_coefficients();
        let points = self.points.as_ref().and_then(Points::file);
        let read = [self.input.as_deref(), points, own.as_deref()];
        let read = read.into_iter().flatten().chain(self.machine.file());
        let mut outputs = Outputs::from_inputs(read);
        if let Some(path) = &self.input {
            check_extension(path, "npy", ".npy")
                .map_err(|e| CommandFailure::input(format!("--input: {e}")))?;
        }
        if let Some(path) = &self.output {
            check_extension(path, "npy", ".npy")?;
            outputs.check(path)?;
        }
        crate::processors::check_outputs(&self.simulation, self.procs, &mut outputs)
    }

    /// Returns the file with coefficients of every element, if one is named.
    fn own_coefficients(&self) -> Option<PathBuf> {
        let named = self.coefficients.as_deref().map(PathBuf::from);
        named.filter(|path| crate::io::extension(path) == "npy")
    }

    /// Returns the stencil for an array with that many axes, and whether every element has coefficients of
    /// its own.
    fn stencil(&self, axes: Option<usize>) -> Result<(StencilShape, bool), CommandFailure> {
        let usual = Points::from_axes(axes);
        let points = self.points.as_ref().unwrap_or(&usual);
        let classes = match self.coefficients.as_deref() {
            None => None,
            Some("random") => return Ok((points.load(None)?, true)),
            Some(_) if self.own_coefficients().is_some() => {
                return Ok((points.load(None)?, true));
            }
            Some(text) => {
                let numbers = text.split(',').map(|part| part.trim().parse::<f32>());
                let numbers = numbers.collect::<Result<Vec<_>, _>>();
                let numbers = numbers.ok().filter(|all| all.iter().all(|c| c.is_finite()));
                Some(numbers.ok_or_else(|| {
                    CommandFailure::input(format!(
                        "--coefficients {text}: expected finite numbers with commas between, an .npy file, or `random`"
                    ))
                })?)
            }
        };
        Ok((points.load(classes.as_deref())?, false))
    }

    /// Reads or generates the arrays.
    fn load(&self, machine: &Machine) -> Result<StencilInput, CommandFailure> {
        // Processors share arrays that fit their memories together.
        let memory = machine.host.memory.0;
        let limit = memory.saturating_mul(self.procs.into());
        let input = self.input.as_deref();
        let file = input
            .map(|path| read_npy(path, &[Kind::Float32], limit))
            .transpose()?;
        let axes = match (&file, &self.shape) {
            (Some(array), _) => Some(array.shape.len()),
            (None, shape) => shape.as_ref().map(|Extents(shape)| shape.len()),
        };
        let (stencil, per_element) = self.stencil(axes)?;
        let shape = match (&file, &self.shape) {
            (Some(array), _) => array.shape.clone(),
            (None, Some(Extents(shape))) => shape
                .iter()
                .map(|&n| usize::try_from(n).unwrap_or(usize::MAX))
                .collect(),
            (None, None) => DEFAULT[usize::from(stencil.axes() == 3)].to_vec(),
        };
        let problem = StencilProblem::new(&shape, stencil, self.edge, self.steps);
        let mut problem = problem.map_err(|e| match input {
            Some(path) => CommandFailure::in_file(path, e),
            None => CommandFailure::input(e),
        })?;
        if per_element {
            problem = problem.per_element();
        }
        let bytes = 8 * problem.elements() as u128;
        if bytes > limit.into() {
            return Err(CommandFailure::input(format!(
                "{}: {bytes} bytes of arrays; expected at most {limit}, the {}",
                problem.title(),
                match self.procs {
                    1 => "machine's memory".to_owned(),
                    procs => format!("memory of {procs} processors"),
                }
            )));
        }
        // Memory holds the array and the next one, in single and in double precision, and the coefficients
        // twice and wherever they are read.
        let points = match per_element {
            true => problem.stencil().points().len() as u64,
            false => 0,
        };
        let several = if problem.steps() > 1 { BETWEEN } else { 0 };
        let each = ELEMENT + several + COEFFICIENT * points;
        memory::check_memory(
            problem.title(),
            each.saturating_mul(problem.elements() as u64),
        )?;
        let own = self.own_coefficients();
        if self.seed.is_some() && file.is_some() && (!per_element || own.is_some()) {
            return Err(CommandFailure::input(
                "--seed: nothing is generated where the arrays are read from files; leave it out",
            ));
        }
        let seed = self.seed.unwrap_or(1);
        let generated = || problem.input(Case::Random, seed);
        let take = |data: &NamedArrays, name| {
            let values = data.get::<f32>(name).map(<[f32]>::to_vec);
            values.map_err(CommandFailure::input)
        };
        let u = match &file {
            Some(array) => floats(array),
            None => Random::new(seed).uniforms(problem.elements()),
        };
        let c = match (&own, per_element) {
            (Some(path), _) => Some(coefficients(path, &problem, limit)?),
            (None, true) => Some(take(&generated(), "c")?),
            (None, false) => None,
        };
        let made = file.is_none() || (per_element && own.is_none());
        Ok(StencilInput {
            seed: made.then_some(seed),
            problem,
            u,
            c,
        })
    }

    /// Computes the steps and judges the result.
    fn computed(
        &self,
        plan: &Stencils,
        given: &StencilInput,
        json: bool,
    ) -> Result<CommandOutcome, CommandFailure> {
        let problem = plan.problem();
        let known = plan.figures();
        let (options, progress) = self.simulation.begin(Some(known.reference.get()), json);
        let started = Instant::now();
        let job = plan.job(&given.u, given.c.as_deref(), options);
        let (job, v) = job.map_err(CommandFailure::input)?;
        let run = job.run(known, |_| Ok(v)).map_err(CommandFailure::input)?;
        let host_seconds = started.elapsed().as_secs_f64();
        drop(progress);
        let kept = run.keeps_inputs().map_err(CommandFailure::input)?;
        let verdict = match run.output {
            Some(v) if kept && given.is_finite() => {
                let values: Vec<f32> = run.run.read(v).map_err(CommandFailure::input)?;
                let found = NamedArrays::from_array("v", problem.shape(), values);
                Some(interrupt::run_interruptible(|| {
                    problem.judge(&given.data(), &found)
                })?)
            }
            _ => None,
        };
        let mut outcome = CommandOutcome {
            text: text(plan, &run, verdict) + &format!("simulated in {}\n", seconds(host_seconds)),
            json: fields(plan, &run, verdict, host_seconds),
            ..CommandOutcome::default()
        };
        self.simulation.emit(&run.run, &mut outcome)?;
        let source = plan.source();
        conclude(
            &self.simulation,
            &run.run,
            &problem.title(),
            |file| (file == "stencil.s").then(|| source.to_owned()),
            &mut outcome,
        )?;
        let wrong = WrongResult {
            whose: "the result's",
            tolerance: "the tolerance",
            cause: "numbers are so large that f32 overflows",
        };
        outcome.report_verdict(kept, verdict, wrong);
        if let (Some(path), Some(v)) = (&self.output, run.output) {
            let place = (v.address(), v.bytes());
            write_array(path, (Kind::Float32, problem.shape()), &run.run, place)?;
            outcome.text += &format!("output: {}\n", path.display());
            outcome.json["output"] = json!(display_path(path));
        }
        Ok(outcome)
    }
}

/// Converts an array to floats.
fn floats(array: &NpyArray) -> Vec<f32> {
    let words = array.bytes.chunks_exact(4);
    words
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

/// Reads the coefficients of every element, in the shape that the problem takes.
fn coefficients(
    path: &Path,
    problem: &StencilProblem,
    limit: u64,
) -> Result<Vec<f32>, CommandFailure> {
    let array = read_npy(path, &[Kind::Float32], limit)?;
    let forms = problem.inputs();
    let expected = forms.last().map(|form| form.shape.clone());
    let expected = expected.unwrap_or_default();
    if array.shape != expected {
        let found = format!(
            "an array of shape {:?}; expected {expected:?}: a row for each point in every row of the array",
            array.shape
        );
        return Err(CommandFailure::in_file(path, found));
    }
    Ok(floats(&array))
}

fn fields<T>(
    plan: &Stencils,
    run: &KernelRun<T>,
    verdict: Option<Verdict>,
    host_seconds: f64,
) -> Value {
    let report = &run.run.report;
    let relayouts = run.passes.iter().filter(|pass| pass.is_relayout()).count();
    let finished = report.end.is_finished();
    let updates = plan.problem().elements() as f64 * plan.problem().steps() as f64;
    let rate = updates / report.seconds_simulated / 1e6;
    let own = json!({
        "efficiency": finished.then(|| run.efficiency()),
        "million_updates_per_second": finished.then_some(rate),
        "expected_cycles": run.expected.map(|price| price.0),
        "rel_error": verdict.map(|v| v.rms),
        "worst_error_over_tolerance": verdict.map(|v| v.worst),
        "verified": verdict.map(|v| v.is_within_tolerance()),
        "passes": run.passes.len(),
        "relayouts": relayouts,
        "host_seconds": host_seconds,
    });
    let own = merge(own, json!(run.figures));
    merge(figures(report), merge(described(plan), own))
}

fn text<T>(plan: &Stencils, run: &KernelRun<T>, verdict: Option<Verdict>) -> String {
    let report = &run.run.report;
    let mut text = format!("{}\n{}\n", plan.problem().title(), plan.recipe());
    let relayouts = run.passes.iter().filter(|pass| pass.is_relayout()).count();
    if relayouts > 0 {
        text += &format!(
            "{relayouts} of {} passes put arrays into another layout\n",
            run.passes.len()
        );
    }
    text += &table(report);
    text += &run.figures.text();
    text += &match report.end.is_finished() {
        true => format!(", efficiency {:.3}\n", run.efficiency()),
        false => ", not finished\n".to_owned(),
    };
    text += &match verdict {
        Some(v) => format!(
            "error against f64: {:.2e} relative RMS, worst element {} of the tolerance\n",
            v.rms,
            decimal(v.worst, 2, 1.0)
        ),
        None => "error: not known (no result, or numbers that are not finite)\n".to_owned(),
    };
    text
}
