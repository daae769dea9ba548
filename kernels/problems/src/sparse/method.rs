//! Methods, how they end, and who watches them.

use super::SolveProblem;
use std::fmt;

/// A method. Each begins at x = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SolverMethod {
    /// Conjugate gradients (Hestenes and Stiefel, 1952): for symmetric positive definite matrices.
    Cg,
    /// The same preconditioned with the diagonal (Jacobi).
    Pcg,
    /// Stabilised biconjugate gradients (van der Vorst, 1992), preconditioned from the right with the diagonal unless there is a 0 on it: for matrices of
    /// any kind.
    Bicgstab,
}

impl SolverMethod {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cg, Self::Pcg, Self::Bicgstab];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cg => "cg",
            Self::Pcg => "pcg",
            Self::Bicgstab => "bicgstab",
        }
    }

    /// The one of that name.
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

/// How a method ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodEnd {
    /// The residual that it updates is as small as was asked for; what double precision says of it is a [`Confirmation`](super::Confirmation).
    Converged,
    /// It would have divided by 0 or, of conjugate gradients, by what is not positive: the matrix is not positive definite.
    Breakdown,
    /// The residual is no number any more, or [`SolveProblem::DIVERGED`] times |b|.
    Diverged,
    /// In so many iterations as [`SolveProblem::STAGNATED`] says the smallest residual did not become smaller by a hundredth.
    Stagnated,
    /// As many iterations as were allowed did not do.
    Limit,
}

impl MethodEnd {
    /// All of them; the place of each is its number in outputs.
    pub const ALL: [Self; 5] = [
        Self::Converged,
        Self::Breakdown,
        Self::Diverged,
        Self::Stagnated,
        Self::Limit,
    ];

    /// Its number in outputs.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The one of that number.
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

/// Watches the residuals of a method, and says when it has ended: the same for whatever computes them.
#[derive(Clone, Debug)]
pub struct Watch {
    tolerance: f64,
    most_iterations: usize,
    /// Iterations without progress that are stagnation.
    patience: usize,
    residuals: Vec<f64>,
    /// The smallest residual that counts as progress, and behind which iteration.
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

    /// Takes note of |r| / |b|, at first and behind each iteration; says if that is the end.
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

    /// The residuals so far.
    #[must_use]
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }
}
