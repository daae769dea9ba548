//! Definitions of computations, independent of any machine.
//!
//! A [`Problem`] defines a computation: its input and output arrays, inputs of many kinds by seed ([`Case`]),
//! its result in double precision and the error that is allowed. A [`Backend`] computes problems somewhere:
//! on an emulated CP2, on this computer, on a graphics card. This crate depends on none of them: no emulator,
//! no machine, no host.
//!
//! | problem | input | output |
//! |---|---|---|
//! | [`FftProblem`](fft::FftProblem) | `x`: arrays of complex numbers | `y`: their transforms over all axes |
//! | [`RealFftProblem`](fft::RealFftProblem) | `x`: rows of real numbers, or half spectra | `y`: half spectra, or rows |
//! | [`ConvProblem`](conv::ConvProblem) | `x`: channels of real or complex samples | `y`: their convolutions with taps |
//! | [`MapProblem`](vector::MapProblem) | `x`, some also `y`: floats | `z`: an operation on every element |
//! | [`ReduceProblem`](vector::ReduceProblem) | `x`, some also `y`: rows | `value`, `place`: the reduction of each row |
//! | [`BeamProblem`](vector::BeamProblem) | `x`: vectors | `y`: a matrix times each |
//! | [`ProductProblem`](vector::ProductProblem) | `a`, `b`: matrices | `c`: their products |
//! | [`TransposeProblem`](vector::TransposeProblem) | `x`: matrices | `y`: their transposes |
//! | [`MgProblem`](npb::mg::MgProblem) | `v`: a cube of floats | `u`: the result of V-cycles; `norms` |
//! | [`StencilProblem`](stencil::StencilProblem) | `u`: an array, some also `c`: coefficients of every element | `v`: the array after some steps |
//! | [`HimenoProblem`](himeno::HimenoProblem) | `p`, and coefficients `a`, `b`, `c`, `wrk1`, `bnd` of every point | `p` after some iterations; `gosa` |
//! | [`SpmvProblem`](sparse::SpmvProblem) | `x`: vectors | `y`: a sparse matrix times each |
//! | [`SolveProblem`](sparse::SolveProblem) | `b`: a right-hand side | `x`, `residuals`, `end`: the result of an iterative method for A x = b |
//! | [`PowerProblem`](sparse::PowerProblem) | `x`: a vector to start from | `values`, `residuals`, `x`: the results of power iterations |
//! | [`CgProblem`](npb::cg::CgProblem) | `x`: a vector to start from | `zeta`, `rnorm`, `x`: the results of inverse iterations |
//! | [`RadarProblem`](chain::RadarProblem) | `x`: received samples of pulses | `spectra`, `decibels`: a map of ranges and speeds |
//! | [`FtProblem`](npb::FtProblem) | `x`: a field of three axes | `w`, `checksums`: the field after diffusion, and its checksums |
//! | [`SonarProblem`](chain::SonarProblem) | `x`: samples of hydrophones | `spectra`, `decibels`: those of beams |
//!
//! # How a backend recognises a problem
//!
//! A backend recognises a problem by its type: [`Problem`] is [`Any`](std::any::Any), and a backend has a
//! table of functions that each try one type with `downcast_ref` and return none for others. A new problem is
//! a new type here and a row in the table of each backend that computes it. No list of all problems has to be
//! changed, and a problem of another crate is treated like one of this crate.
//!
//! ```
//! use cp2_problems::fft::{FftProblem, TransformDirection};
//! use cp2_problems::{Case, Problem};
//!
//! let fft = FftProblem::new(64, TransformDirection::Forward, 3)?;
//! let input = fft.input(Case::Outlier, 7);
//! let problem: &dyn Problem = &fft;
//! assert!(problem.downcast_ref::<FftProblem>().is_some());
//! // What is given back unchanged is no transform.
//! let mut wrong = input.clone();
//! wrong.rename("x", "y");
//! assert!(!problem.judge(&input, &wrong).is_within_tolerance());
//! # Ok::<(), cp2_problems::ProblemError>(())
//! ```

mod backend;
mod case;
pub mod chain;
pub mod conv;
mod data;
mod double_double;
mod double_single;
mod error;
pub mod fft;
pub mod himeno;
mod judging;
mod kinds;
mod multiply_add;
pub mod npb;
mod problem;
mod random;
mod real;
mod reference;
mod size;
pub mod sparse;
pub mod stencil;
pub mod vector;
mod verdict;

pub use backend::{
    Backend, Clock, JudgeError, Judged, Outcome, Prepared, Refusal, Report, RunError, run_judged,
};
pub use case::Case;
pub use data::{Array, DataError, Element, Kind, NamedArrays, Values};
pub use double_single::{DoubleSingle, join_double, split_double};
pub use error::ProblemError;
pub use judging::judged;
pub use kinds::{KINDS, MakeProblem, ProblemKind};
pub use multiply_add::MultiplyAdd;
pub use problem::{ArrayForm, Problem};
pub use random::Random;
pub use real::Real;
pub use reference::{Exact, ExpectedArray, Reference};
pub use size::{Size, SizeError, SizeParameter, SizeValue};
pub use verdict::{PartVerdict, Tally, Verdict};

/// Largest relative error of one rounding to binary32: half a unit of the last place, 2^-24.
pub(crate) const ROUNDING: f64 = 1.0 / (1 << 24) as f64;

/// The smallest positive binary32 number.
pub(crate) const TINIEST: f64 = f32::from_bits(1) as f64;

/// Converts a complex number to double precision.
pub(crate) fn widen(z: num_complex::Complex32) -> num_complex::Complex64 {
    num_complex::Complex64::new(z.re.into(), z.im.into())
}
