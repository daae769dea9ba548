//! Assembles each operator from loops over rows, and lists its properties.

use super::decomposition::{points, quads};
use super::numbers::fill_quad;
use super::page::{LinearRows, LoopRows, PageLoop, PageSetup};
use super::planes::{self, PlaneTile, TileArray, V};
use super::rows::{
    MultigridOperator, RowBuilder, RowDataflow, RowOperand, numbers_of_quad, quad_bytes,
    residual_constants, smoother_constants,
};
use cp2_problems::npb::Precision;
use cp2_problems::npb::mg::MgProblem;
use cp2_reference::MultigridPass;

/// A block of an operator's result.
///
/// Where a pass connects two levels and keeps no planes, the block is of the coarser level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OperatorBlock {
    /// Number of rows in a plane.
    pub(super) rows: u64,
    /// True if blocks hand rows of the residual over to the next blocks of their sections.
    pub(super) handed: bool,
}

/// Returns the loops of a page of an operator on a level, the finer one of two.
///
/// Where blocks hand rows over, the loops of [`opening`] are not included.
pub(super) fn parts(
    problem: &MgProblem,
    (operator, level): (MultigridOperator, u32),
    block: OperatorBlock,
) -> (Vec<PageLoop>, PageSetup) {
    let precision = problem.precision();
    let on = |level: u32, constants: &[f64]| {
        RowBuilder::new(precision, quads(precision, level) as usize, constants)
    };
    let s = smoother_constants(problem.smoother().weights());
    // The coarser level has rows of two points, and these are stored twice.
    let two = points(level) == 4 && numbers_of_quad(precision) == 4;
    let height = block.rows;
    let tile = tile(precision, (operator, level), block);
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
        precision,
        ..PageSetup::default()
    };
    let rows = match operator {
        MultigridOperator::Residual => {
            let [centre, _, edges, corners] = MgProblem::OPERATOR;
            let rows = LinearRows {
                file: "residual.s",
                call: "residual_rows",
                quads: quads(precision, level) as usize,
                planes: 3,
                weights: vec![("A0", centre), ("A2", edges), ("A3", corners)],
            };
            let iterations = block.rows;
            let rows = LoopRows::Linear(rows);
            return (vec![PageLoop { rows, iterations }], frame);
        }
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
            let mut parts = residuals(precision, (operator, level), tile, planes::RowSubset::Own);
            let u = field(tile, add);
            parts.push(part((on(level, &s).smooth_plane(tile, u), height)));
            return (parts, frame);
        }
        MultigridOperator::Descend => {
            let mut parts = residuals(precision, (operator, level), tile, planes::RowSubset::Own);
            let (projected, frame) =
                projection(precision, (level, tile), RowOperand::Input(V, 0), frame);
            parts.push(part((projected, height / 2)));
            return (parts, frame);
        }
        MultigridOperator::Begin => {
            let row = tile.row();
            let places = |at: i64| [RowOperand::Input(0, at), RowOperand::Output(LIFTED, at)];
            let own = on(level, &[]).turn(true, true, places(0));
            // The last coarser row of the block also needs the row behind the block.
            let next = on(level, &[]).turn(true, false, places(tile.height * row));
            let (projected, frame) = projection(
                precision,
                (level, tile),
                RowOperand::Output(LIFTED, 0),
                frame,
            );
            let parts = [(own, height), (next, 1), (projected, height / 2)];
            return (parts.map(part).into(), frame);
        }
        MultigridOperator::ResidualSquares => {
            return (
                residuals(precision, (operator, level), tile, planes::RowSubset::Own),
                frame,
            );
        }
        MultigridOperator::Finish => {
            let mut parts = residuals(precision, (operator, level), tile, planes::RowSubset::Own);
            let places = [RowOperand::Input(0, 0), RowOperand::Output(1, 0)];
            parts.push(part((on(level, &[]).turn(false, false, places), height)));
            return (parts, frame);
        }
    };
    (vec![part((rows, block.rows))], frame)
}

/// Returns the additional loops of a page to which no rows were handed over; they precede the others. Empty
/// if blocks hand nothing over.
pub(super) fn opening(
    precision: Precision,
    key: (MultigridOperator, u32),
    block: OperatorBlock,
) -> Vec<PageLoop> {
    let tile = tile(precision, key, block);
    match block.handed {
        true => residuals(precision, key, tile, planes::RowSubset::Opening),
        false => Vec::new(),
    }
}

