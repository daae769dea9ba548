//! V-cycles of multigrid on a periodic cube: NPB MG.
//!
//! Only the right-hand side and the result have to be moved, so their bytes are the bound. The reference is
//! the time of cycles whose operators take the fewest known operations on every level. Each level's arrays
//! are moved once in each direction if they do not fit local memory, and for each level the longer of
//! arithmetic and transfers counts.

use crate::bound::Traffic;
use crate::count::{Count, NumberFormat};
use crate::figures::{Figures, Term};
use cp2_machine::{Cycles, Machine};

/// V-cycles on n^3 points, starting from u = 0, with a residual after each cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multigrid {
    /// Planes, rows and columns.
    shape: [usize; 3],
    cycles: usize,
    format: NumberFormat,
}

/// Issues for a quad of points of a level in a cycle. Residual and smoother use sums across x that neighbouring
/// quads share (9 and 10). Projection and interpolation are separable (14 and 15 issues for 8 quads of the
/// finer level, so 14/8 and 15/8).
const RESIDUAL: f64 = 9.0;
const SMOOTHER: f64 = 10.0;
const PROJECTION: f64 = 14.0 / 8.0;
const INTERPOLATION: f64 = 15.0 / 8.0;
const NORM: f64 = 1.0;
/// Returns the issues for a quad in a change of layout. In single precision its numbers come from four other quads, and
/// each issue makes a pair; in double precision they come from two, and an issue makes the quad. In double-single
/// precision that is done twice, for the upper and the lower parts.
fn relayout(format: NumberFormat) -> f64 {
    match format {
        NumberFormat::Binary32 => 2.0,
        NumberFormat::DoubleSingle => 4.0,
        NumberFormat::Binary64 => 1.0,
    }
}

/// Numbers that a cycle moves for a point of a level that does not fit local memory. On the finest level these
/// are u in and out and v in, with an eighth each of the arrays that come from and go to the level below; on
/// other levels likewise with their right-hand side.
const MOVED: f64 = 13.0 / 4.0;

/// A pass over the arrays of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultigridPass {
    /// Residual r = v - A u.
    Residual,
    /// Smoother u + S r, or S r alone.
    Smoother {
        /// True if u is not zero.
        add: bool,
    },
    /// Projection of the residual to the right-hand side of the level below.
    Projection,
    /// Interpolation of the correction, added to u or alone.
    Interpolation {
        /// True if u is not zero.
        add: bool,
    },
    /// Interpolation, residual and smoother in one pass.
    Ascent {
        /// True if u is not zero.
        add: bool,
    },
    /// Residual and projection in one pass.
    Descent,
    /// Interpolation along z of the planes between those of the correction of the level below.
    Planes,
    /// Sum of the squares of the residual, which is not stored.
    ResidualNorm,
    /// Change between the user's row layout and the passes' layout, with sums of squares on the way if
    /// needed.
    Relayout,
    /// Change of layout of the right-hand side with its sum of squares and its projection.
    First,
    /// Change of layout of the result, with the sum of the squares of its residual.
    Last,
}

impl MultigridPass {
    /// Returns the issues for a quad of points, and the numbers moved for a point with each array moved once. Points
    /// are those of the finer level if a pass works on two levels.
    fn work(self, format: NumberFormat) -> (f64, f64) {
        let own = |add: bool| if add { 1.0 } else { 0.0 };
        let relayout = relayout(format);
        match self {
            Self::Residual => (RESIDUAL, 3.0),
            Self::Smoother { add } => (SMOOTHER, 2.0 + own(add)),
            Self::Projection => (PROJECTION, 1.125),
            Self::Interpolation { add } => (INTERPOLATION, 1.125 + own(add)),
            Self::Ascent { add } => (INTERPOLATION + RESIDUAL + SMOOTHER, 2.125 + own(add)),
            Self::Descent => (RESIDUAL + PROJECTION, 2.125),
            // A quad of the coarser level takes a sum and a product; that level has an eighth of the quads.
            Self::Planes => (2.0 / 8.0, 0.25),
            Self::ResidualNorm => (RESIDUAL + NORM, 2.0),
            Self::Relayout => (relayout, 2.0),
            Self::First => (relayout + NORM + PROJECTION, 2.125),
            Self::Last => (relayout + RESIDUAL + NORM, 3.0),
        }
    }

