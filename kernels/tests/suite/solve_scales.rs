//! Tests systems whose right-hand sides are of all sizes of single precision.
//!
//! The solver's statement about x is compared with the residual in double precision.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common::machine;
use cp2_host::DeviceOptions;
use cp2_kernels::Random;
use cp2_kernels::sparse::Solver;
use cp2_problems::sparse::{
    MethodEnd, SolveOutcome, SolveProblem, SolverMethod, SparseMatrix, Symmetry, Triplets,
};
use proptest::prelude::*;

/// Makes a matrix whose diagonal is larger than all others of its row together; mirrored if it is symmetric.
fn dominant(n: usize, is_symmetric: bool, seed: u64) -> Vec<(u32, u32, f64)> {
    let mut random = Random::new(seed);
    let mut entries = Vec::new();
    for i in 0..n as u32 {
        entries.push((i, i, 4.0 + f64::from(random.uniform())));
        for j in [i + 1, i + 5].into_iter().filter(|&j| j < n as u32) {
            let upper = f64::from(random.uniform());
            let lower = match is_symmetric {
                true => upper,
                false => f64::from(random.uniform()),
            };
            entries.extend([(i, j, upper), (j, i, lower)]);
        }
    }
    entries
}

/// Computes |b - A x| / |b| and 2^-23 (||A| |x|| + |b|) / |b| from the entries.
fn found(entries: &[(u32, u32, f64)], b: &[f32], x: &[f32]) -> [f64; 2] {
    let mut left: Vec<f64> = b.iter().map(|&b| b.into()).collect();
    let mut sizes = vec![0.0; b.len()];
    for &(i, j, a) in entries {
        // The matrix is rounded to single precision.
        let product = f64::from(a as f32) * f64::from(x[j as usize]);
        left[i as usize] -= product;
        sizes[i as usize] += product.abs();
    }
    let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let norm = length(&b.iter().map(|&b| b.into()).collect::<Vec<f64>>());
    let attainable = 2f64.powi(-23) * (length(&sizes) + norm) / norm;
    [length(&left) / norm, attainable]
}

/// Runs a solver; returns x, residuals and end.
fn solved(problem: &SolveProblem, name: &str, b: &[f32]) -> (Vec<f32>, Vec<f64>, MethodEnd) {
    let solver = Solver::new(problem.clone(), &machine(name), None).unwrap();
    let task = solver.task(b, DeviceOptions::default()).unwrap();
    let done = task.run(solver.figures(1)).unwrap();
    assert!(done.keeps_inputs().unwrap());
    let output = done.output.unwrap();
    let residuals: &[f64] = output.get("residuals").unwrap();
    let residuals = residuals.iter().copied().take_while(|r| !r.is_nan());
    let end = MethodEnd::from_number(output.get::<u32>("end").unwrap()[0]).unwrap();
    (output.get("x").unwrap().to_vec(), residuals.collect(), end)
}

fn problem(
    entries: &[(u32, u32, f64)],
    n: usize,
    method: SolverMethod,
    tolerance: f64,
) -> SolveProblem {
    let matrix = SparseMatrix::from_triplets(n, n, &Triplets::Real(entries.to_vec())).unwrap();
    let matrix = match method {
        SolverMethod::Bicgstab => matrix,
        SolverMethod::Cg | SolverMethod::Pcg => matrix.declared(Symmetry::Symmetric).unwrap(),
    };
    SolveProblem::new(matrix.into(), method, tolerance, 60).unwrap()
}

fn scaled(b: &[f32], exponent: i32) -> Vec<f32> {
    let scale = 2f64.powi(exponent);
    b.iter().map(|&b| (f64::from(b) * scale) as f32).collect()
}

