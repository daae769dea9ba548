//! The passes of V-cycles, in order, as data.

use super::rows::MultigridOperator;
use cp2_problems::npb::mg::MgProblem;

/// An array in system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArrayName {
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
pub(super) enum MultigridStep {
    /// A pass of an operator on a level, the finer one where it has to do with two: the inputs, and the output.
    Pass(MultigridOperator, u32, Vec<ArrayName>, ArrayName),
    /// The norm of what an operator sums the squares of up, with arrays of the finest level, as number 0 or 1 of the norms.
    Norm(MultigridOperator, Vec<ArrayName>, u64),
}

impl MultigridStep {
    /// Its operator, and the level, of a problem of so many.
    pub(super) fn key(&self, finest: u32) -> (MultigridOperator, u32) {
        match self {
            Self::Pass(operator, level, ..) => (*operator, *level),
            Self::Norm(operator, ..) => (*operator, finest),
        }
    }
}

/// Which operators are done in one pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FusedOperators {
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

struct StepBuilder<'a> {
    fused: &'a FusedOperators,
    finest: u32,
    /// Where u is.
    u: ArrayName,
    steps: Vec<MultigridStep>,
}

/// The steps of a problem.
pub(super) fn steps(problem: &MgProblem, fused: &FusedOperators) -> Vec<MultigridStep> {
    let finest = problem.n().trailing_zeros();
    let mut maker = StepBuilder {
        fused,
        finest,
        u: ArrayName::U(finest),
        steps: Vec::new(),
    };
    let norm =
        |operator, of: &[ArrayName], number| MultigridStep::Norm(operator, of.to_vec(), number);
    let lifted = [ArrayName::Given, ArrayName::V, ArrayName::R(finest - 1)];
    maker.steps.push(match fused.first {
        true => norm(MultigridOperator::Begin, &lifted, 0),
        false => norm(MultigridOperator::Lift, &lifted[..2], 0),
    });
    for cycle in 0..problem.cycles() {
        maker.down(cycle > 0);
        maker.up(cycle > 0);
    }
    let last = [maker.u, ArrayName::V, ArrayName::Result];
    if fused.last {
        maker.steps.push(norm(MultigridOperator::Finish, &last, 1));
    } else {
        let residual = norm(MultigridOperator::ResidualSquares, &last[..2], 1);
        maker.steps.push(residual);
        maker.pass(
            MultigridOperator::Lower,
            finest,
            &[maker.u],
            ArrayName::Result,
        );
    }
    maker.steps
}

impl StepBuilder<'_> {
    fn pass(
        &mut self,
        operator: MultigridOperator,
        level: u32,
        inputs: &[ArrayName],
        output: ArrayName,
    ) {
        let step = MultigridStep::Pass(operator, level, inputs.to_vec(), output);
        self.steps.push(step);
    }

    /// From u, if it is not zero, to the right-hand sides of all coarser levels.
    fn down(&mut self, add: bool) {
        let finest = self.finest;
        let below = ArrayName::R(finest - 1);
        let (u, v) = (self.u, ArrayName::V);
        match (add, self.fused.descent) {
            // While u is 0, v itself is the residual.
            (false, _) if self.fused.first => {}
            (false, _) => self.pass(MultigridOperator::Project, finest, &[v], below),
            (true, true) => self.pass(MultigridOperator::Descend, finest, &[u, v], below),
            (true, false) => {
                let residual = ArrayName::R(finest);
                self.pass(MultigridOperator::Residual, finest, &[u, v], residual);
                self.pass(MultigridOperator::Project, finest, &[residual], below);
            }
        }
        for level in (COARSEST + 1..finest).rev() {
            let inputs = [ArrayName::R(level)];
            self.pass(
                MultigridOperator::Project,
                level,
                &inputs,
                ArrayName::R(level - 1),
            );
        }
    }

    /// From the coarsest correction to u; `add` if that is not 0 yet.
    fn up(&mut self, add: bool) {
        let coarsest = [ArrayName::R(COARSEST)];
        let smooth = MultigridOperator::Smooth { add: false };
        self.pass(smooth, COARSEST, &coarsest, ArrayName::U(COARSEST));
        for level in COARSEST + 1..=self.finest {
            let finest = level == self.finest;
            let add = add && finest;
            let v = if finest {
                ArrayName::V
            } else {
                ArrayName::R(level)
            };
            let u = if finest { self.u } else { ArrayName::U(level) };
            let below = ArrayName::U(level - 1);
            if self.fused.ascents.contains(&(level, add)) {
                let planes = ArrayName::Planes(level);
                self.pass(
                    MultigridOperator::Expand,
                    level,
                    &[below],
                    ArrayName::Between(level),
                );
                let ascend = MultigridOperator::Ascend { add };
                if add {
                    let to = match u {
                        ArrayName::Other => ArrayName::U(level),
                        _ => ArrayName::Other,
                    };
                    self.pass(ascend, level, &[u, v, planes], to);
                    self.u = to;
                } else {
                    self.pass(ascend, level, &[planes, v], u);
                }
                continue;
            }
            let interpolate = MultigridOperator::Interpolate { add };
            let inputs = if add { vec![below, u] } else { vec![below] };
            self.pass(interpolate, level, &inputs, u);
            let residual = ArrayName::R(level);
            self.pass(MultigridOperator::Residual, level, &[u, v], residual);
            let smooth = MultigridOperator::Smooth { add: true };
            self.pass(smooth, level, &[residual, u], u);
        }
    }
}
