//! Reasons why a problem cannot exist: sizes, rates, matrices, taps.

use crate::conv::OutputRate;
use crate::size::SizeError;
use crate::sparse::MatrixError;

/// Reason why there is no such problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A size whose parameters do not fit the kind of problem.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// An invalid matrix.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A length or number of 0.
    #[error("{what}: 0 is not possible; expected at least 1")]
    Zero {
        /// Name of the length or number that is 0.
        what: &'static str,
    },
    /// More bytes than fit the address space.
    #[error("{what} takes more bytes than there are addresses; expected fewer or shorter ones")]
    TooLarge {
        /// Name of the array that is too large.
        what: String,
    },
    /// A size or another number that the operation does not allow.
    #[error("{what}: {found} is not possible; expected {expected}")]
    Odd {
        /// Name of the number.
        what: &'static str,
        /// Value that was asked for.
        found: String,
        /// Values that are allowed.
        expected: String,
    },
    /// A filter without taps.
    #[error("there are no taps; a filter has at least one")]
    NoTaps,
    /// A signal without samples or channels.
    #[error("the signal is empty; it must hold at least one sample of one channel")]
    Empty,
    /// A convolution in mode `valid` of a signal that is shorter than the filter.
    #[error(
        "no output of {samples} samples is valid for {taps} taps: the signal must be no shorter than the filter"
    )]
    NothingValid {
        /// Samples of a channel.
        samples: usize,
        /// Number of taps.
        taps: usize,
    },
    /// A rate that no filter has.
    #[error(
        "a filter with {rate} is none: expected a factor of at least 1 and outputs that fit an address space"
    )]
    Rate {
        /// The rate asked for.
        rate: OutputRate,
    },
    /// Complex taps for a real signal.
    #[error(
        "real signals are filtered two at a time, which needs real taps; these are complex: give the signal as complex numbers"
    )]
    ComplexTaps,
}

impl ProblemError {
    /// Returns [`ProblemError::Odd`].
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

/// Returns the number of elements of arrays with these sides, none of which may be 0. The elements, of 16
/// bytes each, must fit the address space.
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
