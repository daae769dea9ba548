//! Multigrid V-cycles (MG) as a problem.

use super::{MgClass, PeriodicGrid, charges};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::double_double::DoubleDouble;
use crate::double_single::DoubleSingle;
use crate::error::ProblemError;
use crate::npb::Precision;
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::real::Real;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use std::fmt;

/// Weights of a smoother S, for centre, faces, edges and corners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoother {
    /// Weights of the classes S, W and A: -3/8, 1/32, -1/64, 0.
    A,
    /// Weights of class B and larger ones: -3/17, 1/33, -1/61, 0.
    B,
}

impl Smoother {
    /// Returns the weights.
    #[must_use]
    pub fn weights(self) -> [f64; 4] {
        match self {
            Self::A => [-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0],
            Self::B => [-3.0 / 17.0, 1.0 / 33.0, -1.0 / 61.0, 0.0],
        }
    }
}

impl fmt::Display for Smoother {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "a",
            Self::B => "b",
        })
    }
}

/// V-cycles for A u = v on a periodic grid, starting from u = 0: the algorithm of the benchmark MG.
///
/// A is the 27-point operator with the weights -8/3, 0, 1/6, 1/12, the same on every level. The input is `v`,
/// planes of rows of numbers, x fastest. The outputs are `u` after the last cycle, of the same shape, and `norms`:
/// the root mean squares of v and of v - A u. `v` and `u` are in the precision of the problem, which is single unless
/// [`MgProblem::with_precision`] says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MgProblem {
    /// Planes, rows and columns.
    shape: [usize; 3],
    cycles: usize,
    smoother: Smoother,
    precision: Precision,
}

/// Result of the cycles.
#[derive(Clone, Debug)]
pub struct Solution<T> {
    /// The solution u.
    pub u: PeriodicGrid<T>,
    /// Norms of v and of the last residual.
    pub norms: [f64; 2],
}

/// Points along an axis: small grids have hardly any levels below, and no memory holds more than 1024^3.
const SIDES: std::ops::RangeInclusive<usize> = 16..=1024;

/// Most cycles.
const MOST_CYCLES: usize = 1000;

impl MgProblem {
    /// Weights of the operator A for centre, faces, edges and corners.
    pub const OPERATOR: [f64; 4] = [-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0];

    /// Returns a number of cycles on n^3 points.
    ///
    /// # Errors
    /// n is no power of two from 16 to 1024, or there are no cycles or more than 1000.
    pub fn new(n: usize, cycles: usize, smoother: Smoother) -> Result<Self, ProblemError> {
        Self::with_shape([n; 3], cycles, smoother)
    }

    /// Returns a number of cycles on so many planes, rows and columns. The coarsest level has two points along the
    /// shortest axis.
    ///
    /// # Errors
    /// An extent is no power of two from 16 to 1024, or there are no cycles or more than 1000.
    pub fn with_shape(
        shape: [usize; 3],
        cycles: usize,
        smoother: Smoother,
    ) -> Result<Self, ProblemError> {
        for n in shape {
            if !n.is_power_of_two() || !SIDES.contains(&n) {
                return Err(ProblemError::odd(
                    "points along an axis",
                    n,
                    "a power of two from 16 to 1024",
                ));
            }
        }
        if !(1..=MOST_CYCLES).contains(&cycles) {
            return Err(ProblemError::odd("V-cycles", cycles, "1 to 1000"));
        }
        Ok(Self {
            shape,
            cycles,
            smoother,
            precision: Precision::Single,
        })
    }

