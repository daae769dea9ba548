//! Stencils: every element a sum of its neighbours times coefficients, step after step.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::REAL;
use crate::figures::{Figures, Known, Plan};
use cp2_machine::Machine;

/// Floats of a quad.
const QUAD: f64 = 4.0;
/// Most steps that are looked at in one pass.
const FUSED: usize = 8;
/// Most tiles along an axis that are looked at.
const TILES: usize = 256;

/// What the points of a stencil are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficients {
    /// The same number for all points that lie elsewhere along as many axes.
    Class,
    /// The same of nine or 27 points, where they are products of a number for each axis.
    Separable,
    /// A number for each point, no two of one size.
    Point,
    /// A number for each point, some of one size: sums of points may be shared in ways that nobody has counted.
    Few,
    /// A number for each point of every element: they are inputs.
    Element,
}

/// Some steps of a stencil over an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stencil {
    /// Planes, rows, columns.
    extents: [usize; 3],
    points: usize,
    coefficients: Coefficients,
    steps: usize,
    /// Elements that are computed; others are kept.
    computed: usize,
    /// Coefficients of elements that can change the result.
    own: usize,
}

impl Stencil {
    /// `steps` of a stencil of so many points over planes, rows and columns, one plane of an array of two axes. All elements are computed, with all
    /// coefficients.
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

    /// The same where only so many elements are computed, and so many coefficients of elements can change the result: others are of elements that
    /// are kept, or of neighbours beyond an edge.
    #[must_use]
    pub fn only(self, computed: usize, own: usize) -> Self {
        Self {
            computed,
            own,
            ..self
        }
    }

    /// What a quad of elements takes in a step, if neighbours along a row lie in neighbouring quads: sums and multiply-adds.
    ///
    /// Of classes the sums are shared. Across faces alone, with F(y, x) = u(y-1, x) + u(y, x+1), the four neighbours in a plane are F(y, x) + F(y+1, x-1). With
    /// C = u(y-1) + u(y+1), of two axes v = a1 (a0/a1 u + C + P(x-1) + P(x+1)), P = u + a2/a1 C. Of three a plane
    /// contributes P + R(x-1) + R(x+1) to the planes beside it and P(x-1) + P(x+1) + a1/a2 C + a0/a2 u to its own, all times a2, with P = C + a1/a2 u and
    /// R = u + a3/a2 C; without corners R = u. Separable coefficients take a sum and a multiply-add an axis, and a product in the end.
    fn quad(&self) -> Count {
        let (adds, madds) = match (self.coefficients, self.points) {
            (Coefficients::Class, 5) => (2.0 + 1.0, 1.0),
            (Coefficients::Class, 7) => (4.0 + 1.0, 1.0),
            (Coefficients::Class, 9) => (3.0 + 1.0, 2.0),
            (Coefficients::Class, 19) => (6.0 + 1.0, 3.0),
            (Coefficients::Class, 27) => (6.0 + 1.0, 4.0),
            (Coefficients::Separable, 9) => (2.0 + 1.0, 2.0),
            (Coefficients::Separable, 27) => (3.0 + 1.0, 3.0),
            // No count of operations is known to be the least: the transfers alone are the reference.
            (Coefficients::Few, _) => (0.0, 0.0),
            // The first product is added to nothing.
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

    /// Bytes of a pass of so many steps with the least halo: sections march with tiles of which 2 k + 2 planes (rows, of two axes) are in local memory,
    /// those that are read, the ones between steps and the next to come.
    fn pass(&self, steps: usize, machine: &Machine) -> f64 {
        let [planes, rows, columns] = self.extents;
        let halo = 2 * steps;
        let floats = machine.cp2.dmem.0 as f64 / REAL as f64 / (halo + 2) as f64;
        // Of two axes a tile has no rows: it marches through them.
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
        // Where no tile fits, or there are fewer elements than sections, nothing is said of halos.
        // What is only copied needs no neighbours.
        let again = match least.is_finite() && self.computed > 0 {
            true => least / (rows * columns) as f64,
            false => 1.0,
        };
        REAL as f64 * (self.elements() * (again + 1.0) + self.own as f64)
    }

    /// Bound and reference: passes of as many steps as take the least time together.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let once = (self.elements() * 2.0 + self.own as f64) * REAL as f64;
        let count = self.quad() * (self.computed as f64 * self.steps as f64 / QUAD);
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
        // Where nothing is computed the result is the input.
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
        // Cycles for a quad in each section.
        let per = |figures: Figures| figures.reference.0 as f64 / points * 16.0;
        let one = of(7, 1, Coefficients::Class);
        assert_eq!(one.bound.0, 128 * 128 * 128 * 8 / 16);
        assert!((per(one) - 8.19).abs() < 0.01);
        assert!((per(of(7, 2, Coefficients::Class)) - 12.0).abs() < 1e-3);
        assert!((per(of(27, 1, Coefficients::Class)) - 11.0).abs() < 1e-3);
        assert!((per(of(27, 2, Coefficients::Separable)) - 14.0).abs() < 1e-3);
        assert!((per(of(19, 1, Coefficients::Element)) - 84.19).abs() < 0.01);
        // Of sums that may be shared in any way nothing is counted.
        assert!((per(of(27, 1, Coefficients::Few)) - 8.19).abs() < 0.01);
        // Elements that are kept are copied, and their coefficients are not needed.
        let kept = Stencil::new([1, 2, 4000], 9, Coefficients::Element, 3).only(0, 0);
        assert_eq!(kept.figures(&vm7).bound.0, 2 * 4000 * 8 / 16);
        assert_eq!(kept.figures(&vm7).reference.0, 2 * 4000 * 8 / 16);
    }
}
