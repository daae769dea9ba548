//! The passes of V-cycles, in order, as data.

use super::rows::Operator;
use cp2_problems::npb::mg::MgProblem;

/// An array in system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// The user's right-hand side, row by row.
    Given,
    /// The user's result.
    Result,
    /// The right-hand side of the finest level in lifted rows.
    V,
    /// The correction of a level, of 2^k points along an axis; of the finest one, u itself.
    U(u32),
    /// u of the finest level after every second cycle: a pass that keeps planes does not store where it loads.
    Other,
    /// The correction of the level below interpolated along z: as many planes as this level has. Every second one is that correction's own.
    Planes(u32),
    /// Those of its planes that are not.
    Between(u32),
    /// The right-hand side of a level, and then its residual; of the finest one, its residual.
    R(u32),
}

/// Something that a job does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// A pass of an operator on a level, the finer one where it has to do with two: the inputs, and the output.
    Pass(Operator, u32, Vec<Name>, Name),
    /// The norm of what an operator sums the squares of up, with arrays of the finest level, as number 0 or 1 of the norms.
    Norm(Operator, Vec<Name>, u64),
}

impl Step {
    /// Its operator, and the level, of a problem of so many.
    pub(super) fn key(&self, finest: u32) -> (Operator, u32) {
        match self {
            Self::Pass(operator, level, ..) => (*operator, *level),
            Self::Norm(operator, ..) => (*operator, finest),
        }
    }
}

/// Which operators are done in one pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fused {
    /// The levels on which correction, residual and smoother are, where u is zero before (false) or not.
    pub(super) ascents: Vec<(u32, bool)>,
    /// Whether residual and projection of the finest level are.
    pub(super) descent: bool,
    /// Whether rows are lifted, measured and projected in the first pass, and the residual is measured and u put into rows as the user has them in the last.
    pub(super) first: bool,
    pub(super) last: bool,
}

/// The level of two points along an axis, the coarsest one.
const COARSEST: u32 = 1;

struct Maker<'a> {
    fused: &'a Fused,
    finest: u32,
    /// Where u is.
    u: Name,
    steps: Vec<Step>,
}

/// The steps of a problem.
pub(super) fn steps(problem: &MgProblem, fused: &Fused) -> Vec<Step> {
    let finest = problem.n().trailing_zeros();
    let mut maker = Maker {
        fused,
        finest,
        u: Name::U(finest),
        steps: Vec::new(),
    };
    let norm = |operator, of: &[Name], number| Step::Norm(operator, of.to_vec(), number);
    let lifted = [Name::Given, Name::V, Name::R(finest - 1)];
    maker.steps.push(match fused.first {
        true => norm(Operator::Begin, &lifted, 0),
        false => norm(Operator::Lift, &lifted[..2], 0),
    });
    for cycle in 0..problem.cycles() {
        maker.down(cycle > 0);
        maker.up(cycle > 0);
    }
    let last = [maker.u, Name::V, Name::Result];
    if fused.last {
        maker.steps.push(norm(Operator::Finish, &last, 1));
    } else {
        let residual = norm(Operator::ResidualSquares, &last[..2], 1);
        maker.steps.push(residual);
        maker.pass(Operator::Lower, finest, &[maker.u], Name::Result);
    }
    maker.steps
}

impl Maker<'_> {
    fn pass(&mut self, operator: Operator, level: u32, inputs: &[Name], output: Name) {
        let step = Step::Pass(operator, level, inputs.to_vec(), output);
        self.steps.push(step);
    }

    /// From u, if it is not zero, to the right-hand sides of all coarser levels.
    fn down(&mut self, add: bool) {
        let finest = self.finest;
        let below = Name::R(finest - 1);
        let (u, v) = (self.u, Name::V);
        match (add, self.fused.descent) {
            // While u is 0, v itself is the residual.
            (false, _) if self.fused.first => {}
            (false, _) => self.pass(Operator::Project, finest, &[v], below),
            (true, true) => self.pass(Operator::Descend, finest, &[u, v], below),
            (true, false) => {
                let residual = Name::R(finest);
                self.pass(Operator::Residual, finest, &[u, v], residual);
                self.pass(Operator::Project, finest, &[residual], below);
            }
        }
        for level in (COARSEST + 1..finest).rev() {
            let inputs = [Name::R(level)];
            self.pass(Operator::Project, level, &inputs, Name::R(level - 1));
        }
    }

    /// From the coarsest correction to u; `add` if that is not 0 yet.
    fn up(&mut self, add: bool) {
        let coarsest = [Name::R(COARSEST)];
        let smooth = Operator::Smooth { add: false };
        self.pass(smooth, COARSEST, &coarsest, Name::U(COARSEST));
        for level in COARSEST + 1..=self.finest {
            let finest = level == self.finest;
            let add = add && finest;
            let v = if finest { Name::V } else { Name::R(level) };
            let u = if finest { self.u } else { Name::U(level) };
            let below = Name::U(level - 1);
            if self.fused.ascents.contains(&(level, add)) {
                let planes = Name::Planes(level);
                self.pass(Operator::Expand, level, &[below], Name::Between(level));
                let ascend = Operator::Ascend { add };
                if add {
                    let to = match u {
                        Name::Other => Name::U(level),
                        _ => Name::Other,
                    };
                    self.pass(ascend, level, &[u, v, planes], to);
                    self.u = to;
                } else {
                    self.pass(ascend, level, &[planes, v], u);
                }
                continue;
            }
            let interpolate = Operator::Interpolate { add };
            let inputs = if add { vec![below, u] } else { vec![below] };
            self.pass(interpolate, level, &inputs, u);
            let residual = Name::R(level);
            self.pass(Operator::Residual, level, &[u, v], residual);
            let smooth = Operator::Smooth { add: true };
            self.pass(smooth, level, &[residual, u], u);
        }
    }
}
