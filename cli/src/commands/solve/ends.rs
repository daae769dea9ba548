//! Words about the end of an iterative solver, with advice.
//!
//! A message fits the cause of the end, and its advice is possible with this method and this matrix.

use crate::digits::scientific;
use cp2_problems::NamedArrays;
use cp2_problems::sparse::{
    Confirmation, MethodEnd, SolveOutcome, SolveProblem, SolverMethod, SparseMatrix, Symmetry,
};

/// Smallest tolerance that single precision may reach: two roundings.
const LEAST: f64 = f32::EPSILON as f64;

/// Largest ratio of a residual to what single precision can hold for which the residual counts as near that
/// limit.
const NEAR: f64 = 8.0;

/// Returns the warning about a tolerance that is too small, before anything is computed.
pub(super) fn warning(tolerance: f64) -> Option<String> {
    (tolerance < LEAST).then(|| {
        format!(
            "warning: --tolerance {tolerance:e} is below 2^-23 = {LEAST:.1e}, what single precision leaves of the best x: such an x is unlikely to be confirmed"
        )
    })
}

/// Result of a solver, with its confirmation in double precision.
pub(super) struct SolvedRun {
    pub(super) x: Vec<f32>,
    pub(super) residuals: Vec<f64>,
    /// End of the method by its own account.
    pub(super) end: MethodEnd,
    pub(super) found: Confirmation,
}

impl SolvedRun {
    pub(super) fn read_output(
        problem: &SolveProblem,
        b: &[f32],
        output: &NamedArrays,
    ) -> Option<Self> {
        let x: Vec<f32> = output.get("x").ok()?.to_vec();
        let all: &[f64] = output.get("residuals").ok()?;
        let residuals: Vec<f64> = all.iter().copied().take_while(|r| !r.is_nan()).collect();
        let &[end] = output.get::<u32>("end").ok()? else {
            return None;
        };
        let found = problem.confirm(b, &x);
        Some(Self {
            x,
            residuals,
            end: MethodEnd::from_number(end)?,
            found,
        })
    }

    pub(super) fn iterations(&self) -> usize {
        self.residuals.len().saturating_sub(1)
    }

    /// Returns the residual that the method claims.
    pub(super) fn claimed_residual(&self) -> Option<f64> {
        self.residuals.last().copied()
    }

    pub(super) fn outcome(&self) -> SolveOutcome {
        self.found.outcome(self.end)
    }

    /// Returns a line with the outcome and its figures.
    pub(super) fn text(&self) -> String {
        let (outcome, iterations) = (self.outcome(), self.iterations());
        let claimed = self.claimed_residual().unwrap_or(f64::NAN);
        let Confirmation {
            residual,
            attainable,
            tolerance,
        } = self.found;
        let residual = scientific(residual, 3, tolerance);
        let mut beside = format!("asked for: {tolerance:e}");
        if outcome != SolveOutcome::Converged {
            let attainable = scientific(attainable, 1, tolerance);
            beside += &format!("; single precision holds about {attainable} for this x");
        } else if self.end != MethodEnd::Converged {
            beside += &format!("; the method itself {}", self.end);
        }
        format!(
            "{outcome} after {iterations} iterations; residual relative to |b|: {claimed:.3e} by the method, {residual} in f64 ({beside})\n"
        )
    }

    /// Returns why the system is not solved and what to do; `None` if it is solved.
    pub(super) fn advice(&self, problem: &SolveProblem) -> Option<String> {
        let iterations = self.iterations();
        let Confirmation {
            residual,
            tolerance,
            ..
        } = self.found;
        match self.outcome() {
            SolveOutcome::Converged => None,
            SolveOutcome::NotConfirmed => Some(format!(
                "not confirmed: by the method it converged after {iterations} iterations, but the residual in f64 is {}, not {tolerance:e}; {}",
                scientific(residual, 1, tolerance),
                self.explain_unconfirmed(problem)
            )),
            SolveOutcome::Unsolved(end) => Some(format!(
                "the method {end} after {iterations} iterations; {}",
                self.explain_unsolved(end, problem)
            )),
        }
    }

    /// Returns advice for a residual that only the method's own account confirms.
    fn explain_unconfirmed(&self, problem: &SolveProblem) -> String {
        if let Some(limited) = self.limited() {
            return limited;
        }
        let is_off = |x: &f32| !x.is_finite() || x.is_subnormal();
        let is_nothing = self.x.iter().all(|&x| x == 0.0);
        if is_nothing || self.x.iter().any(is_off) {
            return "numbers of x leave the range of single precision: multiply b by a power of two, x comes out multiplied by the same".to_owned();
        }
        let other = match problem.method() {
            SolverMethod::Bicgstab if is_symmetric(problem) => {
                ", or take cg or pcg if the matrix is positive definite"
            }
            _ => "",
        };
        if self.found.attainable > self.found.tolerance {
            return format!(
                "the method's residual has drifted from the true one: ask for a --tolerance of {} or more{other}",
                scientific(2.0 * self.found.residual, 1, self.found.tolerance)
            );
        }
        format!(
            "the method's residual has drifted from the true one: ask for a smaller --tolerance, so that more iterations follow{other}"
        )
    }

