//! Stencils: elements become sums of neighbours times coefficients, in steps.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::REAL;
use crate::figures::{Figures, Known, Plan};
use cp2_machine::Machine;

/// Floats of a quad.
const QUAD: f64 = 4.0;
/// Most steps of one pass that are searched.
const FUSED: usize = 8;
/// Most tiles along an axis that are searched.
const TILES: usize = 256;

/// Coefficients that the points of a stencil are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficients {
    /// One number for all points with offsets along equally many axes.
    Class,
    /// One number for each class of nine or 27 points, as products of a number for each axis.
    Separable,
    /// A number for each point, no two of equal absolute value.
    Point,
    /// A number for each point, some of equal absolute value: sums of points may be shared in ways whose
    /// least count is unknown.
    Few,
    /// A number for each point of every element, which is input.
    Element,
}

/// A number of steps of a stencil over an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stencil {
    /// Numbers of planes, rows and columns.
    extents: [usize; 3],
    points: usize,
    coefficients: Coefficients,
    steps: usize,
    /// Elements that are computed in a step; others are kept.
    computed: usize,
    /// Coefficients of elements that can change the result.
    own: usize,
}

impl Stencil {
    /// Returns `steps` of a stencil of so many points over planes, rows and columns; an array of two axes is
    /// one plane. All elements are computed, with all coefficients.
    #[must_use]
    pub fn new(
        extents: [usize; 3],
        points: usize,
        coefficients: Coefficients,
        steps: usize,
    ) -> Self {
        Self {
            extents,
            points,
            coefficients,
            steps,
            computed: extents.iter().product(),
            own: match coefficients {
                Coefficients::Element => points.saturating_mul(extents.iter().product()),
                _ => 0,
            },
        }
    }

    /// Restricts the stencil to `computed` elements and `own` coefficients of elements that can change the
    /// result. Other coefficients belong to elements that are kept, or to neighbours beyond an edge.
    #[must_use]
    pub fn only(self, computed: usize, own: usize) -> Self {
        Self {
            computed,
            own,
            ..self
        }
    }

    /// Returns the sums and multiply-adds of a quad of elements in a step, if neighbours along a row lie in
    /// neighbouring quads.
    ///
    /// With classes of points, neighbouring elements share sums. With faces alone and F(y, x) = u(y-1, x) +
    /// u(y, x+1), the four neighbours in a plane are F(y, x) + F(y+1, x-1). With two axes and C = u(y-1) +
    /// u(y+1), the result is v = a1 (a0/a1 u + C + P(x-1) + P(x+1)), where P = u + a2/a1 C. With three axes a
    /// plane contributes P + R(x-1) + R(x+1) to the planes next to it and P(x-1) + P(x+1) + a1/a2 C + a0/a2 u
    /// to its own, all times a2, where P = C + a1/a2 u and R = u + a3/a2 C; without corners R = u. Separable
    /// coefficients take a sum and a multiply-add for each axis, and a product at the end.
    fn quad(&self) -> Count {
        let (adds, madds) = match (self.coefficients, self.points) {
            (Coefficients::Class, 5) => (2.0 + 1.0, 1.0),
            (Coefficients::Class, 7) => (4.0 + 1.0, 1.0),
            (Coefficients::Class, 9) => (3.0 + 1.0, 2.0),
            (Coefficients::Class, 19) => (6.0 + 1.0, 3.0),
            (Coefficients::Class, 27) => (6.0 + 1.0, 4.0),
            (Coefficients::Separable, 9) => (2.0 + 1.0, 2.0),
            (Coefficients::Separable, 27) => (3.0 + 1.0, 3.0),
            // No least count is known, so none is taken: the transfers alone are the reference.
            (Coefficients::Few, _) => (0.0, 0.0),
            // The first point takes a product without an addition.
            (_, points) => (1.0, points.max(1) as f64 - 1.0),
        };
        Count {
            adds,
            madds,
            ..Count::default()
        }
    }

    fn elements(&self) -> f64 {
        self.extents.iter().map(|&n| n as f64).product()
    }

