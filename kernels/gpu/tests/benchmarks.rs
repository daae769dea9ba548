//! Classes of the NAS benchmarks on an adapter reach the official values.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_gpu::{AdapterChoice, Gpu};
use cp2_problems::npb::cg::CgClass;
use cp2_problems::npb::ft::{CHECKSUM_TOLERANCE, official};
use cp2_problems::npb::mg::{MgClass, MgProblem, Smoother, charges};
use cp2_problems::npb::{FtProblem, NpbClass};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use cp2_problems::{Backend, Case, NamedArrays, Problem, run_judged};

fn run(problem: &dyn Problem, input: &NamedArrays) -> NamedArrays {
    let gpu = Gpu::open(&AdapterChoice::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut prepared = gpu
        .prepare(problem)
        .unwrap_or_else(|error| panic!("{error}"));
    let outcome = prepared
        .run(input)
        .unwrap_or_else(|error| panic!("{error}"));
    println!("{}: {}", problem.title(), outcome.report.unwrap().text());
    outcome.output
}

#[test]
fn multigrid() {
    let benchmark = MgClass::from_class(NpbClass::S);
    let problem = benchmark.problem();
    let v = charges(problem.shape(), 1);
    let output = run(&problem, &NamedArrays::from_array("v", &problem.shape(), v));
    let norm = output.get::<f64>("norms").unwrap()[1];
    let off = (norm / benchmark.official - 1.0).abs();
    assert!(off < MgClass::TOLERANCE, "{norm}, off by {off}");
    // So many points that a thread computes several planes.
    let problem = MgProblem::with_shape([128, 64, 64], 1, Smoother::B).unwrap();
    let input = problem.input(Case::Random, 1);
    let verdict = problem.judge(&input, &run(&problem, &input));
    assert!(verdict.is_within_tolerance(), "{verdict:?}");
}

#[test]
fn transforms() {
    let class = NpbClass::S;
    let problem = FtProblem::from_class(class);
    let output = run(&problem, &problem.initial());
    let found = output.get::<f64>("checksums").unwrap();
    for (found, official) in found.chunks(2).zip(official(class)) {
        let size = libm::hypot(official[0], official[1]);
        let off = libm::hypot(found[0] - official[0], found[1] - official[1]) / size;
        assert!(off < CHECKSUM_TOLERANCE, "{found:?} {official:?}");
    }
}

#[test]
fn conjugate_gradients() {
    let benchmark = CgClass::from_class(NpbClass::S);
    let problem = benchmark.problem();
    let output = run(&problem, &problem.input(Case::Random, 1));
    let zeta = output.get::<f64>("zeta").unwrap().last().copied().unwrap();
    let off = (zeta / benchmark.official - 1.0).abs();
    assert!(off < CgClass::TOLERANCE, "{zeta}, off by {off}");
}

/// Arrays so large that a thread computes several planes.
#[test]
fn stencils_march() {
    let gpu = Gpu::open(&AdapterChoice::default()).unwrap_or_else(|error| panic!("{error}"));
    for (points, edge) in [(7, Edge::Fixed), (19, Edge::Zero), (27, Edge::Periodic)] {
        let shape = StencilShape::from_classes(points, None).unwrap();
        let problem = StencilProblem::new(&[81, 90, 100], shape, edge, 2).unwrap();
        let input = problem.input(Case::Random, 3);
        let mut prepared = gpu.prepare(&problem).unwrap();
        run_judged(&mut *prepared, &problem, &input).unwrap_or_else(|error| panic!("{error}"));
    }
}
