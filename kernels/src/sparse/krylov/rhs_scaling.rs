//! Right-hand sides scaled by a power of two.
//!
//! This serves right-hand sides whose squares single precision does not hold: b is multiplied by a power of
//! two, and x by its inverse.
//!
//! The first pass over b, which copies it, also sums up its squares. If the sum leaves no room for the
//! squares of residuals, the control CPU chooses a power of two and the pass is repeated: twice if b is so
//! far off that the sum itself was lost. All that is part of the time.

use super::driver::{SolverJobBuilder, compute_not};
use crate::job::{Job, JobError};
use crate::sparse::vector_passes::VectorKernel;
use cp2_host::{HostError, HostStep, StepScalar};

/// Most repetitions of the pass.
const MOST_SCALINGS: u64 = 2;

/// Range of sums of squares that are trusted: below, squares may have been lost; above, they may be infinite.
const TRUSTED_SQUARE_SUMS: [f64; 2] = [power(-100), power(112)];

/// Range of sums of squares that leave room for the squares of residuals in any case.
const ROOMY_SQUARE_SUMS: [f64; 2] = [power(-48), power(48)];

/// Factors of b where its square is below and above the range [`TRUSTED_SQUARE_SUMS`], and below and above the
/// range [`ROOMY_SQUARE_SUMS`].
///
/// [`FAR_FACTORS`] makes a length of 2^-149 to 2^-50 one of 2^-49 to 2^50, and one of 2^56 to 2^140 (the
/// largest number, 2^24 times) one of 2^-32 to 2^52. [`NEAR_FACTORS`] then brings these within
/// [`ROOMY_SQUARE_SUMS`]: a length of 2^-50 to 2^-24 becomes 2^-25 to 2^1 (after [`FAR_FACTORS`] at least
/// 2^-24), and one of 2^24 to 2^56 becomes 2^-12 to 2^20. The product of both factors is a normal number of
/// single precision, and so is its inverse.
const FAR_FACTORS: [f64; 2] = [power(100), power(-88)];
const NEAR_FACTORS: [f64; 2] = [power(25), power(-36)];

/// Returns 2^exponent.
const fn power(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl SolverJobBuilder<'_> {
    /// Adds the copy of b, times a power of two, to the vector at `to`.
    pub(super) fn add_scaled_copy(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
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
        job.repeat("does b have to be scaled", rescale, MOST_SCALINGS, |job| {
            copy(job, false)
        })
    }

    /// Chooses the factor of b from the square of b with the present factor.
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
        let [lost, huge] = TRUSTED_SQUARE_SUMS.map(|limit| step.constant(limit));
        let [small, large] = ROOMY_SQUARE_SUMS.map(|limit| step.constant(limit));
        let [far_up, far_down] = FAR_FACTORS.map(|factor| step.constant(factor));
        let [up, down] = NEAR_FACTORS.map(|factor| step.constant(factor));
        // A comparison with NaN is false.
        let is_held = step.less(square, huge);
        let is_large = step.less(large, square);
        let is_small = step.less(square, small);
        let is_lost = step.less(square, lost);
        let by = step.select(is_large, down, one);
        let by = step.select(is_small, up, by);
        let by = step.select(is_lost, far_up, by);
        let by = step.select(is_held, by, far_down);
        let is_off = step.subtract(by, one);
        // If the square is 0 after a multiplication, b is 0, and no factor changes that.
        let again = match is_first {
            true => is_off,
            false => step.logical_and(is_off, square),
        };
        let next = step.multiply(scale, by);
        let scale = step.select(again, next, scale);
        let again = {
            let none = compute_not(step, again);
            compute_not(step, none)
        };
        step.store(kept.scale, 0, scale)?;
        step.store(kept.rescale, 0, again)?;
        self.operators.fill(step, &[scale])
    }

    /// Adds the copy of x, divided by the factor of b, into the user's array: x = x' / scale.
    pub(super) fn store_solution(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        let mut step = HostStep::new();
        let (one, scale) = (step.constant(1.0), step.load(self.kept.scale, 0)?);
        let inverse = step.divide(one, scale);
        self.operators.fill(&mut step, &[inverse])?;
        self.operators.add_host_step(job, step);
        self.operators
            .pass(job, VectorKernel::SCALED, &[self.at.x], &[to])
    }
}
