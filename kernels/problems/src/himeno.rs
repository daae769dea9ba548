//! The Himeno benchmark: Jacobi iterations of an operator of 19 points.

mod data;
mod exact;
mod in_order;
mod named;
#[cfg(test)]
mod tests;

pub use data::HimenoData;
pub use named::HimenoSize;

use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::multiply_add::MultiplyAdd;
use crate::problem::{ArrayForm, Problem};
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::{Size, SizeParameter};

/// Most iterations; more would take longer than is useful.
const ITERATIONS: usize = 1 << 20;

/// A number of Jacobi iterations of the Himeno benchmark (R. Himeno, RIKEN) on a box of `planes` x `rows` x `columns`
/// points, indices i, j, k, columns contiguous.
///
/// An iteration computes for every point that is not at a face of the box
///
/// s0 = a0 p(i+1,j,k) + a1 p(i,j+1,k) + a2 p(i,j,k+1)
///   + b0 \[p(i+1,j+1,k) - p(i+1,j-1,k) - p(i-1,j+1,k) + p(i-1,j-1,k)\]
///   + b1 \[p(i,j+1,k+1) - p(i,j-1,k+1) - p(i,j+1,k-1) + p(i,j-1,k-1)\]
///   + b2 \[p(i+1,j,k+1) - p(i-1,j,k+1) - p(i+1,j,k-1) + p(i-1,j,k-1)\]
///   + c0 p(i-1,j,k) + c1 p(i,j-1,k) + c2 p(i,j,k-1) + wrk1
///
/// ss = (s0 a3 - p) bnd, and the new p + omega ss. All points are replaced together; those at faces keep their values.
/// The outputs are `p` after the last iteration and `gosa`, the sum of ss^2 of that iteration in double precision.
///
/// The inputs are `p`, `a` (a0 to a3, one box after the other), `b`, `c`, `wrk1` and `bnd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HimenoProblem {
    shape: [usize; 3],
    iterations: usize,
    data: HimenoData,
}

/// The input arrays, each of one number a point.
#[derive(Clone, Copy, Debug)]
pub struct HimenoArrays<'a> {
    /// The pressure p.
    pub p: &'a [f32],
    /// Coefficients a0 to a3.
    pub a: [&'a [f32]; 4],
    /// Coefficients b0 to b2.
    pub b: [&'a [f32]; 3],
    /// Coefficients c0 to c2.
    pub c: [&'a [f32]; 3],
    /// The source.
    pub wrk1: &'a [f32],
    /// The mask: 0 where p is kept.
    pub bnd: &'a [f32],
}

impl HimenoProblem {
    /// Weight of the change of an iteration.
    pub const OMEGA: f32 = 0.8;

    /// Floating-point operations of a point in an iteration, as the benchmark counts them.
    pub const OPERATIONS: u64 = 34;

    /// Bytes of a point in an iteration: thirteen numbers that are read and one that is written.
    pub const BYTES: u64 = 56;

    /// Parameters of sizes.
    pub const PARAMETERS: [SizeParameter; 5] = [
        SizeParameter::new("planes", 32, "extent of the slowest axis"),
        SizeParameter::new("rows", 32, "rows of a plane"),
        SizeParameter::new("columns", 64, "points of a row"),
        SizeParameter::new("iterations", 3, "iterations, one after the other"),
        SizeParameter::word(
            "data",
            "random",
            "random, by the seed; standard, those of the benchmark; general, with all coefficients, source and mask",
        ),
    ];

    /// Returns iterations on a box.
    ///
    /// # Errors
    /// An extent below 3, no iterations or more than 2^20, or more bytes than fit the address space.
    pub fn new(
        shape: [usize; 3],
        iterations: usize,
        data: HimenoData,
    ) -> Result<Self, ProblemError> {
        let [planes, rows, columns] = shape;
        if let Some(short) = shape.iter().find(|&&n| n < 3) {
            let expected = "3 or more, so that there is a point inside";
            return Err(ProblemError::odd("an extent of the box", short, expected));
        }
        let what = || format!("the Himeno benchmark on {planes}x{rows}x{columns}");
        let sides = [
            ("planes", planes),
            ("rows", rows),
            ("columns", columns),
            ("arrays", 14),
        ];
        elements(&what, &sides)?;
        if !(1..=ITERATIONS).contains(&iterations) {
            let expected = format!("1 to {ITERATIONS}");
            return Err(ProblemError::odd("iterations", iterations, expected));
        }
        Ok(Self {
            shape,
            iterations,
            data,
        })
    }

    /// Returns the problem of a size with the parameters of [`HimenoProblem::PARAMETERS`].
    ///
    /// # Errors
    /// See [`HimenoProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [planes, rows, columns, iterations] =
            size.all_positive(["planes", "rows", "columns", "iterations"])?;
        let data = HimenoData::find(size.word("data")?);
        let data = data.ok_or_else(|| size.make_error("data", "random, standard or general"))?;
        Self::new([planes, rows, columns], iterations, data)
    }

    /// Returns planes, rows and columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Returns the number of points.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the number of points that are not at a face of the box.
    #[must_use]
    pub fn inner_count(&self) -> usize {
        self.shape.iter().map(|n| n - 2).product()
    }

    /// Returns the number of iterations.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Returns the arrays of an input.
    ///
    /// # Errors
    /// The input lacks an array, or one has another length.
    pub fn arrays<'a>(&self, input: &'a NamedArrays) -> Result<HimenoArrays<'a>, DataError> {
        let n = self.count();
        Ok(HimenoArrays {
            p: input.get_sized("p", n)?,
            a: split(input.get_sized("a", 4 * n)?, n),
            b: split(input.get_sized("b", 3 * n)?, n),
            c: split(input.get_sized("c", 3 * n)?, n),
            wrk1: input.get_sized("wrk1", n)?,
            bnd: input.get_sized("bnd", n)?,
        })
    }

    /// Returns the outputs of these results.
    #[must_use]
    pub fn wrap_results(&self, p: Vec<f32>, gosa: f64) -> NamedArrays {
        NamedArrays::from_array("p", &self.shape, p).add_array("gosa", &[1], vec![gosa])
    }

    fn form(&self, name: &'static str, boxes: usize) -> ArrayForm {
        let [planes, rows, columns] = self.shape;
        match boxes {
            1 => ArrayForm::new(name, Kind::F32, &self.shape),
            _ => ArrayForm::new(name, Kind::F32, &[boxes, planes, rows, columns]),
        }
    }
}

