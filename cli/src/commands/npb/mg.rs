//! `cp2 npb mg`: the multigrid benchmark.

mod processors;

use super::report::{BenchmarkReport, BenchmarkResult, ComparedFigure, MarkedOperator};
use super::{BenchmarkOptions, tuned};
use crate::backends::{MeasuredBackend, MeasuredRun};
use crate::commands::map::Extents;
use crate::interrupt;
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::progress;
use crate::simulation::merge;
use cp2_kernels::npb::mg::{MultigridPlan, NormSum, SplitPrice, SplitRequest};
use cp2_machine::Machine;
use cp2_problems::npb::mg::{MgClass, MgProblem, Smoother};
use cp2_problems::npb::{NpbClass, Precision};
use cp2_problems::{Case, NamedArrays, Problem as _};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Size of the benchmark: S, W, A, B or C [default: the grid of --grid]
    #[arg(long, value_name = "CLASS", required_unless_present = "grid")]
    class: Option<NpbClass>,
    /// Planes, rows and columns of a grid of one's own, powers of two from 16 to 1024, which has no official value
    /// [default: the cube of --class]
    #[arg(long, value_name = "ZxYxX", conflicts_with_all = ["class", "tuned"])]
    grid: Option<Extents>,
    /// Numbers of the arrays and of the arithmetic: single, or double or double-single on machines with that extension
    #[arg(long, value_name = "PRECISION", default_value_t = Precision::Single, conflicts_with = "tuned")]
    precision: Precision,
    /// V-cycles on such a grid [default: 4]
    #[arg(long, value_name = "N", requires = "grid")]
    cycles: Option<usize>,
    #[command(flatten)]
    common: BenchmarkOptions,
    /// Take the passes and blocks that `cp2 tune mg` has written to this file [default: by price]
    #[arg(long, value_name = "FILE")]
    tuned: Option<PathBuf>,
    /// Processors that share planes and rows, a power of two up to 1024. Ranks of `mpirun` share the processors
    #[arg(long, value_name = "P", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    procs: u16,
    /// Parts of rows (y) and of planes (z); their product is the number of processors [default: by price]
    #[arg(long, value_name = "YxZ")]
    split: Option<SplitParts>,
    /// Points along a row of the finest level that every processor has whole, a power of two [default: by price]
    #[arg(long, value_name = "N")]
    gather: Option<usize>,
    /// Order in which processors add up the sums of norms: along a tree, or as one processor does, whose bits norms
    /// then have
    #[arg(long, value_name = "ORDER", default_value = "tree")]
    sum: SumOrder,
}

/// Order in which processors add up sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SumOrder {
    /// Along a binomial tree
    Tree,
    /// In the order of one processor
    Ordered,
}

impl From<SumOrder> for NormSum {
    fn from(sum: SumOrder) -> Self {
        match sum {
            SumOrder::Tree => Self::Tree,
            SumOrder::Ordered => Self::Ordered,
        }
    }
}

/// Most parts of rows, and of planes.
const PARTS: usize = 1024;

/// Parts of rows and of planes.
#[derive(Clone, Copy, Debug)]
struct SplitParts {
    rows: usize,
    planes: usize,
}

impl FromStr for SplitParts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<_> = text.split('x').collect();
        match &numbers[..] {
            [rows, planes] => rows.parse().ok().zip(planes.parse().ok()),
            _ => None,
        }
        .filter(|parts: &(usize, usize)| parts.0.max(parts.1) <= PARTS)
        .map(|(rows, planes)| Self { rows, planes })
        .ok_or_else(|| {
            let cut = match numbers.len() {
                3 => "; rows (x) are not cut, because they are lifted: the neighbour beyond the end of a row is in the lanes of another quad of it",
                _ => "",
            };
            format!("expected parts of rows (y) x parts of planes (z), each up to {PARTS}, as in 2x4{cut}")
        })
    }
}

impl SplitParts {
    /// Returns the parts of planes, and of rows.
    fn parts(self) -> [usize; 2] {
        [self.planes, self.rows]
    }
}

/// V-cycles that are run: those of a class, or on a grid of one's own.
struct Subject {
    problem: MgProblem,
    class: Option<MgClass>,
}

impl Subject {
    /// Names what is run.
    fn title(&self) -> String {
        match self.class {
            Some(benchmark) => format!(
                "NPB MG, class {}: {}",
                benchmark.class,
                self.problem.title()
            ),
            None => self.problem.title(),
        }
    }

    /// Returns extents, cycles and smoother as JSON.
    fn json(&self) -> Value {
        json!({
            "shape": self.problem.shape(),
            "v_cycles": self.problem.cycles(),
            "smoother": self.problem.smoother().to_string(),
            "precision": self.problem.precision().name(),
        })
    }

    /// Checks that this computer has the memory. Each point, with its share of the coarser grids, is in arrays of the
    /// problem's precision and in arrays of the reference, whose numbers have twice the bytes.
    fn check_memory(&self) -> Result<(), CommandFailure> {
        let each = 25 * self.problem.precision().bytes();
        let bytes = each * self.problem.count() as u64;
        Ok(memory::check_memory(self.problem.title(), bytes)?)
    }

