//! `cp2 spmv --iterations`: power iteration.

use super::{Args, elsewhere, name_alternative_formats, report::divided};
use crate::backends::add_simulated_clock;
use crate::digits::decimal;
use crate::interrupt;
use crate::io::{Kind, NpyArray, display_path, read_vector, write_npy};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED, WrongResult};
use crate::packing::PackingCost;
use crate::picture::matrix::MatrixPicture;
use crate::progress;
use crate::provenance::ReportProvenance;
use crate::simulation::{conclude, figures, merge, outside_time, table};
use crate::table::seconds;
use cp2_kernels::sparse::PowerIterations;
use cp2_kernels::{KernelRun, Verdict};
use cp2_machine::Machine;
use cp2_problems::sparse::{PowerProblem, Powers};
use cp2_problems::{Case, NamedArrays, Problem as _};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Work of the host before simulated time begins.
const OUTSIDE: &[&str] = &["the matrix is packed", "vectors are filled with zeros"];

/// Explanation of the residual's limits in the report.
pub(super) const WHICH: &str = "a small residual shows that an eigenvalue is near, not which: as a rule that of the largest size, unless the start lacks its vector\n";

/// Cause of a wrong result on the user's side.
pub(super) const WRONG_POWER: &str = "sums of squares leave the range of f32";

/// Results of a run, with values of double precision.
pub(super) struct IteratedRun {
    x: Vec<f32>,
    values: Vec<f64>,
    residuals: Vec<f64>,
    /// Last value and residual in double precision.
    exact: [f64; 2],
}

impl IteratedRun {
    pub(super) fn read_output(output: &NamedArrays, exact: &Powers<f64>) -> Option<Self> {
        let [values, residuals] =
            ["values", "residuals"].map(|name| Some(output.get::<f64>(name).ok()?.to_vec()));
        Some(Self {
            x: output.get("x").ok()?.to_vec(),
            values: values?,
            residuals: residuals?,
            exact: [&exact.values, &exact.residuals].map(|all| last(all)),
        })
    }

    /// True if x has become zero.
    pub(super) fn is_nothing(&self) -> bool {
        self.x.iter().all(|&x| x == 0.0)
    }
}

fn last(all: &[f64]) -> f64 {
    all.last().copied().unwrap_or(f64::NAN)
}

/// The problem with its start vector, and the shape of that in its file.
pub(super) struct PowerInput {
    pub(super) problem: PowerProblem,
    pub(super) x: Vec<f32>,
    pub(super) shape: Vec<usize>,
}

impl PowerInput {
    /// Reads the matrix, and reads or generates the start vector. A structured start, such as ones, may be an
    /// eigenvector itself, or lack the eigenvector that is sought.
    pub(super) fn load(
        args: &Args,
        iterations: usize,
        machine: &Machine,
    ) -> Result<Self, CommandFailure> {
        let matrix = args.matrix(machine)?;
        let rows = matrix.rows();
        let problem = PowerProblem::new(matrix, iterations);
        let problem = problem.map_err(|e| CommandFailure::in_file(&args.matrix, e))?;
        let nnz = problem.matrix().nnz();
        memory::check_memory(problem.title(), memory::matrix_bytes(nnz, 2 * rows, 3))?;
        let (x, shape) = match &args.x {
            Some(path) => read_vector(path, rows, machine.host.memory.0)?,
            None => {
                let input = problem.input(Case::Random, args.generated_seed());
                let x = input.get::<f32>("x").map_err(CommandFailure::input)?;
                (x.to_vec(), vec![rows])
            }
        };
        if let (Some(path), true) = (&args.x, x.iter().all(|&x| x == 0.0)) {
            let found = "all numbers are 0; expected a vector with a length to start from";
            return Err(CommandFailure::in_file(path, found));
        }
        if let Err(error) = problem.check(&x) {
            return Err(match &args.x {
                Some(path) => CommandFailure::in_file(path, error),
                None => CommandFailure::input(error),
            });
        }
        Ok(Self { problem, x, shape })
    }
}

