//! `cp2 solve`: solves a sparse system of equations by an iterative method.

mod elsewhere;
mod ends;

use super::MachineArg;
use super::spmv::name_alternative_formats;
use crate::backends::{BackendArg, MeasuredBackend, add_simulated_clock};
use crate::interrupt;
use crate::io::{
    Kind, NpyArray, Outputs, check_extension, display_path, read_matrix, read_vector, write_whole,
};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use crate::packing::PackingCost;
use crate::picture::history::History;
use crate::progress;
use crate::provenance::ReportProvenance;
use crate::simulation::{SimulationArgs, conclude, figures, merge, outside_time, table};
use crate::table::seconds;
use cp2_kernels::KernelRun;
use cp2_kernels::sparse::{PackedFormat, Solver};
use cp2_machine::Machine;
use cp2_problems::NamedArrays;
use cp2_problems::Problem as _;
use cp2_problems::sparse::{MethodEnd, SolveOutcome, SolveProblem, SolverMethod};
use ends::SolvedRun;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The matrix, real and square: a file of the Matrix Market
    #[arg(long, value_name = "A.mtx", required = true)]
    matrix: PathBuf,
    /// The right-hand side: float32, as many as there are rows
    #[arg(long, value_name = "B.npy", required = true)]
    rhs: PathBuf,
    /// Method: cg, pcg (preconditioned with the diagonal) or bicgstab (the same); cg and pcg want a symmetric
    /// matrix
    #[arg(long, value_name = "METHOD", required = true, value_parser = method)]
    method: SolverMethod,
    /// Residual |b - A x| to be reached, relative to |b|: the one that double precision finds of x decides
    #[arg(long, value_name = "T", default_value_t = 1e-5, value_parser = tolerance)]
    tolerance: f64,
    /// Iterations at most
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = iterations)]
    iterations: usize,
    /// Pack the matrix in this format: gather, diagonal, or on machines with section-addressing sell, and with
    /// word-addressing too sell-words
    /// [default: the one whose product takes the fewest cycles]
    #[arg(long, value_name = "NAME")]
    format: Option<PackedFormat>,
    /// Write x, in the shape of b [default: not written]
    #[arg(long, value_name = "X.npy")]
    output: Option<PathBuf>,
    /// Draw the residual of each iteration, as .svg [default: not drawn]
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    backend: BackendArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

fn method(name: &str) -> Result<SolverMethod, String> {
    SolverMethod::find(name).ok_or_else(|| "expected cg, pcg or bicgstab".to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|&t: &f64| t > 0.0 && t < 1.0);
    number.ok_or_else(|| "expected a number above 0 and below 1".to_owned())
}

fn iterations(text: &str) -> Result<usize, String> {
    let most = SolveProblem::MOST_ITERATIONS;
    let number = text.parse().ok().filter(|n| (1..=most).contains(n));
    number.ok_or_else(|| format!("expected 1 to {most}"))
}

/// Most rows of a matrix.
const MOST_ROWS: usize = 1 << 24;

/// Work of the host before simulated time begins.
const OUTSIDE: &[&str] = &[
    "the matrix is packed, and its diagonal inverted for pcg and bicgstab",
    "vectors are filled with zeros",
];

/// The problem with its right-hand side, and the shape of that in its file.
struct SolveInput {
    problem: SolveProblem,
    b: Vec<f32>,
    shape: Vec<usize>,
}

impl SolveInput {
    /// Reads the matrix and the right-hand side.
    fn load(args: &Args, machine: &Machine) -> Result<Self, CommandFailure> {
        let matrix = read_matrix(&args.matrix, MOST_ROWS)?;
        let rows = matrix.rows();
        let problem =
            SolveProblem::new(matrix.into(), args.method, args.tolerance, args.iterations);
        let problem = problem.map_err(|e| CommandFailure::in_file(&args.matrix, e))?;
        let nnz = problem.matrix().nnz();
        memory::check_memory(problem.title(), memory::matrix_bytes(nnz, 2 * rows, 6))?;
        let (b, shape) = read_vector(&args.rhs, rows, machine.host.memory.0)?;
        if let Some(warning) = ends::warning(args.tolerance) {
            crate::say(&warning);
        }
        Ok(Self { problem, b, shape })
    }
}

/// Returns a line that says what is solved.
fn title(problem: &SolveProblem) -> String {
    format!(
        "{} equations with {} by {}",
        problem.matrix().rows(),
        problem.matrix().entries(),
        problem.method()
    )
}

/// Returns the problem and what a method found as JSON.
fn describe_solution(args: &Args, problem: &SolveProblem, solved: Option<&SolvedRun>) -> Value {
    json!({
        "matrix": display_path(&args.matrix),
        "rows": problem.matrix().rows(),
        "nnz": problem.matrix().nnz(),
        "method": problem.method().name(),
        "tolerance": problem.tolerance(),
        "outcome": solved.map(|solved| solved.outcome().to_string()),
        "converged": solved.is_some_and(|solved| solved.outcome() == SolveOutcome::Converged),
        "method_end": solved.map(|solved| solved.end.to_string()),
        "iterations": solved.map(SolvedRun::iterations),
        "residual": solved.and_then(SolvedRun::claimed_residual),
        "true_residual": solved.map(|solved| solved.found.residual),
        "attainable": solved.map(|solved| solved.found.attainable),
        "residuals": solved.map(|solved| &solved.residuals),
    })
}

