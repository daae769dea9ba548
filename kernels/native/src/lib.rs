//! The backend of this computer: rustfft and plain loops, single precision.
//!
//! A second opinion on every problem, and the measured time that emulated times are compared with.
//!
//! ```
//! use cp2_native::Native;
//! use cp2_problems::fft::{TransformDirection, FftProblem};
//! use cp2_problems::{Backend, Case, Clock, Problem, run_judged};
//!
//! let fft = FftProblem::new(360, TransformDirection::Forward, 3)?;
//! let mut prepared = Native.prepare(&fft)?;
//! let judged = run_judged(&mut *prepared, &fft, &fft.input(Case::Random, 1))?;
//! assert!(judged.verdict.is_within_tolerance());
//! assert_eq!(judged.outcome.clock, Clock::Measured);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chain;
mod conv;
mod fft;
mod himeno;
mod npb;
mod sparse;
mod stencil;
mod vector;

use cp2_problems::{
    Backend, Clock, DataError, NamedArrays, Outcome, Prepared, Problem, Refusal, RunError,
};
use std::fmt;
use std::time::Instant;

/// The backend of this computer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

/// Prepares a problem, if it is of the type that the function knows.
type PrepareFn = fn(&dyn Problem) -> Option<NativeProblem>;

/// Functions that prepare the known types of problems.
const TABLE: &[PrepareFn] = &[
    fft::complex,
    fft::real,
    conv::filter,
    vector::map,
    vector::reduce,
    vector::beams,
    vector::products,
    vector::transpose,
    stencil::stencil,
    himeno::himeno,
    chain::radar,
    chain::sonar,
    npb::ft,
    npb::mg,
    sparse::product,
    sparse::solve,
    sparse::power,
    sparse::inverse_iterations,
];

impl Backend for Native {
    fn name(&self) -> String {
        "native".to_owned()
    }

    fn prepare(&self, problem: &dyn Problem) -> Result<Box<dyn Prepared>, Refusal> {
        let ready = TABLE.iter().find_map(|row| row(problem));
        match ready {
            Some(ready) => Ok(Box::new(ready)),
            None if npb::has_other_numbers(problem) => Err(Refusal::Unfit {
                backend: self.name(),
                problem: problem.title(),
                source: "rustfft has no double-single numbers: take single or double precision"
                    .into(),
            }),
            None => Err(Refusal::Unknown {
                backend: self.name(),
                problem: problem.name(),
            }),
        }
    }
}

/// Computes the output of an input.
type ComputeFn = dyn FnMut(&NamedArrays) -> Result<NamedArrays, DataError> + Send;

/// A problem with all preparations done that do not depend on its input.
struct NativeProblem {
    recipe: &'static str,
    run: Box<ComputeFn>,
}

impl NativeProblem {
    fn new(
        recipe: &'static str,
        run: impl FnMut(&NamedArrays) -> Result<NamedArrays, DataError> + Send + 'static,
    ) -> Self {
        Self {
            recipe,
            run: Box::new(run),
        }
    }
}

impl fmt::Debug for NativeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ready").field(&self.recipe).finish()
    }
}

impl Prepared for NativeProblem {
    fn recipe(&self) -> Option<String> {
        Some(self.recipe.to_owned())
    }

    fn run(&mut self, input: &NamedArrays) -> Result<Outcome, RunError> {
        let started = Instant::now();
        let output = (self.run)(input)?;
        Ok(Outcome {
            seconds: started.elapsed().as_secs_f64(),
            output,
            clock: Clock::Measured,
            report: None,
        })
    }
}
