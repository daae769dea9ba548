//! Judges power iterations against double precision and by themselves.

use super::{PowerProblem, Powers, quotient};
use crate::ROUNDING;
use crate::data::{DataError, NamedArrays};
use crate::real::{add, dot};
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::verdict::Verdict;

/// Most terms of an inner product that may be summed in single precision.
const TERMS: f64 = 128.0;

impl PowerProblem {
    /// Returns an upper bound of |A|: the least of several that are known without an iteration.
    fn norm(&self) -> f64 {
        let (mut squares, mut row_most) = (0.0, 0.0f64);
        let mut columns = vec![0.0f64; self.matrix.cols()];
        for i in 0..self.matrix.rows() {
            let mut row = 0.0;
            for (j, a) in self.matrix.real_row(i) {
                let a = f64::from(a).abs();
                squares += a * a;
                row += a;
                columns[j] += a;
            }
            row_most = row_most.max(row);
        }
        let column_most = columns.into_iter().fold(0.0, f64::max);
        (row_most * column_most).sqrt().min(squares.sqrt())
    }

    /// Returns the errors that a value and a residual may have from the roundings of their own product, given
    /// |A x|.
    fn rounding_allowances(rounding: f64, norm: f64) -> [f64; 2] {
        let value = rounding + TERMS * ROUNDING * norm;
        [value, quotient(value + rounding, norm) + TERMS * ROUNDING]
    }

    /// Returns the reference of outputs, from iterations that were computed in double precision.
    #[must_use]
    pub fn make_reference(&self, exact: Powers<f64>) -> Reference {
        let norm = self.norm();
        // Error of x; initially that of its normalisation.
        let mut error = TERMS * ROUNDING;
        let (mut values, mut residuals) = (Vec::new(), Vec::new());
        let mut last = error;
        for (&rounding, &length) in exact.roundings.iter().zip(&exact.norms) {
            let known = |allowed: f64| if error < 1.0 { allowed } else { f64::INFINITY };
            let [value, residual] = Self::rounding_allowances(rounding, length);
            values.push(known(value + 2.0 * norm * error));
            residuals.push(known(residual + quotient(5.0 * norm * error, length)));
            last = known(error);
            let product = norm * error + rounding;
            let left = length - product / 2.0;
            error = match left > 0.0 {
                true => product / left + TERMS * ROUNDING,
                false => f64::INFINITY,
            };
        }
        let history = |name, exact: Vec<f64>, allowed| ExpectedArray {
            name,
            shape: vec![self.iterations + 1],
            exact: Exact::Real(exact),
            part: 1,
            allowed,
        };
        let x = ExpectedArray {
            name: "x",
            shape: vec![self.matrix.rows()],
            exact: Exact::Real(exact.x),
            part: self.matrix.rows(),
            allowed: vec![last],
        };
        Reference {
            arrays: vec![
                history("values", exact.values, values),
                history("residuals", exact.residuals, residuals),
                x,
            ],
        }
    }

    /// Returns the error of an output's last value and residual compared with its own x, relative to the
    /// allowed one. An x of zeros is right only if x may vanish.
    fn self_consistency_error(
        &self,
        output: &NamedArrays,
        may_vanish: bool,
    ) -> Result<f64, DataError> {
        let count = self.iterations + 1;
        let x: &[f32] = output.get_sized("x", self.matrix.rows())?;
        let [values, residuals] =
            ["values", "residuals"].map(|name| output.get_sized::<f64>(name, count));
        let x: Vec<f64> = x.iter().map(|&x| x.into()).collect();
        let (q, rounding) = self.times(&x);
        let (square, norm) = (dot(&x, &x), dot(&q, &q).sqrt());
        let value = quotient(dot(&x, &q), square);
        let mut left = q;
        add(&mut left, -value, &x);
        let found = [value, quotient(dot(&left, &left).sqrt(), norm)];
        let allowed = Self::rounding_allowances(rounding, norm);
        let claimed = [values?, residuals?].map(|all| all.last().copied().unwrap_or(f64::NAN));
        let mut worst = (square - 1.0).abs() / (2.0 * TERMS * ROUNDING);
        if square == 0.0 && may_vanish {
            worst = 0.0;
        }
        for ((found, claimed), allowed) in found.into_iter().zip(claimed).zip(allowed) {
            let off = (found - claimed).abs();
            let ratio = if off == 0.0 { 0.0 } else { off / allowed };
            // `max` would drop a NaN, which must stay.
            if ratio > worst || ratio.is_nan() {
                worst = ratio;
            }
        }
        Ok(worst)
    }

    /// Returns the verdict on an output, given the iterations in double precision; see [`PowerProblem`].
    #[must_use]
    pub fn verdict(&self, exact: Powers<f64>, output: &NamedArrays) -> Verdict {
        // In some iteration A x may be no larger than its roundings, so that x may vanish.
        let mut lengths = exact.norms.iter().zip(&exact.roundings);
        let may_vanish = lengths.any(|(length, rounding)| length <= rounding);
        let verdict = self.make_reference(exact).judge(output);
        match self.self_consistency_error(output, may_vanish) {
            Ok(own) if own > verdict.worst || own.is_nan() => Verdict {
                worst: own,
                ..verdict
            },
            Ok(_) => verdict,
            Err(_) => Verdict::SHAPELESS,
        }
    }
}
