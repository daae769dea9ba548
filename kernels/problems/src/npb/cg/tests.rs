//! Matrices and values of CG are the published ones; errors are noticed.

use super::*;
use crate::Problem;
use crate::data::NamedArrays;
use crate::npb::{NpbClass, Precision};
use crate::sparse::Symmetry;

/// The matrix has the published entries, sum, trace, Frobenius norm, and shortest and longest row.
#[test]
fn matrices_are_the_published_ones() {
    for (class, nnz, sum, trace, norm, rows) in [
        (
            NpbClass::S,
            78_148,
            -4.796_559_321_013e3,
            -1.244_607_191_798e4,
            3.359_401_738_909e2,
            (8, 127),
        ),
        (
            NpbClass::W,
            508_402,
            -2.632_525_601_446e4,
            -7.533_517_681_717e4,
            9.080_217_027_784e2,
            (9, 168),
        ),
    ] {
        let benchmark = CgClass::from_class(class);
        let a = WideMatrix::from_class(&benchmark);
        let all = || (0..a.rows()).flat_map(|i| a.row(i).map(move |(j, value)| (i, j, value)));
        let close = |found: f64, published: f64| {
            assert!(
                (found / published - 1.0).abs() < 1e-11,
                "{class}: {found} {published}"
            );
        };
        assert_eq!((a.rows(), all().count()), (benchmark.rows, nnz));
        close(all().map(|(_, _, value)| value).sum(), sum);
        close(
            all()
                .filter(|(i, j, _)| i == j)
                .map(|(_, _, value)| value)
                .sum(),
            trace,
        );
        close(
            all().map(|(_, _, value)| value * value).sum::<f64>().sqrt(),
            norm,
        );
        let lengths = || (0..a.rows()).map(|i| a.row(i).count());
        assert_eq!(
            (lengths().min(), lengths().max()),
            (Some(rows.0), Some(rows.1))
        );
        // The matrix is symmetric, as it declares.
        let rounded = a.rounded(Precision::Single);
        assert_eq!(rounded.symmetry(), Symmetry::Symmetric);
        assert!(rounded.declared(Symmetry::Symmetric).is_ok());
    }
}

/// In double precision the official value is reached as exactly as the benchmark asks for, and the first
/// values are right.
#[test]
fn official_values() {
    let first = [
        (
            NpbClass::S,
            [9.998_644_157_914, 8.573_327_920_322_2, 8.595_451_037_405_8],
        ),
        (
            NpbClass::W,
            [11.999_700_372_738, 10.345_727_566_406, 10.361_788_013_796],
        ),
    ];
    for (class, first) in first {
        let benchmark = CgClass::from_class(class);
        let a = WideMatrix::from_class(&benchmark);
        let ones = vec![1.0; a.rows()];
        let found = inverse_iterations(ones, benchmark.shift, benchmark.iterations, |p| a.times(p));
        for (found, published) in found.zeta.iter().zip(first) {
            assert!((found / published - 1.0).abs() < 1e-10, "{class}: {found}");
        }
        let last = found.zeta[benchmark.iterations - 1];
        assert!(
            (last / benchmark.official - 1.0).abs() < 1e-10,
            "{class}: {last}"
        );
        assert!(found.rnorm.iter().all(|&norm| norm < 1e-12));
    }
}

/// Single precision is close enough to the official value, and a matrix with one wrong entry is not.
#[test]
fn single_precision_is_judged() {
    let benchmark = CgClass::from_class(NpbClass::S);
    let problem = benchmark.problem();
    let n = problem.matrix().rows();
    let input = problem.input(crate::Case::Random, 1);
    let single = problem.solve::<f32>(input.get::<f32>("x").unwrap());
    let last = single.zeta[benchmark.iterations - 1];
    assert!((last / benchmark.official - 1.0).abs() < CgClass::tolerance(Precision::Single) / 10.0);
    let output = |found: Iterated<f32>| {
        let zeta = NamedArrays::from_array("zeta", &[15], found.zeta);
        zeta.add_array("rnorm", &[15], found.rnorm)
            .add_array("x", &[n], found.x)
    };
    let verdict = problem.judge(&input, &output(single.clone()));
    assert!(
        verdict.is_within_tolerance() && verdict.worst < 0.5,
        "{verdict:?}"
    );
    let wrong = |change: &dyn Fn(&mut Iterated<f32>)| {
        let mut found = single.clone();
        change(&mut found);
        assert!(!problem.judge(&input, &output(found)).is_within_tolerance());
    };
    wrong(&|found| found.zeta[14] *= 1.0 + 2e-6);
    wrong(&|found| found.rnorm[3] = 6.0 * CgClass::residual(Precision::Single));
    wrong(&|found| found.x[5] += 5e-6);
    // Iterations with the diagonal's first entry off by a thousandth are wrong.
    let matrix = problem.matrix().clone();
    let x = input.get::<f32>("x").unwrap().to_vec();
    let off = inverse_iterations(x, problem.shift(), 15, |p| {
        let row = |i| -> f32 { matrix.real_row(i).map(|(j, a)| a * p[j]).sum() };
        let mut y: Vec<f32> = (0..n).map(row).collect();
        y[0] += 1e-3 * matrix.real_row(0).map(|(_, a)| a.abs()).sum::<f32>() * p[0];
        y
    });
    assert!(!problem.judge(&input, &output(off)).is_within_tolerance());
}

#[test]
fn sizes_that_are_none_are_refused() {
    assert!(CgProblem::new(64, 5, 3, 10).is_ok());
    for (rows, entries, iterations, shift) in [
        (8, 2, 1, 10),
        (64, 33, 1, 10),
        (64, 0, 1, 10),
        (64, 5, 0, 10),
        (64, 5, 1, 1),
        (1 << 21, 5, 1, 10),
    ] {
        assert!(CgProblem::new(rows, entries, iterations, shift).is_err());
    }
    // The count is 2 niter na (3 + m + 25 (5 + m) + 3) with m = nonzer (nonzer + 1).
    assert_eq!(
        CgClass::from_class(NpbClass::S).operations(),
        2.0 * 15.0 * 1400.0 * (6.0 + 56.0 + 25.0 * 61.0)
    );
}
