//! `cp2 npb cg`: the conjugate gradient benchmark.

use super::BenchmarkOptions;
use super::report::{BenchmarkReport, BenchmarkResult, ComparedFigure, MarkedOperator};
use crate::backends::MeasuredRun;
use crate::interrupt;
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::packing::PackingCost;
use crate::progress;
use crate::simulation::merge;
use cp2_kernels::KernelRun;
use cp2_kernels::npb::InverseIterations;
use cp2_kernels::sparse;
use cp2_machine::{Cycles, Machine};
use cp2_problems::npb::cg::{CgClass, CgProblem};
use cp2_problems::npb::{NpbClass, Precision};
use cp2_problems::{Case, NamedArrays, Problem as _};
use serde_json::json;
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Size of the benchmark: S, W, A, B or C
    #[arg(long, value_name = "CLASS", required = true)]
    class: NpbClass,
    /// Numbers of the arrays and of the arithmetic: single, or double or double-single on machines with that extension
    #[arg(long, value_name = "PRECISION", default_value_t = Precision::Single)]
    precision: Precision,
    #[command(flatten)]
    common: BenchmarkOptions,
}

/// Returns the work of the host before simulated time begins.
fn outside(precision: Precision) -> &'static [&'static str] {
    match precision {
        Precision::Single => &[
            "the matrix of the benchmark's generator is made, rounded to float32 and packed",
            "the vector of ones is an input, the others are filled with zeros",
        ],
        Precision::DoubleSingle => &[
            "the matrix of the benchmark's generator is made, split into two float32 and packed",
            "the vector of ones is an input, the others are filled with zeros",
        ],
        Precision::Double => &[
            "the matrix of the benchmark's generator is made in float64 and packed",
            "the vector of ones is an input, the others are filled with zeros",
        ],
    }
}

/// Memory for generating the matrix, as a multiple of the memory of its entries (an estimate).
const GENERATED: usize = 8;

/// Runs `cp2 npb cg`.
pub(super) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let common = &args.common;
    let measured = common.backend.measured()?;
    let benchmark = CgClass::from_class(args.class);
    // The generator sums outer products of sparse vectors: a row has about the square of a vector's number of
    // entries.
    let nnz = benchmark.rows * (benchmark.entries + 1).pow(2);
    // The sums of products take several times the memory of the final entries.
    let bytes = memory::matrix_bytes(GENERATED * nnz, 2 * benchmark.rows, 6);
    memory::check_memory(format!("NPB CG, class {}", args.class), bytes)?;
    if let Some(backend) = measured {
        let problem = benchmark.problem().with_precision(args.precision);
        let input = problem.input(Case::Random, 1);
        let run = MeasuredRun::new(&backend, &problem, &input)?;
        let result = judge(args.class, &problem, &input, Some(&run.output))?;
        return Ok(result.conclude_measured(&run, &PLANNED));
    }
    let machine = common.begin(None, 1)?;
    // Nothing is generated and packed for commands that this computer has no memory for.
    let products = benchmark.iterations * (CgClass::STEPS + 1);
    let value = args.precision.bytes();
    let bytes = memory::commands_bytes(value * nnz as u64, products);
    memory::check_memory(format!("NPB CG, class {}", args.class), bytes)?;
    let (problem, plan, pack_seconds) = {
        let _planning = progress::planning(json);
        let problem = benchmark.problem().with_precision(args.precision);
        let started = Instant::now();
        let plan = InverseIterations::new(problem.clone(), &machine);
        let pack_seconds = started.elapsed().as_secs_f64();
        (problem, plan.map_err(CommandFailure::input)?, pack_seconds)
    };
    let vectors = (2 * benchmark.rows, 6);
    let bytes = memory::iterations_bytes(plan.product(), products, vectors);
    memory::check_memory(problem.title(), bytes)?;
    let format = plan.product().format();
    let least = plan.least_product();
    let product = plan.product().expected().0 as f64;
    let packed = PackingCost::new(plan.packing(), pack_seconds, product, &machine);
    let method = plan.into_method();
    let input = problem.input(Case::Random, 1);
    let (run, host_seconds) = common.run(&method, &input, json)?;
    let mut result = judge(args.class, &problem, &input, run.output.as_ref())?;
    let own = json!({
        "recipe": method.recipe,
        "format": format.name(),
        "csr_ratio": csr_ratio(&problem, &run, &machine),
    });
    result.more = merge(merge(result.more, packed.json()), own);
    let report = BenchmarkReport {
        result,
        machine: &machine,
        operators: sparse::Operator::ALL
            .map(|operator| MarkedOperator {
                name: operator.name().to_owned(),
                reference: (operator == sparse::Operator::Product).then_some(least),
            })
            .into(),
        outside: outside(args.precision),
        said: format!("packed in {}\n", packed.text()),
        run: &run,
        host_seconds,
    };
    report.conclude(common)
}

