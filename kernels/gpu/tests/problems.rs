//! Problems on an adapter, judged by their definitions; without one they fail.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_gpu::{AdapterChoice, Gpu, GpuError};
use cp2_problems::chain::{RadarProblem, RadarSpec};
use cp2_problems::conv::{ConvProblem, ConvolutionMode};
use cp2_problems::fft::{FftProblem, TransformDirection};
use cp2_problems::himeno::{HimenoData, HimenoProblem};
use cp2_problems::npb::cg::CgProblem;
use cp2_problems::npb::mg::MgProblem;
use cp2_problems::sparse::{PowerProblem, SolveProblem};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use cp2_problems::vector::{MapOp, MapProblem, ReduceProblem, ReductionOp, TransposeProblem};
use cp2_problems::{
    Backend, Case, KINDS, NamedArrays, Problem, ProblemKind, Random, Refusal, Size, run_judged,
};
use std::time::Duration;

fn gpu() -> Gpu {
    Gpu::open(&AdapterChoice::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a problem on every kind of input that a shader has to compute rightly. Subnormal numbers, infinities
/// and NaN are left open by WGSL.
fn check(gpu: &Gpu, problem: &dyn Problem) {
    let mut prepared = gpu
        .prepare(problem)
        .unwrap_or_else(|e| panic!("{}: {e}", problem.title()));
    for &case in problem.cases() {
        let input = problem.input(case, 9);
        let judged = run_judged(&mut *prepared, problem, &input);
        match (case, judged) {
            (_, Ok(judged)) => println!(
                "{}, {case}: worst {:.3}, {}",
                problem.title(),
                judged.verdict.worst,
                judged.outcome.report.unwrap().text()
            ),
            (Case::Subnormal | Case::NotFinite, Err(error)) => println!("{case}: {error}"),
            (_, Err(error)) => panic!("{}, {case}: {error}", problem.title()),
        }
    }
}

#[test]
fn the_adapter_is_described() {
    let gpu = gpu();
    println!("{:#?}", gpu.adapter());
    assert!(!gpu.adapter().name.is_empty());
    let wanted = AdapterChoice {
        name: Some("no such adapter".to_owned()),
        ..AdapterChoice::default()
    };
    let said = Gpu::open(&wanted).unwrap_err().to_string();
    assert!(
        said.contains("no such adapter") && said.contains(&gpu.adapter().name),
        "{said}"
    );
}

/// Kinds that are refused today.
const REFUSED: &[&str] = &[];

/// Computes the small sizes of kinds, and compares those that are refused with the list.
fn check_kinds(kinds: &[ProblemKind]) {
    let gpu = gpu();
    let mut refused = Vec::new();
    for kind in kinds {
        for size in kind.small_sizes() {
            let problem = kind.make_problem(&size).unwrap();
            match gpu.prepare(&*problem) {
                Err(Refusal::Unknown { .. }) => refused.push(kind.name),
                _ => check(&gpu, &*problem),
            }
        }
    }
    refused.dedup();
    let names = || kinds.iter().map(|kind| kind.name);
    let listed: Vec<_> = names().filter(|name| REFUSED.contains(name)).collect();
    assert_eq!(refused, listed);
}

/// Kinds of transforms and filters, which come first; shaders of these take long to compile.
const TRANSFORMS: usize = 5;

#[test]
fn every_kind_of_transform_is_computed_or_listed() {
    check_kinds(&KINDS[..TRANSFORMS]);
}

#[test]
fn every_other_kind_is_computed_or_listed() {
    check_kinds(&KINDS[TRANSFORMS..]);
}

/// Lengths for every method: in a workgroup, four-step, Bluestein in a workgroup and beyond one.
#[test]
fn transforms_of_every_length() {
    let gpu = gpu();
    let lengths = [
        (1, 5),
        (2, 9),
        (3, 2),
        (30, 11),
        (49, 3),
        (128, 3),
        (210, 4),
        (1000, 3),
        (1009, 2),
        (1024, 5),
        (2048, 2),
        (4096, 2),
        (10_007, 1),
        (16_384, 2),
        (65_536, 1),
    ];
    let directions = [TransformDirection::Forward, TransformDirection::Inverse];
    for ((n, batch), direction) in lengths.into_iter().zip(directions.into_iter().cycle()) {
        check(&gpu, &FftProblem::new(n, direction, batch).unwrap());
    }
    for axes in [
        &[6, 10][..],
        &[16, 8, 32],
        &[5, 37, 3],
        &[2, 16_384],
        &[16_384, 3],
    ] {
        let problem = FftProblem::from_axes(axes, TransformDirection::Inverse, 2);
        check(&gpu, &problem.unwrap());
    }
}

/// Sizes for the steps that small sizes do not need: rows in parts, blocks in memory, more workgroups than
/// one axis may have.
#[test]
fn larger_sizes() {
    let gpu = gpu();
    for op in ReductionOp::all() {
        check(&gpu, &ReduceProblem::new(op, 20_000, 3).unwrap());
    }
    check(&gpu, &TransposeProblem::new(70, 300, 2).unwrap());
    let taps = Random::new(4).complexes(3000);
    let long = ConvProblem::new(&taps, 2, 9000, ConvolutionMode::Same).unwrap();
    check(&gpu, &long);
    let spec = RadarSpec {
        pulses: 74,
        ranges: 40,
        chirp: 20,
        pulse_rate: 100.0,
        ..RadarSpec::default()
    };
    check(&gpu, &RadarProblem::new(spec).unwrap());
    let many = MapProblem::new(MapOp::Scale(1.5), 17_000_000).unwrap();
    let input = many.input(Case::Alternating, 1);
    let mut prepared = gpu.prepare(&many).unwrap();
    run_judged(&mut *prepared, &many, &input).unwrap();
}

/// A problem that no binding holds is refused with the sizes.
#[test]
fn too_much_is_refused() {
    let gpu = gpu();
    let bytes = usize::try_from(gpu.adapter().binding_bytes).unwrap();
    let huge = TransposeProblem::new(bytes / 8 + 1, 1, 1).unwrap();
    let shape = [3, 3, bytes / 36 + 1];
    let himeno = HimenoProblem::new(shape, 1, HimenoData::Random).unwrap();
    for problem in [&huge as &dyn Problem, &himeno] {
        let said = gpu.prepare(problem).unwrap_err().to_string();
        let most = gpu.adapter().binding_bytes.to_string();
        assert!(said.contains(&most), "{said}");
    }
}

/// A device that does not answer in time is an error, from the first computation on.
#[test]
fn time_is_limited() {
    let choice = AdapterChoice {
        time_limit: Duration::ZERO,
        ..AdapterChoice::default()
    };
    let error = Gpu::open(&choice).unwrap_err();
    assert!(matches!(error, GpuError::TimedOut { .. }), "{error}");
}

/// Iterative methods that converge, and the smallest class of the benchmark CG.
#[test]
fn iterations() {
    let gpu = gpu();
    for method in ["cg", "pcg", "bicgstab"] {
        let row = format!("grid5 12 1 0 real 1 {method} 1e-5 300");
        let size = Size::from_row(&SolveProblem::PARAMETERS, &row).unwrap();
        check(&gpu, &SolveProblem::from_size(&size).unwrap());
    }
    let size = Size::from_row(&PowerProblem::PARAMETERS, "fem 90 5 0 real 1 20").unwrap();
    check(&gpu, &PowerProblem::from_size(&size).unwrap());
    check(&gpu, &CgProblem::new(300, 5, 3, 10).unwrap());
}

/// The operator of MG as a stencil of 27 points on a periodic grid.
#[test]
fn an_operator_of_multigrid() {
    let weights = MgProblem::OPERATOR.map(|weight| weight as f32);
    let shape = StencilShape::from_classes(27, Some(&weights)).unwrap();
    let problem = StencilProblem::new(&[32; 3], shape, Edge::Periodic, 1).unwrap();
    check(&gpu(), &problem);
}

/// Channels do not disturb each other: one of them is a million times as large as its neighbours, each of which has an
/// odd number of blocks.
#[test]
fn channels_of_filters_are_apart() {
    let gpu = gpu();
    let kind = KINDS.iter().find(|kind| kind.name == "conv-real").unwrap();
    let mut checked = 0;
    for row in ["100 100 3 full", "129 401 3 full"] {
        let size = Size::from_row(kind.parameters, row).unwrap();
        let problem = kind.make_problem(&size).unwrap();
        let mut input = problem
            .input(Case::Random, 5)
            .get::<f32>("x")
            .unwrap()
            .to_vec();
        let (shape, each) = ([3, input.len() / 3], input.len() / 3);
        for x in &mut input[each..2 * each] {
            *x *= 1e6;
        }
        let input = NamedArrays::from_array("x", &shape, input);
        let mut prepared = gpu.prepare(&*problem).unwrap();
        let judged = run_judged(&mut *prepared, &*problem, &input);
        judged.unwrap_or_else(|error| panic!("{}: {error}", problem.title()));
        checked += 1;
    }
    assert_eq!(checked, 2);
}
