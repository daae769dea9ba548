//! Which loops make an operator.

use super::page::{Frame, Part};
use super::plan::{points, quads};
use super::planes::{Kept, Tile};
use super::rows::{Maker, Operator, Place, residual_constants, smoother_constants};
use cp2_problems::npb::mg::MgProblem;
use cp2_reference::MultigridPass;

/// A block of an operator's result; where a pass has to do with two levels and does not go from plane to plane, that of the coarser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// In a plane.
    pub(super) rows: u64,
}

/// The loops of a page of an operator on a level, the finer one where it has to do with two.
pub(super) fn parts(
    problem: &MgProblem,
    (operator, level): (Operator, u32),
    block: Block,
) -> (Vec<Part>, Frame) {
    let on = |level: u32, constants: &[f64]| Maker::new(quads(level) as usize, constants);
    let a = residual_constants(MgProblem::OPERATOR);
    let s = smoother_constants(problem.smoother().weights());
    // Where the coarser of two levels has rows of two points.
    let two = points(level) == 4;
    let height = block.rows;
    let tile = tile(operator, level, block);
    let residuals = tile.residuals().unsigned_abs();
    let inputs = operator.inputs();
    let scratch = tile.bytes(operator);
    let frame = Frame {
        inputs,
        beside: operator == Operator::Lift,
        scratch,
        ..Frame::default()
    };
    let rows = match operator {
        Operator::Residual => on(level, &a).residual(),
        Operator::Smooth { add } => on(level, &s).smooth(add),
        Operator::Project => on(level - 1, &[0.5, 0.25]).project(two),
        Operator::Interpolate { add } => {
            on(level - 1, &[0.5, 0.25, 0.125]).interpolate(add, two, height as usize)
        }
        Operator::Expand => on(level - 1, &[0.5]).expanded(),
        Operator::Lift | Operator::Lower => on(level, &[]).turn(operator == Operator::Lift),
        Operator::Ascend { add } => {
            let own = Place::Input(0, 0);
            let u = if add { own } else { tile.place(Kept::Field) };
            let correction = if add { 2 } else { 0 };
            let corrected = on(level - 1, &[0.5, 0.25]);
            let corrected = corrected.corrected(correction, add.then_some(own), u);
            let residual = on(level, &a).residual_plane(tile, u, 1, false);
            let smoothed = on(level, &s).smooth_plane(tile, u);
            let parts = [
                (corrected, height / 2 + 2),
                (residual, residuals),
                (smoothed, height),
            ];
            return (parts.map(part).into(), frame);
        }
        Operator::Descend => {
            let residual = on(level, &a).residual_plane(tile, Place::Input(0, 0), 1, false);
            let mut project = on(level - 1, &[0.5, 0.25]);
            let switch = [(); 2].map(|()| project.rows.ops.carry());
            let projected = project.project_plane(tile, switch);
            // The first page's residual is that of an odd plane: what there is stays.
            let values = [[u32::MAX, 1f32.to_bits()], [0, 0.5f32.to_bits()]];
            let parts = [(residual, residuals), (projected, height / 2)];
            let frame = Frame {
                switch: Some((switch, values)),
                ..frame
            };
            return (parts.map(part).into(), frame);
        }
        Operator::ResidualSquares => {
            let rows = on(level, &a).residual_plane(tile, Place::Input(0, 0), 1, true);
            return (vec![part((rows, residuals))], frame);
        }
    };
    (vec![part((rows, block.rows))], frame)
}

/// What a pass that goes from plane to plane keeps.
pub(super) fn tile(operator: Operator, level: u32, block: Block) -> Tile {
    Tile {
        height: block.rows as i64,
        // A coarser row is made of rows of the block and the one behind.
        before: i64::from(matches!(operator, Operator::Ascend { .. })),
        behind: i64::from(operator != Operator::ResidualSquares),
        quads: quads(level) as i64,
    }
}

fn part((rows, iterations): (super::rows::Rows, u64)) -> Part {
    Part { rows, iterations }
}

impl Operator {
    /// What it is called in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Residual => "residual",
            Self::Smooth { .. } => "smoother",
            Self::Project => "projection",
            Self::Interpolate { add: false } => "interpolation",
            Self::Interpolate { add: true } => "interpolation and sum",
            Self::Ascend { .. } => "correction, residual, smoother",
            Self::Descend => "residual, projection",
            Self::Expand => "interpolation of planes",
            Self::ResidualSquares => "residual, norm",
            Self::Lift => "to lifted rows, norm",
            Self::Lower => "from lifted rows",
        }
    }

    /// What it is judged by.
    pub(super) fn pass(self) -> MultigridPass {
        match self {
            Self::Residual => MultigridPass::Residual,
            Self::Smooth { add } => MultigridPass::Smoother { add },
            Self::Project => MultigridPass::Projection,
            Self::Interpolate { add } => MultigridPass::Interpolation { add },
            Self::Ascend { add } => MultigridPass::Ascent { add },
            Self::Descend => MultigridPass::Descent,
            Self::Expand => MultigridPass::Planes,
            Self::ResidualSquares => MultigridPass::ResidualNorm,
            Self::Lift | Self::Lower => MultigridPass::Relayout,
        }
    }

    /// Whether what it computes is added to a u that is not zero.
    pub(super) fn adds(self) -> bool {
        match self {
            Self::Smooth { add } | Self::Interpolate { add } | Self::Ascend { add } => add,
            _ => false,
        }
    }

    /// Arrays that it reads.
    pub(super) fn inputs(self) -> usize {
        match self {
            Self::Ascend { add: true } => 3,
            Self::Residual
            | Self::ResidualSquares
            | Self::Smooth { add: true }
            | Self::Interpolate { add: true }
            | Self::Ascend { add: false }
            | Self::Descend => 2,
            _ => 1,
        }
    }

    /// Whether its pages are planes, more of them than the level has, and it keeps what the next plane needs.
    pub(super) fn keeps(self) -> bool {
        matches!(
            self,
            Self::Ascend { .. } | Self::Descend | Self::ResidualSquares
        )
    }
}