/// Keys of figures of packed matrices.
const PLANNED: [&str; 5] = [
    "pack_seconds",
    "pack_seconds_simulated",
    "pays_after",
    "format",
    "csr_ratio",
];

/// Compares the output of a run, if it has one, with official values and double precision.
fn judge(
    class: NpbClass,
    problem: &CgProblem,
    input: &NamedArrays,
    output: Option<&NamedArrays>,
) -> Result<BenchmarkResult, CommandFailure> {
    let benchmark = CgClass::from_class(class);
    let compared = match output {
        Some(output) => compare_results(&benchmark, problem, input, output)?,
        None => Vec::new(),
    };
    let difference = compared.first().map_or(f64::NAN, |first| first.difference);
    let [value, rnorm] = ["zeta", "rnorm"].map(|name| output.and_then(|output| last(output, name)));
    Ok(BenchmarkResult {
        benchmark: "CG",
        class: Some(class),
        title: format!("NPB CG, class {class}: {}", problem.title()),
        compared,
        values: [json!(value), json!(benchmark.official)],
        difference: [difference, CgClass::tolerance(problem.precision())],
        operations: benchmark.operations(),
        more: json!({
            "precision": problem.precision().name(),
            "rnorm": rnorm,
            "rnorm_tolerance": CgClass::residual(problem.precision()),
        }),
    })
}

/// Returns the last number of a history.
fn last(output: &NamedArrays, name: &'static str) -> Option<f64> {
    output.get::<f64>(name).ok()?.last().copied()
}

/// Returns the ideal transfer time of the matrix by rows and of the vectors, relative to the time of a
/// product of the run.
fn csr_ratio(problem: &CgProblem, run: &KernelRun<NamedArrays>, machine: &Machine) -> Option<f64> {
    let products = run.run.report.parts.iter();
    let products: Vec<u64> = products
        .filter(|part| part.name == sparse::Operator::Product.name())
        .map(|part| part.cycles)
        .collect();
    let cycles: u64 = products.iter().sum();
    let ratio = sparse::csr_ratio(problem.matrix(), 1, Cycles(cycles), machine);
    (cycles > 0).then_some(ratio * products.len() as f64)
}

/// Compares the last zeta with the official value and with double precision, and the residual and all other
/// results with double precision.
fn compare_results(
    benchmark: &CgClass,
    problem: &CgProblem,
    input: &NamedArrays,
    output: &NamedArrays,
) -> Result<Vec<ComparedFigure>, CommandFailure> {
    let [zeta, rnorm] = ["zeta", "rnorm"].map(|name| last(output, name).unwrap_or(f64::NAN));
    let precision = problem.precision();
    let exact = interrupt::run_interruptible(|| problem.solve_exactly(input))?;
    let exact = exact.map_err(CommandFailure::input)?;
    let number = |name: &str, official: f64| ComparedFigure {
        name: name.to_owned(),
        official: format!("{official:.13}"),
        ours: format!("{zeta:.13}"),
        difference: (zeta / official - 1.0).abs(),
        tolerance: CgClass::tolerance(precision),
    };
    let same = match precision {
        Precision::Single => "the same in f64, of the matrix in f32",
        Precision::DoubleSingle => "the same in f64, of the matrix in two f32",
        Precision::Double => "the same in f64, by plain loops",
    };
    let wide = exact.zeta.last().copied().unwrap_or(f64::NAN);
    let mut all = vec![
        number("zeta", benchmark.official),
        number(same, wide),
        ComparedFigure {
            name: "|x - A z|".to_owned(),
            official: "0".to_owned(),
            ours: format!("{rnorm:.2e}"),
            difference: rnorm,
            tolerance: CgClass::residual(precision),
        },
    ];
    let worst = problem.make_reference(exact).judge(output).worst;
    all.push(ComparedFigure {
        name: "all iterations, and x".to_owned(),
        official: "in f64".to_owned(),
        ours: "error / allowed error".to_owned(),
        difference: worst,
        tolerance: 1.0,
    });
    Ok(all)
}
