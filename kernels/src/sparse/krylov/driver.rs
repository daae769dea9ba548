//! The start of a method, and its tests after each iteration.

use super::Solver;
use crate::job::{Job, JobError};
use crate::sparse::Operators;
use crate::sparse::vector_passes::VectorKernel;
use cp2_host::{Buffer, HostError, HostStep, StepScalar};
use cp2_problems::sparse::{MethodEnd, SolveProblem, SolverMethod as Iteration};

/// Addresses of vectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct IterationVectors {
    pub(super) b: u64,
    pub(super) x: u64,
    pub(super) r: u64,
    pub(super) p: u64,
    /// Product A p, or A y in bicgstab, where it is called v.
    pub(super) q: u64,
    pub(super) y: u64,
    pub(super) z: u64,
    pub(super) t: u64,
    pub(super) d: u64,
    /// Scaled b: the shadow residual of bicgstab.
    pub(super) shadow: u64,
    pub(super) zeros: u64,
}

/// Scalars that steps leave for later ones, and the outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct IterationScalars {
    pub(super) residuals: Buffer<f64>,
    /// Number of residuals.
    pub(super) count: Buffer<u32>,
    pub(super) end: Buffer<u32>,
    /// Power of two that b is multiplied by and x is divided by.
    pub(super) scale: Buffer<f64>,
    /// 1 if b has to be scaled by another power of two.
    pub(super) rescale: Buffer<u32>,
    /// |b|, scaled.
    pub(super) norm: Buffer<f64>,
    /// r.r, in pcg r.d r, in bicgstab shadow.r.
    pub(super) rho: Buffer<f64>,
    pub(super) alpha: Buffer<f64>,
    pub(super) omega: Buffer<f64>,
    /// Smallest residual that counts as progress, and the number of its iteration.
    pub(super) best: Buffer<f64>,
    /// 1 if another iteration follows.
    pub(super) more: Buffer<u32>,
    /// 1 if the rest of this iteration runs: its divisor is usable.
    pub(super) go: Buffer<u32>,
}

/// Builds the job of a solver.
pub(super) struct SolverJobBuilder<'a> {
    pub(super) solver: &'a Solver,
    pub(super) operators: Operators<'a>,
    pub(super) at: IterationVectors,
    pub(super) kept: IterationScalars,
}

/// Returns 1 if a number is 0, else 0.
pub(super) fn compute_not(step: &mut HostStep, number: StepScalar) -> StepScalar {
    let [zero, one] = [0.0, 1.0].map(|n| step.constant(n));
    step.select(number, zero, one)
}

/// Returns 1 if a number is neither infinite nor NaN, else 0.
fn finite(step: &mut HostStep, number: StepScalar) -> StepScalar {
    let (size, infinity) = (step.magnitude(number), step.constant(f64::INFINITY));
    step.less(size, infinity)
}

/// Returns the number of an end; none yet has the number behind the last end.
fn end(step: &mut HostStep, end: Option<MethodEnd>) -> StepScalar {
    let number = end.map_or(MethodEnd::ALL.len() as u32, MethodEnd::number);
    step.constant(number.into())
}