/// Checks that the solver's statement about x agrees with the residual found here; returns the statement.
fn agrees(
    problem: &SolveProblem,
    entries: &[(u32, u32, f64)],
    b: &[f32],
    (x, _, end): &(Vec<f32>, Vec<f64>, MethodEnd),
) -> SolveOutcome {
    let confirmed = problem.confirm(b, x);
    let [residual, attainable] = found(entries, b, x);
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b || a.is_nan() && b.is_nan();
    assert!(
        near(confirmed.residual, residual),
        "{confirmed:?} {residual}"
    );
    assert!(
        near(confirmed.attainable, attainable),
        "{confirmed:?} {attainable}"
    );
    let outcome = confirmed.outcome(*end);
    let is_converged = outcome == SolveOutcome::Converged;
    assert_eq!(is_converged, residual <= problem.tolerance(), "{residual}");
    if *end == MethodEnd::Converged && !is_converged {
        assert_eq!(outcome, SolveOutcome::NotConfirmed);
    }
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// A power of two in b is one in x, to the bit, from the smallest numbers to the largest, as long as x
    /// has room for its digits; and statements about x are always true.
    #[test]
    fn a_power_of_two_in_b_is_one_in_x(
        n in 5usize..60,
        number in 0usize..3,
        seed in 1u64..1000,
        exponents in prop::collection::vec(-149i32..=127, 4),
        name in prop_oneof![Just("vm7"), Just("vm9")],
    ) {
        let method = SolverMethod::ALL[number];
        let entries = dominant(n, method != SolverMethod::Bicgstab, seed);
        let problem = problem(&entries, n, method, 1e-5);
        let b = Random::new(seed + 1).uniforms(n);
        let one = solved(&problem, name, &b);
        let at_first = agrees(&problem, &entries, &b, &one);
        for exponent in exponents.into_iter().chain([-149, -127, -60, -40, 40, 64, 127]) {
            let b = scaled(&b, exponent);
            let other = solved(&problem, name, &b);
            let outcome = agrees(&problem, &entries, &b, &other);
            if exponent > -100 {
                prop_assert_eq!(&other.0, &scaled(&one.0, exponent), "2^{}", exponent);
                prop_assert_eq!(&other.1, &one.1);
                prop_assert_eq!(other.2, one.2);
                prop_assert_eq!(outcome, at_first, "2^{}", exponent);
            }
        }
    }

    /// A tolerance beyond single precision is never said to be reached.
    #[test]
    fn what_single_precision_does_not_hold_is_not_confirmed(
        n in 20usize..60,
        number in 0usize..3,
        seed in 1u64..1000,
    ) {
        let method = SolverMethod::ALL[number];
        let entries = dominant(n, method != SolverMethod::Bicgstab, seed);
        let problem = problem(&entries, n, method, 1e-12);
        let b = Random::new(seed).uniforms(n);
        let done = solved(&problem, "vm7", &b);
        let outcome = agrees(&problem, &entries, &b, &done);
        prop_assert_ne!(outcome, SolveOutcome::Converged);
        let found = problem.confirm(&b, &done.0);
        prop_assert!(found.residual <= found.attainable, "{:?}", found);
    }
}

/// The solution of a zero right-hand side is zero, and of others it is not.
#[test]
fn nothing_is_the_solution_of_nothing_alone() {
    let entries = dominant(9, true, 3);
    for method in SolverMethod::ALL {
        let problem = problem(&entries, 9, method, 1e-5);
        let (x, residuals, end) = solved(&problem, "vm7", &[0.0; 9]);
        assert_eq!(
            (x, residuals, end),
            (vec![0.0; 9], vec![0.0], MethodEnd::Converged)
        );
        let found = problem.confirm(&[0.0; 9], &[0.0; 9]);
        assert!(found.is_solved() && found.residual == 0.0 && found.attainable == 0.0);
        let least = f32::from_bits(1);
        let found = problem.confirm(&[least; 9], &[0.0; 9]);
        assert_eq!(found.residual, 1.0);
        assert_eq!(
            found.outcome(MethodEnd::Converged),
            SolveOutcome::NotConfirmed
        );
        for bad in [f32::NAN, f32::INFINITY] {
            let found = problem.confirm(&[1.0; 9], &[bad; 9]);
            assert!(!found.is_solved());
            assert_eq!(
                found.outcome(MethodEnd::Converged),
                SolveOutcome::NotConfirmed
            );
            assert_eq!(
                found.outcome(MethodEnd::Limit),
                SolveOutcome::Unsolved(MethodEnd::Limit)
            );
            let found = problem.confirm(&[bad; 9], &[1.0; 9]);
            assert!(!found.is_solved(), "{found:?}");
        }
    }
}