/// Runs `cp2 solve`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let inputs = [args.matrix.as_path(), args.rhs.as_path()];
    let mut outputs = Outputs::from_inputs(inputs.into_iter().chain(args.machine.file()));
    for (path, ending) in [
        (&args.output, ("npy", ".npy")),
        (&args.picture, ("svg", ".svg")),
    ] {
        if let Some(path) = path {
            check_extension(path, ending.0, ending.1)?;
            outputs.check(path)?;
        }
    }
    args.simulation.check_outputs(&mut outputs)?;
    if let Some(backend) = args.backend.measured()? {
        let given = SolveInput::load(args, &MeasuredBackend::unlimited_machine()?)?;
        return elsewhere::run(args, &given, &backend);
    }
    let machine = Arc::new(args.machine.load()?);
    let SolveInput { problem, b, shape } = SolveInput::load(args, &machine)?;
    let rows = problem.matrix().rows();
    let (solver, pack_seconds) = {
        let _planning = progress::planning(json);
        let started = Instant::now();
        let solver = Solver::new(problem.clone(), &machine, args.format);
        let solver = solver.map_err(CommandFailure::input)?;
        (solver, started.elapsed().as_secs_f64())
    };
    let bytes = memory::iterations_bytes(solver.product(), 0, (2 * rows, 6));
    memory::check_memory(problem.title(), bytes)?;
    let (options, _watch) = args.simulation.begin(None, json);
    let started = Instant::now();
    let task = solver.task(&b, options).map_err(CommandFailure::input)?;
    let run = task.run(solver.figures(0)).map_err(CommandFailure::input)?;
    let host_seconds = started.elapsed().as_secs_f64();
    report(
        (args, &machine),
        (&problem, &solver, (&b, &shape)),
        run,
        [pack_seconds, host_seconds],
    )
}

fn report(
    (args, machine): (&Args, &Machine),
    (problem, solver, (b, shape)): (&SolveProblem, &Solver, (&[f32], &[usize])),
    run: KernelRun<NamedArrays>,
    [pack_seconds, host_seconds]: [f64; 2],
) -> Result<CommandOutcome, CommandFailure> {
    let product = solver.product().expected().0 as f64;
    let packed = PackingCost::new(solver.packing(), pack_seconds, product, machine);
    let report = &run.run.report;
    let output = run.output.as_ref();
    let solved = output
        .map(|output| interrupt::run_interruptible(|| SolvedRun::read_output(problem, b, output)));
    let solved = solved.transpose()?.flatten();
    let iterations = solved.as_ref().map_or(0, SolvedRun::iterations);
    let costs = solver.figures(iterations);
    let efficiency = solved.as_ref().map(|_| costs.efficiency(report.cycles));
    let own = json!({
        "format": solver.product().format().name(),
        "recipe": solver.product().recipe(),
        "efficiency": efficiency,
        "expected_cycles": null,
        "host_seconds": host_seconds,
        "outside_time": OUTSIDE,
    });
    let own = merge(describe_solution(args, problem, solved.as_ref()), own);
    let own = merge(merge(own, packed.json()), json!(costs));
    let title = title(problem);
    let mut text = format!("{title}\n");
    if let Some(solved) = &solved {
        text += &solved.text();
    }
    text += &table(report);
    if let Some(efficiency) = efficiency {
        text += &format!("{}, efficiency {efficiency:.3}\n", costs.text());
    }
    text += &format!(
        "packed in {}\nsimulated in {}\n",
        packed.text(),
        seconds(host_seconds)
    );
    text += &outside_time(OUTSIDE);
    let mut outcome = CommandOutcome {
        text,
        json: ReportProvenance::new("cp2-solve/1", machine, None)
            .engine(args.simulation.engine().resolve_engine(machine))
            .add_figures(merge(figures(report), own)),
        ..CommandOutcome::default()
    };
    if let Some(solved) = &solved {
        let output = (solved, shape);
        write(args, output, &title, problem.tolerance(), &mut outcome)?;
    }
    args.simulation.emit(&run.run, &mut outcome)?;
    let source = super::source_text;
    conclude(&args.simulation, &run.run, &title, source, &mut outcome)?;
    add_simulated_clock(&mut outcome);
    outcome.inputs(run.keeps_inputs().map_err(CommandFailure::input)?);
    if let Some(solved) = &solved {
        let format = name_alternative_formats(solver.product().format(), machine);
        judge(solved, problem, &format!(" ({format})"), &mut outcome);
    }
    Ok(outcome)
}

/// Reports a system that is not solved, with advice; `compare` says what tells whether it is a fault of this program.
fn judge(solved: &SolvedRun, problem: &SolveProblem, compare: &str, outcome: &mut CommandOutcome) {
    let Some(advice) = solved.advice(problem) else {
        return;
    };
    outcome.exit = outcome.exit.max(UNVERIFIED);
    outcome.notes += &format!("error: not solved: {advice}");
    // A run that merely needs more iterations has no fault to look for.
    if solved.outcome() != SolveOutcome::Unsolved(MethodEnd::Limit) {
        outcome.notes += &format!("; or this is a fault of cp2{compare}");
    }
    outcome.notes.push('\n');
}

/// Writes the solution in the shape of the right-hand side, and the picture.
fn write(
    args: &Args,
    (solved, shape): (&SolvedRun, &[usize]),
    title: &str,
    tolerance: f64,
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    if let Some(path) = &args.output {
        let array = NpyArray {
            kind: Kind::Float32,
            shape: shape.to_vec(),
            bytes: solved.x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        };
        write_whole(path, &array.to_npy())?;
        outcome.text += &format!("x: {}\n", path.display());
        outcome.json["output"] = json!(display_path(path));
    }
    if let Some(path) = &args.picture {
        let history = History {
            title: title.to_owned(),
            residuals: &solved.residuals,
            tolerance,
        };
        write_whole(path, history.svg().as_bytes())?;
        outcome.text += &format!("picture: {}\n", path.display());
        outcome.json["picture"] = json!(display_path(path));
    }
    Ok(())
}