    /// Returns the problem with arrays of a precision.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    pub(super) fn from_benchmark(benchmark: &MgClass) -> Self {
        Self {
            shape: [benchmark.n; 3],
            cycles: benchmark.cycles,
            smoother: benchmark.smoother,
            precision: Precision::Single,
        }
    }

    /// Returns the problem of a size with `n`, `cycles` and, where they are not `n`, `planes` and `rows`; if they are
    /// not `a` and `single`, `smoother` and `precision`.
    ///
    /// # Errors
    /// See [`MgProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [n, cycles] = size.all_positive(["n", "cycles"])?;
        let smoother = match size.find("smoother") {
            None => Smoother::A,
            Some(_) => match size.word("smoother")? {
                "a" => Smoother::A,
                "b" => Smoother::B,
                _ => return Err(size.make_error("smoother", "a or b").into()),
            },
        };
        let extent = |name| match size.find(name) {
            None => Ok(n),
            Some(_) => size.all_positive([name]).map(|[extent]| extent),
        };
        let shape = [extent("planes")?, extent("rows")?, n];
        let precision = Precision::from_size(size)?;
        Ok(Self::with_shape(shape, cycles, smoother)?.with_precision(precision))
    }

    /// Returns the number of planes, rows and columns.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Returns the number of points.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the number of V-cycles.
    #[must_use]
    pub fn cycles(&self) -> usize {
        self.cycles
    }

    /// Returns the smoother.
    #[must_use]
    pub fn smoother(&self) -> Smoother {
        self.smoother
    }

    /// Returns the precision of the arrays.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Computes the cycles in any precision, whatever that of `v` is; norms are computed in double precision. If `v`
    /// has fewer than as many numbers as the grid has points, the others are 0.
    #[must_use]
    pub fn solve<T: Real>(&self, v: &[impl Real]) -> Solution<T> {
        let a = Self::OPERATOR;
        let mut v: Vec<T> = v.iter().map(|x| T::from_f64(x.wide())).collect();
        v.resize(self.count(), T::default());
        let v = PeriodicGrid::new(self.shape, v);
        let first = v.norm();
        let (mut u, mut r) = (PeriodicGrid::zeros(self.shape), v.clone());
        for _ in 0..self.cycles {
            let coarse = self.correction(&r, self.shape);
            u.add_interpolated(&coarse);
            r = u.residual(a, &v);
            u.smooth(self.smoother.weights(), &r);
            r = u.residual(a, &v);
        }
        Solution {
            norms: [first, r.norm()],
            u,
        }
    }

    /// Returns the correction that the level below computes for a residual.
    fn correction<T: Real>(&self, r: &PeriodicGrid<T>, shape: [usize; 3]) -> PeriodicGrid<T> {
        let (weights, below) = (self.smoother.weights(), shape.map(|n| n / 2));
        let mut r = r.project();
        let mut u = PeriodicGrid::zeros(below);
        if below.iter().all(|&n| n > 2) {
            u.add_interpolated(&self.correction(&r, below));
            r = u.residual(Self::OPERATOR, &r);
        }
        u.smooth(weights, &r);
        u
    }
}

/// Allowed roundings of a result, relative to the sizes of v and u together: about thirty operations a point
/// compute a residual or a correction. It is not proved but measured that cycles do not enlarge errors: class
/// A has a quarter of this, smaller classes and all cases less.
const ROUNDINGS: f64 = 64.0;

impl Problem for MgProblem {
    fn name(&self) -> &'static str {
        "npb-mg"
    }

    fn title(&self) -> String {
        let Self {
            shape: [planes, rows, columns],
            cycles,
            smoother,
            precision,
        } = self;
        let points = match planes == rows && rows == columns {
            true => format!("{columns}^3"),
            false => format!("{planes}x{rows}x{columns}"),
        };
        let s = if *cycles == 1 { "" } else { "s" };
        let numbers = match precision {
            Precision::Single => String::new(),
            Precision::DoubleSingle | Precision::Double => format!(", {precision} precision"),
        };
        format!("{cycles} V-cycle{s} of multigrid on {points} points, smoother {smoother}{numbers}")
    }

    fn size(&self) -> Size {
        let [planes, rows, n] = self.shape;
        let mut size = Size::new(&[("n", n), ("cycles", self.cycles)])
            .add_value("smoother", self.smoother.to_string());
        for (name, extent) in [("planes", planes), ("rows", rows)] {
            if extent != n {
                size = size.add_value(name, extent.to_string());
            }
        }
        self.precision.add_to(size)
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("v", self.precision.kind(), &self.shape())]
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![
            ArrayForm::new("u", self.precision.kind(), &self.shape()),
            ArrayForm::new("norms", Kind::F64, &[2]),
        ]
    }

    fn cases(&self) -> &'static [Case] {
        // Squares are added up, and those of smaller numbers would be 0.
        &Case::NORMAL
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let random = &mut Random::new(seed);
        let v = match case {
            Case::Random => charges(self.shape, seed),
            case => case.floats(random, self.count(), self.shape[2], 30),
        };
        let shape = self.shape();
        match (self.precision, case) {
            (Precision::Single, _) => NamedArrays::from_array("v", &shape, v),
            (Precision::DoubleSingle | Precision::Double, Case::Random) => {
                let v: Vec<f64> = v.into_iter().map(f64::from).collect();
                self.precision
                    .add_wide_array(NamedArrays::default(), ("v", &shape), v)
            }
            (Precision::DoubleSingle | Precision::Double, _) => {
                let v: Vec<f64> = v.into_iter().map(|x| random.fill_digits(x)).collect();
                self.precision
                    .add_wide_array(NamedArrays::default(), ("v", &shape), v)
            }
        }
    }

    fn tolerance_in_words(&self) -> &'static str {
        "64 roundings of the sizes of v and u, about thirty operations a point; measured: class A has a quarter"
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        Ok(self.make_reference(&self.solve_exactly(input)?))
    }
}

