//! Which loops make an operator.

use super::page::{PageLoop, PageSetup};
use super::plan::{points, quads};
use super::planes::{self, PlaneTile, TileArray, V};
use super::rows::{
    MultigridOperator, RowBuilder, RowDataflow, RowOperand, residual_constants, smoother_constants,
};
use cp2_problems::npb::mg::MgProblem;
use cp2_reference::MultigridPass;

/// A block of an operator's result; where a pass has to do with two levels and does not go from plane to plane, that of the coarser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OperatorBlock {
    /// In a plane.
    pub(super) rows: u64,
    /// Whether blocks hand rows of the residual over to the next ones of their sections.
    pub(super) handed: bool,
}

/// The loops of a page of an operator on a level, the finer one where it has to do with two; where blocks hand rows over, without those of [`opening`].
pub(super) fn parts(
    problem: &MgProblem,
    (operator, level): (MultigridOperator, u32),
    block: OperatorBlock,
) -> (Vec<PageLoop>, PageSetup) {
    let on = |level: u32, constants: &[f64]| RowBuilder::new(quads(level) as usize, constants);
    let a = residual_constants(MgProblem::OPERATOR);
    let s = smoother_constants(problem.smoother().weights());
    // Where the coarser of two levels has rows of two points.
    let two = points(level) == 4;
    let height = block.rows;
    let tile = tile(operator, level, block);
    let inputs = operator.inputs() + usize::from(block.handed);
    let scratch = tile.bytes(operator);
    let (outputs, sums) = match operator {
        MultigridOperator::Lift => (2, 1),
        MultigridOperator::Begin => (3, 2),
        MultigridOperator::Finish => (2, 0),
        _ => (1, 0),
    };
    let frame = PageSetup {
        inputs,
        outputs,
        sums,
        scratch,
        ..PageSetup::default()
    };
    let rows = match operator {
        MultigridOperator::Residual => on(level, &a).residual(),
        MultigridOperator::Smooth { add } => on(level, &s).smooth(add),
        MultigridOperator::Project => on(level - 1, &[0.5, 0.25]).project(two),
        MultigridOperator::Interpolate { add } => {
            on(level - 1, &[0.5, 0.25, 0.125]).interpolate(add, two, height as usize)
        }
        MultigridOperator::Expand => on(level - 1, &[0.5]).expanded(),
        MultigridOperator::Lift | MultigridOperator::Lower => {
            let lift = operator == MultigridOperator::Lift;
            let places = [RowOperand::Input(0, 0), RowOperand::Output(0, 0)];
            on(level, &[]).turn(lift, lift, places)
        }
        MultigridOperator::Ascend { add } => {
            let mut parts = residuals((operator, level), tile, planes::RowSubset::Own);
            let u = field(tile, add);
            parts.push(part((on(level, &s).smooth_plane(tile, u), height)));
            return (parts, frame);
        }
        MultigridOperator::Descend => {
            let mut parts = residuals((operator, level), tile, planes::RowSubset::Own);
            let (projected, frame) = projection(level, tile, RowOperand::Input(V, 0), frame);
            parts.push(part((projected, height / 2)));
            return (parts, frame);
        }
        MultigridOperator::Begin => {
            let row = tile.row();
            let places = |at: i64| [RowOperand::Input(0, at), RowOperand::Output(LIFTED, at)];
            let own = on(level, &[]).turn(true, true, places(0));
            // A row of the coarser level is made of rows of the block and the one behind.
            let next = on(level, &[]).turn(true, false, places(tile.height * row));
            let (projected, frame) = projection(level, tile, RowOperand::Output(LIFTED, 0), frame);
            let parts = [(own, height), (next, 1), (projected, height / 2)];
            return (parts.map(part).into(), frame);
        }
        MultigridOperator::ResidualSquares => {
            return (
                residuals((operator, level), tile, planes::RowSubset::Own),
                frame,
            );
        }
        MultigridOperator::Finish => {
            let mut parts = residuals((operator, level), tile, planes::RowSubset::Own);
            let places = [RowOperand::Input(0, 0), RowOperand::Output(1, 0)];
            parts.push(part((on(level, &[]).turn(false, false, places), height)));
            return (parts, frame);
        }
    };
    (vec![part((rows, block.rows))], frame)
}

/// The loops of a page that nothing was handed over to, before those of all pages; none where nothing is.
pub(super) fn opening(key: (MultigridOperator, u32), block: OperatorBlock) -> Vec<PageLoop> {
    match block.handed {
        true => residuals(key, tile(key.0, key.1, block), planes::RowSubset::Opening),
        false => Vec::new(),
    }
}

/// The output of lifted rows of a pass that has others too.
const LIFTED: usize = 1;

