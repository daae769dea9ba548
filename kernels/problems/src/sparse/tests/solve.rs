//! Iterative methods: solutions, ends, and false statements of results.

use super::super::*;
use crate::data::NamedArrays;
use crate::{Case, Problem, Random};
use std::sync::Arc;

fn generate_matrix(pattern: Pattern, n: usize) -> Arc<SparseMatrix> {
    let made = GeneratedMatrix {
        dominant: true,
        each: 3,
        ..GeneratedMatrix::new(pattern, n)
    };
    Arc::new(made.matrix().unwrap())
}

fn system(pattern: Pattern, n: usize, method: SolverMethod) -> SolveProblem {
    SolveProblem::new(generate_matrix(pattern, n), method, 1e-5, 200).unwrap()
}

fn make_matrix(rows: usize, entries: &[(u32, u32, f64)]) -> Arc<SparseMatrix> {
    let all = SparseMatrix::from_triplets(rows, rows, &Triplets::Real(entries.to_vec())).unwrap();
    Arc::new(all.clone().declared(Symmetry::Symmetric).unwrap_or(all))
}

/// Solves the system by Gaussian elimination with partial pivoting.
fn eliminated(a: &SparseMatrix, b: &[f32]) -> Vec<f64> {
    let n = a.rows();
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut row = vec![0.0; n + 1];
            a.real_row(i).for_each(|(j, a)| row[j] = a.into());
            row[n] = b[i].into();
            row
        })
        .collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs()));
        rows.swap(k, pivot.unwrap());
        let upper = rows[k].clone();
        for row in &mut rows[k + 1..] {
            let factor = row[k] / upper[k];
            row.iter_mut()
                .zip(&upper)
                .for_each(|(to, from)| *to -= factor * from);
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| rows[k][j] * x[j]).sum();
        x[k] = (rows[k][n] - known) / rows[k][k];
    }
    x
}

/// In double precision every method finds the solution of elimination; in single precision its result passes
/// the judgement.
#[test]
fn methods_solve() {
    for (pattern, n, methods) in [
        (Pattern::Grid5, 6, &SolverMethod::ALL[..]),
        (Pattern::Fem, 60, &SolverMethod::ALL),
        (Pattern::Mesh, 49, &SolverMethod::ALL),
        (Pattern::Band, 50, &[SolverMethod::Bicgstab]),
        (Pattern::PowerLaw, 50, &[SolverMethod::Bicgstab]),
    ] {
        for &method in methods {
            let problem = system(pattern, n, method);
            let exact = SolveProblem::new(problem.matrix().clone(), method, 1e-12, 400).unwrap();
            for &case in problem.cases() {
                if case == Case::Impulse && pattern == Pattern::PowerLaw {
                    // The residual moves off the single number of `b` for good, so its product with the first
                    // residual is 0: a breakdown.
                    continue;
                }
                let input = problem.input(case, 3);
                let b: &[f32] = input.get("b").unwrap();
                let double = exact.solve::<f64>(b);
                assert_eq!(
                    double.end,
                    MethodEnd::Converged,
                    "{pattern} {method} {case}"
                );
                let by_hand = eliminated(problem.matrix(), b);
                let most = by_hand.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                for (x, y) in double.x.iter().zip(&by_hand) {
                    assert!(
                        (x - y).abs() <= 1e-9 * most,
                        "{pattern} {method} {case}: {x} {y}"
                    );
                }
                let single = problem.solve::<f32>(b);
                assert_eq!(single.end, MethodEnd::Converged);
                let output = problem.output(single.x, &single.residuals, single.end);
                let verdict = problem.judge(&input, &output);
                assert!(
                    verdict.worst < 0.5,
                    "{pattern} {method} {case}: {verdict:?}"
                );
            }
        }
    }
}

/// Conjugate gradients need as many steps as there are different eigenvalues; preconditioned with the
/// diagonal, which is the whole matrix here, they need one.
#[test]
fn steps_are_those_of_the_theory() {
    let diagonal: Vec<_> = (0..30)
        .map(|i| (i, i, [1.0, 4.0, 32.0][i as usize % 3]))
        .collect();
    let steps = |method| {
        let problem = SolveProblem::new(make_matrix(30, &diagonal), method, 1e-10, 50).unwrap();
        let b = Random::new(1).uniforms(30);
        problem.solve::<f64>(&b).residuals.len() - 1
    };
    assert_eq!(
        [SolverMethod::Cg, SolverMethod::Pcg, SolverMethod::Bicgstab].map(steps),
        [3, 1, 1]
    );
}

