//! `cp2 npb mg`: the multigrid benchmark.

use super::report::{BenchmarkReport, ComparedFigure, MarkedOperator};
use super::{BenchmarkOptions, tuned};
use crate::interrupt;
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::progress;
use cp2_kernels::KernelRun;
use cp2_kernels::npb::mg::MultigridPlan;
use cp2_problems::npb::mg::{MgClass, charges};
use cp2_problems::{NamedArrays, Problem as _};
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    common: BenchmarkOptions,
    /// Take the passes and blocks that `cp2 tune mg` has written to this file [default: by price]
    #[arg(long, value_name = "FILE")]
    tuned: Option<PathBuf>,
}

/// Work of the host before simulated time begins.
const OUTSIDE: &[&str] = &["the right-hand side is an input: ten charges of each sign"];

/// Runs `cp2 npb mg`.
pub(super) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let common = &args.common;
    let machine = common.begin(args.tuned.as_deref())?;
    let benchmark = MgClass::from_class(common.class);
    let problem = benchmark.problem();
    // Each point, with its share of the coarser grids, is in four arrays of single precision and four of
    // double precision.
    let bytes = 100 * problem.n().pow(3) as u64;
    memory::check_memory(problem.title(), bytes)?;
    let plan = {
        let _planning = progress::planning(json);
        match &args.tuned {
            Some(path) => tuned::plan(path, common.class, &machine)?,
            None => MultigridPlan::new(problem.clone(), &machine).map_err(CommandFailure::input)?,
        }
    };
    let operators = plan.operators().into_iter();
    let method = plan.into_method();
    let n = problem.n();
    let input = NamedArrays::from_array("v", &[n; 3], charges(n, 1));
    let (run, host_seconds) = common.run(&method, &input, json)?;
    let compared = compare_results(&benchmark, &input, &run)?;
    let first = compared.first();
    let difference = first.map_or(f64::NAN, |number| number.difference);
    let report = BenchmarkReport {
        benchmark: "MG",
        title: format!("NPB MG, class {}: {}", common.class, problem.title()),
        machine: &machine,
        values: [
            json!(norms(&run).and_then(|norms| norms.last().copied())),
            json!(benchmark.official),
        ],
        difference: [difference, MgClass::TOLERANCE],
        compared,
        operations: benchmark.operations(),
        operators: operators
            .map(|(name, cycles)| MarkedOperator {
                name,
                reference: Some(cycles),
            })
            .collect(),
        run: &run,
        outside: OUTSIDE,
        said: String::new(),
        more: json!({ "recipe": method.recipe }),
        host_seconds,
    };
    report.conclude(common)
}

/// Returns the norms of the run, if it finished.
fn norms(run: &KernelRun<NamedArrays>) -> Option<&[f64]> {
    run.output.as_ref()?.get::<f64>("norms").ok()
}

/// Compares the last norm with the official one, and all results with the same cycles in double precision.
fn compare_results(
    benchmark: &MgClass,
    input: &NamedArrays,
    run: &KernelRun<NamedArrays>,
) -> Result<Vec<ComparedFigure>, CommandFailure> {
    let (Some(output), Some([_, norm])) = (&run.output, norms(run)) else {
        return Ok(Vec::new());
    };
    let relative = |official: f64| (norm / official - 1.0).abs();
    let number = |name: &str, official: f64| ComparedFigure {
        name: name.to_owned(),
        official: format!("{official:.13e}"),
        ours: format!("{norm:.13e}"),
        difference: relative(official),
        tolerance: MgClass::TOLERANCE,
    };
    let problem = benchmark.problem();
    let v = input.get::<f32>("v").map_err(CommandFailure::input)?;
    let exact = interrupt::run_interruptible(|| problem.solve::<f64>(v))?;
    let reference = problem.make_reference(&exact);
    Ok(vec![
        number("norm of the residual", benchmark.official),
        number("the same in f64", exact.norms[1]),
        ComparedFigure {
            name: "u".to_owned(),
            official: "in f64".to_owned(),
            ours: "error / allowed error".to_owned(),
            difference: reference.judge(output).worst,
            tolerance: 1.0,
        },
    ])
}