impl MgProblem {
    /// Computes the cycles of an input in a higher precision than the problem's, and rounds to double precision.
    ///
    /// Cycles in double precision have errors as large as those of a kernel: each level projects the mean of the
    /// residual, which is a rounding error, to four times as much.
    ///
    /// # Errors
    /// The input has no such array.
    pub fn solve_exactly(&self, input: &NamedArrays) -> Result<Solution<f64>, DataError> {
        Ok(match self.precision {
            Precision::Single => self.solve(input.get_sized::<f32>("v", self.count())?),
            Precision::DoubleSingle => {
                let v = input.get_sized::<[f32; 2]>("v", self.count())?;
                let v: Vec<DoubleSingle> = v.iter().map(|&x| x.into()).collect();
                self.solve_in_two_doubles(&v)
            }
            Precision::Double => {
                self.solve_in_two_doubles(input.get_sized::<f64>("v", self.count())?)
            }
        })
    }

    /// Computes the cycles in numbers of two binary64, and rounds to double precision.
    fn solve_in_two_doubles(&self, v: &[impl Real]) -> Solution<f64> {
        let Solution { u, norms } = self.solve::<DoubleDouble>(v);
        let points = u.into_points().into_iter().map(Real::wide).collect();
        let u = PeriodicGrid::new(self.shape, points);
        Solution { u, norms }
    }

    /// Returns the reference of outputs, from cycles that were computed more exactly than in the problem's precision.
    #[must_use]
    pub fn make_reference(&self, exact: &Solution<f64>) -> Reference {
        let [first, last] = exact.norms;
        let rounding = ROUNDINGS * self.precision.rounding() * (first + exact.u.norm());
        let norms = ExpectedArray {
            name: "norms",
            shape: vec![2],
            exact: Exact::Real(exact.norms.to_vec()),
            part: 1,
            allowed: [first, last]
                .map(|norm| MgClass::tolerance(self.precision) * norm + rounding)
                .to_vec(),
        };
        let u = ExpectedArray {
            name: "u",
            shape: self.shape().to_vec(),
            part: self.count(),
            allowed: vec![rounding * (self.count() as f64).sqrt()],
            exact: Exact::Real(exact.u.points().to_vec()),
        };
        Reference {
            arrays: vec![u, norms],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npb::NpbClass;

    /// The official norms of the benchmark are reached, within the roundings of double precision and of the
    /// order of sums.
    #[test]
    fn official_values() {
        for class in [NpbClass::S, NpbClass::W] {
            let benchmark = MgClass::from_class(class);
            let problem = benchmark.problem();
            let v = charges(problem.shape(), 1);
            let norm = problem.solve::<f64>(&v).norms[1];
            let off = (norm / benchmark.official - 1.0).abs();
            assert!(off < 1e-11, "{class}: {norm}, off by {off}");
        }
    }

    /// Cycles in single precision have a small part of the allowed error on large grids too: no level enlarges the mean
    /// of a residual that is only a rounding error.
    #[test]
    fn errors_do_not_grow_with_the_levels() {
        for class in [NpbClass::S, NpbClass::W] {
            let problem = MgClass::from_class(class).problem();
            let v = charges(problem.shape(), 1);
            let exact = problem.solve::<f64>(&v);
            let found = problem.solve::<f32>(&v);
            let output = NamedArrays::from_array("u", &problem.shape(), found.u.into_points());
            let output = output.add_array("norms", &[2], found.norms.to_vec());
            let verdict = problem.make_reference(&exact).judge(&output);
            assert!(verdict.worst < 0.1, "{class}: {}", verdict.worst);
        }
    }

    #[test]
    fn charges_are_where_the_benchmark_has_them() {
        let v = charges([32; 3], 1);
        let at = |x: usize, y: usize, z: usize| v[(z * 32 + y) * 32 + x];
        for (x, y, z) in [(0, 11, 2), (13, 8, 17), (7, 14, 26)] {
            assert_eq!(at(x, y, z), -1.0);
        }
        for (x, y, z) in [(7, 1, 20), (19, 29, 31), (17, 26, 17)] {
            assert_eq!(at(x, y, z), 1.0);
        }
        assert_eq!(v.iter().filter(|&&x| x != 0.0).count(), 20);
    }

    /// Constants are interpolated and projected to constants, and A maps them to 0.
    #[test]
    fn operators_keep_constants() {
        let ones = PeriodicGrid::new([4; 3], vec![1.0; 64]);
        let mut fine = PeriodicGrid::<f64>::zeros([8; 3]);
        fine.add_interpolated(&ones);
        assert!(fine.points().iter().all(|&x| x == 1.0));
        // The projection's weights add up to 4: half of 2 along each axis.
        assert!(fine.project().points().iter().all(|&x| x == 4.0));
        let r = fine.residual(MgProblem::OPERATOR, &PeriodicGrid::zeros([8; 3]));
        assert!(r.points().iter().all(|x| x.abs() < 1e-14));
    }
}
