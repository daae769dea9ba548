//! Judges whether the result of an iterative method is consistent and true.

use super::SolveProblem;
use super::confirm::Confirmation;
use super::method::{MethodEnd, SolverMethod};
use crate::ROUNDING;
use crate::data::NamedArrays;
use crate::verdict::Verdict;

/// A result's own statement: x, residuals and end.
struct Claim<'a> {
    x: &'a [f32],
    residuals: &'a [f64],
    last: f64,
    end: MethodEnd,
}

/// Norms of vectors of a system, in double precision.
struct ResidualSums {
    /// Norm of the residual, |b - A x|.
    left: f64,
    /// Bound of the products' size, ||A| |x||.
    size: f64,
    /// Norm ||A| 1|: the effect on all rows of an absolute rounding error in each number of x.
    ones: f64,
    /// Norm |b|, or 1 if it is 0.
    norm: f64,
}

impl SolveProblem {
    fn sums(&self, b: &[f32], x: &[f64]) -> ResidualSums {
        let (mut left, mut size, mut ones, mut norm) = (0.0, 0.0, 0.0, 0.0);
        for (i, &b) in b.iter().enumerate() {
            let (mut sum, mut sizes, mut row) = (f64::from(b), 0.0, 0.0);
            for (j, a) in self.matrix().real_row(i) {
                let product = f64::from(a) * x.get(j).copied().unwrap_or_default();
                sum -= product;
                sizes += product.abs();
                row += f64::from(a.abs());
            }
            left += sum * sum;
            size += sizes * sizes;
            ones += row * row;
            norm += f64::from(b) * f64::from(b);
        }
        let norm = if norm == 0.0 { 1.0 } else { norm.sqrt() };
        ResidualSums {
            left: left.sqrt(),
            size: size.sqrt(),
            ones: ones.sqrt(),
            norm,
        }
    }

    /// Computes the true residual of an x in double precision, independently of what the method states.
    #[must_use]
    pub fn confirm(&self, b: &[f32], x: &[f32]) -> Confirmation {
        let wide: Vec<f64> = x.iter().map(|&x| x.into()).collect();
        let ResidualSums {
            left, size, norm, ..
        } = self.sums(b, &wide);
        let length = if b.iter().all(|&b| b == 0.0) {
            0.0
        } else {
            norm
        };
        Confirmation {
            residual: left / norm,
            attainable: 2.0 * ROUNDING * (size + length) / norm,
            tolerance: self.tolerance(),
        }
    }

    /// Returns |b - A x| / |b| in double precision, and the distance from it that the residual of a method
    /// may have after `iterations` iterations, the largest residual of which was `most`. (|b| counts as 1 if
    /// it is 0.)
    #[must_use]
    pub fn true_residual(&self, b: &[f32], x: &[f64], iterations: usize, most: f64) -> [f64; 2] {
        let sums = self.sums(b, x);
        let steps = (iterations + self.matrix().longest_row()) as f64;
        let factor = match self.method() {
            SolverMethod::Cg | SolverMethod::Pcg => 0.5,
            SolverMethod::Bicgstab => 3.0,
        };
        // A number of x below the normal range is rounded like the smallest normal one.
        let size = sums.size + f64::from(f32::MIN_POSITIVE) * sums.ones;
        let allowed = factor * steps.sqrt() * ROUNDING * (size / sums.norm + most);
        [sums.left / sums.norm, allowed]
    }

    /// Returns the verdict on an output, see [`SolveProblem`]; `rms` is the true residual.
    pub(super) fn judge_output(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
        let (Ok(b), Some(claim)) = (
            input.get_sized::<f32>("b", self.matrix().rows()),
            self.claim(output),
        ) else {
            return Verdict::SHAPELESS;
        };
        let wrong = Verdict {
            rms: f64::NAN,
            worst: f64::INFINITY,
        };
        let first = if b.iter().all(|&b| b == 0.0) {
            0.0
        } else {
            1.0
        };
        let begins = claim
            .residuals
            .first()
            .is_some_and(|r| (r - first).abs() <= 1e-5);
        if !begins || !self.is_consistent(&claim) {
            return wrong;
        }
        if claim.end != MethodEnd::Converged && self.has_to_converge(b) {
            return wrong;
        }
        if !claim.x.iter().all(|x| x.is_finite()) {
            // Only a method that has diverged may leave numbers that are not finite.
            return match claim.end == MethodEnd::Diverged {
                true => Verdict {
                    rms: f64::INFINITY,
                    worst: 0.0,
                },
                false => wrong,
            };
        }
        let x: Vec<f64> = claim.x.iter().map(|&x| x.into()).collect();
        let most = claim.residuals.iter().copied().fold(0.0, f64::max);
        let [found, allowed] = self.true_residual(b, &x, claim.residuals.len() - 1, most);
        let off = match claim.end == MethodEnd::Converged || self.method() != SolverMethod::Bicgstab
        {
            true => (found - claim.last).abs(),
            false => 0.0,
        };
        Verdict {
            rms: found,
            worst: if off == 0.0 { 0.0 } else { off / allowed },
        }
    }

    /// Reads the statement of an output; none if it is of another shape.
    fn claim<'a>(&self, output: &'a NamedArrays) -> Option<Claim<'a>> {
        let x = output.get_sized("x", self.matrix().rows()).ok()?;
        let all: &[f64] = output
            .get_sized("residuals", self.most_iterations() + 1)
            .ok()?;
        let [end] = output.get_sized::<u32>("end", 1).ok()? else {
            return None;
        };
        let count = all.iter().position(|r| r.is_nan()).unwrap_or(all.len());
        let (residuals, rest) = all.split_at(count);
        let last = *residuals.last()?;
        (rest.iter().all(|r| r.is_nan())).then_some(Claim {
            x,
            residuals,
            last,
            end: MethodEnd::from_number(*end)?,
        })
    }

    /// True if the stated end is the one that the stated residuals imply.
    fn is_consistent(&self, claim: &Claim) -> bool {
        let mut watch = self.watch();
        let ends: Vec<_> = claim.residuals.iter().map(|&r| watch.note(r)).collect();
        let Some((last, before)) = ends.split_last() else {
            return false;
        };
        if before.iter().any(Option::is_some) {
            return false;
        }
        match (claim.end, last) {
            // Only the next residual, which is not recorded, could decide.
            (MethodEnd::Breakdown | MethodEnd::Diverged, None) => true,
            (end, &last) => last == Some(end),
        }
    }

    /// True if a result has to converge: plain loops converge soon enough, and the tolerance is not below
    /// what rounding leaves.
    fn has_to_converge(&self, b: &[f32]) -> bool {
        let soon = |end: MethodEnd, residuals: &[f64]| {
            let most = Self::SLOWER * self.most_iterations() as f64;
            end == MethodEnd::Converged && residuals.len() as f64 - 1.0 <= most
        };
        let exact = self.solve::<f64>(b);
        if !soon(exact.end, &exact.residuals) {
            return false;
        }
        let most = exact.residuals.iter().copied().fold(0.0, f64::max);
        let [_, allowed] = self.true_residual(b, &exact.x, exact.residuals.len() - 1, most);
        let single = self.solve::<f32>(b);
        allowed <= self.tolerance() && soon(single.end, &single.residuals)
    }
}
