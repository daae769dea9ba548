//! Transforms in double precision, one array at a time.

use super::Direction;
use crate::widen;
use cp2_rustfft::Fft;
use num_complex::{Complex32, Complex64};
use std::fmt;
use std::sync::Arc;

/// The transform of arrays of a shape in double precision, planned once and carried out in one place: fresh memory for
/// every array takes longer than the transforms.
#[derive(Clone)]
pub struct Exact {
    /// The transforms along the axes, the last one first, and the distance between numbers of one of them.
    axes: Vec<(Arc<dyn Fft<f64>>, usize)>,
    numbers: Vec<Complex64>,
    column: Vec<Complex64>,
    scratch: Vec<Complex64>,
}

impl fmt::Debug for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<usize> = self.axes.iter().rev().map(|(fft, _)| fft.len()).collect();
        f.debug_struct("Exact").field("shape", &lengths).finish()
    }
}

impl Exact {
    /// Over all axes of `shape`, the last contiguous; no axis has length 0.
    #[must_use]
    pub fn new(shape: &[usize], direction: Direction) -> Self {
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

    /// The transform of one array or of several, one behind the other.
    pub fn of(&mut self, input: &[Complex32]) -> &[Complex64] {
        self.numbers.clear();
        self.numbers.extend(input.iter().map(|&x| widen(x)));
        for (fft, width) in &self.axes {
            if *width == 1 {
                fft.process_with_scratch(&mut self.numbers, &mut self.scratch);
                continue;
            }
            for matrix in self.numbers.chunks_exact_mut(fft.len() * width) {
                for c in 0..*width {
                    self.column.clear();
                    self.column
                        .extend(matrix.iter().skip(c).step_by(*width).copied());
                    fft.process_with_scratch(&mut self.column, &mut self.scratch);
                    for (to, from) in matrix.iter_mut().skip(c).step_by(*width).zip(&self.column) {
                        *to = *from;
                    }
                }
            }
        }
        &self.numbers
    }
}

/// All transforms of `input` in double precision.
#[must_use]
pub fn reference(input: &[Complex32], n: usize, direction: Direction) -> Vec<Complex64> {
    reference_nd(input, &[n], direction)
}

/// All arrays of `input` over all axes of `shape`, the last contiguous, in double precision.
#[must_use]
pub fn reference_nd(input: &[Complex32], shape: &[usize], direction: Direction) -> Vec<Complex64> {
    Exact::new(shape, direction).of(input).to_vec()
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
