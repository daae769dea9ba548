//! Confirmation of solutions: the true residual in double precision.

use super::MethodEnd;
use std::fmt;

/// Residual of an x in double precision, with the limits to compare it with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmation {
    /// Relative residual |b - A x| / |b|; NaN if x contains one. (|b| counts as 1 if it is 0.)
    pub residual: f64,
    /// Residual that the roundings of single precision alone may leave: 2^-23 (||A| |x|| + |b|) / |b|. Every
    /// number of x is rounded, and so is every product with it.
    pub attainable: f64,
    /// The residual that was asked for, relative to |b|.
    pub tolerance: f64,
}

impl Confirmation {
    /// True if the residual is as small as was asked for; a NaN is not.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        self.residual <= self.tolerance
    }

    /// Returns the outcome for a method that ended in this way.
    #[must_use]
    pub fn outcome(&self, end: MethodEnd) -> SolveOutcome {
        match end {
            _ if self.is_solved() => SolveOutcome::Converged,
            MethodEnd::Converged => SolveOutcome::NotConfirmed,
            end => SolveOutcome::Unsolved(end),
        }
    }
}

/// Outcome of solving a system, judged in double precision. A method computes its residual by a recurrence,
/// which drifts from the true residual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolveOutcome {
    /// The residual in double precision is as small as was asked for, however the method ended.
    Converged,
    /// The method's own residual is as small as was asked for, but the one in double precision is not.
    NotConfirmed,
    /// Neither residual is small enough: the method ended in another way.
    Unsolved(MethodEnd),
}

impl fmt::Display for SolveOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged => MethodEnd::Converged.fmt(f),
            Self::NotConfirmed => f.write_str("not confirmed"),
            Self::Unsolved(end) => end.fmt(f),
        }
    }
}
