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
    /// A number for each point.
    Point,
    /// A number for each point, so many sizes in all: points of one size may be added up before they are multiplied, and sums be shared.
    Few {
        /// How many sizes.
        values: usize,
    },
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
}

impl Stencil {
    /// `steps` of a stencil of so many points over planes, rows and columns, one plane of an array of two axes.
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
        }
    }

    /// What a quad of elements takes in a step, if neighbours along a row lie in neighbouring quads: sums and multiply-adds.
    ///
    /// Of classes the sums are shared. With C = u(y-1) + u(y+1), of two axes v = a1 (a0/a1 u + C + P(x-1) + P(x+1)), P = u + a2/a1 C. Of three a plane
    /// contributes P + R(x-1) + R(x+1) to the planes beside it and P(x-1) + P(x+1) + a1/a2 C + a0/a2 u to its own, all times a2, with P = C + a1/a2 u and
    /// R = u + a3/a2 C; without corners R = u. Points across faces alone are added up before they are multiplied.
    fn quad(&self) -> Count {
        let (adds, madds) = match (self.coefficients, self.points) {
            (Coefficients::Class, 5) => (3.0 + 1.0, 1.0),
            (Coefficients::Class, 7) => (5.0 + 1.0, 1.0),
            (Coefficients::Class, 9) => (3.0 + 1.0, 2.0),
            (Coefficients::Class, 19) => (6.0 + 1.0, 3.0),
            (Coefficients::Class, 27) => (6.0 + 1.0, 4.0),
            // An operation at most doubles how many points a sum is of, shared or not, and every size but one is multiplied with.
            (Coefficients::Few { values }, points) => {
                let doubled = points.max(1).next_power_of_two().ilog2() as usize;
                (doubled.max(values.saturating_sub(1)) as f64, 0.0)
            }
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

    /// Floats that every element has beside itself.
    fn beside(&self) -> f64 {
        match self.coefficients {
            Coefficients::Element => self.points as f64,
            _ => 0.0,
        }
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
        let again = match least.is_finite() {
            true => least / (rows * columns) as f64,
            false => 1.0,
        };
        REAL as f64 * self.elements() * (again + 1.0 + self.beside())
    }

    /// Bound and reference: passes of as many steps as take the least time together.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let once = self.elements() * (2.0 + self.beside()) * REAL as f64;
        let count = self.quad() * (self.elements() * self.steps as f64 / QUAD);
        let known = || Known {
            count,
            method: match self.coefficients {
                Coefficients::Class => "sums of classes of points, shared by neighbours".to_owned(),
                Coefficients::Few { .. } => "no fewer operations add up so many points".to_owned(),
                _ => "the definition".to_owned(),
            },
            source: "definition".to_owned(),
        };
        let must = Traffic::bytes(once as u128);
        let ways = (1..=self.steps.min(FUSED)).map(|fused| {
            let passes = self.steps.div_ceil(fused) as f64;
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
        assert!((per(of(7, 2, Coefficients::Class)) - 14.0).abs() < 1e-3);
        assert!((per(of(27, 1, Coefficients::Class)) - 11.0).abs() < 1e-3);
        assert!((per(of(19, 1, Coefficients::Element)) - 84.19).abs() < 0.01);
        // Five doublings for 27 points; more sizes than that are a product each.
        let few = |values| per(of(27, 4, Coefficients::Few { values }));
        assert!((few(1) - 20.0).abs() < 1e-3, "{}", few(1));
        assert!((few(9) - 32.0).abs() < 1e-3, "{}", few(9));
    }
}
