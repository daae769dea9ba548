use cp2_emu::Finding;
use cp2_host::RunEnd;
use cp2_problems::ProblemError;
use std::error::Error;

/// Why a chain cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// A specification that makes no sense.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Frames that make no sense.
    #[error("{what}: {found} is not possible; expected {expected}")]
    Spec {
        /// The number.
        what: &'static str,
        /// Its value.
        found: String,
        /// What is possible.
        expected: String,
    },
    /// Data of another shape.
    #[error("the data hold {found} numbers; expected {expected}")]
    Shape {
        /// Numbers found.
        found: usize,
        /// What was expected.
        expected: String,
    },
    /// The machine has no kernel for a stage of that size.
    #[error("no stage `{stage}` for {size} on this machine: {cause}")]
    Plan {
        /// The stage.
        stage: &'static str,
        /// The sizes on which it depends.
        size: String,
        /// What its planner says.
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A stage cannot be run.
    #[error("stage `{stage}`: {cause}")]
    Stage {
        /// The stage.
        stage: &'static str,
        /// What is in the way.
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A stage did not finish: a fault, a deadlock, a limit, an interruption.
    #[error("stage `{stage}`: {end}")]
    Unfinished {
        /// The stage.
        stage: &'static str,
        /// How it ended.
        end: RunEnd,
    },
    /// The checkers found something in a stage.
    #[error("stage `{stage}`: the checkers object to its kernel {} times, first: {first}", .rest + 1)]
    Findings {
        /// The stage.
        stage: &'static str,
        /// The first objection.
        first: Finding,
        /// How many more there are.
        rest: usize,
    },
}

impl ChainError {
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

/// Names the stage that cannot be planned, and what decides about it.
pub(super) fn planned<T, E: Error + Send + Sync + 'static>(
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

/// Names the stage that cannot be put together or run.
pub(super) fn staged<T, E: Error + Send + Sync + 'static>(
    stage: &'static str,
    made: Result<T, E>,
) -> Result<T, ChainError> {
    made.map_err(|cause| ChainError::Stage {
        stage,
        cause: cause.into(),
    })
}
