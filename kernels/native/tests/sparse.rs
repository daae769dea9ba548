//! Sparse products agree with another library's; solvers reach their goals.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_native::Native;
use cp2_problems::npb::cg::CgProblem;
use cp2_problems::sparse::{
    GeneratedMatrix, MethodEnd, NumberField, Pattern, SolveProblem, SolverMethod, SparseMatrix,
    SpmvProblem,
};
use cp2_problems::{Backend, Case, NamedArrays, Problem, run_judged};
use num_complex::{Complex32, Complex64};
use proptest::prelude::*;

fn run(problem: &dyn Problem, input: &NamedArrays) -> NamedArrays {
    let mut prepared = Native.prepare(problem).unwrap();
    run_judged(&mut *prepared, problem, input)
        .unwrap_or_else(|e| panic!("{e}"))
        .outcome
        .output
}

fn wide(z: Complex32) -> Complex64 {
    Complex64::new(z.re.into(), z.im.into())
}

/// Multiplies a matrix by vectors side by side in double precision, with another library.
fn theirs(a: &SparseMatrix, vectors: usize, x: &[Complex64]) -> Vec<Complex64> {
    let mut all = sprs::TriMat::new((a.rows(), a.cols()));
    for i in 0..a.rows() {
        a.row(i)
            .for_each(|(j, value)| all.add_triplet(i, j, wide(value)));
    }
    let matrix: sprs::CsMat<Complex64> = all.to_csr();
    let mut y = vec![Complex64::default(); a.rows() * vectors];
    for k in 0..vectors {
        let x: Vec<_> = x.iter().skip(k).step_by(vectors).copied().collect();
        let mut product = vec![Complex64::default(); a.rows()];
        sprs::prod::mul_acc_mat_vec_csr(matrix.view(), &x[..], &mut product[..]);
        for (i, sum) in product.into_iter().enumerate() {
            y[i * vectors + k] = sum;
        }
    }
    y
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// Tests matrices of every family and field, with one or several vectors.
    #[test]
    fn products_are_those_of_another_library(
        pattern in prop::sample::select(Pattern::ALL.to_vec()),
        field in prop::sample::select(NumberField::ALL.to_vec()),
        n in 4usize..60,
        cols in prop::option::of(3usize..90),
        vectors in 1usize..5,
        seed in 0u64..1_000_000,
    ) {
        let grid = matches!(pattern, Pattern::Grid7 | Pattern::Grid27 | Pattern::Grid5);
        let square = grid || matches!(pattern, Pattern::Band | Pattern::Fem | Pattern::Mesh);
        let made = GeneratedMatrix {
            n: if grid { n % 7 + 1 } else { n },
            cols: if square { 0 } else { cols.unwrap_or(0) },
            each: 3,
            field,
            seed,
            ..GeneratedMatrix::new(pattern, n)
        };
        let problem = SpmvProblem::from_generated(&made, vectors).unwrap();
        let a = problem.matrix();
        let input = problem.input(Case::Random, seed);
        let output = run(&problem, &input);
        let size = a.longest_row() as f64;
        let close = |y: &[Complex64], expected: &[Complex64]| {
            y.len() == expected.len()
                && y.iter().zip(expected).all(|(y, e)| (y - e).norm() < 4e-7 * (size + 1.0))
        };
        match a.is_complex() {
            true => {
                let x: Vec<_> = input.get::<Complex32>("x").unwrap().iter().map(|&z| wide(z)).collect();
                let y: Vec<_> = output.get::<Complex32>("y").unwrap().iter().map(|&z| wide(z)).collect();
                prop_assert!(close(&y, &theirs(a, vectors, &x)));
            }
            false => {
                let x: Vec<Complex64> = input.get::<f32>("x").unwrap().iter().map(|&x| f64::from(x).into()).collect();
                let y: Vec<Complex64> = output.get::<f32>("y").unwrap().iter().map(|&y| f64::from(y).into()).collect();
                prop_assert!(close(&y, &theirs(a, vectors, &x)));
            }
        }
    }
}

/// Tests every kind of input, including those with infinities.
#[test]
fn products_of_every_kind_of_input() {
    for field in NumberField::ALL {
        let made = GeneratedMatrix {
            field,
            ..GeneratedMatrix::new(Pattern::Empty, 90)
        };
        let problem = SpmvProblem::from_generated(&made, 2).unwrap();
        for &case in problem.cases() {
            run(&problem, &problem.input(case, 4));
        }
    }
}

#[test]
fn systems_are_solved() {
    for method in SolverMethod::ALL {
        let made = GeneratedMatrix {
            dominant: true,
            ..GeneratedMatrix::new(Pattern::Grid5, 15)
        };
        let matrix = made.matrix().unwrap().into();
        let problem = SolveProblem::new(matrix, method, 1e-5, 200).unwrap();
        for &case in problem.cases() {
            let output = run(&problem, &problem.input(case, 4));
            assert_eq!(
                output.get::<u32>("end"),
                Ok(&[MethodEnd::Converged.number()][..])
            );
        }
    }
}

#[test]
fn inverse_iterations_of_another_size() {
    let problem = CgProblem::new(700, 6, 6, 12).unwrap();
    run(&problem, &problem.input(Case::Random, 1));
    run(&problem, &problem.input(Case::Random, 2));
}
