//! Stencils: steps that replace elements by weighted sums of neighbours.

mod exact;
mod in_order;
mod shape;
#[cfg(test)]
mod tests;

pub use shape::{Edge, StencilPoint, StencilShape};

use crate::case::Case;
use crate::data::{DataError, Kind, NamedArrays};
use crate::error::{ProblemError, elements};
use crate::multiply_add::MultiplyAdd;
use crate::problem::{ArrayForm, Problem};
use crate::random::Random;
use crate::reference::{Exact, ExpectedArray, Reference};
use crate::size::Size;

/// Most steps; more would take longer than is useful.
const STEPS: usize = 1 << 20;

/// A number of steps of a stencil over an array of two or three axes.
///
/// A step computes v(i) = sum over the points p of c(p) u(i + p), where [`Edge`] defines u beyond the edges
/// of the array. With coefficients for every element the weights are c(i, p). The input `c` then holds them
/// as planes x rows x points x columns (rows x points x columns for two axes), so that the coefficients of
/// one point along a row are contiguous; points are in the stencil's order.
#[derive(Clone, Debug, PartialEq)]
pub struct StencilProblem {
    shape: Vec<usize>,
    stencil: StencilShape,
    per_element: bool,
    edge: Edge,
    steps: usize,
}

impl StencilProblem {
    /// Returns `steps` of a stencil over arrays of this shape, slowest axis first, with the same coefficients
    /// for all elements.
    ///
    /// # Errors
    /// A shape with another number of axes than the stencil, an extent or number of steps of 0, or more bytes
    /// than fit the address space.
    pub fn new(
        shape: &[usize],
        stencil: StencilShape,
        edge: Edge,
        steps: usize,
    ) -> Result<Self, ProblemError> {
        let axes = stencil.axes();
        if shape.len() != axes {
            return Err(ProblemError::odd(
                "the axes of the array",
                shape.len(),
                format!("{axes}, as many as the stencil has"),
            ));
        }
        let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
        let what = || format!("a stencil over {}", lengths.join("x"));
        let names = ["planes", "rows", "columns"];
        let mut sides: Vec<_> = names[3 - axes..]
            .iter()
            .copied()
            .zip(shape.iter().copied())
            .collect();
        sides.push(("points", stencil.points().len()));
        elements(&what, &sides)?;
        if !(1..=STEPS).contains(&steps) {
            let expected = format!("1 to {STEPS}");
            return Err(ProblemError::odd("the number of steps", steps, expected));
        }
        Ok(Self {
            shape: shape.to_vec(),
            stencil,
            per_element: false,
            edge,
            steps,
        })
    }

    /// Returns the problem over an array with other extents.
    ///
    /// # Errors
    /// The extents have another number, or are out of range.
    pub fn with_shape(&self, shape: &[usize]) -> Result<Self, ProblemError> {
        let other = Self::new(shape, self.stencil.clone(), self.edge, self.steps)?;
        Ok(Self {
            per_element: self.per_element,
            ..other
        })
    }

    /// Gives every element coefficients of its own, which are then an input.
    #[must_use]
    pub fn per_element(mut self) -> Self {
        self.per_element = true;
        self
    }

    /// Returns the problem of a size with `planes` (1 for two axes), `rows`, `columns`, `points`, `steps`,
    /// `edge` and `coefficients` (`class` or `element`).
    ///
    /// # Errors
    /// See [`StencilProblem::new`]; a size with other parameters.
    pub fn from_size(size: &Size) -> Result<Self, ProblemError> {
        let [planes, rows, columns, points, steps] =
            size.all_positive(["planes", "rows", "columns", "points", "steps"])?;
        let stencil = StencilShape::from_classes(points, None)?;
        let edge = Edge::find(size.word("edge")?);
        let edge =
            edge.ok_or_else(|| size.make_error("edge", "zero, fixed, mirrored or periodic"))?;
        let shape: &[usize] = match stencil.axes() {
            2 if planes != 1 => {
                return Err(size.make_error("planes", "1 for 5 or 9 points").into());
            }
            2 => &[rows, columns],
            _ => &[planes, rows, columns],
        };
        let made = Self::new(shape, stencil, edge, steps)?;
        match size.word("coefficients")? {
            "class" => Ok(made),
            "element" => Ok(made.per_element()),
            _ => Err(size.make_error("coefficients", "class or element").into()),
        }
    }

