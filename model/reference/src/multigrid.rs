//! V-cycles of multigrid on a periodic cube.
//!
//! Nothing but the right-hand side and the result has to be moved, so that is the bound. The reference is that of cycles whose operators
//! are computed by the fewest known operations on every level, each level's arrays moved once in each direction where they do not fit local
//! memory, and the longer of both taken for each level.

use crate::bound::Traffic;
use crate::count::Count;
use crate::figures::{Figures, Term};
use cp2_machine::{Cycles, Machine};

/// So many V-cycles on n^3 points, from u = 0 on, with a residual behind each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multigrid {
    n: usize,
    cycles: usize,
}

/// Issues for four points of a level in a cycle: residual and smoother by sums across x that neighbouring quads share (9 and 10), projection and
/// interpolation separably (14/8 and 15/8 for the four points of the finer level).
const RESIDUAL: f64 = 9.0;
const SMOOTHER: f64 = 10.0;
const PROJECTION: f64 = 14.0 / 8.0;
const INTERPOLATION: f64 = 15.0 / 8.0;
const NORM: f64 = 1.0;
/// A quad's lanes come from four others: two issues, each of which makes a pair.
const RELAYOUT: f64 = 2.0;

/// Bytes that a cycle moves for a point of a level that does not fit local memory: on the finest one u in and out and v in, with an eighth each of
/// what comes from and goes to the level below; on others likewise with their right-hand side.
const BYTES: f64 = 13.0;

/// A pass over the arrays of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultigridPass {
    /// r = v - A u.
    Residual,
    /// u + S r, or S r alone.
    Smoother {
        /// Whether u is not zero.
        add: bool,
    },
    /// The right-hand side of the level below.
    Projection,
    /// u and the correction, or the correction alone.
    Interpolation {
        /// Whether u is not zero.
        add: bool,
    },
    /// Interpolation, residual and smoother.
    Ascent {
        /// Whether u is not zero.
        add: bool,
    },
    /// Residual and projection.
    Descent,
    /// The planes between those of the correction of the level below, interpolated along z.
    Planes,
    /// The sum of the squares of the residual, which is not stored.
    ResidualNorm,
    /// Rows as the user has them and back, sums of squares on the way if need be.
    Relayout,
    /// The same of the right-hand side, which is projected too.
    First,
    /// The same of the result, with the sum of the squares of its residual.
    Last,
}

impl MultigridPass {
    /// Issues for four points, and bytes for a point with each array moved once: of the finer level where two have to do with it.
    fn work(self) -> (f64, f64) {
        let own = |add: bool| if add { 4.0 } else { 0.0 };
        match self {
            Self::Residual => (RESIDUAL, 12.0),
            Self::Smoother { add } => (SMOOTHER, 8.0 + own(add)),
            Self::Projection => (PROJECTION, 4.5),
            Self::Interpolation { add } => (INTERPOLATION, 4.5 + own(add)),
            Self::Ascent { add } => (INTERPOLATION + RESIDUAL + SMOOTHER, 8.5 + own(add)),
            Self::Descent => (RESIDUAL + PROJECTION, 8.5),
            // A sum and a product for a quad of the coarser level, which has an eighth of them.
            Self::Planes => (2.0 / 8.0, 1.0),
            Self::ResidualNorm => (RESIDUAL + NORM, 8.0),
            Self::Relayout => (RELAYOUT, 8.0),
            Self::First => (RELAYOUT + NORM + PROJECTION, 8.5),
            Self::Last => (RELAYOUT + RESIDUAL + NORM, 12.0),
        }
    }

    /// What it takes on a level of n^3 points, the finer one where two have to do with it: the longer of its operations and its bytes, halos aside.
    #[must_use]
    pub fn cycles(self, n: u64, machine: &Machine) -> Cycles {
        let points = (n as f64).powi(3);
        let (issues, bytes) = self.work();
        let moved = Traffic::bytes((bytes * points) as u128).cycles(machine);
        Cycles(moved.max(cycles(issues * points, machine) as u64))
    }
}

/// Bytes of a number.
const REAL: u128 = 4;

impl Multigrid {
    /// So many cycles on n points along each axis.
    #[must_use]
    pub fn new(n: usize, cycles: usize) -> Self {
        Self { n, cycles }
    }

    /// Bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let points = (self.n as u128).saturating_pow(3);
        let bound = Traffic::bytes(2 * REAL * points).cycles(machine);
        let (mut arithmetic, mut channel) = (0.0, 0.0);
        let mut n = self.n;
        while n >= 2 {
            let finest = n == self.n;
            let points = (n as f64).powi(3);
            // The finest level has a residual more; the coarsest one nothing but a smoother.
            let mut issues = SMOOTHER;
            if n > 2 {
                issues += RESIDUAL + PROJECTION + INTERPOLATION;
            }
            if finest {
                issues += RESIDUAL;
            }
            let computed = cycles(issues * points, machine);
            let local = 2.0 * 4.0 * points <= (machine.cp2.dmem.0 * sections(machine)) as f64;
            let bytes = if local && !finest {
                0.0
            } else {
                BYTES * points
            };
            let moved = Traffic::bytes(bytes as u128).cycles(machine) as f64;
            match computed >= moved {
                true => arithmetic += computed,
                false => channel += moved,
            }
            n /= 2;
        }
        // The norms of the right-hand side and of the last residual.
        let times = self.cycles as f64;
        let norms = 2.0 * cycles(NORM * points as f64, machine);
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

/// Cycles of so many operations on points, four an issue in each section.
fn cycles(issues: f64, machine: &Machine) -> f64 {
    let count = Count {
        madds: issues / 4.0,
        ..Count::default()
    };
    count.cycles(machine) / sections(machine) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 + 9 + 9 + 14/8 + 15/8 issues for four points of the finest level, nine less for those below, which are a seventh as many: 34.857.
    #[test]
    fn a_cycle_of_class_a() {
        let vm7 = Machine::builtin("vm7").unwrap();
        let points = 256f64.powi(3) / 16.0;
        let figures = |cycles| Multigrid::new(256, cycles).figures(&vm7).reference.get() as f64;
        let cycle = (figures(2) - figures(1)) / points;
        assert!((cycle - (31.625 + 22.625 / 7.0)).abs() < 1e-3, "{cycle}");
    }
}
