//! `cp2 npb ft`: the Fourier transform benchmark.

use super::BenchmarkOptions;
use super::report::{BenchmarkReport, BenchmarkResult, ComparedFigure, MarkedOperator};
use crate::backends::MeasuredRun;
use crate::interrupt;
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::progress;
use crate::simulation::merge;
use cp2_kernels::Cp2Backend;
use cp2_kernels::npb::{FT_OPERATORS, number_format};
use cp2_machine::Machine;
use cp2_problems::npb::ft::{checksum_tolerance, field_tolerance, official};
use cp2_problems::npb::{FtProblem, NpbClass, Precision};
use cp2_problems::{ExpectedArray, NamedArrays, Problem as _};
use cp2_reference::Diffusion;
use serde_json::{Value, json};
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Size of the benchmark: S, W, A, B or C
    #[arg(long, value_name = "CLASS", required = true)]
    class: NpbClass,
    /// Format of the numbers: single, or double on machines with the extension `double`; there are no kernels for
    /// double-single
    #[arg(long, value_name = "FORMAT", default_value_t)]
    precision: Precision,
    #[command(flatten)]
    common: BenchmarkOptions,
}

/// Work of the host before simulated time begins, with fields of single precision.
const OUTSIDE: &[&str] = &[
    "the field is an input: the generator's numbers rounded to float32",
    "the factors of each step along each axis",
];
/// Work of the host before simulated time begins, with fields of double precision.
const OUTSIDE_DOUBLE: &[&str] = &[
    "the field is an input: the generator's numbers",
    "the factors of each step along each axis",
    "the roots of unity of the transforms",
];

/// Runs `cp2 npb ft`.
pub(super) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let common = &args.common;
    let measured = common.backend.measured()?;
    let precision = args.precision;
    let problem = FtProblem::from_class(args.class).with_precision(precision);
    // Each number is in five arrays of the format and four of double precision.
    let number = 5 * 2 * precision.bytes() + 4 * 16;
    let bytes = number * problem.shape().iter().product::<usize>() as u64;
    memory::check_memory(problem.title(), bytes)?;
    if let Some(backend) = measured {
        let input = problem.initial();
        let run = MeasuredRun::new(&backend, &problem, &input)?;
        let result = judge(args.class, &problem, &input, Some(&run.output))?;
        return Ok(result.conclude_measured(&run, &[]));
    }
    let machine = common.begin(None, 1)?;
    let method = {
        let _planning = progress::planning(json);
        Cp2Backend::new(machine.clone()).method(&problem)
    };
    let method = method.map_err(CommandFailure::input)?;
    let input = problem.initial();
    let (run, host_seconds) = common.run(&method, &input, json)?;
    let mut result = judge(args.class, &problem, &input, run.output.as_ref())?;
    result.more = merge(result.more, json!({ "recipe": method.recipe }));
    let report = BenchmarkReport {
        result,
        machine: &machine,
        operators: operators(&problem, &machine),
        run: &run,
        outside: match precision {
            Precision::Single => OUTSIDE,
            Precision::DoubleSingle | Precision::Double => OUTSIDE_DOUBLE,
        },
        said: String::new(),
        host_seconds,
    };
    report.conclude(common)
}

/// Compares the output of a run, if it has one, with official values and double precision.
fn judge(
    class: NpbClass,
    problem: &FtProblem,
    input: &NamedArrays,
    output: Option<&NamedArrays>,
) -> Result<BenchmarkResult, CommandFailure> {
    let (compared, field) = match output {
        Some(output) => compare_results(problem, class, input, output)?,
        None => (Vec::new(), None),
    };
    let worst = compared
        .iter()
        .take(problem.steps())
        .map(|number| number.difference)
        // A NaN is kept as the worst difference.
        .reduce(|worst, next| {
            if next > worst || next.is_nan() {
                next
            } else {
                worst
            }
        });
    Ok(BenchmarkResult {
        benchmark: "FT",
        class: Some(class),
        title: format!("NPB FT, class {class}: {}", problem.title()),
        compared,
        values: [output.map_or(Value::Null, values), json!(official(class))],
        difference: [
            worst.unwrap_or(f64::NAN),
            checksum_tolerance(problem.precision()),
        ],
        operations: problem.operations(),
        more: json!({
            "precision": problem.precision().name(),
            "field_error": field,
            "field_tolerance": field_tolerance(problem.precision()),
        }),
    })
}

/// Returns the checksums of the output.
fn values(output: &NamedArrays) -> Value {
    let sums = output.get::<f64>("checksums").ok();
    json!(sums.map(|sums| sums.chunks_exact(2).collect::<Vec<_>>()))
}

/// Compares the checksums with the official ones, and the field with double precision; returns the field's
/// relative error as well.
fn compare_results(
    problem: &FtProblem,
    class: NpbClass,
    input: &NamedArrays,
    output: &NamedArrays,
) -> Result<(Vec<ComparedFigure>, Option<f64>), CommandFailure> {
    let sums = output
        .get::<f64>("checksums")
        .map_err(CommandFailure::input)?;
    let digits = match problem.precision() {
        Precision::Single => 9,
        Precision::DoubleSingle | Precision::Double => 12,
    };
    let words = |re: f64, im: f64| format!("{re:.digits$} {im:+.digits$}i");
    // A missing checksum counts as wrong.
    let step = |(i, [re, im]): (usize, &[f64; 2])| {
        let [a, b] = [0, 1].map(|k| sums.get(2 * i + k).copied().unwrap_or(f64::NAN));
        ComparedFigure {
            name: format!("step {}", i + 1),
            official: words(*re, *im),
            ours: words(a, b),
            difference: libm::hypot(a - re, b - im) / libm::hypot(*re, *im),
            tolerance: checksum_tolerance(problem.precision()),
        }
    };
    let mut compared: Vec<ComparedFigure> = official(class).iter().enumerate().map(step).collect();
    let reference = interrupt::run_interruptible(|| problem.reference(input))?;
    let reference = reference.map_err(CommandFailure::input)?;
    let field: Vec<ExpectedArray> = reference
        .arrays
        .into_iter()
        .filter(|y| y.name == "w")
        .collect();
    let field = cp2_problems::Reference { arrays: field }.judge(output).rms;
    compared.push(ComparedFigure {
        name: "field".to_owned(),
        official: "in f64".to_owned(),
        ours: "relative L2 error".to_owned(),
        difference: field,
        tolerance: field_tolerance(problem.precision()),
    });
    Ok((compared, Some(field)))
}

/// Returns the parts of the run with their reference cycles.
fn operators(problem: &FtProblem, machine: &Arc<Machine>) -> Vec<MarkedOperator> {
    let diffusion = Diffusion {
        shape: problem.shape(),
        steps: problem.steps(),
        format: number_format(problem.precision()),
    };
    // The control CPU computes the checksums: they have no reference.
    let references = [diffusion.transform(machine), diffusion.step(machine)];
    let references = references.into_iter().map(Some).chain([None]);
    let named = FT_OPERATORS.into_iter().zip(references);
    named
        .map(|(name, reference)| MarkedOperator {
            name: name.to_owned(),
            reference,
        })
        .collect()
}