    /// Returns the array's extents, slowest first.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the extents as planes, rows and columns; an array of two axes is one plane.
    #[must_use]
    pub fn extents(&self) -> [usize; 3] {
        match *self.shape {
            [planes, rows, columns] => [planes, rows, columns],
            [rows, columns] => [1, rows, columns],
            _ => [1; 3],
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the stencil's points and coefficients.
    #[must_use]
    pub fn stencil(&self) -> &StencilShape {
        &self.stencil
    }

    /// True if every element has coefficients of its own.
    #[must_use]
    pub fn is_per_element(&self) -> bool {
        self.per_element
    }

    /// Returns the rule for elements beyond the edges.
    #[must_use]
    pub fn edge(&self) -> Edge {
        self.edge
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the shape of the coefficients of all elements.
    fn coefficients(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        shape.insert(shape.len() - 1, self.stencil.points().len());
        shape
    }

    /// Returns the array and, where every element has its own, the coefficients of an input.
    fn arrays<'a>(
        &self,
        input: &'a NamedArrays,
    ) -> Result<(&'a [f32], Option<&'a [f32]>), DataError> {
        let u = input.get_sized("u", self.elements())?;
        let c = match self.per_element {
            true => Some(input.get_sized("c", self.elements() * self.stencil.points().len())?),
            false => None,
        };
        Ok((u, c))
    }
}

impl Problem for StencilProblem {
    fn name(&self) -> &'static str {
        "stencil"
    }

    fn title(&self) -> String {
        let lengths: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let plural = if self.steps == 1 { "" } else { "s" };
        format!(
            "{} step{plural} of a stencil of {} points{} over {}, edges {}",
            self.steps,
            self.stencil.points().len(),
            if self.per_element {
                " with coefficients for every element"
            } else {
                ""
            },
            lengths.join("x"),
            self.edge
        )
    }

    fn size(&self) -> Size {
        let [planes, rows, columns] = self.extents();
        Size::new(&[("planes", planes), ("rows", rows), ("columns", columns)])
            .add_value("points", self.stencil.points().len())
            .add_value("steps", self.steps)
            .add_value("edge", self.edge.name())
            .add_value(
                "coefficients",
                if self.per_element { "element" } else { "class" },
            )
    }

    fn inputs(&self) -> Vec<ArrayForm> {
        let mut forms = vec![ArrayForm::new("u", Kind::F32, &self.shape)];
        if self.per_element {
            forms.push(ArrayForm::new("c", Kind::F32, &self.coefficients()));
        }
        forms
    }

    fn outputs(&self) -> Vec<ArrayForm> {
        vec![ArrayForm::new("v", Kind::F32, &self.shape)]
    }

    fn input(&self, case: Case, seed: u64) -> NamedArrays {
        let row = self.shape.last().copied().unwrap_or(1);
        let mut random = Random::new(seed);
        let u = case.floats(&mut random, self.elements(), row, 100);
        let data = NamedArrays::from_array("u", &self.shape, u);
        if !self.per_element {
            return data;
        }
        // Coefficients are at most 1 / points in size, so that elements do not grow from step to step.
        let shape = self.coefficients();
        let points = self.stencil.points().len() as f32;
        let numbers = random.uniforms(shape.iter().product());
        let c = numbers.into_iter().map(|c| c / points).collect();
        data.add_array("c", &shape, c)
    }

    fn is_defined_beyond_finite(&self) -> bool {
        true
    }

    fn tolerance_in_words(&self) -> &'static str {
        "(n + 4) 2^-24 sum |c u| for n points, in every step (Higham, 2nd ed., 3.1: a sum in any order), and |c| times \
         the errors of u"
    }

    fn compute_in_order(&self, input: &NamedArrays, rounding: MultiplyAdd) -> Option<NamedArrays> {
        let (u, c) = self.arrays(input).ok()?;
        let v = self.add_in_order(u, c, rounding);
        Some(NamedArrays::from_array("v", &self.shape, v))
    }

    fn reference(&self, input: &NamedArrays) -> Result<Reference, DataError> {
        let (u, c) = self.arrays(input)?;
        let (exact, allowed) = self.exact(u, c);
        Ok(Reference::from_array(ExpectedArray {
            name: "v",
            shape: self.shape.clone(),
            exact: Exact::Real(exact),
            part: 1,
            allowed,
        }))
    }
}
