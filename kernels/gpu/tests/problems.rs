//! Problems on an adapter, judged by their definitions; without one they fail.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_gpu::{AdapterChoice, Gpu};
use cp2_problems::fft::{FftProblem, TransformDirection};
use cp2_problems::npb::mg::MgProblem;
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use cp2_problems::{Backend, Case, KINDS, Problem, Refusal, run_judged};
use std::collections::BTreeSet;

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
const REFUSED: &[&str] = &["spmv"];

#[test]
fn every_kind_is_computed_or_listed() {
    let gpu = gpu();
    let mut refused = BTreeSet::new();
    for kind in KINDS {
        for size in kind.small_sizes() {
            let problem = kind.make_problem(&size).unwrap();
            match gpu.prepare(&*problem) {
                Err(Refusal::Unknown { .. }) => {
                    refused.insert(kind.name);
                }
                _ => check(&gpu, &*problem),
            }
        }
    }
    let listed: BTreeSet<_> = REFUSED.iter().copied().collect();
    assert_eq!(refused, listed);
}

/// Lengths for every method: in a workgroup, four-step, Bluestein in a workgroup and beyond one.
#[test]
fn transforms_of_every_length() {
    let gpu = gpu();
    for (n, batch) in [
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
    ] {
        for direction in [TransformDirection::Forward, TransformDirection::Inverse] {
            check(&gpu, &FftProblem::new(n, direction, batch).unwrap());
        }
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

/// The operator of MG as a stencil of 27 points on a periodic grid.
#[test]
fn an_operator_of_multigrid() {
    let weights = MgProblem::OPERATOR.map(|weight| weight as f32);
    let shape = StencilShape::from_classes(27, Some(&weights)).unwrap();
    let problem = StencilProblem::new(&[32; 3], shape, Edge::Periodic, 1).unwrap();
    check(&gpu(), &problem);
}
