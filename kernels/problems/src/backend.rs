//! What computes problems: interfaces that every build implements.

use crate::data::{DataError, NamedArrays};
use crate::problem::Problem;
use crate::verdict::Verdict;
use std::any::Any;
use std::error::Error;
use std::fmt;

/// Somewhere that problems are computed.
pub trait Backend: fmt::Debug + Send + Sync {
    /// What it is called in reports.
    fn name(&self) -> String;

    /// Gets ready to compute `problem`: chooses an algorithm, makes programs and tables.
    ///
    /// # Errors
    /// It has no way to compute this kind of problem, or this one does not fit.
    fn prepare(&self, problem: &dyn Problem) -> Result<Box<dyn Prepared>, Refusal>;
}

/// A problem that a backend is ready to compute, again and again.
pub trait Prepared: fmt::Debug + Send {
    /// How it will be computed, in words, where there are several ways.
    fn recipe(&self) -> Option<String> {
        None
    }

    /// Computes the problem's output.
    ///
    /// # Errors
    /// An input that is not the problem's, or a failure of what computes.
    fn run(&mut self, input: &NamedArrays) -> Result<Outcome, RunError>;
}

/// Whose seconds they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The seconds of a machine that is simulated: the same on every host.
    Simulated,
    /// The seconds that passed.
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

/// What a backend has to say about a run beside its result.
pub trait Report: Any + fmt::Debug + Send {
    /// In words, for people.
    fn text(&self) -> String;
}

impl dyn Report {
    /// The report, if it is of this type.
    #[must_use]
    pub fn downcast_ref<R: Report>(&self) -> Option<&R> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

/// A result and what it took.
#[derive(Debug)]
pub struct Outcome {
    /// The arrays of the output.
    pub output: NamedArrays,
    /// From the input in memory to the output there, in seconds.
    pub seconds: f64,
    /// Whose seconds these are.
    pub clock: Clock,
    /// What else there is to say.
    pub report: Option<Box<dyn Report>>,
}

/// Why a backend does not compute a problem.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It computes no problems of the kind.
    #[error("{backend} does not compute `{problem}`; take another backend for it")]
    Unknown {
        /// The backend.
        backend: String,
        /// The kind of problem.
        problem: &'static str,
    },
    /// It computes others of the kind.
    #[error("{backend}, {problem}: {source}")]
    Unfit {
        /// The backend.
        backend: String,
        /// The problem's title.
        problem: String,
        /// Why not this one.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The input is not the problem's.
    #[error(transparent)]
    Data(#[from] DataError),
    /// What computes did not come to its end.
    #[error("the run did not finish: {end}")]
    Unfinished {
        /// How it ended.
        end: String,
    },
    /// The backend's own failure.
    #[error(transparent)]
    Backend(Box<dyn Error + Send + Sync>),
}

/// A result that was found right.
#[derive(Debug)]
pub struct Judged {
    /// The result.
    pub outcome: Outcome,
    /// How close it is.
    pub verdict: Verdict,
}

/// Why a run has no right result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// It has none.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It is wrong.
    #[error(
        "{problem}: the result is wrong: its error is {} times what is allowed, relative RMS {:.2e}",
        verdict.worst, verdict.rms
    )]
    Wrong {
        /// The problem's title.
        problem: String,
        /// How far off it is.
        verdict: Verdict,
    },
}

/// Runs what is prepared and judges the result.
///
/// # Errors
/// There is no result, or it is wrong.
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