    /// Returns advice if the tolerance is below what single precision holds and the residual is near that
    /// limit.
    fn limited(&self) -> Option<String> {
        let Confirmation {
            residual,
            attainable,
            tolerance,
        } = self.found;
        // A residual far above the limit has another cause: too few iterations, or drift.
        if attainable <= tolerance || residual.is_nan() || residual > NEAR * attainable {
            return None;
        }
        let holds = scientific(attainable, 1, tolerance);
        Some(match residual > attainable {
            true => format!(
                "single precision holds about {holds} for this x: ask for a --tolerance of {} or more",
                scientific(2.0 * residual, 1, tolerance)
            ),
            false => format!(
                "single precision holds about {holds} for this x: ask for a --tolerance of that or more"
            ),
        })
    }

    fn explain_unsolved(&self, end: MethodEnd, problem: &SolveProblem) -> String {
        let is_stabilised = problem.method() == SolverMethod::Bicgstab;
        match end {
            // Only double precision judges a solution, in `advice`.
            MethodEnd::Converged => String::new(),
            MethodEnd::Breakdown => {
                let cause = match is_stabilised {
                    true => "a scalar that is divided by is 0",
                    false => "p A p is not positive, or of pcg r r divided by the diagonal is 0",
                };
                let remedy = far(problem.matrix()).unwrap_or_else(|| remedy(problem));
                format!("{cause}: {remedy}")
            }
            MethodEnd::Diverged => {
                let has_grown = self.claimed_residual() >= Some(SolveProblem::DIVERGED);
                let cause = match has_grown {
                    true => "the residual grows without bound",
                    false => "numbers of the method leave the range of single precision",
                };
                let remedy = far(problem.matrix()).unwrap_or_else(|| remedy(problem));
                format!("{cause}: {remedy}")
            }
            MethodEnd::Stagnated => {
                let limited = self.limited().unwrap_or_else(|| {
                    "ask for a larger --tolerance, single precision may reach no more".to_owned()
                });
                let other = match problem.method() {
                    SolverMethod::Cg => ", or take pcg or bicgstab",
                    SolverMethod::Pcg => ", or take bicgstab",
                    SolverMethod::Bicgstab if is_symmetric(problem) => {
                        ", or take cg or pcg if the matrix is positive definite"
                    }
                    SolverMethod::Bicgstab => "",
                };
                format!("the residual no longer becomes smaller: {limited}{other}")
            }
            MethodEnd::Limit => self.limited().unwrap_or_else(|| {
                "allow more --iterations, or ask for a larger --tolerance".to_owned()
            }),
        }
    }
}

fn is_symmetric(problem: &SolveProblem) -> bool {
    problem.matrix().symmetry() == Symmetry::Symmetric
}

/// Returns advice for a method that cannot continue.
fn remedy(problem: &SolveProblem) -> String {
    let rows = "order the rows of A and of b so that large numbers stand on the diagonal, or solve for two random parts of b and add up the solutions";
    match problem.method() {
        SolverMethod::Cg | SolverMethod::Pcg => {
            "conjugate gradients want a positive definite matrix; take bicgstab, which takes any"
                .to_owned()
        }
        SolverMethod::Bicgstab if is_symmetric(problem) => {
            format!("take cg or pcg if the matrix is positive definite; else {rows}")
        }
        SolverMethod::Bicgstab => rows.to_owned(),
    }
}

/// Magnitudes of a matrix whose products and squares single precision represents well.
const HELD: std::ops::RangeInclusive<f32> = 1e-12..=1e12;

/// Returns advice for a matrix whose largest number is far from 1; `None` for others.
fn far(matrix: &SparseMatrix) -> Option<String> {
    let rows = (0..matrix.rows()).flat_map(|i| matrix.real_row(i));
    let largest = rows.fold(0.0f32, |most, (_, a)| most.max(a.abs()));
    if largest == 0.0 {
        return Some(
            "every number of the matrix is 0 in single precision; where the file has others, multiply them by a power of two that brings them near 1, x comes out divided by the same"
                .to_owned(),
        );
    }
    (!HELD.contains(&largest)).then(|| {
        format!(
            "the largest number of the matrix is {largest:.1e}: multiply it by a power of two that brings that near 1, x comes out divided by the same"
        )
    })
}