    /// Returns the right-hand side.
    fn input(&self) -> NamedArrays {
        self.problem.input(Case::Random, 1)
    }

    /// Compares the output of a run, if it has one, with official values and double precision.
    fn judge(
        &self,
        input: &NamedArrays,
        output: Option<&NamedArrays>,
    ) -> Result<BenchmarkResult, CommandFailure> {
        let found = output.and_then(|output| Some((output, norms(output)?)));
        let compared = match found {
            Some((output, [_, norm])) => compare_results(self, input, output, *norm)?,
            _ => Vec::new(),
        };
        let first = compared.first();
        let difference = first.map_or(f64::NAN, |number| number.difference);
        Ok(BenchmarkResult {
            benchmark: "MG",
            class: self.class(),
            title: self.title(),
            values: [
                json!(found.and_then(|(_, norms)| norms.last().copied())),
                json!(self.official()),
            ],
            difference: [difference, self.tolerance()],
            compared,
            operations: self.operations(),
            more: self.json(),
        })
    }

    /// Refuses a grid whose arrays do not fit in the machine's memory, before plans are made for it.
    fn check_machine_memory(&self, machine: &Machine) -> Result<(), CommandFailure> {
        let point = 2 * self.problem.precision().bytes();
        let needed = point * self.problem.count() as u64 + NORMS;
        let held = machine.host.memory.0;
        if needed <= held {
            return Ok(());
        }
        Err(CommandFailure::input(format!(
            "{}, {}: right-hand side, solution and norms need {needed} B of system memory, and the machine has {held} B \
             (`host.memory`); use a smaller problem, several processors (--procs), or a machine with more memory",
            machine.name,
            self.title()
        )))
    }

    /// Returns the class, if there is one.
    fn class(&self) -> Option<NpbClass> {
        self.class.map(|benchmark| benchmark.class)
    }

    /// Returns the allowed relative error of a norm.
    fn tolerance(&self) -> f64 {
        MgClass::tolerance(self.problem.precision())
    }

    /// Returns the official norm, if there is one.
    fn official(&self) -> Option<f64> {
        self.class.map(|benchmark| benchmark.official)
    }

    /// Returns the operations as the benchmark counts them.
    fn operations(&self) -> f64 {
        MgClass::count_operations(self.problem.count(), self.problem.cycles())
    }
}

/// Bytes of both norms.
const NORMS: u64 = 16;

/// V-cycles on a grid, without a number of them.
const CYCLES: usize = 4;

impl Args {
    /// Returns what is to be run.
    fn subject(&self) -> Result<Subject, CommandFailure> {
        let class = self.class.map(MgClass::from_class);
        let problem = match (&class, &self.grid) {
            (Some(class), _) => class.problem(),
            (None, grid) => {
                let extents = grid.as_ref().map_or(&[][..], |Extents(all)| all);
                let &[planes, rows, columns] = extents else {
                    return Err(CommandFailure::input(
                        "--grid: expected planes x rows x columns, as 64x32x32",
                    ));
                };
                let shape = [planes, rows, columns];
                let shape = shape.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
                let cycles = self.cycles.unwrap_or(CYCLES);
                MgProblem::with_shape(shape, cycles, Smoother::A).map_err(CommandFailure::input)?
            }
        };
        let problem = problem.with_precision(self.precision);
        Ok(Subject { problem, class })
    }

    fn split_request(&self) -> SplitRequest {
        SplitRequest {
            parts: self.split.map(SplitParts::parts),
            gather: self.gather,
            sum: self.sum.into(),
            every_price: false,
        }
    }

    /// Refuses options of several processors for one.
    fn check_one(&self) -> Result<(), CommandFailure> {
        let given = [
            ("--split", self.split.is_some()),
            ("--gather", self.gather.is_some()),
            ("--sum", self.sum != SumOrder::Tree),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(CommandFailure::input(format!(
                "{option} is for several processors; expected --procs P as well, with P of at least 2"
            ))),
            None => Ok(()),
        }
    }
}

/// Plans the cycles on one processor.
fn plan(
    args: &Args,
    problem: &MgProblem,
    machine: &Arc<Machine>,
    quiet: bool,
) -> Result<MultigridPlan, CommandFailure> {
    let _planning = progress::planning(quiet);
    match &args.tuned {
        Some(path) => {
            let class = args.class.ok_or_else(|| {
                CommandFailure::input("--tuned: a tuning file is for a class; expected --class")
            })?;
            tuned::plan(path, class, machine)
        }
        None => interrupt::plan_interruptible(|| MultigridPlan::new(problem.clone(), machine))?
            .map_err(CommandFailure::input),
    }
}

