//! Fourier transforms: of any length, over any axes.

pub(crate) mod convolution;
pub(crate) mod generator;
pub(crate) mod layout;
pub(crate) mod plan;
mod real;
pub(crate) mod tables;

pub(crate) use real::real;

use crate::backend::{GpuProblem, wrap_output};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::Shader;
use cp2_problems::Problem;
use cp2_problems::fft::{FftProblem, TransformDirection};
use num_complex::Complex32;
use plan::{LineTransforms, Lines};
use std::sync::Arc;

/// Butterflies, and where lines of an array come from and go to; an entry point is generated.
pub(crate) const LINES: Shader = Shader {
    name: "fft/lines",
    parts: &[
        include_str!("fft/butterflies.wgsl"),
        include_str!("fft/lines.wgsl"),
    ],
};

/// Bluestein's algorithm in a workgroup; an entry point is generated.
pub(crate) const BLUESTEIN: Shader = Shader {
    name: "fft/bluestein",
    parts: &[
        include_str!("fft/butterflies.wgsl"),
        include_str!("fft/chirp.wgsl"),
        include_str!("fft/convolved.wgsl"),
    ],
};

/// The columns of Bluestein's algorithm for long lines; an entry point is generated.
pub(crate) const BLUESTEIN_COLUMNS: Shader = Shader {
    name: "fft/bluestein_columns",
    parts: &[
        include_str!("fft/butterflies.wgsl"),
        include_str!("fft/chirp.wgsl"),
        include_str!("fft/columns.wgsl"),
    ],
};

/// The rows of convolutions of long blocks; an entry point is generated.
pub(crate) const CONVOLVED_ROWS: Shader = Shader {
    name: "fft/convolved_rows",
    parts: &[
        include_str!("fft/butterflies.wgsl"),
        include_str!("fft/convolved_rows.wgsl"),
    ],
};

/// Half spectra of rows of even length.
pub(crate) const REAL: Shader = Shader {
    name: "fft/real",
    parts: &[include_str!("fft/real.wgsl")],
};

/// Real numbers of rows of odd length.
pub(crate) const ODD_REAL: Shader = Shader {
    name: "fft/odd_real",
    parts: &[include_str!("fft/odd_real.wgsl")],
};

/// Prepares complex transforms over all axes, the last axis first.
pub(crate) fn complex(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<FftProblem>()?.clone();
    Some(prepare(device, problem))
}

fn prepare(device: &Arc<GpuDevice>, problem: FftProblem) -> Result<GpuProblem, GpuError> {
    let count = problem.len() * problem.batch();
    let x: GpuBuffer<Complex32> = GpuBuffer::new(device, "the numbers to transform", count)?;
    let y: GpuBuffer<Complex32> = GpuBuffer::new(device, "the transforms", count)?;
    let mut plan = LineTransforms::default();
    let inverse = problem.direction() == TransformDirection::Inverse;
    let mut both = [&x, &y];
    let mut inner = 1;
    for &n in problem.axes().iter().rev() {
        let lines = Lines {
            n,
            outer: count / (n * inner),
            inner,
        };
        plan.add_axis(device, lines, inverse, both)?;
        both.reverse();
        inner *= n;
    }
    let recipe = plan.recipe();
    let swapped = problem.axes().len().is_multiple_of(2);
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        x.write(input.get_sized("x", count)?)?;
        session.execute(&plan.steps)?;
        let result = if swapped { &x } else { &y };
        Ok(wrap_output(&problem, session.read(result)?))
    }))
}
