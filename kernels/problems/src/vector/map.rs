//! Operations on every element of arrays.

use super::{operations, stream, unit};
use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::multiply_add::MultiplyAdd;
use crate::problem::{ArrayForm, Problem};
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;
use crate::{ROUNDING, TINIEST};
use num_complex::Complex64;

operations! {
    /// Operations on every element. Complex numbers are two consecutive floats, real part first.
    #[derive(Clone, Debug, PartialEq)]
    pub enum MapOp {
        /// Product a x.
        Scale(f32 = 1.5),
        /// Sum a x + y: one rounding of the product, and one of the sum.
        Axpy(f32 = 1.5),
        /// Sum x + y.
        Add,
        /// Difference x - y.
        Subtract,
        /// Product x y.
        Multiply,
        /// Product x y of complex numbers: three roundings of numbers that are at most |x| |y|.
        ComplexMultiply,
        /// Product of every row of x with these coefficients, one for each float of a row.
        Window(Vec<f32> = super::WindowFunction::Hann.coefficients(1024)),
        /// Power |z|^2 of complex z, to 1.5 units of the last place.
        Power,
        /// Magnitude |z| of complex z, to 2 units; |z|^2 has to be a normal number or 0.
        Magnitude,
        /// Phase arg z of complex z in radians, -pi to pi, to 4 units; the larger part of z is a normal
        /// number, or both are 0.
        Phase,
        /// Decibels 10 log10 |z|^2 of complex z, to 4e-7 of the value but at least 8e-7; |z|^2 has to be a
        /// normal number or 0.
        Decibels,
    }
}

impl MapOp {
    /// Returns the number of arrays that the operation reads.
    #[must_use]
    pub fn inputs(&self) -> usize {
        match self {
            Self::Axpy(_) | Self::Add | Self::Subtract | Self::Multiply | Self::ComplexMultiply => {
                2
            }
            _ => 1,
        }
    }

    /// Returns the floats of each input that make one float of the output.
    #[must_use]
    pub fn ratio(&self) -> usize {
        match self {
            Self::Power | Self::Magnitude | Self::Phase | Self::Decibels => 2,
            _ => 1,
        }
    }

    /// Returns the name of the operation.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scale(_) => "scale",
            Self::Axpy(_) => "axpy",
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::ComplexMultiply => "complex-multiply",
            Self::Window(_) => "window",
            Self::Power => "power",
            Self::Magnitude => "magnitude",
            Self::Phase => "phase",
            Self::Decibels => "decibels",
        }
    }

    /// Returns the operation of a name, with usual parameters.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|op| op.name() == name)
    }

    /// Computes float `i` of the output in double precision, with the error it may have.
    fn exact(&self, i: usize, x: &[f32], y: &[f32]) -> (f64, f64) {
        // A tie has an error of half a unit; the margin covers roundings of the double precision.
        const HALF: f64 = 0.5 + 1e-6;
        let number = |x: &[f32], i: usize| f64::from(x[i]);
        let complex = |x: &[f32], i: usize| Complex64::new(number(x, 2 * i), number(x, 2 * i + 1));
        let units = |exact: f64, units: f64| (exact, units * unit(exact));
        match self {
            Self::Scale(a) => units(f64::from(*a) * number(x, i), HALF),
            Self::Axpy(a) => {
                let product = f64::from(*a) * number(x, i);
                let sum = product + number(y, i);
                (sum, HALF * (unit(product) + unit(sum)))
            }
            Self::Add => units(number(x, i) + number(y, i), HALF),
            Self::Subtract => units(number(x, i) - number(y, i), HALF),
            Self::Multiply => units(number(x, i) * number(y, i), HALF),
            Self::Window(w) => units(f64::from(w[i % w.len()]) * number(x, i), HALF),
            Self::ComplexMultiply => {
                let (a, b) = (complex(x, i / 2), complex(y, i / 2));
                let product = a * b;
                let part = [product.re, product.im][i % 2];
                (part, 3.0 * ROUNDING * a.norm() * b.norm() + 2.0 * TINIEST)
            }
            Self::Power => {
                let power = complex(x, i).norm_sqr();
                (power, 1.5 * unit(power) + TINIEST)
            }
            Self::Magnitude => units(complex(x, i).norm(), 2.0),
            Self::Phase => {
                let z = complex(x, i);
                units(libm::atan2(z.im, z.re), 4.0)
            }
            Self::Decibels => {
                let decibels = 10.0 * libm::log10(complex(x, i).norm_sqr());
                let size = if decibels.is_finite() {
                    decibels.abs()
                } else {
                    0.0
                };
                (decibels, 4e-7 * size.max(2.0))
            }
        }
    }
}

