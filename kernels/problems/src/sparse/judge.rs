//! Whether what an iterative method gives is what it says of itself.

use super::SolveProblem;
use super::confirm::Confirmation;
use super::method::{MethodEnd, SolverMethod};
use crate::ROUNDING;
use crate::data::NamedArrays;
use crate::verdict::Verdict;

/// What a result says of itself.
struct Claim<'a> {
    x: &'a [f32],
    residuals: &'a [f64],
    last: f64,
    end: MethodEnd,
}

/// Sums over the rows of a system, in double precision.
struct ResidualSums {
    /// |b - A x|.
    left: f64,
    /// ||A| |x||.
    size: f64,
    /// ||A| 1|: what a number of x that is rounded by itself brings into all rows.
    ones: f64,
    /// |b|, or 1 if it is 0.
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

    /// What double precision says of an x, whatever a method says of itself.
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

    /// |b - A x| / |b| in double precision, and how far the residual that a method updates may be from it behind so many iterations, the
    /// largest of which was `most`. (|b| counts as 1 if it is 0.)
    #[must_use]
    pub fn true_residual(&self, b: &[f32], x: &[f64], iterations: usize, most: f64) -> [f64; 2] {
        let sums = self.sums(b, x);
        let steps = (iterations + self.matrix().longest_row()) as f64;
        let factor = match self.method() {
            SolverMethod::Cg | SolverMethod::Pcg => 0.5,
            SolverMethod::Bicgstab => 3.0,
        };
        // A number of x below the normal ones is rounded like the least of these.
        let size = sums.size + f64::from(f32::MIN_POSITIVE) * sums.ones;
        let allowed = factor * steps.sqrt() * ROUNDING * (size / sums.norm + most);
        [sums.left / sums.norm, allowed]
    }

    /// The verdict on an output, see [`SolveProblem`]. `rms` is the true residual.
    pub(super) fn judged(&self, input: &NamedArrays, output: &NamedArrays) -> Verdict {
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
            // Only what has diverged may have left the numbers.
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

    /// What an output says; none if it is of another shape.
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

    /// Whether the end is that of the residuals.
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
            // Nothing but the next residual could tell.
            (MethodEnd::Breakdown | MethodEnd::Diverged, None) => true,
            (end, &last) => last == Some(end),
        }
    }

    /// Whether a result has to converge: plain loops do so soon enough, and what was asked for is not too little.
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
