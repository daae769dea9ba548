//! Right-hand sides whose squares single precision does not hold: they are multiplied by a power of two, and x by its inverse.
//!
//! The first pass over b, which copies it, also sums up its squares. If the sum is no number that leaves room for the squares of residuals, the control CPU chooses a
//! power of two and the pass comes once more: twice where b is so far off that the sum itself was lost. All that is part of the time.

use super::driver::{SolverJobBuilder, not};
use crate::job::{Job, JobError};
use crate::sparse::vector_passes::VectorKernel;
use cp2_host::{HostError, HostStep, StepScalar};

/// Passes at most that come once more.
const TURNS: u64 = 2;

/// Sums of squares that are no longer trusted: below, squares may have been lost; above, they may be infinite.
const LOST: [f64; 2] = [power(-100), power(112)];

/// Sums of squares that leave room for the squares of residuals in any case.
const ROOM: [f64; 2] = [power(-48), power(48)];

/// What b is multiplied by where its square is below the first of each, and above the second.
///
/// A length of 2^-149 to 2^-50 becomes one of 2^-49 to 2^50, and one of 2^56 to 2^140 (the largest number, 2^24 times) one of 2^-32 to 2^52. The second step brings these within
/// [`ROOM`]: 2^-50 to 2^-24 becomes 2^-25 + 2^25, at least 2^-24 behind the first one; 2^24 to 2^56 becomes 2^-12 to 2^20. Both steps together are a normal number of single precision, and so is the inverse.
const FAR: [f64; 2] = [power(100), power(-88)];
const NEAR: [f64; 2] = [power(25), power(-36)];

/// A power of two.
const fn power(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl SolverJobBuilder<'_> {
    /// b, times a power of two, to where the method has it.
    pub(super) fn take(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        let copy = |job: &mut Job, is_first| {
            let from = &[self.at.b];
            self.operators
                .pass(job, VectorKernel::SCALED, from, &[to])?;
            self.operators
                .scalars(job, VectorKernel::SCALED, |step, [square, ..]| {
                    self.scale(step, square, is_first)
                })
        };
        copy(job, true)?;
        let rescale = self.kept.rescale;
        job.repeat("does b have to be scaled", rescale, TURNS, |job| {
            copy(job, false)
        })
    }

    /// Chooses what b is to be multiplied by, from the square of what it is with the present factor.
    fn scale(
        &self,
        step: &mut HostStep,
        square: StepScalar,
        is_first: bool,
    ) -> Result<(), HostError> {
        let kept = self.kept;
        let one = step.constant(1.0);
        let scale = match is_first {
            true => one,
            false => step.load(kept.scale, 0)?,
        };
        let [lost, huge] = LOST.map(|limit| step.constant(limit));
        let [small, large] = ROOM.map(|limit| step.constant(limit));
        let [far_up, far_down] = FAR.map(|factor| step.constant(factor));
        let [up, down] = NEAR.map(|factor| step.constant(factor));
        // What is no number is not less than anything.
        let is_held = step.less(square, huge);
        let is_large = step.less(large, square);
        let is_small = step.less(square, small);
        let is_lost = step.less(square, lost);
        let by = step.select(is_large, down, one);
        let by = step.select(is_small, up, by);
        let by = step.select(is_lost, far_up, by);
        let by = step.select(is_held, by, far_down);
        let is_off = step.subtract(by, one);
        // What is 0 when it has been multiplied is 0.
        let again = match is_first {
            true => is_off,
            false => step.logical_and(is_off, square),
        };
        let next = step.multiply(scale, by);
        let scale = step.select(again, next, scale);
        let again = {
            let none = not(step, again);
            not(step, none)
        };
        step.store(kept.scale, 0, scale)?;
        step.store(kept.rescale, 0, again)?;
        self.operators.fill(step, &[scale])
    }

    /// x, divided by what b was multiplied by, to where the user has it.
    pub(super) fn store_solution(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        let mut step = HostStep::new();
        let (one, scale) = (step.constant(1.0), step.load(self.kept.scale, 0)?);
        let inverse = step.divide(one, scale);
        self.operators.fill(&mut step, &[inverse])?;
        self.operators.only(job, step);
        self.operators
            .pass(job, VectorKernel::SCALED, &[self.at.x], &[to])
    }
}
