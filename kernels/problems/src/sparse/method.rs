//! Iterative methods, the ways they end, and the watch that ends them.

use super::SolveProblem;
use std::fmt;

/// An iterative method for A x = b, starting from x = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SolverMethod {
    /// Conjugate gradients (Hestenes and Stiefel, 1952), for symmetric positive definite matrices.
    Cg,
    /// Conjugate gradients preconditioned with the diagonal (Jacobi).
    Pcg,
    /// Stabilised biconjugate gradients (van der Vorst, 1992), preconditioned from the right with the
    /// diagonal unless that has a 0; for any matrix.
    Bicgstab,
}

impl SolverMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Cg, Self::Pcg, Self::Bicgstab];

    /// Returns the name of the method.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cg => "cg",
            Self::Pcg => "pcg",
            Self::Bicgstab => "bicgstab",
        }
    }

    /// Returns the method of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

impl fmt::Display for SolverMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Ways in which a method ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodEnd {
    /// The residual that the method updates is as small as was asked for. The true residual in double
    /// precision is a [`Confirmation`](super::Confirmation).
    Converged,
    /// A division by 0 was due or, in conjugate gradients, by a number that is not positive: the matrix is
    /// not positive definite.
    Breakdown,
    /// The residual is not finite any more, or is [`SolveProblem::DIVERGED`] times |b|.
    Diverged,
    /// The smallest residual did not decrease by a hundredth in the last iterations,
    /// [`SolveProblem::STAGNATED`] or more.
    Stagnated,
    /// The allowed number of iterations was reached.
    Limit,
}

impl MethodEnd {
    /// All ends; the position of each is its number in outputs.
    pub const ALL: [Self; 5] = [
        Self::Converged,
        Self::Breakdown,
        Self::Diverged,
        Self::Stagnated,
        Self::Limit,
    ];

    /// Returns the number of the end in outputs.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Returns the end of a number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

impl fmt::Display for MethodEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::Breakdown => "broke down",
            Self::Diverged => "diverged",
            Self::Stagnated => "stagnated",
            Self::Limit => "reached the limit of iterations",
        })
    }
}

/// Watches the residuals of a method and decides when it has ended, the same way for every backend.
#[derive(Clone, Debug)]
pub struct Watch {
    tolerance: f64,
    most_iterations: usize,
    /// Number of iterations without progress that count as stagnation.
    patience: usize,
    residuals: Vec<f64>,
    /// The smallest residual that counted as progress, and its iteration.
    best: (f64, usize),
}

impl Watch {
    pub(super) fn new(tolerance: f64, most_iterations: usize, patience: usize) -> Self {
        Self {
            tolerance,
            most_iterations,
            patience,
            residuals: Vec::new(),
            best: (f64::INFINITY, 0),
        }
    }

    /// Records |r| / |b|, initially and after each iteration; returns the end, if this is it.
    pub fn note(&mut self, residual: f64) -> Option<MethodEnd> {
        if !residual.is_finite() {
            return Some(MethodEnd::Diverged);
        }
        self.residuals.push(residual);
        let iteration = self.residuals.len() - 1;
        if residual < SolveProblem::PROGRESS * self.best.0 {
            self.best = (residual, iteration);
        }
        let stalled = iteration - self.best.1;
        match residual {
            r if r <= self.tolerance => Some(MethodEnd::Converged),
            r if r >= SolveProblem::DIVERGED => Some(MethodEnd::Diverged),
            _ if iteration >= self.most_iterations => Some(MethodEnd::Limit),
            _ if stalled >= self.patience => Some(MethodEnd::Stagnated),
            _ => None,
        }
    }

    /// Returns the residuals so far.
    #[must_use]
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }
}
