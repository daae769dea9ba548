//! Transforms in double precision.

use super::Direction;
use crate::widen;
use num_complex::{Complex32, Complex64};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// All transforms of `input` in double precision.
#[must_use]
pub fn reference(input: &[Complex32], n: usize, direction: Direction) -> Vec<Complex64> {
    reference_nd(input, &[n], direction)
}

/// The transform in double precision.
pub(super) fn exactly(n: usize, direction: Direction) -> Arc<dyn Fft<f64>> {
    let mut planner = FftPlanner::new();
    match direction {
        Direction::Forward => planner.plan_fft_forward(n),
        Direction::Inverse => planner.plan_fft_inverse(n),
    }
}

/// Rows of the N/2 + 1 numbers of spectra of `n` real numbers as rows of all N:
/// the imaginary parts of the first and of number N/2 count as 0.
#[must_use]
pub fn hermitian(half: &[Complex32], n: usize) -> Vec<Complex32> {
    let row = |half: &[Complex32]| -> Vec<Complex32> {
        (0..n)
            .map(|k| match k {
                0 => half[0].re.into(),
                k if 2 * k == n => half[k].re.into(),
                k if 2 * k < n => half[k],
                k => half[n - k].conj(),
            })
            .collect()
    };
    half.chunks_exact(n / 2 + 1).flat_map(row).collect()
}

/// All arrays of `input` over all axes of `shape`, the last contiguous, in double precision.
#[must_use]
pub fn reference_nd(input: &[Complex32], shape: &[usize], direction: Direction) -> Vec<Complex64> {
    let mut numbers: Vec<Complex64> = input.iter().map(|&x| widen(x)).collect();
    let mut width = 1;
    for &length in shape.iter().rev() {
        let fft = exactly(length, direction);
        if width == 1 {
            fft.process(&mut numbers);
        } else {
            columns(&mut numbers, &*fft, width);
        }
        width *= length;
    }
    numbers
}

/// Transforms the columns of matrices of `width` columns.
fn columns(numbers: &mut [Complex64], fft: &dyn Fft<f64>, width: usize) {
    let mut column = Vec::with_capacity(fft.len());
    for matrix in numbers.chunks_exact_mut(fft.len() * width) {
        for c in 0..width {
            column.clear();
            column.extend(matrix.iter().skip(c).step_by(width));
            fft.process(&mut column);
            for (to, from) in matrix.iter_mut().skip(c).step_by(width).zip(&column) {
                *to = *from;
            }
        }
    }
}
