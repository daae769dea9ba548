//! Interfaces of backends, which compute problems, and judged runs.

use crate::data::{DataError, NamedArrays};
use crate::problem::Problem;
use crate::verdict::Verdict;
use std::any::Any;
use std::error::Error;
use std::fmt;

/// A computer, real or emulated, that computes problems.
pub trait Backend: fmt::Debug + Send + Sync {
    /// Returns the name of the backend in reports.
    fn name(&self) -> String;

    /// Prepares `problem`: chooses an algorithm, and builds programs and tables.
    ///
    /// # Errors
    /// The backend cannot compute this kind of problem, or this problem does not fit it.
    fn prepare(&self, problem: &dyn Problem) -> Result<Box<dyn Prepared>, Refusal>;
}

/// A problem that a backend has prepared, to be computed any number of times.
pub trait Prepared: fmt::Debug + Send {
    /// Returns the algorithm that was chosen, in words, if there are several.
    fn recipe(&self) -> Option<String> {
        None
    }

    /// Computes the problem's output.
    ///
    /// # Errors
    /// The input does not fit the problem, or the computation failed.
    fn run(&mut self, input: &NamedArrays) -> Result<Outcome, RunError>;
}

/// Kind of time that a run took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Simulated seconds of a machine, the same on every host.
    Simulated,
    /// Seconds that passed on this computer.
    Measured,
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Simulated => "simulated",
            Self::Measured => "measured",
        })
    }
}

/// A backend's report on a run, besides its result.
pub trait Report: Any + fmt::Debug + Send {
    /// Returns the report in words.
    fn text(&self) -> String;
}

impl dyn Report {
    /// Returns the report as a type `R`, if it is of that type.
    #[must_use]
    pub fn downcast_ref<R: Report>(&self) -> Option<&R> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

/// The result of a run and the time that it took.
#[derive(Debug)]
pub struct Outcome {
    /// The arrays of the output.
    pub output: NamedArrays,
    /// Seconds from the input in memory to the output in memory.
    pub seconds: f64,
    /// Kind of these seconds.
    pub clock: Clock,
    /// The backend's report, if it has one.
    pub report: Option<Box<dyn Report>>,
}

/// Reason why a backend does not compute a problem.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The backend does not compute problems of this kind.
    #[error("{backend} does not compute `{problem}`; take another backend for it")]
    Unknown {
        /// Name of the backend.
        backend: String,
        /// The kind of problem.
        problem: &'static str,
    },
    /// The backend computes problems of this kind, but not this one.
    #[error("{backend}, {problem}: {source}")]
    Unfit {
        /// Name of the backend.
        backend: String,
        /// The problem's title.
        problem: String,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Reason why a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The input does not fit the problem.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The computation did not finish.
    #[error("the run did not finish: {end}")]
    Unfinished {
        /// The way in which it ended.
        end: String,
    },
    /// A failure of the backend.
    #[error(transparent)]
    Backend(Box<dyn Error + Send + Sync>),
}

/// A result that was judged to be right.
#[derive(Debug)]
pub struct Judged {
    /// The result.
    pub outcome: Outcome,
    /// Comparison with the reference.
    pub verdict: Verdict,
}

/// Reason why a run has no right result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// The run has no result.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The result is wrong.
    #[error(
        "{problem}: the result is wrong: its error is {} times what is allowed, relative RMS {:.2e}",
        verdict.worst, verdict.rms
    )]
    Wrong {
        /// The problem's title.
        problem: String,
        /// Comparison with the reference.
        verdict: Verdict,
    },
}

/// Runs a prepared problem and judges the result.
///
/// # Errors
/// The run has no result, or the result is wrong.
pub fn run_judged(
    prepared: &mut dyn Prepared,
    problem: &dyn Problem,
    input: &NamedArrays,
) -> Result<Judged, JudgeError> {
    let outcome = prepared.run(input)?;
    let verdict = problem.judge(input, &outcome.output);
    if verdict.is_within_tolerance() {
        return Ok(Judged { outcome, verdict });
    }
    Err(JudgeError::Wrong {
        problem: problem.title(),
        verdict,
    })
}