    /// Returns the bytes of a pass of so many steps with the least halo. Sections march through tiles, of
    /// which 2 k + 2 planes (rows with two axes) are in local memory for k steps: those that are read, those
    /// between steps and the next one to be loaded.
    fn pass(&self, steps: usize, machine: &Machine) -> f64 {
        let [planes, rows, columns] = self.extents;
        let halo = 2 * steps;
        let floats = machine.cp2.dmem.0 as f64 / REAL as f64 / (halo + 2) as f64;
        // With two axes a tile has no rows: it marches through them.
        let rows = if planes > 1 { rows } else { 1 };
        let extent = |count: usize, parts: usize| match parts {
            1 => count,
            parts => count.div_ceil(parts) + halo,
        };
        let all = |count: usize, parts: usize| (count + halo * (parts - 1)) as f64;
        let mut least = f64::INFINITY;
        for across in 1..=rows.min(TILES) {
            let height = extent(rows, across);
            let fits = |along: &usize| {
                let wide = extent(columns, *along);
                across * along >= machine.cp2.sections && (height * wide) as f64 <= floats
            };
            let few = (1..=columns.min(TILES)).find(fits);
            if let Some(along) = few {
                least = least.min(all(rows, across) * all(columns, along));
            }
        }
        // Halos are not counted if no tile fits or there are fewer elements than sections. Elements that are
        // only copied need no neighbours.
        let again = match least.is_finite() && self.computed > 0 {
            true => least / (rows * columns) as f64,
            false => 1.0,
        };
        REAL as f64 * (self.elements() * (again + 1.0) + self.own as f64)
    }

    /// Returns bound and reference: passes of as many steps as take the least time together.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        self.figures_with_shifts(0.0, machine)
    }

    /// Returns the number of elements in a row.
    pub(crate) fn columns(&self) -> usize {
        self.extents[2]
    }

    /// Returns bound and reference with so many issues of shifts for each quad of elements in a step.
    pub(crate) fn figures_with_shifts(&self, shifts: f64, machine: &Machine) -> Figures {
        let once = (self.elements() * 2.0 + self.own as f64) * REAL as f64;
        let quad = Count {
            integer: shifts,
            ..self.quad()
        };
        let count = quad * (self.computed as f64 * self.steps as f64 / QUAD);
        let known = || Known {
            count,
            method: match self.coefficients {
                Coefficients::Class => "sums of classes of points, shared by neighbours".to_owned(),
                Coefficients::Separable => "a sum of neighbours for each axis".to_owned(),
                _ => "the definition".to_owned(),
            },
            source: "definition".to_owned(),
        };
        let must = Traffic::bytes(once as u128);
        // If nothing is computed, the result is the input, and one pass copies it.
        let steps = if self.computed == 0 { 1 } else { self.steps };
        let ways = (1..=steps.min(FUSED)).map(|fused| {
            let passes = steps.div_ceil(fused) as f64;
            let bytes = passes * self.pass(fused, machine);
            let plan = Plan {
                traffic: Traffic::bytes(bytes as u128),
                method: match fused {
                    1 => "a pass for each step, with the least halo".to_owned(),
                    n => format!("passes of {n} steps, with the least halo"),
                },
                source: "definition",
            };
            Figures::least(machine, must, &plan, [known()])
        });
        let least = ways.min_by_key(|figures| figures.reference.0);
        least.unwrap_or_else(|| Figures::least(machine, must, &Plan::once(must), [known()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_is_transfer_and_two_are_arithmetic() {
        let vm7 = Machine::builtin("vm7").unwrap_or_else(|| panic!("vm7"));
        let points = 128.0 * 128.0 * 128.0;
        let of = |points, steps, coefficients| {
            Stencil::new([128; 3], points, coefficients, steps).figures(&vm7)
        };
        // Cycles for a quad of elements in each section.
        let per = |figures: Figures| figures.reference.0 as f64 / points * 16.0;
        let one = of(7, 1, Coefficients::Class);
        assert_eq!(one.bound.0, 128 * 128 * 128 * 8 / 16);
        assert!((per(one) - 8.19).abs() < 0.01);
        assert!((per(of(7, 2, Coefficients::Class)) - 12.0).abs() < 1e-3);
        assert!((per(of(27, 1, Coefficients::Class)) - 11.0).abs() < 1e-3);
        assert!((per(of(27, 2, Coefficients::Separable)) - 14.0).abs() < 1e-3);
        assert!((per(of(19, 1, Coefficients::Element)) - 84.19).abs() < 0.01);
        // Sums that may be shared in unknown ways are not counted.
        assert!((per(of(27, 1, Coefficients::Few)) - 8.19).abs() < 0.01);
        // Elements that are kept are copied, and their coefficients are not needed.
        let kept = Stencil::new([1, 2, 4000], 9, Coefficients::Element, 3).only(0, 0);
        assert_eq!(kept.figures(&vm7).bound.0, 2 * 4000 * 8 / 16);
        assert_eq!(kept.figures(&vm7).reference.0, 2 * 4000 * 8 / 16);
    }
}
