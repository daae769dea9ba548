//! Fourier transforms, complex and real, by rustfft.

use crate::NativeProblem;
use cp2_problems::fft::{FftProblem, RealFftProblem, TransformDirection, hermitian};
use cp2_problems::{NamedArrays, Problem};
use cp2_rustfft::{Fft, FftNum};
use num_complex::{Complex, Complex32};
use std::sync::Arc;

const RECIPE: &str = "rustfft in single precision";

pub(crate) fn planned(n: usize, direction: TransformDirection) -> Arc<dyn Fft<f32>> {
    cp2_rustfft::single(n, direction.into())
}

/// Prepares complex transforms over all axes, the last axis first.
pub(crate) fn complex(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<FftProblem>()?.clone();
    let axes = problem.axes().iter();
    let axes: Vec<_> = axes.map(|&n| planned(n, problem.direction())).collect();
    Some(NativeProblem::new(RECIPE, move |input| {
        let count = problem.len() * problem.batch();
        let mut y = input.get_sized::<Complex32>("x", count)?.to_vec();
        let mut width = 1;
        for fft in axes.iter().rev() {
            match width {
                1 => fft.process(&mut y),
                _ => columns(&mut y, &**fft, width),
            }
            width *= fft.len();
        }
        Ok(wrap_output(&problem, y))
    }))
}

/// Transforms the columns of matrices of `width` columns.
pub(crate) fn columns<T: FftNum>(numbers: &mut [Complex<T>], fft: &dyn Fft<T>, width: usize) {
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

/// Prepares real transforms, by complex ones of the same length.
pub(crate) fn real(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<RealFftProblem>()?.clone();
    let (n, batch, half) = (problem.len(), problem.batch(), problem.len() / 2 + 1);
    let fft = planned(n, problem.direction());
    Some(NativeProblem::new(RECIPE, move |input| {
        match problem.direction() {
            TransformDirection::Forward => {
                let x = input.get_sized::<f32>("x", n * batch)?;
                let mut rows: Vec<Complex32> = x.iter().map(|&x| x.into()).collect();
                fft.process(&mut rows);
                let spectra = rows.chunks(n).flat_map(|row| &row[..half]);
                Ok(wrap_output(&problem, spectra.copied().collect()))
            }
            TransformDirection::Inverse => {
                let x = input.get_sized::<Complex32>("x", half * batch)?;
                let mut rows = hermitian(x, n);
                fft.process(&mut rows);
                let y: Vec<f32> = rows.iter().map(|z| z.re).collect();
                Ok(wrap_output(&problem, y))
            }
        }
    }))
}

/// Returns the values as the one output of the problem.
pub(crate) fn wrap_output<T: cp2_problems::Element>(
    problem: &dyn Problem,
    values: Vec<T>,
) -> NamedArrays {
    let forms = problem.outputs();
    let form = forms.first();
    form.map_or_else(NamedArrays::default, |form| {
        NamedArrays::from_array(form.name, &form.shape, values)
    })
}
