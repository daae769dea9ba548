use crate::conv::OutputRate;
use crate::size::SizeError;
use crate::sparse::MatrixError;

/// Why there is no such problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A size that the kind of problem does not have.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// A matrix that is none.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A length or number of 0.
    #[error("{what}: 0 is not possible; expected at least 1")]
    Zero {
        /// What is 0.
        what: &'static str,
    },
    /// More bytes than an address has.
    #[error("{what} takes more bytes than there are addresses; expected fewer or shorter ones")]
    TooLarge {
        /// What is too large.
        what: String,
    },
    /// A size or other number that does not go with the operation.
    #[error("{what}: {found} is not possible; expected {expected}")]
    Odd {
        /// What it is.
        what: &'static str,
        /// What was asked for.
        found: String,
        /// What is possible.
        expected: String,
    },
    /// A filter without taps.
    #[error("there are no taps; a filter has at least one")]
    NoTaps,
    /// Nothing to filter.
    #[error("the signal is empty; it must hold at least one sample of one channel")]
    Empty,
    /// `valid` needs a signal that is no shorter than the filter.
    #[error(
        "no output of {samples} samples is valid for {taps} taps: the signal must be no shorter than the filter"
    )]
    NothingValid {
        /// Samples of a channel.
        samples: usize,
        /// Taps.
        taps: usize,
    },
    /// No filter has that rate.
    #[error(
        "a filter with {rate} is none: expected a factor of at least 1 and outputs that fit an address space"
    )]
    Rate {
        /// The rate asked for.
        rate: OutputRate,
    },
    /// Complex taps on a real signal.
    #[error(
        "real signals are filtered two at a time, which needs real taps; these are complex: give the signal as complex numbers"
    )]
    ComplexTaps,
}

impl ProblemError {
    /// See [`ProblemError::Odd`].
    pub(crate) fn odd(
        what: &'static str,
        found: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Self::Odd {
            what,
            found: found.to_string(),
            expected: expected.into(),
        }
    }
}

/// The number of elements of arrays of these sides, none of them 0, unless there are more than addresses for 16 bytes of each.
pub(crate) fn elements(
    what: &dyn Fn() -> String,
    sides: &[(&'static str, usize)],
) -> Result<usize, ProblemError> {
    if let Some((what, _)) = sides.iter().find(|(_, side)| *side == 0) {
        return Err(ProblemError::Zero { what });
    }
    let all = sides
        .iter()
        .try_fold(1usize, |n, (_, side)| n.checked_mul(*side));
    all.filter(|&n| n <= isize::MAX as usize / 16)
        .ok_or_else(|| ProblemError::TooLarge { what: what() })
}