impl MapOp {
    /// Computes float `i` of the output in single precision, in the order of the definition; none for
    /// approximations.
    fn compute_in_order(&self, i: usize, x: &[f32], y: &[f32], by: MultiplyAdd) -> Option<f32> {
        let [x, y] = [x, y].map(|values| move |i: usize| values.get(i).copied());
        Some(match self {
            Self::Scale(a) => a * x(i)?,
            Self::Axpy(a) => by.compute(*a, x(i)?, y(i)?),
            Self::Add => x(i)? + y(i)?,
            Self::Subtract => x(i)? - y(i)?,
            Self::Multiply => x(i)? * y(i)?,
            Self::Window(w) => w.get(i % w.len().max(1))? * x(i)?,
            Self::ComplexMultiply => {
                let at = i - i % 2;
                let (re, im) = (x(at)?, x(at + 1)?);
                match i % 2 {
                    0 => by.compute(-im, y(at + 1)?, re * y(at)?),
                    _ => by.compute(im, y(at)?, re * y(at + 1)?),
                }
            }
            Self::Power => {
                let (re, im) = (x(2 * i)?, x(2 * i + 1)?);
                by.compute(im, im, re * re)
            }
            Self::Magnitude | Self::Phase | Self::Decibels => return None,
        })
    }
}

/// An operation on every element of arrays of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct MapProblem {
    op: MapOp,
    len: usize,
}

impl MapProblem {
    /// Returns `op` on arrays of `len` floats.
    ///
    /// # Errors
    /// A length that the operation does not allow.
    pub fn new(op: MapOp, len: usize) -> Result<Self, ProblemError> {
        elements(
            &|| format!("{} of {len} floats", op.name()),
            &[("the number of floats", len)],
        )?;
        let whole = match &op {
            MapOp::Window(w) if w.is_empty() => {
                return Err(ProblemError::Zero {
                    what: "the length of a window",
                });
            }
            MapOp::Window(w) => w.len(),
            MapOp::ComplexMultiply => 2,
            op => op.ratio(),
        };
        if !len.is_multiple_of(whole) {
            return Err(ProblemError::odd(
                "the number of floats",
                len,
                format!("a positive multiple of {whole} floats"),
            ));
        }
        Ok(Self { op, len })
    }

    /// Returns the operation of a name on arrays of a size with `n`.
    ///
    /// # Errors
    /// See [`MapProblem::new`]; a size with other parameters.
    pub fn from_size(name: &str, size: &Size) -> Result<Self, ProblemError> {
        let op = MapOp::find(name);
        let op =
            op.ok_or_else(|| size.make_error("op", "the name of an operation on every element"))?;
        Self::new(op, size.positive("n")?)
    }

    /// Returns the operation.
    #[must_use]
    pub fn op(&self) -> &MapOp {
        &self.op
    }

    /// Returns the floats of each input.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns false: there is at least one element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the shape of arrays with `1 / ratio` as many floats as the inputs.
    fn shape(&self, ratio: usize) -> Vec<usize> {
        match &self.op {
            MapOp::Window(w) => vec![self.len / w.len(), w.len() / ratio],
            _ => vec![self.len / ratio],
        }
    }
}