/// Index of the output of lifted rows, in a pass that has other outputs too.
const LIFTED: usize = 1;

/// Returns the loop that projects rows of a level from a place, and the page setup with its switches.
fn projection(
    precision: Precision,
    (level, tile): (u32, PlaneTile),
    from: RowOperand,
    frame: PageSetup,
) -> (RowDataflow, PageSetup) {
    let mut project = RowBuilder::new(
        precision,
        quads(precision, level - 1) as usize,
        &[0.5, 0.25],
    );
    let switch = [(); 2].map(|()| project.rows.ops.carry());
    let projected = project.project_plane(tile, from, switch);
    // The first page has an odd plane: its mask keeps the sum so far and its factor is 1; the next page's are
    // 0 and 1/2.
    let number = |value| fill_quad(precision, value);
    let values = [[[u32::MAX; 4], number(1.0)], [[0; 4], number(0.5)]];
    let switch = Some((switch, values));
    (projected, PageSetup { switch, ..frame })
}

/// Returns the place of u of the current plane.
fn field(tile: PlaneTile, add: bool) -> RowOperand {
    match add {
        true => RowOperand::Input(0, 0),
        false => tile.place(TileArray::Field),
    }
}

/// Returns the loops up to the residual of the rows of a page of an operator on a level: correction, then
/// residual.
fn residuals(
    precision: Precision,
    (operator, level): (MultigridOperator, u32),
    tile: PlaneTile,
    which: planes::RowSubset,
) -> Vec<PageLoop> {
    let on = |level: u32, constants: &[f64]| {
        RowBuilder::new(precision, quads(precision, level) as usize, constants)
    };
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

/// Returns the arrays that a fused pass keeps in its working space.
pub(super) fn tile(
    precision: Precision,
    (operator, level): (MultigridOperator, u32),
    block: OperatorBlock,
) -> PlaneTile {
    PlaneTile {
        handed: if block.handed {
            operator.handed_rows() as i64
        } else {
            0
        },
        height: block.rows as i64,
        // The last coarser row of the block also needs the row behind the block.
        before: i64::from(matches!(operator, MultigridOperator::Ascend { .. })),
        behind: i64::from(matches!(
            operator,
            MultigridOperator::Ascend { .. } | MultigridOperator::Descend
        )),
        residual: operator != MultigridOperator::Begin && operator.keeps_planes(),
        row: quads(precision, level) as i64 * quad_bytes(precision),
    }
}

/// Makes a loop of a page.
fn part((rows, iterations): (RowDataflow, u64)) -> PageLoop {
    PageLoop {
        rows: LoopRows::Dataflow(rows),
        iterations,
    }
}

impl MultigridOperator {
    /// Returns the name in reports.
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

    /// Returns the pass of the reference that this operator is judged by.
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

    /// Returns true if the result is added to a u that is not zero.
    pub(super) fn adds(self) -> bool {
        match self {
            Self::Smooth { add } | Self::Interpolate { add } | Self::Ascend { add } => add,
            _ => false,
        }
    }

    /// Returns the level whose rows a block has: that of the result, or the coarser one of two.
    pub(super) fn result_level(self, level: u32) -> u32 {
        match self {
            Self::Project | Self::Interpolate { .. } | Self::Expand => level.saturating_sub(1),
            _ => level,
        }
    }

    /// Returns true if each page leaves a sum of squares.
    pub(super) fn sums(self) -> bool {
        matches!(
            self,
            Self::Lift | Self::Begin | Self::ResidualSquares | Self::Finish
        )
    }

    /// Returns the number of arrays that the operator reads.
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

    /// Returns the number of rows of the residual that a block may hand over to the next one, which would
    /// compute them again.
    pub(super) fn handed_rows(self) -> u64 {
        match self {
            Self::Ascend { .. } => 2,
            Self::Descend => 1,
            _ => 0,
        }
    }

    /// Returns true if the operator is fused: its pages are single planes, more of them than the level has,
    /// and it keeps what the next plane needs.
    pub(super) fn keeps_planes(self) -> bool {
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
