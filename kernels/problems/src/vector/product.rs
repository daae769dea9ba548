//! Products of many pairs of small matrices.

use super::{matrix::dot, stream};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::problem::{ArrayForm, Problem};
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use num_complex::Complex32;

/// `count` products of complex matrices, `m` x `k` by `k` x `n`, stored row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductProblem {
    sides: [usize; 3],
    count: usize,
}

impl ProductProblem {
    /// Returns `count` products of matrices of the sides m, k and n.
    ///
    /// # Errors
    /// A side or count of 0, or more bytes than fit the address space.
    pub fn new([m, k, n]: [usize; 3], count: usize) -> Result<Self, ProblemError> {
        let what = || format!("{count} products of {m} x {k} by {k} x {n} matrices");
        let all = ("the number of products", count);
        let [a, b, c] = ["m", "k", "n"];
        for sides in [[(a, m), (b, k)], [(b, k), (c, n)], [(a, m), (c, n)]] {
            elements(&what, &[sides[0], sides[1], all])?;
        }
        Ok(Self {
            sides: [m, k, n],
            count,
        })
    }

    /// Returns the problem of a size with `m`, `k`, `n` and `count`.
    ///
    /// # Errors
    /// See [`ProductProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [m, k, n, count] = size.all_positive(["m", "k", "n", "count"])?;
        Self::new([m, k, n], count)
    }

    /// Returns the sides m, k and n.
    #[must_use]
    pub fn sides(&self) -> [usize; 3] {
        self.sides
    }

    /// Returns the number of products.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

impl Problem for ProductProblem {
    fn name(&self) -> &'static str {
        "small-products"
    }

    fn title(&self) -> String {
        let ([m, k, n], count) = (self.sides, self.count);
        format!("{count} products of {m} x {k} by {k} x {n} matrices")
    }

    fn size(&self) -> Size {
        let [m, k, n] = self.sides;
        Size::new(&[("m", m), ("k", k), ("n", n), ("count", self.count)])
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        let ([m, k, n], count) = (self.sides, self.count);
        let form =
            |name, rows, columns| ArrayForm::new(name, Kind::Complex64, &[count, rows, columns]);
        vec![form("a", m, k), form("b", k, n)]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        let [m, _, n] = self.sides;
        vec![ArrayForm::new("c", Kind::Complex64, &[self.count, m, n])]
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let arrays = self.inputs().into_iter().zip(0..);
        arrays.fold(NamedArrays::default(), |data, (form, index)| {
            let count: usize = form.shape.iter().product();
            let row = count / self.count;
            let most = 55 - row.next_power_of_two().ilog2() as i32;
            let values = case.complexes(&mut stream(seed, index), count, row, most);
            data.add_array(form.name, &form.shape, values)
        })
    }

    fn is_defined_beyond_finite(&self) -> bool {
        true
    }

    fn tolerance_in_words(&self) -> &'static str {
        super::SUM_IN_WORDS
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let ([m, k, n], count) = (self.sides, self.count);
        let a = input.get_sized::<Complex32>("a", count * m * k)?;
        let b = input.get_sized::<Complex32>("b", count * k * n)?;
        let element = |i: usize| {
            let (which, row, column) = (i / (m * n), i / n % m, i % n);
            let row = a.iter().skip(which * m * k + row * k).take(k);
            let column = b.iter().skip(which * k * n + column).step_by(n);
            dot(row.copied().zip(column.copied()))
        };
        let (exact, allowed) = (0..count * m * n).map(element).unzip();
        Ok(Reference::from_array(ExpectedArray {
            name: "c",
            shape: vec![count, m, n],
            exact: Exact::Complex(exact),
            part: 1,
            allowed,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks two products computed by hand.
    #[test]
    fn rows_times_columns() {
        let problem = ProductProblem::new([1, 2, 2], 2).unwrap();
        let numbers = |x: &[f32]| {
            x.iter()
                .map(|&x| Complex32::new(x, 0.0))
                .collect::<Vec<_>>()
        };
        let input = NamedArrays::from_array("a", &[2, 1, 2], numbers(&[1.0, 2.0, 3.0, 4.0]));
        let b = numbers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let input = input.add_array("b", &[2, 2, 2], b);
        let judge = |c: &[f32]| {
            problem.judge(
                &input,
                &NamedArrays::from_array("c", &[2, 1, 2], numbers(c)),
            )
        };
        assert!(judge(&[7.0, 10.0, 43.0, 50.0]).is_within_tolerance());
        assert!(!judge(&[7.0, 10.0, 43.0, 50.0001]).is_within_tolerance());
    }
}
