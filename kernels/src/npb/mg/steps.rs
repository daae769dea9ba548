//! The passes of V-cycles in order, as data.

use super::rows::MultigridOperator;
use cp2_problems::npb::mg::MgProblem;

/// An array in system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArrayName {
    /// The user's right-hand side, in natural order.
    Given,
    /// The user's result, in natural order.
    Result,
    /// The right-hand side of the finest level in lifted rows.
    V,
    /// Correction of level k, with 2^k points along an axis; on the finest level, u itself.
    U(u32),
    /// u of the finest level after every second cycle: a fused pass does not store to the array that it
    /// loads.
    Other,
    /// Correction of the level below interpolated along z, with all planes of this level; every second one is
    /// that correction's own.
    Planes(u32),
    /// The planes of [`Self::Planes`] that are not the correction's own.
    Between(u32),
    /// Right-hand side of a level, and then its residual; on the finest level, only the residual.
    R(u32),
}

/// A step of the job: a pass, or a norm.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MultigridStep {
    /// A pass of an operator on a level, the finer one of two: the inputs, and the output.
    Pass(MultigridOperator, u32, Vec<ArrayName>, ArrayName),
    /// A norm by an operator that sums squares, on arrays of the finest level; the number, 0 or 1, is that of
    /// the norm.
    Norm(MultigridOperator, Vec<ArrayName>, u64),
}

impl MultigridStep {
    /// Returns the operator and the level, in a problem whose finest level is `finest`.
    pub(super) fn key(&self, finest: u32) -> (MultigridOperator, u32) {
        match self {
            Self::Pass(operator, level, ..) => (*operator, *level),
            Self::Norm(operator, ..) => (*operator, finest),
        }
    }
}

/// The operators that are fused into one pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FusedOperators {
    /// Levels on which correction, residual and smoother are fused, and true if u is not zero before.
    pub(super) ascents: Vec<(u32, bool)>,
    /// True if residual and projection of the finest level are fused.
    pub(super) descent: bool,
    /// True if the first pass lifts rows, sums their squares and projects them.
    pub(super) first: bool,
    /// True if the last pass sums the squares of the residual and puts u into natural order.
    pub(super) last: bool,
}

/// The coarsest level, with two points along an axis.
const COARSEST: u32 = 1;

/// Builds the list of steps.
struct StepBuilder<'a> {
    fused: &'a FusedOperators,
    finest: u32,
    /// Array that has u of the finest level.
    u: ArrayName,
    steps: Vec<MultigridStep>,
}

/// Returns the steps of a problem.
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
        maker.add_down_passes(cycle > 0);
        maker.add_up_passes(cycle > 0);
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
    /// Adds a pass.
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

    /// Adds the passes down: from u, if it is not zero (`add`), to the right-hand sides of all coarser
    /// levels.
    fn add_down_passes(&mut self, add: bool) {
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

    /// Adds the passes up: from the coarsest correction to u; `add` if u is not 0 yet.
    fn add_up_passes(&mut self, add: bool) {
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