#[test]
fn every_end_is_clear() {
    let end = |a: Arc<SparseMatrix>, method, b: &[f32], most| {
        let problem = SolveProblem::new(a, method, 1e-6, most).unwrap();
        let found = problem.solve::<f32>(b);
        // Every end passes the judgement.
        let input = NamedArrays::from_array("b", &[b.len()], b.to_vec());
        let output = problem.output(found.x, &found.residuals, found.end);
        let verdict = problem.judge(&input, &output);
        assert!(verdict.is_within_tolerance(), "{}: {verdict:?}", found.end);
        (found.end, found.residuals.len() - 1)
    };
    let indefinite = make_matrix(2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 1.0)]);
    assert_eq!(
        end(indefinite, SolverMethod::Cg, &[1.0, -1.0], 9),
        (MethodEnd::Breakdown, 0)
    );
    let turned = make_matrix(2, &[(0, 1, 1.0), (1, 0, -1.0)]);
    assert_eq!(
        end(turned, SolverMethod::Bicgstab, &[1.0, 0.0], 9),
        (MethodEnd::Breakdown, 0)
    );
    let grid = generate_matrix(Pattern::Grid5, 20);
    let b = Random::new(2).uniforms(400);
    assert_eq!(
        end(grid.clone(), SolverMethod::Cg, &b, 5),
        (MethodEnd::Limit, 5)
    );
    assert_eq!(
        end(grid, SolverMethod::Cg, &[0.0; 400], 5),
        (MethodEnd::Converged, 0)
    );
    let huge = make_matrix(2, &[(0, 0, 3e38), (0, 1, 2e38), (1, 0, 2e38), (1, 1, 3e38)]);
    assert_eq!(
        end(huge, SolverMethod::Cg, &[1.0, 1.0], 9).0,
        MethodEnd::Diverged
    );
    let watch = || {
        SolveProblem::new(make_matrix(1, &[(0, 0, 1.0)]), SolverMethod::Cg, 1e-3, 1000)
            .unwrap()
            .watch()
    };
    let mut still = watch();
    let ended = (0..).find_map(|i| still.note(0.5).map(|end| (end, i)));
    assert_eq!(ended, Some((MethodEnd::Stagnated, SolveProblem::STAGNATED)));
    let mut slow = watch();
    let ended = (0..).find_map(|i| slow.note(0.5 * 0.9999f64.powi(i)).map(|end| (end, i)));
    assert_eq!(ended, Some((MethodEnd::Limit, 1000)));
    assert_eq!(watch().note(f64::NAN), Some(MethodEnd::Diverged));
    assert_eq!(watch().note(1e11), Some(MethodEnd::Diverged));
    assert_eq!(watch().note(1e-3), Some(MethodEnd::Converged));
    for end in MethodEnd::ALL {
        assert_eq!(MethodEnd::from_number(end.number()), Some(end));
    }
}

/// Every false statement of a result is noticed.
#[test]
fn lies_are_noticed() {
    let problem = system(Pattern::Grid7, 6, SolverMethod::Pcg);
    let input = problem.input(Case::Random, 5);
    let right = problem.solve::<f32>(input.get("b").unwrap());
    let judge = |x: &[f32], residuals: &[f64], end| {
        let output = problem.output(x.to_vec(), residuals, end);
        problem.judge(&input, &output).is_within_tolerance()
    };
    let (x, all) = (&right.x[..], &right.residuals[..]);
    assert!(judge(x, all, MethodEnd::Converged));
    let mut off = x.to_vec();
    off[7] += 1e-3 * x.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    assert!(!judge(&off, all, MethodEnd::Converged));
    for end in [
        MethodEnd::Breakdown,
        MethodEnd::Limit,
        MethodEnd::Diverged,
        MethodEnd::Stagnated,
    ] {
        assert!(!judge(x, all, end), "{end}");
    }
    let mut claimed = all.to_vec();
    *claimed.last_mut().unwrap() = 1e-9;
    assert!(!judge(x, &claimed, MethodEnd::Converged));
    // Stopped too early, continued too long, or started elsewhere.
    assert!(!judge(x, &all[..all.len() - 1], MethodEnd::Converged));
    assert!(!judge(x, &[all, &[1e-7]].concat(), MethodEnd::Converged));
    assert!(!judge(x, &all[1..], MethodEnd::Converged));
    assert!(!judge(x, &[], MethodEnd::Converged));
    assert!(!judge(
        &vec![f32::NAN; x.len()],
        &all[..1],
        MethodEnd::Diverged
    ));
}

#[test]
fn systems_that_are_none_are_refused() {
    let grid = generate_matrix(Pattern::Grid5, 3);
    let band = generate_matrix(Pattern::Band, 9);
    let hollow = make_matrix(2, &[(0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.0)]);
    let tall = GeneratedMatrix {
        cols: 4,
        each: 2,
        ..GeneratedMatrix::new(Pattern::Random, 9)
    };
    let tall = Arc::new(tall.matrix().unwrap());
    let complex = Arc::new(
        GeneratedMatrix {
            field: NumberField::Complex,
            ..GeneratedMatrix::new(Pattern::Grid5, 3)
        }
        .matrix()
        .unwrap(),
    );
    let new = |a: &Arc<SparseMatrix>, method, tolerance, most| {
        SolveProblem::new(a.clone(), method, tolerance, most).map_err(|e| e.to_string())
    };
    assert!(new(&grid, SolverMethod::Cg, 1e-5, 10).is_ok());
    assert!(new(&hollow, SolverMethod::Cg, 1e-5, 10).is_ok());
    for (a, method, tolerance, most, said) in [
        (&band, SolverMethod::Cg, 1e-5, 10, "bicgstab takes any"),
        (&hollow, SolverMethod::Pcg, 1e-5, 10, "0 in row 0"),
        (&tall, SolverMethod::Bicgstab, 1e-5, 10, "9 x 4"),
        (&complex, SolverMethod::Bicgstab, 1e-5, 10, "real numbers"),
        (&grid, SolverMethod::Cg, 0.0, 10, "above 0"),
        (&grid, SolverMethod::Cg, f64::NAN, 10, "above 0"),
        (&grid, SolverMethod::Cg, 1.0, 10, "above 0"),
        (&grid, SolverMethod::Cg, 1e-5, 0, "1 to 1048576"),
    ] {
        let found = new(a, method, tolerance, most).unwrap_err();
        assert!(found.contains(said), "{found}");
    }
    assert!(
        new(&hollow, SolverMethod::Bicgstab, 1e-5, 10)
            .unwrap()
            .preconditioner()
            .is_none()
    );
    assert_eq!(hollow.diagonal(), [0.0, 1.0]);
}
