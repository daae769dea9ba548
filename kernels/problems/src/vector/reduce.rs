//! Reductions of rows: sums, inner products, norms, maxima.

use super::{SUM_IN_WORDS, operations, stream, sum_error};
use crate::ROUNDING;
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays, Values};
use crate::error::{ProblemError, elements};
use crate::multiply_add::MultiplyAdd;
use crate::problem::{ArrayForm, Problem};
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use num_complex::Complex64;

operations! {
    /// Operations that reduce a row.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReductionOp {
        /// The sum of floats.
        Sum,
        /// The sum of x y over floats.
        Dot,
        /// The sum of x conj(y) over complex numbers.
        ComplexDot,
        /// The square root of the sum of squares of floats, or of both parts of complex numbers; the sum has
        /// to be a normal number or 0.
        Norm,
        /// The largest float and its first place. Rows contain no NaN.
        Max,
    }
}

impl ReductionOp {
    /// Returns the number of arrays that the reduction reads.
    #[must_use]
    pub fn inputs(self) -> usize {
        match self {
            Self::Dot | Self::ComplexDot => 2,
            Self::Sum | Self::Norm | Self::Max => 1,
        }
    }

    /// Returns the name of the reduction.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Dot => "dot",
            Self::ComplexDot => "complex-dot",
            Self::Norm => "norm",
            Self::Max => "max",
        }
    }

    /// Returns the reduction of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|op| op.name() == name)
    }
}

/// A reduction of `rows` rows of `n` floats (2 m floats for m complex numbers).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReduceProblem {
    op: ReductionOp,
    n: usize,
    rows: usize,
}

impl ReduceProblem {
    /// Returns `op` on each of `rows` rows of `n` floats.
    ///
    /// # Errors
    /// A length that the operation does not allow, or no rows.
    pub fn new(op: ReductionOp, n: usize, rows: usize) -> Result<Self, ProblemError> {
        let sides = [("the length of a row", n), ("the number of rows", rows)];
        elements(
            &|| format!("{} of {rows} rows of {n} floats", op.name()),
            &sides,
        )?;
        if op == ReductionOp::ComplexDot && !n.is_multiple_of(2) {
            return Err(ProblemError::odd(
                "a row's length",
                n,
                "an even number of floats for complex ones".to_owned(),
            ));
        }
        Ok(Self { op, n, rows })
    }

    /// Returns the reduction of a name for a size with `n` and `rows`.
    ///
    /// # Errors
    /// See [`ReduceProblem::new`]; a size with other parameters.
    pub fn from_size(name: &str, size: &Size) -> Result<Self, ProblemError> {
        let op = ReductionOp::find(name);
        let op = op.ok_or_else(|| size.make_error("op", "the name of a reduction"))?;
        let [n, rows] = size.all_positive(["n", "rows"])?;
        Self::new(op, n, rows)
    }

    /// Returns the reduction.
    #[must_use]
    pub fn op(&self) -> ReductionOp {
        self.op
    }

    /// Returns the floats of a row.
    #[must_use]
    pub fn row(&self) -> usize {
        self.n
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Computes the result of a row, with the error it may have.
    fn exact(&self, x: &[f32], y: &[f32]) -> (Complex64, f64) {
        let real = |terms: &mut dyn Iterator<Item = f64>| {
            terms.fold((0.0, 0.0), |(sum, sizes), t| (sum + t, sizes + t.abs()))
        };
        let wide = |x: &[f32], i: usize| Complex64::new(x[2 * i].into(), x[2 * i + 1].into());
        let n = self.n;
        match self.op {
            ReductionOp::Sum | ReductionOp::Max => {
                let (sum, sizes) = real(&mut x.iter().map(|&x| x.into()));
                (sum.into(), sum_error(n, sizes))
            }
            ReductionOp::Dot => {
                let products = x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y));
                let (sum, sizes) = real(&mut { products });
                (sum.into(), sum_error(n, sizes))
            }
            ReductionOp::ComplexDot => {
                let products = (0..n / 2).map(|i| wide(x, i) * wide(y, i).conj());
                let sizes: f64 = products.clone().map(Complex64::norm).sum();
                (products.sum(), sum_error(n, sizes))
            }
            ReductionOp::Norm => {
                let (sum, _) = real(&mut x.iter().map(|&x| f64::from(x).powi(2)));
                let norm = sum.sqrt();
                // Half of the sum's relative error, and the error of an approximate square root.
                let error = 0.5 * sum_error(n, 1.0) + 4.0 * ROUNDING;
                (norm.into(), norm * error)
            }
        }
    }
}

/// Returns the largest number and its first place.
fn largest(row: &[f32]) -> (f32, u32) {
    let mut best = (f32::NEG_INFINITY, 0);
    for (&x, place) in row.iter().zip(0..) {
        if x > best.0 || place == 0 {
            best = (x, place);
        }
    }
    best
}