    /// Returns the cycles of the pass on a level of so many points, the finer one if it works on two levels: the
    /// longer of its operations and its bytes, without halos.
    #[must_use]
    pub fn cycles(self, points: u64, format: NumberFormat, machine: &Machine) -> Cycles {
        let points = points as f64;
        let (issues, numbers) = self.work(format);
        let bytes = numbers * format.bytes() as f64 * points;
        let moved = Traffic::bytes(bytes as u128).cycles(machine);
        Cycles(moved.max(cycles(issues * points, format, machine) as u64))
    }
}

impl Multigrid {
    /// Returns so many `cycles` on planes, rows and columns of numbers of a format.
    #[must_use]
    pub fn new(shape: [usize; 3], cycles: usize, format: NumberFormat) -> Self {
        Self {
            shape,
            cycles,
            format,
        }
    }

    /// Returns bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let extents = self.shape.iter().map(|&n| n as u128);
        let points = extents.fold(1, u128::saturating_mul);
        let bound = Traffic::bytes(2 * u128::from(self.format.bytes()) * points).cycles(machine);
        let number = self.format.bytes() as f64;
        let (mut arithmetic, mut channel) = (0.0, 0.0);
        let mut shape = self.shape;
        while shape.iter().all(|&n| n >= 2) {
            let finest = shape == self.shape;
            let points: f64 = shape.iter().map(|&n| n as f64).product();
            // The finest level has one residual more, the coarsest one only a smoother.
            let mut issues = SMOOTHER;
            if shape.iter().all(|&n| n > 2) {
                issues += RESIDUAL + PROJECTION + INTERPOLATION;
            }
            if finest {
                issues += RESIDUAL;
            }
            let computed = cycles(issues * points, self.format, machine);
            let local = 2.0 * number * points <= (machine.cp2.dmem.0 * sections(machine)) as f64;
            let bytes = if local && !finest {
                0.0
            } else {
                MOVED * number * points
            };
            let moved = Traffic::bytes(bytes as u128).cycles(machine) as f64;
            match computed >= moved {
                true => arithmetic += computed,
                false => channel += moved,
            }
            shape = shape.map(|n| n / 2);
        }
        // Norms of the right-hand side and of the last residual.
        let times = self.cycles as f64;
        let norms = 2.0 * cycles(NORM * points as f64, self.format, machine);
        let all = (arithmetic + channel) * times + norms;
        let reference = (all.floor() as u64).max(bound);
        Figures {
            bound: Cycles(bound),
            reference: Cycles(reference),
            method: "V-cycles of separable operators, each level's arrays moved once a cycle"
                .to_owned(),
            source: "NPB MG; sums shared along x".to_owned(),
            term: match arithmetic >= channel {
                true => Term::Arithmetic,
                false => Term::Channel,
            },
        }
    }
}

fn sections(machine: &Machine) -> u64 {
    machine.cp2.sections.max(1) as u64
}

/// Returns the cycles of `issues` operations on points, a quad of them in one issue of each section.
fn cycles(issues: f64, format: NumberFormat, machine: &Machine) -> f64 {
    let count = Count {
        madds: issues / format.numbers_of_quad() as f64,
        ..Count::default()
    };
    count.cycles_of(format, machine) / sections(machine) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The finest level takes 10 + 9 + 9 + 14/8 + 15/8 issues for four points. Lower levels take nine fewer,
    /// and have 1/8 + 1/64 + ... = 1/7 as many points: together 34.857.
    #[test]
    fn a_cycle_of_class_a() {
        let vm7 = Machine::builtin("vm7").unwrap();
        let points = 256f64.powi(3) / 16.0;
        let figures = |cycles| {
            Multigrid::new([256; 3], cycles, NumberFormat::Binary32)
                .figures(&vm7)
                .reference
                .get() as f64
        };
        let cycle = (figures(2) - figures(1)) / points;
        assert!((cycle - (31.625 + 22.625 / 7.0)).abs() < 1e-3, "{cycle}");
    }
}
