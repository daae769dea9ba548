//! The reference of FT follows the definition and the official values.

use super::*;
use crate::fft::{TransformDirection, reference_nd};

/// Computes the checksums literally as the benchmark defines them: from the field of every step, number by
/// number.
fn literal(problem: &FtProblem, x: &[Complex32]) -> Vec<Complex64> {
    let shape = problem.shape();
    let transform = reference_nd(x, &shape, TransformDirection::Forward);
    let signed = |k: usize, n: usize| ((k + n / 2) % n) as f64 - (n / 2) as f64;
    let mut sums = Vec::new();
    let pi = std::f64::consts::PI;
    for step in 1..=problem.steps() {
        let mut evolved = transform.clone();
        for (place, number) in evolved.iter_mut().enumerate() {
            let (k, rest) = (place % shape[2], place / shape[2]);
            let wave = [
                (rest / shape[1], shape[0]),
                (rest % shape[1], shape[1]),
                (k, shape[2]),
            ];
            let square: f64 = wave.map(|(k, n)| signed(k, n).powi(2)).iter().sum();
            *number *= libm::exp(-4.0 * pi * pi * ALPHA * square * step as f64);
        }
        ExactField::new(&shape).transform_field(&mut evolved);
        let n = problem.len() as f64;
        let point = |j: usize| {
            let [z, y, x] = [5 * j % shape[0], 3 * j % shape[1], j % shape[2]];
            evolved[z * shape[1] * shape[2] + y * shape[2] + x]
        };
        sums.push((1..=1024).map(point).sum::<Complex64>() / n);
    }
    sums
}

/// The inverse transform by definition, along one axis after the other.
struct ExactField([usize; 3]);

impl ExactField {
    fn new(shape: &[usize; 3]) -> Self {
        Self(*shape)
    }

    fn transform_field(&self, field: &mut [Complex64]) {
        let mut width = 1;
        for &n in self.0.iter().rev() {
            for first in 0..field.len() / n {
                let first = first / width * width * n + first % width;
                let column: Vec<_> = (0..n).map(|k| field[first + k * width]).collect();
                for j in 0..n {
                    let turn = |k: usize| std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
                    let terms = column.iter().enumerate();
                    let terms = terms.map(|(k, x)| x * Complex64::from_polar(1.0, turn(k)));
                    field[first + j * width] = terms.sum();
                }
            }
            width *= n;
        }
    }
}

#[test]
fn the_reference_is_the_definition() {
    for shape in [[8, 4, 16], [16, 8, 4], [4, 32, 8], [2, 2, 64]] {
        let problem = FtProblem::new(shape, 3).unwrap();
        let input = problem.input(Case::Random, 7);
        let x = input.get::<Complex32>("x").unwrap();
        let exact = exact::evolve(&problem, x.iter().map(|&z| widen(z)).collect());
        for (sum, [re, im]) in literal(&problem, x).iter().zip(&exact.checksums) {
            assert!(
                (sum.re - re).abs() + (sum.im - im).abs() < 1e-9,
                "{shape:?}"
            );
        }
        // The last checksum is that of the field.
        let points: Vec<usize> = problem.points().collect();
        let sum: Complex64 = points.iter().map(|&at| exact.field[at]).sum();
        let [re, im] = exact.checksums[2];
        let n = problem.len() as f64;
        assert!(
            (sum / n - Complex64::new(re, im)).norm() < 1e-9,
            "{shape:?}"
        );
    }
}

/// With input in single precision the checksums in double precision differ from the official ones by the
/// roundings of the input, with input in double precision by the digits that are printed.
#[test]
fn the_official_checksums() {
    for (class, precision, most) in [
        (NpbClass::S, Precision::Single, 1e-8),
        (NpbClass::W, Precision::Single, 1e-8),
        (NpbClass::S, Precision::DoubleSingle, 1e-12),
        (NpbClass::S, Precision::Double, 1e-12),
        (NpbClass::W, Precision::Double, 1e-12),
    ] {
        let problem = FtProblem::from_class(class).with_precision(precision);
        let reference = problem.reference(&problem.initial()).unwrap();
        let Exact::Real(sums) = &reference.arrays[0].exact else {
            panic!("checksums are real numbers");
        };
        for (sum, [a, b]) in sums.chunks_exact(2).zip(official(class)) {
            let apart = libm::hypot(sum[0] - a, sum[1] - b) / libm::hypot(*a, *b);
            assert!(apart < most, "{class} {precision}: {apart}");
        }
    }
}

#[test]
fn classes_are_sizes() {
    for class in NpbClass::ALL {
        for precision in Precision::ALL {
            let problem = FtProblem::from_class(class).with_precision(precision);
            assert_eq!(FtProblem::from_size(&problem.size()).unwrap(), problem);
        }
    }
    // The benchmark's own figure for class A is 7.14 Gop.
    let a = FtProblem::from_class(NpbClass::A).operations();
    assert!((a / 7.138e9 - 1.0).abs() < 0.01, "{a}");
}