impl Problem for ReduceProblem {
    fn name(&self) -> &'static str {
        self.op.name()
    }

    fn title(&self) -> String {
        let plural = if self.rows == 1 { "" } else { "s" };
        format!(
            "{} of {} row{plural} of {} floats",
            self.op.name(),
            self.rows,
            self.n
        )
    }

    fn size(&self) -> Size {
        Size::new(&[("n", self.n), ("rows", self.rows)])
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        let names = ["x", "y"].into_iter().take(self.op.inputs());
        names
            .map(|name| ArrayForm::new(name, Kind::F32, &[self.rows, self.n]))
            .collect()
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        let form = |name, kind| ArrayForm::new(name, kind, &[self.rows]);
        match self.op {
            ReductionOp::ComplexDot => vec![form("value", Kind::Complex64)],
            ReductionOp::Max => vec![form("value", Kind::F32), form("place", Kind::U32)],
            _ => vec![form("value", Kind::F32)],
        }
    }

    fn cases(&self) -> &'static [Case] {
        match self.op {
            ReductionOp::Norm => &Case::NORMAL,
            _ => &Case::FINITE,
        }
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let most = 55 - self.n.next_power_of_two().ilog2() as i32;
        let count = self.n * self.rows;
        let arrays = self.inputs().into_iter().zip(0..);
        arrays.fold(NamedArrays::default(), |data, (form, index)| {
            let values = case.floats(&mut stream(seed, index), count, self.n, most);
            data.add_array(form.name, &form.shape, values)
        })
    }

    fn is_defined_beyond_finite(&self) -> bool {
        // The largest of a row with a NaN is not defined.
        self.op != ReductionOp::Max
    }

    fn tolerance_in_words(&self) -> &'static str {
        match self.op {
            ReductionOp::Norm => {
                "half the relative error of the sum, 2^-24 (4 + 2 sqrt k), and 4 2^-24 of an approximate root"
            }
            ReductionOp::Max => "none: equal to the bit",
            _ => SUM_IN_WORDS,
        }
    }

    fn compute_in_order(&self, input: &NamedArrays, _: MultiplyAdd) -> Option<NamedArrays> {
        if self.op != ReductionOp::Max {
            return None;
        }
        let x = input.get_sized::<f32>("x", self.n * self.rows).ok()?;
        let (values, places) = x.chunks(self.n).map(largest).unzip();
        let values = NamedArrays::from_array::<f32>("value", &[self.rows], values);
        Some(values.add_array::<u32>("place", &[self.rows], places))
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let count = self.n * self.rows;
        let x = input.get_sized::<f32>("x", count)?;
        let y = match self.op.inputs() {
            1 => x,
            _ => input.get_sized::<f32>("y", count)?,
        };
        let same = |name, values| ExpectedArray {
            name,
            shape: vec![self.rows],
            exact: Exact::Same(values),
            part: 1,
            allowed: Vec::new(),
        };
        if self.op == ReductionOp::Max {
            let (values, places) = x.chunks(self.n).map(largest).unzip();
            return Ok(Reference {
                arrays: vec![
                    same("value", Values::F32(values)),
                    same("place", Values::U32(places)),
                ],
            });
        }
        let rows = x.chunks(self.n).zip(y.chunks(self.n));
        let (exact, allowed): (Vec<Complex64>, _) = rows.map(|(x, y)| self.exact(x, y)).unzip();
        Ok(Reference::from_array(ExpectedArray {
            name: "value",
            shape: vec![self.rows],
            exact: match self.op {
                ReductionOp::ComplexDot => Exact::Complex(exact),
                _ => Exact::Real(exact.iter().map(|z| z.re).collect()),
            },
            part: 1,
            allowed,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A term that is left out exceeds the tolerance, even in long rows.
    #[test]
    fn a_term_left_out_is_noticed() {
        for n in [4, 64, 4096] {
            let problem = ReduceProblem::new(ReductionOp::Sum, n, 1).unwrap();
            let input = problem.input(Case::Alternating, 1);
            let x = input.get::<f32>("x").unwrap();
            let judge = |sum: f32| {
                problem.judge(&input, &NamedArrays::from_array("value", &[1], vec![sum]))
            };
            assert!(judge(x.iter().sum()).is_within_tolerance());
            assert!(!judge(x[1..].iter().sum()).is_within_tolerance(), "{n}");
        }
    }

    #[test]
    fn the_first_of_equals_is_the_place() {
        assert_eq!(largest(&[1.0, 3.0, 3.0, -1.0]), (3.0, 1));
        assert_eq!(largest(&[0.0, 0.0]), (0.0, 0));
        let problem = ReduceProblem::new(ReductionOp::Max, 4, 1).unwrap();
        let input = NamedArrays::from_array("x", &[1, 4], vec![1.0f32, 3.0, 3.0, -1.0]);
        let output = |place: u32| {
            NamedArrays::from_array("value", &[1], vec![3.0f32]).add_array(
                "place",
                &[1],
                vec![place],
            )
        };
        assert!(problem.judge(&input, &output(1)).is_within_tolerance());
        assert!(!problem.judge(&input, &output(2)).is_within_tolerance());
    }

    #[test]
    fn lengths_that_are_none_are_refused() {
        assert!(ReduceProblem::new(ReductionOp::ComplexDot, 3, 4).is_err());
        assert!(ReduceProblem::new(ReductionOp::Sum, 0, 4).is_err());
        assert!(ReduceProblem::new(ReductionOp::Sum, 3, usize::MAX).is_err());
    }
}
