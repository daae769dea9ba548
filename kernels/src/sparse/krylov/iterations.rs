//! One iteration of each method.
//!
//! Vectors keep the names of the textbooks: r is the residual, p the direction, d the inverse of the diagonal
//! of A.

use super::driver::{IterationVectors, SolverJobBuilder, compute_not};
use crate::job::{Job, JobError};
use crate::sparse::quotient;
use crate::sparse::vector_passes::VectorKernel;
use cp2_problems::sparse::SolverMethod as Iteration;

impl SolverJobBuilder<'_> {
    /// Adds an iteration of conjugate gradients (cg, or pcg preconditioned with d):
    ///
    /// ```text
    /// q = A p
    /// alpha = rho / p.q
    /// r = r - alpha q
    /// rho' = r.r (pcg: r.d r), beta = rho' / rho
    /// x = x + alpha p
    /// p = r + beta p (pcg: d r + beta p)
    /// ```
    pub(super) fn gradients(&self, job: &mut Job) -> Result<(), JobError> {
        let IterationVectors { x, r, p, q, d, .. } = self.at;
        let kept = self.kept;
        // q = A p
        self.operators.product(job, p, q);
        // curvature = p.q
        self.operators.pass(job, VectorKernel::DOT, &[p, q], &[])?;
        // alpha = rho / curvature
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
            // r = r - alpha q, with r.r (pcg: and r.d r)
            match is_preconditioned {
                true => self.operators.pass(job, residual, &[q, r, d], &[r])?,
                false => self.operators.pass(job, residual, &[q, r], &[r])?,
            }
            self.operators
                .scalars(job, residual, |step, [square, across, _]| {
                    // rho' = r.r (pcg: r.d r)
                    let new = if is_preconditioned { across } else { square };
                    let broken = compute_not(step, new);
                    self.note(step, square, broken)?;
                    let old = step.load(kept.rho, 0)?;
                    // beta = rho' / rho
                    let beta = step.divide(new, old);
                    step.store(kept.rho, 0, new)?;
                    let alpha = step.load(kept.alpha, 0)?;
                    self.operators.fill(step, &[alpha, beta])
                })?;
            // x = x + alpha p; p = r + beta p (pcg: p = d r + beta p)
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

    /// Adds an iteration of stabilised biconjugate gradients (`bicgstab`), preconditioned with d; the shadow
    /// residual is b:
    ///
    /// ```text
    /// v = A y, with y = d p
    /// alpha = rho / shadow.v
    /// r = r - alpha v, z = d r
    /// t = A z, omega = t.r / t.t
    /// x = x + alpha y + omega z
    /// r = r - omega t
    /// rho' = shadow.r, beta = (rho' / rho) (alpha / omega)
    /// p = r + beta (p - omega v), y = d p
    /// ```
    pub(super) fn add_bicgstab_iteration(&self, job: &mut Job) -> Result<(), JobError> {
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
        // v = A y
        self.operators.product(job, y, v);
        // across = shadow.v
        self.operators
            .pass(job, VectorKernel::DOT, &[shadow, v], &[])?;
        // alpha = rho / shadow.v
        self.operators
            .scalars(job, VectorKernel::DOT, |step, [across, ..]| {
                self.divide(step, across, false)
            })?;
        job.repeat("can it go on", kept.go, 1, |job| {
            // r = r - alpha v; z = d r
            self.operators
                .pass(job, VectorKernel::HALF, &[r, v, d], &[r, z])?;
            // t = A z
            self.operators.product(job, z, t);
            // across = t.r, size = t.t
            self.operators
                .pass(job, VectorKernel::TWO_DOTS, &[t, r], &[])?;
            self.operators
                .scalars(job, VectorKernel::TWO_DOTS, |step, [across, size, _]| {
                    // omega = t.r / t.t; 0 if t = 0: then r is 0 too, or cannot be made smaller that way.
                    let omega = quotient(step, across, size);
                    step.store(kept.omega, 0, omega)?;
                    let alpha = step.load(kept.alpha, 0)?;
                    self.operators.fill(step, &[alpha, omega])
                })?;
            // x = x + alpha y + omega z; r = r - omega t; rho' = shadow.r (`new`), square = r.r
            self.operators
                .pass(job, VectorKernel::FINISH, &[x, y, z, r, t, shadow], &[x, r])?;
            self.operators
                .scalars(job, VectorKernel::FINISH, |step, [new, square, _]| {
                    let omega = step.load(kept.omega, 0)?;
                    let usable = step.logical_and(omega, new);
                    let broken = compute_not(step, usable);
                    self.note(step, square, broken)?;
                    let (old, alpha) = (step.load(kept.rho, 0)?, step.load(kept.alpha, 0)?);
                    // beta = (rho' / rho) (alpha / omega)
                    let [share, ratio] = [step.divide(new, old), step.divide(alpha, omega)];
                    let beta = step.multiply(share, ratio);
                    step.store(kept.rho, 0, new)?;
                    self.operators.fill(step, &[beta, omega])
                })?;
            // p = r + beta (p - omega v); y = d p
            self.operators
                .pass(job, VectorKernel::DIRECTION, &[r, p, v, d], &[p, y])
        })
    }
}