/// Returns the lines and the JSON fields about what iterations found.
pub(super) fn outcome_of(
    problem: &PowerProblem,
    iterated: Option<&IteratedRun>,
    verdict: Option<Verdict>,
) -> (String, Value) {
    // A zero vector has neither value nor residual.
    let left = iterated.filter(|found| !found.is_nothing());
    let of = |number: fn(&IteratedRun) -> f64| left.map(number);
    let matrix = problem.matrix();
    let json = json!({
        "rows": matrix.rows(),
        "cols": matrix.cols(),
        "nnz": matrix.nnz(),
        "iterations": problem.iterations(),
        "eigenvalue": of(|found| last(&found.values)),
        "residual": of(|found| last(&found.residuals)),
        "eigenvalue_f64": of(|found| found.exact[0]),
        "residual_f64": of(|found| found.exact[1]),
        "values": iterated.map(|found| &found.values),
        "residuals": iterated.map(|found| &found.residuals),
        "rel_error": verdict.map(|v| v.rms),
        "worst_error_over_tolerance": verdict.map(|v| v.worst),
        "verified": verdict.map(|v| v.is_within_tolerance()),
    });
    let mut text = String::new();
    if let Some(found) = left {
        let [value, residual] = found.exact;
        text += &format!(
            "value x . A x / x . x: {:.8e}, residual |A x - value x| / |A x| {:.2e} (in f64: {value:.8e}, {residual:.2e})\n",
            last(&found.values),
            last(&found.residuals)
        );
        text += WHICH;
    }
    (text, json)
}

/// Returns the line about the largest error.
pub(super) fn error_text(verdict: Option<Verdict>) -> String {
    match verdict {
        Some(v) => format!(
            "largest error {} of the tolerance\n",
            decimal(v.worst, 2, 1.0)
        ),
        None => "error: not known (no result)\n".to_owned(),
    }
}

/// Iterates from the user's x or from random numbers.
pub(super) fn run(
    args: &Args,
    iterations: usize,
    json: bool,
) -> Result<CommandOutcome, CommandFailure> {
    args.check_outputs()?;
    if let Some(backend) = args.backend.measured()? {
        return elsewhere::iterate(args, iterations, &backend);
    }
    let machine: Arc<Machine> = Arc::new(args.machine.load()?);
    let PowerInput { problem, x, shape } = PowerInput::load(args, iterations, &machine)?;
    let rows = problem.matrix().rows();
    let planning = progress::planning(json);
    let started = Instant::now();
    let plan = PowerIterations::new(problem.clone(), &machine, args.format);
    let pack_seconds = started.elapsed().as_secs_f64();
    drop(planning);
    let plan = plan.map_err(CommandFailure::input)?;
    let bytes = memory::iterations_bytes(plan.product(), iterations + 1, (2 * rows, 3));
    memory::check_memory(problem.title(), bytes)?;
    let known = plan.figures();
    let (options, progress) = args.simulation.begin(Some(known.reference.get()), json);
    let started = Instant::now();
    let task = plan.task(&x, options).map_err(CommandFailure::input)?;
    let run = task.run(known).map_err(CommandFailure::input)?;
    let host_seconds = started.elapsed().as_secs_f64();
    drop(progress);
    let kept = run.keeps_inputs().map_err(CommandFailure::input)?;
    let judged = match run.output.as_ref().filter(|_| kept) {
        Some(output) => interrupt::run_interruptible(|| {
            let exact = problem.solve::<f64>(&x);
            let iterated = IteratedRun::read_output(output, &exact)?;
            Some((iterated, problem.verdict(exact, output)))
        })?,
        None => None,
    };
    let (iterated, verdict) = judged.unzip();
    let done = Done {
        problem: &problem,
        plan: &plan,
        run: &run,
        iterated: iterated.as_ref(),
        verdict,
        host_seconds: [pack_seconds, host_seconds],
    };
    let mut outcome = done.outcome(args, &machine);
    args.simulation.emit(&run.run, &mut outcome)?;
    let title = problem.title();
    let source = super::super::source_text;
    conclude(&args.simulation, &run.run, &title, source, &mut outcome)?;
    let wrong = WrongResult {
        whose: "the result's",
        tolerance: "the tolerance",
        cause: &format!(
            "{WRONG_POWER} (multiply --x or the matrix by a power of two; {})",
            name_alternative_formats(plan.product().format(), &machine)
        ),
    };
    outcome.report_verdict(kept, verdict, wrong);
    if let Some(iterated) = &iterated {
        finish(args, iterated, shape, &mut outcome)?;
    }
    add_simulated_clock(&mut outcome);
    if let Some(path) = &args.picture {
        let picture = MatrixPicture::new(title, problem.matrix());
        divided(picture, plan.product()).write(path)?;
        outcome.text += &format!("picture: {}\n", path.display());
        outcome.json["picture"] = json!(display_path(path));
    }
    Ok(outcome)
}

