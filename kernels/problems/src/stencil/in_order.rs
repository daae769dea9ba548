//! Stencils in single precision, term by term in the order of the points.

use super::{Edge, StencilProblem};
use crate::multiply_add::MultiplyAdd;

impl StencilProblem {
    /// Computes the elements after all steps. A step adds the products of an element to 0, in the order of the
    /// stencil's points; those beyond an edge of zeros are left out.
    pub(super) fn add_in_order(
        &self,
        u: &[f32],
        c: Option<&[f32]>,
        rounding: MultiplyAdd,
    ) -> Vec<f32> {
        let mut values = u.to_vec();
        for _ in 0..self.steps {
            let all = 0..values.len();
            values = all
                .map(|at| self.element(&values, at, c, rounding))
                .collect();
        }
        values
    }

    /// Computes element `at` of a step.
    fn element(&self, u: &[f32], at: usize, c: Option<&[f32]>, rounding: MultiplyAdd) -> f32 {
        let [_, rows, columns] = self.extents();
        let place = [at / columns / rows, at / columns % rows, at % columns];
        let own = u.get(at).copied().unwrap_or_default();
        if self.edge == Edge::Fixed && self.is_outermost(place) {
            return own;
        }
        let points = self.stencil.points();
        let mut sum = 0.0;
        for (p, point) in points.iter().enumerate() {
            let coefficients = (at / columns * points.len() + p) * columns + place[2];
            let coefficient = match c {
                Some(c) => c.get(coefficients).copied().unwrap_or_default(),
                None => point.coefficient,
            };
            let neighbour = self.neighbour(place, point.offset);
            if let Some(&u) = neighbour.and_then(|there| u.get(there)) {
                sum = rounding.compute(coefficient, u, sum);
            }
        }
        sum
    }

    /// True if an element lies at an end of one of the array's axes.
    fn is_outermost(&self, place: [usize; 3]) -> bool {
        let ends = place.iter().zip(self.extents());
        let mut ends = ends.skip(3 - self.shape.len());
        ends.any(|(&at, extent)| at == 0 || at + 1 == extent)
    }

    /// Returns the element that stands for a neighbour; none for a zero.
    fn neighbour(&self, place: [usize; 3], offset: [i8; 3]) -> Option<usize> {
        let mut index = 0;
        for ((at, by), extent) in place.into_iter().zip(offset).zip(self.extents()) {
            let at = isize::try_from(at).ok()? + isize::from(by);
            index = index * extent + self.edge.index(at, extent)?;
        }
        Some(index)
    }
}