/// The rows of a projection of rows of a level at a place, and what their pages have beside.
fn projection(
    level: u32,
    tile: PlaneTile,
    from: RowOperand,
    frame: PageSetup,
) -> (RowDataflow, PageSetup) {
    let mut project = RowBuilder::new(quads(level - 1) as usize, &[0.5, 0.25]);
    let switch = [(); 2].map(|()| project.rows.ops.carry());
    let projected = project.project_plane(tile, from, switch);
    // The first page's rows are those of an odd plane: what there is stays.
    let values = [[u32::MAX, 1f32.to_bits()], [0, 0.5f32.to_bits()]];
    let switch = Some((switch, values));
    (projected, PageSetup { switch, ..frame })
}

/// Where u of this plane is.
fn field(tile: PlaneTile, add: bool) -> RowOperand {
    match add {
        true => RowOperand::Input(0, 0),
        false => tile.place(TileArray::Field),
    }
}

/// The loops up to the residual of rows of a page of an operator on a level.
fn residuals(
    (operator, level): (MultigridOperator, u32),
    tile: PlaneTile,
    which: planes::RowSubset,
) -> Vec<PageLoop> {
    let on = |level: u32, constants: &[f64]| RowBuilder::new(quads(level) as usize, constants);
    let a = residual_constants(MgProblem::OPERATOR);
    let (mut parts, mut u) = (Vec::new(), RowOperand::Input(0, 0));
    if let MultigridOperator::Ascend { add } = operator {
        u = field(tile, add);
        let correction = if add { 2 } else { 0 };
        let (first, pairs) = tile.pairs(which);
        let corrected = on(level - 1, &[0.5, 0.25]);
        let corrected = corrected.corrected((correction, first), add.then_some(u), u);
        parts.push(part((corrected, pairs.unsigned_abs())));
    }
    let (first, rows) = tile.part(which);
    let squares = matches!(
        operator,
        MultigridOperator::ResidualSquares | MultigridOperator::Finish
    );
    let residual = on(level, &a).residual_plane((tile, first), u, squares);
    parts.push(part((residual, rows.unsigned_abs())));
    parts
}

/// What a pass that goes from plane to plane keeps.
pub(super) fn tile(operator: MultigridOperator, level: u32, block: OperatorBlock) -> PlaneTile {
    PlaneTile {
        handed: if block.handed {
            operator.hands() as i64
        } else {
            0
        },
        height: block.rows as i64,
        // A coarser row is made of rows of the block and the one behind.
        before: i64::from(matches!(operator, MultigridOperator::Ascend { .. })),
        behind: i64::from(matches!(
            operator,
            MultigridOperator::Ascend { .. } | MultigridOperator::Descend
        )),
        residual: operator != MultigridOperator::Begin && operator.keeps(),
        quads: quads(level) as i64,
    }
}

fn part((rows, iterations): (RowDataflow, u64)) -> PageLoop {
    PageLoop { rows, iterations }
}

impl MultigridOperator {
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
            Self::Begin => "to lifted rows, norm, projection",
            Self::Finish => "residual, norm, from lifted rows",
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
            Self::Begin => MultigridPass::First,
            Self::Finish => MultigridPass::Last,
        }
    }

    /// Whether what it computes is added to a u that is not zero.
    pub(super) fn adds(self) -> bool {
        match self {
            Self::Smooth { add } | Self::Interpolate { add } | Self::Ascend { add } => add,
            _ => false,
        }
    }

    /// Whether each of its pages leaves a sum of squares.
    pub(super) fn sums(self) -> bool {
        matches!(
            self,
            Self::Lift | Self::Begin | Self::ResidualSquares | Self::Finish
        )
    }

    /// Arrays that it reads.
    pub(super) fn inputs(self) -> usize {
        match self {
            Self::Ascend { add: true } => 3,
            Self::Residual
            | Self::ResidualSquares
            | Self::Finish
            | Self::Smooth { add: true }
            | Self::Interpolate { add: true }
            | Self::Ascend { add: false }
            | Self::Descend => 2,
            _ => 1,
        }
    }

    /// Rows of the residual that a block may hand over to the next one: those that it would compute again.
    pub(super) fn hands(self) -> u64 {
        match self {
            Self::Ascend { .. } => 2,
            Self::Descend => 1,
            _ => 0,
        }
    }

    /// Whether its pages are planes, more of them than the level has, and it keeps what the next plane needs.
    pub(super) fn keeps(self) -> bool {
        matches!(
            self,
            Self::Ascend { .. }
                | Self::Descend
                | Self::ResidualSquares
                | Self::Begin
                | Self::Finish
        )
    }
}