/// Run that has ended, with its results and verdict.
struct Done<'a> {
    problem: &'a PowerProblem,
    plan: &'a PowerIterations,
    run: &'a KernelRun<NamedArrays>,
    iterated: Option<&'a IteratedRun>,
    verdict: Option<Verdict>,
    /// Seconds of host time: for packing, and for the simulation.
    host_seconds: [f64; 2],
}

impl Done<'_> {
    fn outcome(&self, args: &Args, machine: &Machine) -> CommandOutcome {
        let (report, product) = (&self.run.run.report, self.plan.product());
        let finished = report.end.is_finished();
        let efficiency = finished.then(|| self.run.efficiency());
        let [_, host_seconds] = self.host_seconds;
        let packed = self.packed(machine);
        let own = json!({
            "matrix": display_path(&args.matrix),
            "format": product.format().name(),
            "recipe": product.recipe(),
            "packed_bytes": product.bytes(),
            "efficiency": efficiency,
            "expected_cycles": self.run.expected.map(|price| price.0),
            "host_seconds": host_seconds,
            "outside_time": OUTSIDE,
        });
        let (_, found) = outcome_of(self.problem, self.iterated, self.verdict);
        let own = merge(found, own);
        let own = merge(merge(own, packed.json()), json!(self.run.figures));
        let seed = args.x.is_none().then(|| args.generated_seed());
        CommandOutcome {
            text: self.text(efficiency, packed),
            json: ReportProvenance::new("cp2-power/1", machine, seed)
                .engine(args.simulation.engine().resolve_engine(machine))
                .add_figures(merge(figures(report), own)),
            ..CommandOutcome::default()
        }
    }

    /// Returns the cost of packing the matrix.
    fn packed(&self, machine: &Machine) -> PackingCost {
        let product = self.plan.product().expected().0 as f64;
        PackingCost::new(self.plan.packing(), self.host_seconds[0], product, machine)
    }

    fn text(&self, efficiency: Option<f64>, packed: PackingCost) -> String {
        let product = self.plan.product();
        let mut text = format!(
            "{}\n{}: {}\n",
            self.problem.title(),
            product.format(),
            product.recipe()
        );
        text += &outcome_of(self.problem, self.iterated, self.verdict).0;
        text += &table(&self.run.run.report);
        text += &self.run.figures.text();
        text += &match efficiency {
            Some(efficiency) => format!(", efficiency {efficiency:.3}\n"),
            None => ", not finished\n".to_owned(),
        };
        text += &error_text(self.verdict);
        let [_, host_seconds] = self.host_seconds.map(seconds);
        text += &format!("packed in {}\nsimulated in {host_seconds}\n", packed.text());
        text + &outside_time(OUTSIDE)
    }
}

/// Writes x in the shape of the start vector, and adds a note if x has become zero.
pub(super) fn finish(
    args: &Args,
    iterated: &IteratedRun,
    shape: Vec<usize>,
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    if iterated.is_nothing() {
        outcome.exit = outcome.exit.max(UNVERIFIED);
        outcome.notes += "error: A x has become 0, or its square has in f32, so that there is no eigenvalue to come near: start from another --x, or multiply it or the matrix by a power of two\n";
    }
    if let Some(path) = &args.output {
        let array = NpyArray {
            kind: Kind::Float32,
            shape,
            bytes: iterated.x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        write_npy(path, &array)?;
        outcome.text += &format!("output: {}\n", path.display());
        outcome.json["output"] = json!(display_path(path));
    }
    Ok(())
}
