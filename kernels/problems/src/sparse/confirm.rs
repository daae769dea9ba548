//! How a system has been solved in the end: what double precision says of the x that a method left.

use super::MethodEnd;
use std::fmt;

/// What double precision says of an x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmation {
    /// |b - A x| / |b|; no number if x has one that is none. (|b| counts as 1 if it is 0.)
    pub residual: f64,
    /// What the residual may be for single precision alone: 2^-23 (||A| |x|| + |b|) / |b|. Every number of x is rounded, and so is every product with it.
    pub attainable: f64,
    /// The residual that was asked for.
    pub tolerance: f64,
}

impl Confirmation {
    /// Whether the residual is as small as was asked for: one that is no number is not.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        self.residual <= self.tolerance
    }

    /// How the system has been solved by a method that ended like this.
    #[must_use]
    pub fn outcome(&self, end: MethodEnd) -> SolveOutcome {
        match end {
            _ if self.is_solved() => SolveOutcome::Converged,
            MethodEnd::Converged => SolveOutcome::NotConfirmed,
            end => SolveOutcome::Unsolved(end),
        }
    }
}

/// How a system has been solved. What a method says of its residual is its own recursion's, which drifts from the true one; this is the judgement of double
/// precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolveOutcome {
    /// The residual in double precision is as small as was asked for, whatever ended the method.
    Converged,
    /// The method says that its residual is as small as was asked for, and the one in double precision is not.
    NotConfirmed,
    /// Neither says so: the method ended in another way.
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
