//! What all methods begin with, and what they ask of every iteration: whether it can go on, and whether another comes.

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
    /// The product with p, or with y.
    pub(super) q: u64,
    pub(super) y: u64,
    pub(super) z: u64,
    pub(super) t: u64,
    pub(super) d: u64,
    /// b, scaled: the shadow of the residual.
    pub(super) shadow: u64,
    pub(super) zeros: u64,
}

/// Numbers that steps leave for later ones, and the outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct IterationScalars {
    pub(super) residuals: Buffer<f64>,
    /// How many residuals there are.
    pub(super) count: Buffer<u32>,
    pub(super) end: Buffer<u32>,
    /// What b is multiplied by and x divided by, and whether it has to be another power of two.
    pub(super) scale: Buffer<f64>,
    pub(super) rescale: Buffer<u32>,
    /// |b|, scaled.
    pub(super) norm: Buffer<f64>,
    pub(super) rho: Buffer<f64>,
    pub(super) alpha: Buffer<f64>,
    pub(super) omega: Buffer<f64>,
    /// The smallest residual that counts as progress, and behind which iteration.
    pub(super) best: Buffer<f64>,
    /// Whether another iteration comes, and whether the rest of this one does.
    pub(super) more: Buffer<u32>,
    pub(super) go: Buffer<u32>,
}

/// A job being put together.
pub(super) struct SolverJobBuilder<'a> {
    pub(super) solver: &'a Solver,
    pub(super) operators: Operators<'a>,
    pub(super) at: IterationVectors,
    pub(super) kept: IterationScalars,
}

/// 1 if a number is 0, else 0.
pub(super) fn not(step: &mut HostStep, number: StepScalar) -> StepScalar {
    let [zero, one] = [0.0, 1.0].map(|n| step.constant(n));
    step.select(number, zero, one)
}

/// 1 if a number is one and not infinite.
fn finite(step: &mut HostStep, number: StepScalar) -> StepScalar {
    let (size, infinity) = (step.magnitude(number), step.constant(f64::INFINITY));
    step.less(size, infinity)
}

/// The number of an end, of which there is none yet: one more than all.
fn end(step: &mut HostStep, end: Option<MethodEnd>) -> StepScalar {
    let number = end.map_or(MethodEnd::ALL.len() as u32, MethodEnd::number);
    step.constant(number.into())
}

impl SolverJobBuilder<'_> {
    /// All iterations, and x behind them to where the user has it.
    pub(super) fn all(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        self.begin(job)?;
        let most = self.solver.problem.most_iterations() as u64;
        let is_stabilised = self.solver.problem.method() == Iteration::Bicgstab;
        job.repeat(
            "has it ended",
            self.kept.more,
            most,
            |job| match is_stabilised {
                true => self.stabilised(job),
                false => self.gradients(job),
            },
        )?;
        self.store_solution(job, to)
    }

    /// x = 0, r = p = b (or p = d b), scaled, and the first residual.
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
        self.operators.fill_one(job)?;
        self.operators
            .pass(job, VectorKernel::SCALED, &[zeros], &[x])?;
        let method = self.solver.problem.method();
        let first = match method {
            Iteration::Cg => {
                self.take(job, r)?;
                self.operators.fill_one(job)?;
                self.operators.pass(job, VectorKernel::SCALED, &[r], &[p])?;
                VectorKernel::SCALED
            }
            Iteration::Pcg => {
                self.take(job, r)?;
                self.operators
                    .pass(job, VectorKernel::BEGIN, &[r, d], &[r, p])?;
                VectorKernel::BEGIN
            }
            Iteration::Bicgstab => {
                self.take(job, shadow)?;
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
                let norm = step.square_root(square);
                let finite = finite(step, norm);
                let [zero, one] = [0.0, 1.0].map(|n| step.constant(n));
                let is_none = not(step, norm);
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
                let begun = not(step, is_none);
                let more = step.logical_and(finite, begun);
                step.store(kept.more, 0, more)
            })
    }

    /// alpha = rho / `by` if that can be divided by; else the end.
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
        let rho = step.load(kept.rho, 0)?;
        let alpha = step.divide(rho, by);
        step.store(kept.alpha, 0, alpha)?;
        self.operators.fill(step, &[alpha])
    }

    /// Takes note of a residual as a `Watch` does. If it goes on, and `broken` is not 0, it has broken down.
    pub(super) fn note(
        &self,
        step: &mut HostStep,
        square: StepScalar,
        broken: StepScalar,
    ) -> Result<(), HostError> {
        let (kept, problem) = (self.kept, &self.solver.problem);
        let norm = step.load(kept.norm, 0)?;
        let root = step.square_root(square);
        let residual = step.divide(root, norm);
        let finite = finite(step, residual);
        // The first residual is that of no iteration.
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
        // The last that holds is the first that is asked for.
        let found = step.select(broken, broke, none);
        let found = step.select(moving, found, stagnated);
        let found = step.select(early, found, limit);
        let found = step.select(near, found, diverged);
        let found = step.select(large, found, converged);
        let found = step.select(finite, found, diverged);
        step.store(kept.end, 0, found)?;
        let more = step.subtract(none, found);
        let goes_on = not(step, more);
        step.store(kept.more, 0, goes_on)
    }
}
