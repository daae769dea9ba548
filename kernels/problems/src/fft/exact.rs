//! Transforms in double precision, one array at a time.

use super::TransformDirection;
use crate::widen;
use cp2_rustfft::Fft;
use num_complex::{Complex32, Complex64};
use std::fmt;
use std::sync::Arc;

/// Number of columns that are transformed together.
const COLUMNS: usize = 8;

/// Transform of arrays of a shape in double precision. It is planned once and reuses its buffers, as
/// allocating memory for every array takes longer than the transforms.
#[derive(Clone)]
pub struct ExactTransform {
    /// Plans along the axes, the last axis first, each with the distance between consecutive numbers of the
    /// axis.
    axes: Vec<(Arc<dyn Fft<f64>>, usize)>,
    numbers: Vec<Complex64>,
    column: Vec<Complex64>,
    scratch: Vec<Complex64>,
}

impl fmt::Debug for ExactTransform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<usize> = self.axes.iter().rev().map(|(fft, _)| fft.len()).collect();
        f.debug_struct("Exact").field("shape", &lengths).finish()
    }
}

impl ExactTransform {
    /// Plans a transform over all axes of `shape`, the last one contiguous; no axis has length 0.
    #[must_use]
    pub fn new(shape: &[usize], direction: TransformDirection) -> Self {
        let mut width = 1;
        let mut axes: Vec<(Arc<dyn Fft<f64>>, usize)> = Vec::new();
        for &length in shape.iter().rev() {
            axes.push((cp2_rustfft::double(length, direction.into()), width));
            width *= length;
        }
        let longest = axes.iter().map(|(fft, _)| fft.get_inplace_scratch_len());
        Self {
            scratch: vec![Complex64::default(); longest.max().unwrap_or(0)],
            axes,
            numbers: Vec::new(),
            column: Vec::new(),
        }
    }

    /// Transforms one array, or several contiguous ones.
    pub fn transform(&mut self, input: &[Complex32]) -> &[Complex64] {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        numbers.extend(input.iter().map(|&x| widen(x)));
        self.transform_in_place(&mut numbers);
        self.numbers = numbers;
        &self.numbers
    }

    /// Transforms numbers in double precision in place.
    pub fn transform_in_place(&mut self, numbers: &mut [Complex64]) {
        for (fft, width) in &self.axes {
            if *width == 1 {
                fft.process_with_scratch(numbers, &mut self.scratch);
                continue;
            }
            // Several columns are copied at a time, so that adjacent numbers are read together.
            let length = fft.len();
            for matrix in numbers.chunks_exact_mut(length * width) {
                for first in (0..*width).step_by(COLUMNS) {
                    let columns = COLUMNS.min(width - first);
                    self.column.clear();
                    self.column.resize(columns * length, Complex64::default());
                    for (row, numbers) in matrix.chunks_exact(*width).enumerate() {
                        let numbers = numbers.iter().skip(first).take(columns);
                        let places = self.column.iter_mut().skip(row).step_by(length);
                        places.zip(numbers).for_each(|(to, from)| *to = *from);
                    }
                    fft.process_with_scratch(&mut self.column, &mut self.scratch);
                    for (row, numbers) in matrix.chunks_exact_mut(*width).enumerate() {
                        let numbers = numbers.iter_mut().skip(first).take(columns);
                        let places = self.column.iter().skip(row).step_by(length);
                        numbers.zip(places).for_each(|(to, from)| *to = *from);
                    }
                }
            }
        }
    }
}

/// Computes all transforms of length `n` of `input` in double precision.
#[must_use]
pub fn reference(input: &[Complex32], n: usize, direction: TransformDirection) -> Vec<Complex64> {
    reference_nd(input, &[n], direction)
}

/// Transforms all arrays of `input` over all axes of `shape`, the last one contiguous, in double precision.
#[must_use]
pub fn reference_nd(
    input: &[Complex32],
    shape: &[usize],
    direction: TransformDirection,
) -> Vec<Complex64> {
    ExactTransform::new(shape, direction)
        .transform(input)
        .to_vec()
}

/// Expands rows of N/2 + 1 numbers, half spectra of `n` real numbers, to rows of all N; the imaginary parts
/// of the first number and of number N/2 count as 0.
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