impl Problem for MapProblem {
    fn name(&self) -> &'static str {
        self.op.name()
    }

    fn title(&self) -> String {
        format!("{} of {} floats", self.op.name(), self.len)
    }

    fn size(&self) -> Size {
        Size::new(&[("n", self.len)])
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        let names = ["x", "y"].into_iter().take(self.op.inputs());
        names
            .map(|name| ArrayForm::new(name, Kind::F32, &self.shape(1)))
            .collect()
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("z", Kind::F32, &self.shape(self.op.ratio()))]
    }

    fn cases(&self) -> &'static [Case] {
        match self.op {
            MapOp::Magnitude | MapOp::Phase | MapOp::Decibels => &Case::NORMAL,
            _ => &Case::FINITE,
        }
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let arrays = self.inputs().into_iter().zip(0..);
        arrays.fold(NamedArrays::default(), |data, (form, index)| {
            // Rows have no meaning for most operations; they only make impulses and outliers several.
            let row = self.len.min(1024);
            let values = case.floats(&mut stream(seed, index), self.len, row, 55);
            data.add_array(form.name, &form.shape, values)
        })
    }

    fn is_defined_beyond_finite(&self) -> bool {
        true
    }

    fn tolerance_in_words(&self) -> &'static str {
        match self.op {
            MapOp::Axpy(_) => "half a unit of the product and half a unit of the sum",
            MapOp::ComplexMultiply => "three roundings, 3 2^-24 |x| |y|",
            MapOp::Power => "1.5 units of the last place",
            MapOp::Magnitude => "2 units of the last place, the error of an approximate root",
            MapOp::Phase => "4 units of the last place, the error of an approximate arc tangent",
            MapOp::Decibels => {
                "4e-7 of the value, at least 8e-7: the error of an approximate logarithm"
            }
            _ => "half a unit of the last place: rounded once",
        }
    }

    fn compute_in_order(&self, input: &NamedArrays, rounding: MultiplyAdd) -> Option<NamedArrays> {
        let x = input.get_sized::<f32>("x", self.len).ok()?;
        let y = match self.op.inputs() {
            1 => &[],
            _ => input.get_sized::<f32>("y", self.len).ok()?,
        };
        let ratio = self.op.ratio();
        let floats = 0..self.len / ratio;
        let z = floats.map(|i| self.op.compute_in_order(i, x, y, rounding));
        Some(NamedArrays::from_array(
            "z",
            &self.shape(ratio),
            z.collect::<Option<Vec<f32>>>()?,
        ))
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let x = input.get_sized::<f32>("x", self.len)?;
        let y = match self.op.inputs() {
            1 => &[],
            _ => input.get_sized::<f32>("y", self.len)?,
        };
        let floats = 0..self.len / self.op.ratio();
        let (exact, allowed) = floats.map(|i| self.op.exact(i, x, y)).unzip();
        Ok(Reference::from_array(ExpectedArray {
            name: "z",
            shape: self.shape(self.op.ratio()),
            exact: Exact::Real(exact),
            part: 1,
            allowed,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_more_is_noticed() {
        for op in MapOp::all() {
            let len = 2048;
            let problem = MapProblem::new(op, len).unwrap();
            for &case in problem.cases() {
                let input = problem.input(case, 3);
                let exact = problem.reference(&input).unwrap();
                let Exact::Real(values) = &exact.arrays[0].exact else {
                    panic!("floats")
                };
                let shape = &exact.arrays[0].shape;
                let mut z: Vec<f32> = values.iter().map(|&z| z as f32).collect();
                let judge = |z: &[f32]| {
                    problem.judge(&input, &NamedArrays::from_array("z", shape, z.to_vec()))
                };
                assert!(
                    judge(&z).is_within_tolerance(),
                    "{} {case}",
                    problem.title()
                );
                // An error of ten times the allowed one.
                let off = 10.0 * exact.arrays[0].allowed[7] + f64::from(z[7]);
                z[7] = if z[7].is_finite() { off as f32 } else { 0.0 };
                assert!(
                    !judge(&z).is_within_tolerance(),
                    "{} {case}",
                    problem.title()
                );
            }
        }
    }

    #[test]
    fn lengths_that_are_none_are_refused() {
        assert!(MapProblem::new(MapOp::Add, 0).is_err());
        assert!(MapProblem::new(MapOp::Power, 3).is_err());
        assert!(MapProblem::new(MapOp::Window(vec![1.0; 5]), 12).is_err());
        assert!(MapProblem::new(MapOp::Window(vec![]), 12).is_err());
        assert!(MapProblem::new(MapOp::Add, usize::MAX / 2).is_err());
    }
}
