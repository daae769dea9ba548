//! Errors of planning and running chains.

use cp2_emu::Finding;
use cp2_host::RunEnd;
use cp2_problems::ProblemError;
use std::error::Error;

/// The reason why a chain cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The specification of a problem is impossible.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The sizes of frames are impossible.
    #[error("{what}: {found} is not possible; expected {expected}")]
    Spec {
        /// Name of the number.
        what: &'static str,
        /// Value of the number.
        found: String,
        /// Values that are possible.
        expected: String,
    },
    /// The data have another shape than the problem.
    #[error("the data hold {found} numbers; expected {expected}")]
    Shape {
        /// Number of values found.
        found: usize,
        /// Shape that was expected.
        expected: String,
    },
    /// The machine has no kernel for a stage of that size.
    #[error("no stage `{stage}` for {size} on this machine: {cause}")]
    Plan {
        /// Name of the stage.
        stage: &'static str,
        /// Sizes that the kernel depends on.
        size: String,
        /// Error of the stage's planner.
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A stage cannot be run.
    #[error("stage `{stage}`: {cause}")]
    Stage {
        /// Name of the stage.
        stage: &'static str,
        /// Error of the stage's job.
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A stage did not finish: a fault, a deadlock, a limit, an interruption.
    #[error("stage `{stage}`: {end}")]
    Unfinished {
        /// Name of the stage.
        stage: &'static str,
        /// Reason for which the run ended.
        end: RunEnd,
    },
    /// The checkers found something in a stage.
    #[error("stage `{stage}`: the checkers object to its kernel {} times, first: {first}", .rest + 1)]
    Findings {
        /// Name of the stage.
        stage: &'static str,
        /// First finding of the checkers.
        first: Finding,
        /// Number of further findings.
        rest: usize,
    },
}

impl ChainError {
    /// Makes the error of an impossible number.
    pub(super) fn spec(
        what: &'static str,
        found: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Self::Spec {
            what,
            found: found.to_string(),
            expected: expected.into(),
        }
    }
}

/// Adds the name of the stage and its sizes to an error of planning it.
pub(super) fn name_stage<T, E: Error + Send + Sync + 'static>(
    stage: &'static str,
    size: impl Into<String>,
    plan: Result<T, E>,
) -> Result<T, ChainError> {
    plan.map_err(|cause| ChainError::Plan {
        stage,
        size: size.into(),
        cause: cause.into(),
    })
}

/// Adds the name of the stage to an error of putting it together or running it.
pub(super) fn staged<T, E: Error + Send + Sync + 'static>(
    stage: &'static str,
    made: Result<T, E>,
) -> Result<T, ChainError> {
    made.map_err(|cause| ChainError::Stage {
        stage,
        cause: cause.into(),
    })
}
