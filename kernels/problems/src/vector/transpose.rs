//! Transposes of many matrices.

use super::stream;
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays, Values};
use crate::error::{ProblemError, elements};
use crate::multiply_add::MultiplyAdd;
use crate::problem::{ArrayForm, Problem};
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use num_complex::Complex32;

/// The transposes of `count` complex matrices of `rows` x `columns`, stored row by row. Results are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransposeProblem {
    rows: usize,
    columns: usize,
    count: usize,
}

impl TransposeProblem {
    /// Returns transposes of `count` matrices.
    ///
    /// # Errors
    /// A side or count of 0, or more bytes than fit the address space.
    pub fn new(rows: usize, columns: usize, count: usize) -> Result<Self, ProblemError> {
        let what = || format!("{count} matrices of {rows} x {columns}");
        let sides = [("rows", rows), ("columns", columns), ("matrices", count)];
        elements(&what, &sides)?;
        Ok(Self {
            rows,
            columns,
            count,
        })
    }

    /// Returns the problem of a size with `rows`, `columns` and `count`.
    ///
    /// # Errors
    /// See [`TransposeProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [rows, columns, count] = size.all_positive(["rows", "columns", "count"])?;
        Self::new(rows, columns, count)
    }

    /// Returns the numbers of matrices, rows and columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        [self.count, self.rows, self.columns]
    }
}

impl Problem for TransposeProblem {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn title(&self) -> String {
        let [count, rows, columns] = self.shape();
        let plural = if count == 1 { "x" } else { "ces" };
        format!("transposes of {count} matri{plural} of {rows} x {columns}")
    }

    fn size(&self) -> Size {
        let [count, rows, columns] = self.shape();
        Size::new(&[("rows", rows), ("columns", columns), ("count", count)])
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("x", Kind::Complex64, &self.shape())]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        let [count, rows, columns] = self.shape();
        vec![ArrayForm::new(
            "y",
            Kind::Complex64,
            &[count, columns, rows],
        )]
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let row = self.rows * self.columns;
        let x = case.complexes(&mut stream(seed, 0), self.count * row, row, 120);
        NamedArrays::from_array("x", &self.shape(), x)
    }

    fn is_defined_beyond_finite(&self) -> bool {
        true
    }

    fn tolerance_in_words(&self) -> &'static str {
        "none: equal to the bit"
    }

    fn compute_in_order(&self, input: &NamedArrays, _: MultiplyAdd) -> Option<NamedArrays> {
        let [count, rows, columns] = self.shape();
        let x = input.get_sized::<Complex32>("x", count * rows * columns);
        let x = x.ok()?;
        let from = |i: usize| {
            let (matrix, column, row) = (i / (rows * columns), i / rows % columns, i % rows);
            x.get((matrix * rows + row) * columns + column).copied()
        };
        let y: Option<Vec<Complex32>> = (0..x.len()).map(from).collect();
        let shape = [count, columns, rows];
        Some(NamedArrays::from_array("y", &shape, y?))
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let [count, rows, columns] = self.shape();
        let x = input.get_sized::<Complex32>("x", count * rows * columns)?;
        let matrices = x.chunks(rows * columns);
        let column = |matrix: &[Complex32], c: usize| -> Vec<Complex32> {
            matrix.iter().skip(c).step_by(columns).copied().collect()
        };
        let transposed = matrices.flat_map(|m| (0..columns).flat_map(move |c| column(m, c)));
        Ok(Reference::from_array(ExpectedArray {
            name: "y",
            shape: vec![count, columns, rows],
            exact: Exact::Same(Values::Complex64(transposed.collect())),
            part: 1,
            allowed: Vec::new(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let problem = TransposeProblem::new(2, 3, 1).unwrap();
        let numbers = |x: [i8; 6]| x.map(|x| Complex32::new(x.into(), 0.5)).to_vec();
        let input = NamedArrays::from_array("x", &[1, 2, 3], numbers([1, 2, 3, 4, 5, 6]));
        let judge = |y| {
            problem.judge(
                &input,
                &NamedArrays::from_array("y", &[1, 3, 2], numbers(y)),
            )
        };
        assert!(judge([1, 4, 2, 5, 3, 6]).is_within_tolerance());
        assert!(!judge([1, 2, 3, 4, 5, 6]).is_within_tolerance());
    }
}
