//! An iteration of each method.

use super::driver::{IterationVectors, SolverJobBuilder, not};
use crate::job::{Job, JobError};
use crate::sparse::quotient;
use crate::sparse::vector_passes::VectorKernel;
use cp2_problems::sparse::SolverMethod as Iteration;

impl SolverJobBuilder<'_> {
    /// An iteration of conjugate gradients.
    pub(super) fn gradients(&self, job: &mut Job) -> Result<(), JobError> {
        let IterationVectors { x, r, p, q, d, .. } = self.at;
        let kept = self.kept;
        self.operators.product(job, p, q);
        self.operators.pass(job, VectorKernel::DOT, &[p, q], &[])?;
        self.operators
            .scalars(job, VectorKernel::DOT, |step, [curvature, ..]| {
                self.divide(step, curvature, true)
            })?;
        let is_preconditioned = self.solver.problem.method() == Iteration::Pcg;
        job.repeat("can it go on", kept.go, 1, |job| {
            let residual = match is_preconditioned {
                true => VectorKernel::RESIDUAL_BY,
                false => VectorKernel::RESIDUAL,
            };
            match is_preconditioned {
                true => self.operators.pass(job, residual, &[q, r, d], &[r])?,
                false => self.operators.pass(job, residual, &[q, r], &[r])?,
            }
            self.operators
                .scalars(job, residual, |step, [square, across, _]| {
                    let new = if is_preconditioned { across } else { square };
                    let broken = not(step, new);
                    self.note(step, square, broken)?;
                    let old = step.load(kept.rho, 0)?;
                    let beta = step.divide(new, old);
                    step.store(kept.rho, 0, new)?;
                    let alpha = step.load(kept.alpha, 0)?;
                    self.operators.fill(step, &[alpha, beta])
                })?;
            match is_preconditioned {
                true => self
                    .operators
                    .pass(job, VectorKernel::STEP_BY, &[x, p, r, d], &[x, p]),
                false => self
                    .operators
                    .pass(job, VectorKernel::STEP, &[x, p, r], &[x, p]),
            }
        })
    }

    /// An iteration of stabilised biconjugate gradients; the shadow of the residual is b.
    pub(super) fn stabilised(&self, job: &mut Job) -> Result<(), JobError> {
        let IterationVectors {
            x,
            r,
            p,
            q: v,
            y,
            z,
            t,
            d,
            shadow,
            ..
        } = self.at;
        let kept = self.kept;
        self.operators.product(job, y, v);
        self.operators
            .pass(job, VectorKernel::DOT, &[shadow, v], &[])?;
        self.operators
            .scalars(job, VectorKernel::DOT, |step, [across, ..]| {
                self.divide(step, across, false)
            })?;
        job.repeat("can it go on", kept.go, 1, |job| {
            self.operators
                .pass(job, VectorKernel::HALF, &[r, v, d], &[r, z])?;
            self.operators.product(job, z, t);
            self.operators
                .pass(job, VectorKernel::TWO_DOTS, &[t, r], &[])?;
            self.operators
                .scalars(job, VectorKernel::TWO_DOTS, |step, [across, size, _]| {
                    // Where nothing is left of t nothing is left of r, or it cannot be made smaller that way.
                    let omega = quotient(step, across, size);
                    step.store(kept.omega, 0, omega)?;
                    let alpha = step.load(kept.alpha, 0)?;
                    self.operators.fill(step, &[alpha, omega])
                })?;
            self.operators
                .pass(job, VectorKernel::FINISH, &[x, y, z, r, t, shadow], &[x, r])?;
            self.operators
                .scalars(job, VectorKernel::FINISH, |step, [new, square, _]| {
                    let omega = step.load(kept.omega, 0)?;
                    let usable = step.logical_and(omega, new);
                    let broken = not(step, usable);
                    self.note(step, square, broken)?;
                    let (old, alpha) = (step.load(kept.rho, 0)?, step.load(kept.alpha, 0)?);
                    let [share, ratio] = [step.divide(new, old), step.divide(alpha, omega)];
                    let beta = step.multiply(share, ratio);
                    step.store(kept.rho, 0, new)?;
                    self.operators.fill(step, &[beta, omega])
                })?;
            self.operators
                .pass(job, VectorKernel::DIRECTION, &[r, p, v, d], &[p, y])
        })
    }
}
