//! The evolution of FT in double precision.

use super::{FtProblem, POINTS};
use crate::fft::{ExactTransform, TransformDirection};
use num_complex::Complex64;

/// Results of the benchmark in double precision.
pub(super) struct Evolved {
    /// Real and imaginary part of every step's checksum.
    pub(super) checksums: Vec<[f64; 2]>,
    /// Field of the last step, times N.
    pub(super) field: Vec<Complex64>,
}

/// Computes all steps of a field.
///
/// Only the field of the last step is computed. The checksums follow from the transform U: a checksum is,
/// over all wave numbers, the sum of U times the factors times the sum over j of exp(2 pi i j (kx/nx + 3
/// ky/ny + 5 kz/nz)), j = 1 .. 1024. The lengths divide 1024, so this sum over j is 1024 if kx/nx + 3 ky/ny +
/// 5 kz/nz is a whole number, and 0 otherwise.
pub(super) fn evolve(problem: &FtProblem, mut numbers: Vec<Complex64>) -> Evolved {
    let shape = problem.shape();
    ExactTransform::new(&shape, TransformDirection::Forward).transform_in_place(&mut numbers);
    let steps = 1..=problem.steps();
    let checksums = steps.map(|step| checksum(problem, &numbers, step));
    let checksums = checksums.collect();
    let [ez, ey, ex] = shape.map(|n| FtProblem::factors(n, problem.steps()));
    let [_, rows, columns] = shape;
    for (row, numbers) in numbers.chunks_exact_mut(columns).enumerate() {
        let [z, y] = [&ez[row / rows], &ey[row % rows]];
        for (number, x) in numbers.iter_mut().zip(&ex) {
            *number *= z * y * x;
        }
    }
    ExactTransform::new(&shape, TransformDirection::Inverse).transform_in_place(&mut numbers);
    Evolved {
        checksums,
        field: numbers,
    }
}

/// Computes the checksum of a step from the transform of the field.
fn checksum(problem: &FtProblem, transform: &[Complex64], step: usize) -> [f64; 2] {
    let [planes, rows, columns] = problem.shape();
    let [ez, ey, ex] = problem.shape().map(|n| FtProblem::factors(n, step));
    let mut sum = Complex64::default();
    for z in 0..planes {
        for y in 0..rows {
            // Value that kx/nx must have, in 1024ths, for a whole number.
            let others = 5 * z * (POINTS / planes) + 3 * y * (POINTS / rows);
            let wanted = (POINTS - others % POINTS) % POINTS;
            let apart = POINTS / columns;
            if wanted.is_multiple_of(apart) {
                let x = wanted / apart;
                let number = transform[(z * rows + y) * columns + x];
                sum += number * (ez[z] * ey[y] * ex[x]);
            }
        }
    }
    sum *= POINTS as f64 / problem.len() as f64;
    [sum.re, sum.im]
}