/// Plans the cycles on several processors; returns the prices of all splits too, the lowest first.
pub(crate) fn split(
    whole: &MultigridPlan,
    processors: usize,
    request: &SplitRequest,
    quiet: bool,
) -> Result<(MultigridPlan, Vec<SplitPrice>), CommandFailure> {
    let (mut steps, mut ended) = (None, Ok(()));
    let found = whole.split_by_price(processors, request, |trial| {
        let steps = steps.get_or_insert_with(|| progress::steps(trial.total as u64, quiet));
        if trial.before > 0 {
            steps.count_step();
        }
        let [planes, rows] = trial.split.parts;
        steps.begin(&format!(
            "{rows} x {planes} parts of rows x planes, {} points on all",
            trial.split.gather
        ));
        ended = interrupt::check();
        match ended {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    drop(steps);
    ended?;
    let found = found.map_err(CommandFailure::input)?;
    found.ok_or_else(|| {
        CommandFailure::input("the search was ended before it was done; start it again")
    })
}

/// Returns the parts of a run as reports name them, with their reference cycles.
fn mark_operators(plan: &MultigridPlan) -> Vec<MarkedOperator> {
    let operators = plan.operators().into_iter();
    let marked = operators.map(|(name, cycles)| MarkedOperator {
        name,
        reference: Some(cycles),
    });
    marked.collect()
}

/// Returns the price of a split as JSON.
pub(crate) fn describe_price(price: &SplitPrice) -> Value {
    let [planes, rows] = price.split.parts;
    json!({
        "split": { "planes": planes, "rows": rows, "gather": price.split.gather },
        "cycles": price.cycles.get(),
        "cycles_of_passes": price.passes.get(),
        "messages": price.messages[0],
        "message_bytes": price.messages[1],
    })
}

/// Work of the host before simulated time begins.
const OUTSIDE: &[&str] = &["the right-hand side is an input: ten charges of each sign"];

/// Runs `cp2 npb mg`.
pub(super) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let common = &args.common;
    if args.procs == 1 {
        args.check_one()?;
    }
    if let Some(backend) = common.backend.measured()? {
        return compute_elsewhere(args, &backend);
    }
    let ranks = crate::processors::connect_for(args.procs)?;
    let machine = common.begin(args.tuned.as_deref(), args.procs)?;
    if let Some(ranks) = ranks {
        return processors::run(args, &machine, json, ranks);
    }
    let subject = args.subject()?;
    let problem = &subject.problem;
    subject.check_memory()?;
    subject.check_machine_memory(&machine)?;
    let plan = plan(args, problem, &machine, json)?;
    let operators = mark_operators(&plan);
    let method = plan.into_method();
    let input = subject.input();
    let (run, host_seconds) = common.run(&method, &input, json)?;
    let mut result = subject.judge(&input, run.output.as_ref())?;
    result.more = merge(result.more, json!({ "recipe": method.recipe }));
    let report = BenchmarkReport {
        result,
        machine: &machine,
        operators,
        run: &run,
        outside: OUTSIDE,
        said: String::new(),
        host_seconds,
    };
    report.conclude(common)
}

/// Carries out the cycles on a backend, and reports measured times.
fn compute_elsewhere(
    args: &Args,
    backend: &MeasuredBackend<'_>,
) -> Result<CommandOutcome, CommandFailure> {
    let subject = args.subject()?;
    subject.check_memory()?;
    let input = subject.input();
    let run = MeasuredRun::new(backend, &subject.problem, &input)?;
    let result = subject.judge(&input, Some(&run.output))?;
    Ok(result.conclude_measured(&run, &[]))
}

/// Returns the norms of the output, before and after all cycles.
fn norms(output: &NamedArrays) -> Option<&[f64]> {
    output.get::<f64>("norms").ok()
}

/// Compares the last norm with the official one, if there is one, and all results with the same cycles in a higher
/// precision.
fn compare_results(
    subject: &Subject,
    input: &NamedArrays,
    output: &NamedArrays,
    norm: f64,
) -> Result<Vec<ComparedFigure>, CommandFailure> {
    let number = |name: &str, official: f64| ComparedFigure {
        name: name.to_owned(),
        official: format!("{official:.13e}"),
        ours: format!("{norm:.13e}"),
        difference: (norm / official - 1.0).abs(),
        tolerance: subject.tolerance(),
    };
    let problem = &subject.problem;
    let more = match problem.precision() {
        Precision::Single => "f64",
        Precision::DoubleSingle | Precision::Double => "two f64",
    };
    let exact = interrupt::run_interruptible(|| problem.solve_exactly(input))?;
    let exact = exact.map_err(CommandFailure::input)?;
    let reference = problem.make_reference(&exact);
    let official = subject.official();
    let official = official.map(|official| number("norm of the residual", official));
    let exactly = match official {
        Some(_) => format!("the same in {more}"),
        None => format!("norm of the residual in {more}"),
    };
    let own = [
        number(&exactly, exact.norms[1]),
        ComparedFigure {
            name: "u".to_owned(),
            official: format!("in {more}"),
            ours: "error / allowed error".to_owned(),
            difference: reference.judge(output).worst,
            tolerance: 1.0,
        },
    ];
    Ok(official.into_iter().chain(own).collect())
}
