//! The passes of V-cycles in order, as data.

use super::decomposition::{DividedProblem, Division};
use super::rows::MultigridOperator;

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

/// A step of the job: a pass, a norm, or an exchange between processors.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum MultigridStep {
    /// A pass of an operator on a level, the finer one of two: the inputs, and the output.
    Pass(MultigridOperator, u32, Vec<ArrayName>, ArrayName),
    /// A pass whose result goes to the neighbours while it runs, each part as soon as it is stored: so many planes and
    /// rows before their own ones, and behind them.
    SendingPass(MultigridOperator, u32, Vec<ArrayName>, ArrayName, [u64; 2]),
    /// A norm by an operator that sums squares, on arrays of the finest level; the number, 0 or 1, is that of
    /// the norm.
    Norm(MultigridOperator, Vec<ArrayName>, u64),
    /// Ghosts of an array of a divided level come from the neighbours: so many planes and rows before the own ones, and
    /// behind them.
    Halo(ArrayName, [u64; 2]),
    /// Every processor gets all blocks of the array of the gathered level.
    Gather(ArrayName),
}

impl MultigridStep {
    /// Returns the operator and the level, in a problem whose finest level is `finest`.
    ///
    /// None if the step is no pass.
    pub(super) fn key(&self, finest: u32) -> Option<(MultigridOperator, u32)> {
        match self {
            Self::Pass(operator, level, ..) | Self::SendingPass(operator, level, ..) => {
                Some((*operator, *level))
            }
            Self::Norm(operator, ..) => Some((*operator, finest)),
            Self::Halo(..) | Self::Gather(_) => None,
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

/// Ghosts that operators on a level need: one plane and row on each side.
const ONE: [u64; 2] = [1, 1];

/// Ghosts of u that fused operators need: the residual beside the own planes and rows, too.
const TWO: [u64; 2] = [2, 2];

/// Ghosts of a correction that the next finer level needs: it is interpolated there for all ghosts.
const CORRECTION: [u64; 2] = [2, 1];

/// Builds the list of steps.
struct StepBuilder<'a> {
    fused: &'a FusedOperators,
    division: &'a Division,
    finest: u32,
    /// Array that has u of the finest level.
    u: ArrayName,
    steps: Vec<MultigridStep>,
}

/// Returns the steps of a problem.
pub(super) fn steps(divided: &DividedProblem, fused: &FusedOperators) -> Vec<MultigridStep> {
    let DividedProblem { problem, division } = divided;
    let finest = division.finest();
    let mut maker = StepBuilder {
        fused,
        division,
        finest,
        u: ArrayName::U(finest),
        steps: Vec::new(),
    };
    let norm =
        |operator, of: &[ArrayName], number| MultigridStep::Norm(operator, of.to_vec(), number);
    let lifted = [ArrayName::Given, ArrayName::V, ArrayName::R(finest - 1)];
    if fused.first {
        maker.exchange(ArrayName::Given, ONE);
        maker.steps.push(norm(MultigridOperator::Begin, &lifted, 0));
        maker.add_projected(finest - 1);
    } else {
        let lift = norm(MultigridOperator::Lift, &lifted[..2], 0);
        maker.steps.push(lift);
    }
    maker.exchange(ArrayName::V, ONE);
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

    /// Adds the exchange of an array's ghosts, if its level is divided.
    fn exchange(&mut self, array: ArrayName, ghosts: [u64; 2]) {
        let level = array.level(self.finest);
        if !self.division.is_divided(level) {
            return;
        }
        let early = self.division.has_early_faces(level);
        let made = |step: &mut MultigridStep| {
            early && matches!(step, MultigridStep::Pass(_, _, _, output) if *output == array)
        };
        let step = match self.steps.pop_if(made) {
            Some(MultigridStep::Pass(operator, level, inputs, output)) => {
                MultigridStep::SendingPass(operator, level, inputs, output, ghosts)
            }
            _ => MultigridStep::Halo(array, ghosts),
        };
        self.steps.push(step);
    }

    /// Adds the exchange behind the pass that has made the right-hand side of a level.
    fn add_projected(&mut self, level: u32) {
        let side = ArrayName::R(level);
        match level == self.division.gathered() && level < self.finest {
            true => self.steps.push(MultigridStep::Gather(side)),
            false => self.exchange(side, ONE),
        }
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
                self.exchange(residual, ONE);
                self.pass(MultigridOperator::Project, finest, &[residual], below);
            }
        }
        if add || !self.fused.first {
            self.add_projected(finest - 1);
        }
        for level in (self.division.coarsest() + 1..finest).rev() {
            let inputs = [ArrayName::R(level)];
            self.pass(
                MultigridOperator::Project,
                level,
                &inputs,
                ArrayName::R(level - 1),
            );
            self.add_projected(level - 1);
        }
    }

    /// Adds the passes up: from the coarsest correction to u; `add` if u is not 0 yet.
    fn add_up_passes(&mut self, add: bool) {
        let coarsest = self.division.coarsest();
        let side = [ArrayName::R(coarsest)];
        let smooth = MultigridOperator::Smooth { add: false };
        self.pass(smooth, coarsest, &side, ArrayName::U(coarsest));
        for level in coarsest + 1..=self.finest {
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
                self.add_smoothed(level);
                continue;
            }
            let interpolate = MultigridOperator::Interpolate { add };
            let inputs = if add { vec![below, u] } else { vec![below] };
            self.pass(interpolate, level, &inputs, u);
            self.exchange(u, ONE);
            let residual = ArrayName::R(level);
            self.pass(MultigridOperator::Residual, level, &[u, v], residual);
            self.exchange(residual, ONE);
            let smooth = MultigridOperator::Smooth { add: true };
            self.pass(smooth, level, &[residual, u], u);
            self.add_smoothed(level);
        }
    }

    /// Adds the exchange behind the passes that have smoothed u of a level.
    fn add_smoothed(&mut self, level: u32) {
        match level == self.finest {
            true => self.exchange(self.u, TWO),
            false => self.exchange(ArrayName::U(level), CORRECTION),
        }
    }
}