/// Returns the boxes of `n` points of an array.
fn split<const N: usize>(all: &[f32], n: usize) -> [&[f32]; N] {
    std::array::from_fn(|i| all.get(i * n..(i + 1) * n).unwrap_or_default())
}

impl HimenoArrays<'_> {
    /// Returns all arrays but p: a, b, c, source and mask.
    #[must_use]
    pub fn constants(&self) -> [&[f32]; 12] {
        let ([a0, a1, a2, a3], [b0, b1, b2], [c0, c1, c2]) = (self.a, self.b, self.c);
        [a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, self.wrk1, self.bnd]
    }
}

impl Problem for HimenoProblem {
    fn name(&self) -> &'static str {
        "himeno"
    }

    fn title(&self) -> String {
        let [planes, rows, columns] = self.shape;
        let plural = if self.iterations == 1 { "" } else { "s" };
        format!(
            "{} iteration{plural} of the Himeno benchmark on {planes}x{rows}x{columns}, {} data",
            self.iterations,
            self.data.name()
        )
    }

    fn size(&self) -> Size {
        let [planes, rows, columns] = self.shape;
        Size::new(&[
            ("planes", planes),
            ("rows", rows),
            ("columns", columns),
            ("iterations", self.iterations),
        ])
        .add_value("data", self.data.name())
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        let boxes = [
            ("p", 1),
            ("a", 4),
            ("b", 3),
            ("c", 3),
            ("wrk1", 1),
            ("bnd", 1),
        ];
        boxes.map(|(name, boxes)| self.form(name, boxes)).to_vec()
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![self.form("p", 1), ArrayForm::new("gosa", Kind::F64, &[1])]
    }

    fn cases(&self) -> &'static [Case] {
        match self.data {
            // Squares are added up, and those of smaller numbers would be 0.
            HimenoData::Random => &Case::NORMAL,
            HimenoData::Standard | HimenoData::General => &[Case::Random],
        }
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        self.make_input(case, seed)
    }

    fn is_defined_beyond_finite(&self) -> bool {
        self.data == HimenoData::Random
    }

    fn tolerance_in_words(&self) -> &'static str {
        "28 2^-24 (|bnd| (|a3| sum |c p| + |p|) + |p|) in every iteration (Higham, 2nd ed., 3.1: 19 terms in any order, \
         and the change), and the coefficients' sizes times the errors of p; of gosa, 2 |ss| times the errors of ss, \
         and 2^-17 of it for sums in single precision that are at most 126 additions deep"
    }

    fn compute_in_order(&self, input: &NamedArrays, rounding: MultiplyAdd) -> Option<NamedArrays> {
        let (p, gosa) = self.iterate_in_order(&self.arrays(input).ok()?, rounding);
        Some(self.wrap_results(p, gosa))
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let exact = self.exact(&self.arrays(input)?);
        let p = ExpectedArray {
            name: "p",
            shape: self.shape.to_vec(),
            exact: Exact::Real(exact.p),
            part: 1,
            allowed: exact.errors,
        };
        let gosa = ExpectedArray {
            name: "gosa",
            shape: vec![1],
            exact: Exact::Real(vec![exact.gosa]),
            part: 1,
            allowed: vec![exact.gosa_error],
        };
        Ok(Reference {
            arrays: vec![p, gosa],
        })
    }
}
