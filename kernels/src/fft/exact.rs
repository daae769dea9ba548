//! Transforms in double precision, one array at a time.

use super::recipe::Direction;
use num_complex::{Complex32, Complex64};
use rustfft::{Fft, FftPlanner};
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
        let mut planner = FftPlanner::new();
        let mut width = 1;
        let mut axes: Vec<(Arc<dyn Fft<f64>>, usize)> = Vec::new();
        for &length in shape.iter().rev() {
            let fft = match direction {
                Direction::Forward => planner.plan_fft_forward(length),
                Direction::Inverse => planner.plan_fft_inverse(length),
            };
            axes.push((fft, width));
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
        self.numbers.extend(input.iter().map(widen));
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

#[inline]
pub(super) fn widen(z: &Complex32) -> Complex64 {
    Complex64::new(f64::from(z.re), f64::from(z.im))
}