impl SolverJobBuilder<'_> {
    /// Adds all iterations, and the store of x into the user's array.
    pub(super) fn all(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        self.begin(job)?;
        let most = self.solver.problem.most_iterations() as u64;
        let is_stabilised = self.solver.problem.method() == Iteration::Bicgstab;
        job.repeat(
            "has it ended",
            self.kept.more,
            most,
            |job| match is_stabilised {
                true => self.add_bicgstab_iteration(job),
                false => self.gradients(job),
            },
        )?;
        self.store_solution(job, to)
    }

    /// Adds the start: x = 0; r = b, and p = r (pcg: p = d r) or, in bicgstab, p = r and y = d p, with b
    /// scaled; and the first residual.
    fn begin(&self, job: &mut Job) -> Result<(), JobError> {
        let IterationVectors {
            x,
            r,
            p,
            y,
            d,
            shadow,
            zeros,
            ..
        } = self.at;
        // x = 0
        self.operators.fill_one(job)?;
        self.operators
            .pass(job, VectorKernel::SCALED, &[zeros], &[x])?;
        let method = self.solver.problem.method();
        let first = match method {
            Iteration::Cg => {
                // r = b'; p = r
                self.add_scaled_copy(job, r)?;
                self.operators.fill_one(job)?;
                self.operators.pass(job, VectorKernel::SCALED, &[r], &[p])?;
                VectorKernel::SCALED
            }
            Iteration::Pcg => {
                // r = b'; p = d r
                self.add_scaled_copy(job, r)?;
                self.operators
                    .pass(job, VectorKernel::BEGIN, &[r, d], &[r, p])?;
                VectorKernel::BEGIN
            }
            Iteration::Bicgstab => {
                // shadow = b'; p = shadow; r = shadow; y = d shadow
                self.add_scaled_copy(job, shadow)?;
                self.operators.fill_one(job)?;
                self.operators
                    .pass(job, VectorKernel::SCALED, &[shadow], &[p])?;
                self.operators
                    .pass(job, VectorKernel::BEGIN, &[shadow, d], &[r, y])?;
                VectorKernel::BEGIN
            }
        };
        let (kept, is_preconditioned) = (self.kept, self.solver.problem.method() == Iteration::Pcg);
        self.operators
            .scalars(job, first, |step, [square, across, _]| {
                // |b'|^2 = r.r, and rho = r.r (pcg: r.p = r.d r). The relative residual is 1, or 0 if b = 0.
                let norm = step.square_root(square);
                let finite = finite(step, norm);
                let [zero, one] = [0.0, 1.0].map(|n| step.constant(n));
                let is_none = compute_not(step, norm);
                let residual = step.select(is_none, zero, one);
                step.store(kept.residuals, 0, residual)?;
                step.store(kept.count, 0, finite)?;
                step.store(kept.norm, 0, norm)?;
                step.store(kept.rho, 0, if is_preconditioned { across } else { square })?;
                step.store(kept.best, 0, one)?;
                step.store(kept.best, 1, zero)?;
                let [converged, diverged, none] =
                    [Some(MethodEnd::Converged), Some(MethodEnd::Diverged), None]
                        .map(|known| end(step, known));
                let found = step.select(is_none, converged, none);
                let found = step.select(finite, found, diverged);
                step.store(kept.end, 0, found)?;
                let begun = compute_not(step, is_none);
                let more = step.logical_and(finite, begun);
                step.store(kept.more, 0, more)
            })
    }

    /// Computes alpha = rho / `by`, if `by` is finite and positive (`is_positive`) or at least not zero; else
    /// ends the method.
    pub(super) fn divide(
        &self,
        step: &mut HostStep,
        by: StepScalar,
        is_positive: bool,
    ) -> Result<(), HostError> {
        let kept = self.kept;
        let finite = finite(step, by);
        let zero = step.constant(0.0);
        let mut usable = step.less(zero, by);
        if !is_positive {
            let negative = step.less(by, zero);
            usable = step.logical_or(usable, negative);
        }
        let go = step.logical_and(finite, usable);
        let [broken, diverged, none] =
            [Some(MethodEnd::Breakdown), Some(MethodEnd::Diverged), None]
                .map(|known| end(step, known));
        let found = step.select(finite, broken, diverged);
        let found = step.select(go, none, found);
        step.store(kept.end, 0, found)?;
        step.store(kept.more, 0, go)?;
        step.store(kept.go, 0, go)?;
        // alpha = rho / by
        let rho = step.load(kept.rho, 0)?;
        let alpha = step.divide(rho, by);
        step.store(kept.alpha, 0, alpha)?;
        self.operators.fill(step, &[alpha])
    }

    /// Records a residual, |r| / |b|, and decides whether the method ends, as a `Watch` does. If it would go
    /// on and `broken` is not 0, the method has broken down.
    pub(super) fn note(
        &self,
        step: &mut HostStep,
        square: StepScalar,
        broken: StepScalar,
    ) -> Result<(), HostError> {
        let (kept, problem) = (self.kept, &self.solver.problem);
        let norm = step.load(kept.norm, 0)?;
        // residual = sqrt(r.r) / |b'|
        let root = step.square_root(square);
        let residual = step.divide(root, norm);
        let finite = finite(step, residual);
        // The first residual belongs to no iteration: it is number 0.
        let count = step.load(kept.count, 0)?;
        let nowhere = step.constant(f64::INFINITY);
        let place = step.select(finite, count, nowhere);
        step.put(kept.residuals, place, residual)?;
        let next = step.add(count, finite);
        step.store(kept.count, 0, next)?;

        let [best, best_at] = [step.load(kept.best, 0)?, step.load(kept.best, 1)?];
        let share = step.constant(SolveProblem::PROGRESS);
        let least = step.multiply(share, best);
        let progress = step.less(residual, least);
        let best = step.select(progress, residual, best);
        let best_at = step.select(progress, count, best_at);
        step.store(kept.best, 0, best)?;
        step.store(kept.best, 1, best_at)?;

        let stalled = step.subtract(count, best_at);
        let limits = [
            problem.tolerance(),
            SolveProblem::DIVERGED,
            problem.most_iterations() as f64,
            problem.patience() as f64,
        ];
        let [tolerance, far, most, patience] = limits.map(|limit| step.constant(limit));
        let large = step.less(tolerance, residual);
        let near = step.less(residual, far);
        let early = step.less(count, most);
        let moving = step.less(stalled, patience);
        let [none, broke, stagnated, limit, diverged, converged] = [
            None,
            Some(MethodEnd::Breakdown),
            Some(MethodEnd::Stagnated),
            Some(MethodEnd::Limit),
            Some(MethodEnd::Diverged),
            Some(MethodEnd::Converged),
        ]
        .map(|known| end(step, known));
        // Later selections override earlier ones.
        let found = step.select(broken, broke, none);
        let found = step.select(moving, found, stagnated);
        let found = step.select(early, found, limit);
        let found = step.select(near, found, diverged);
        let found = step.select(large, found, converged);
        let found = step.select(finite, found, diverged);
        step.store(kept.end, 0, found)?;
        let more = step.subtract(none, found);
        let goes_on = compute_not(step, more);
        step.store(kept.more, 0, goes_on)
    }
}
