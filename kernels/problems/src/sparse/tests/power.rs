//! Power iterations: known eigenvalues, and results that are refused.

use crate::data::NamedArrays;
use crate::problem::Problem as _;
use crate::sparse::{PowerProblem, SparseMatrix, Triplets};

/// Returns power iterations with the tridiagonal matrix 1, 3, 1, whose eigenvalues are 3 + 2 cos(k pi / (n +
/// 1)).
fn chain(n: u32, iterations: usize) -> PowerProblem {
    let row = |i: u32| {
        let near = [i.checked_sub(1), (i + 1 < n).then_some(i + 1)];
        let near = near.into_iter().flatten().map(move |j| (i, j, 1.0));
        near.chain([(i, i, 3.0)])
    };
    let entries = Triplets::Real((0..n).flat_map(row).collect());
    let matrix = SparseMatrix::from_triplets(n as usize, n as usize, &entries).unwrap();
    PowerProblem::new(matrix.into(), iterations).unwrap()
}

#[test]
fn quotients_of_a_positive_matrix_grow_to_its_largest_eigenvalue() {
    let exact = chain(9, 200).solve::<f64>(&[2.0; 9]);
    let grows = |pair: &[f64]| pair[1] >= pair[0] - 1e-12;
    assert!(exact.values.windows(2).all(grows), "{:?}", exact.values);
    let largest = 3.0 + 2.0 * libm::cos(std::f64::consts::PI / 10.0);
    assert!((exact.values[200] - largest).abs() < 1e-10);
    // Nine ones have sixteen neighbours together.
    assert!((exact.values[0] - (3.0 + 16.0 / 9.0)).abs() < 1e-12);
    assert!(exact.residuals[200] < 1e-8 && exact.residuals[0] > 0.05);
    let length: f64 = exact.x.iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-12);
}

/// A change of x, values and residuals of a right result.
type Change = fn(&mut [f32], &mut [f64], &mut [f64]);

/// Errors in every output are noticed, after few iterations and after many.
#[test]
fn results_that_are_off_are_wrong() {
    for iterations in [3, 60] {
        let problem = chain(40, iterations);
        let ones = vec![1.0f32; 40];
        let input = NamedArrays::from_array("x", &[40], ones.clone());
        let verdict = |change: Change| {
            let found = problem.solve::<f32>(&ones);
            let (mut x, mut values, mut residuals) = (found.x, found.values, found.residuals);
            change(&mut x, &mut values, &mut residuals);
            problem.judge(&input, &problem.output(x, values, residuals))
        };
        let right = verdict(|_, _, _| {});
        assert!(right.worst < 0.5, "{right:?}");
        let wrong: [Change; 8] = [
            // An x of zeros is wrong where no x can vanish; after many iterations nothing else would show it.
            |x, values, left| {
                x.fill(0.0);
                values.iter_mut().rev().take(1).for_each(|v| *v = 0.0);
                left.iter_mut().rev().take(1).for_each(|r| *r = 0.0);
            },
            |x, _, _| x[5] += 0.01,
            |x, _, _| x.iter_mut().for_each(|x| *x *= 1.001),
            |_, values, _| values[0] += 0.001,
            |_, values, _| values.iter_mut().rev().take(1).for_each(|v| *v += 0.001),
            |_, values, _| values.iter_mut().rev().take(1).for_each(|v| *v = f64::NAN),
            |_, _, left| left[0] += 0.001,
            |_, _, left| left.iter_mut().rev().take(1).for_each(|r| *r += 0.001),
        ];
        for (number, change) in wrong.into_iter().enumerate() {
            let verdict = verdict(change);
            assert!(
                !verdict.is_within_tolerance(),
                "{iterations}, {number}: {verdict:?}"
            );
        }
        let short = problem.output(vec![0.0; 3], vec![0.0], vec![0.0]);
        assert!(!problem.judge(&input, &short).is_within_tolerance());
    }
}

/// An x of zeros is right if A x is 0.
#[test]
fn what_vanishes_is_right() {
    let shift = Triplets::Real(vec![(0, 1, 1.0), (1, 2, 1.0)]);
    let matrix = SparseMatrix::from_triplets(3, 3, &shift).unwrap();
    let problem = PowerProblem::new(matrix.into(), 5).unwrap();
    let input = NamedArrays::from_array("x", &[3], vec![1.0f32, 2.0, 3.0]);
    let found = problem.solve::<f32>(&[1.0, 2.0, 3.0]);
    assert_eq!(found.x, [0.0; 3]);
    let output = problem.output(found.x, found.values, found.residuals);
    assert!(problem.judge(&input, &output).is_within_tolerance());
}

#[test]
fn what_has_no_powers_is_refused() {
    let of =
        |rows, cols, entries: &Triplets| SparseMatrix::from_triplets(rows, cols, entries).unwrap();
    let real = Triplets::Real(vec![(0, 0, 1.0)]);
    let complex = Triplets::Complex(vec![(0, 0, num_complex::Complex64::I)]);
    for (matrix, iterations, said) in [
        (of(2, 3, &real), 1, "2 x 3"),
        (of(2, 2, &complex), 1, "complex"),
        (of(2, 2, &real), 0, "1 to 1000"),
        (of(2, 2, &real), 1001, "1 to 1000"),
    ] {
        let refused = PowerProblem::new(matrix.into(), iterations).unwrap_err();
        assert!(refused.to_string().contains(said), "{refused}");
    }
}
