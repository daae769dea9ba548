//! Assembles each operator from loops over rows, and lists its properties.

#[cfg(test)]
mod tests;

use super::decomposition::{points, quads};
use super::page::{LinearRows, LoopArgument, PageLoop, PageSetup};
use super::planes::{self, PlaneTile, TileArray, V, shift_operand};
use super::rows::{MultigridOperator, QUAD, RowOperand, fill_quad, numbers_of_quad, quad_bytes};
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
    let linear = |file, call, arguments: &[i64], planes, numbers| LinearRows {
        file,
        call,
        arguments: arguments
            .iter()
            .copied()
            .map(LoopArgument::Number)
            .collect(),
        planes,
        numbers,
        squares: false,
    };
    let [fine, coarse] = [level, level.saturating_sub(1)].map(|of| quads(precision, of) as i64);
    let rows = match operator {
        MultigridOperator::Residual => linear(
            "residual.s",
            "residual_rows",
            &[fine],
            0..3,
            operator_weights(),
        ),
        MultigridOperator::Smooth { add } => {
            let numbers = smoother_weights(problem, add);
            linear("smoother.s", "smoother_rows", &[fine], 0..3, numbers)
        }
        MultigridOperator::Project => linear(
            "projection.s",
            "projection_rows",
            &[coarse, two.into()],
            1..4,
            Vec::new(),
        ),
        MultigridOperator::Interpolate { add } => linear(
            "interpolation.s",
            "interpolation_rows",
            &[coarse, two.into()],
            0..2,
            vec![addend(add)],
        ),
        MultigridOperator::Expand => linear(
            "interpolation.s",
            "expansion_rows",
            &[coarse],
            0..2,
            Vec::new(),
        ),
        MultigridOperator::Lift | MultigridOperator::Lower => {
            let lift = operator == MultigridOperator::Lift;
            let places = [RowOperand::Input(0, 0), RowOperand::Output(0, 0)];
            turn(tile, lift, lift, places)
        }
        MultigridOperator::Ascend { add } => {
            let mut parts = residuals(problem, (operator, level), tile, planes::RowSubset::Own);
            let u = field(tile, add);
            // The result takes the place of u, if it is in the page.
            let result = if add { u } else { RowOperand::Output(0, 0) };
            let places = [
                u,
                result,
                RowOperand::Input(V, 0),
                tile.place(TileArray::Smoothed),
                tile.place(TileArray::Begun),
            ];
            let numbers = smoother_weights(problem, add);
            let rows = plane_loop(
                ("plane_smoother.s", "plane_smoother_rows"),
                fine,
                &places,
                numbers,
            );
            parts.push(page_loop(rows, height));
            return (parts, frame);
        }
        MultigridOperator::Descend => {
            let mut parts = residuals(problem, (operator, level), tile, planes::RowSubset::Own);
            let (projected, frame) =
                projection((precision, coarse), tile, RowOperand::Input(V, 0), frame);
            parts.push(page_loop(projected, height / 2));
            return (parts, frame);
        }
        MultigridOperator::Begin => {
            let row = tile.row();
            let places = |at: i64| [RowOperand::Input(0, at), RowOperand::Output(LIFTED, at)];
            let own = turn(tile, true, true, places(0));
            // The last coarser row of the block also needs the row behind the block.
            let next = turn(tile, true, false, places(tile.height * row));
            let lifted = RowOperand::Output(LIFTED, 0);
            let (projected, frame) = projection((precision, coarse), tile, lifted, frame);
            let parts = vec![
                page_loop(own, height),
                page_loop(next, 1),
                page_loop(projected, height / 2),
            ];
            return (parts, frame);
        }
        MultigridOperator::ResidualSquares => {
            let parts = residuals(problem, (operator, level), tile, planes::RowSubset::Own);
            return (parts, frame);
        }
        MultigridOperator::Finish => {
            let mut parts = residuals(problem, (operator, level), tile, planes::RowSubset::Own);
            let places = [RowOperand::Input(0, 0), RowOperand::Output(1, 0)];
            parts.push(page_loop(turn(tile, false, false, places), height));
            return (parts, frame);
        }
    };
    (vec![page_loop(rows, height)], frame)
}

/// Returns the weights of A, but that for faces, which is 0.
fn operator_weights() -> Vec<(&'static str, String)> {
    let [centre, _, edges, corners] = MgProblem::OPERATOR;
    name_weights([("A0", centre), ("A2", edges), ("A3", corners)])
}

/// Returns the weights of S, but that for corners, which is 0, and whether there is a u.
fn smoother_weights(problem: &MgProblem, add: bool) -> Vec<(&'static str, String)> {
    let [centre, faces, edges, _] = problem.smoother().weights();
    let mut numbers = name_weights([("C0", centre), ("C1", faces), ("C2", edges)]);
    numbers.push(addend(add));
    numbers
}

/// Returns weights as texts of the same values.
fn name_weights(weights: [(&'static str, f64); 3]) -> Vec<(&'static str, String)> {
    let text = |(name, value): (&'static str, f64)| (name, format!("{value:?}"));
    weights.map(text).into()
}

/// Returns the number that says whether there is a u that results are added to.
fn addend(add: bool) -> (&'static str, String) {
    ("ADD", u8::from(add).to_string())
}

/// Makes a loop over rows of so many quads, from places on.
fn plane_loop(
    (file, call): (&'static str, &'static str),
    quads: i64,
    places: &[RowOperand],
    numbers: Vec<(&'static str, String)>,
) -> LinearRows {
    let places = places.iter().copied().map(LoopArgument::Place);
    LinearRows {
        file,
        call,
        arguments: std::iter::once(LoopArgument::Number(quads))
            .chain(places)
            .collect(),
        planes: 0..0,
        numbers,
        squares: false,
    }
}

/// Makes a loop of a page.
fn page_loop(rows: LinearRows, iterations: u64) -> PageLoop {
    PageLoop { rows, iterations }
}

/// Makes a loop from natural to lifted rows, or the reverse.
fn turn(tile: PlaneTile, lift: bool, squares: bool, places: [RowOperand; 2]) -> LinearRows {
    let numbers = [tile.row() / QUAD, lift.into(), squares.into()].map(LoopArgument::Number);
    let places = places.map(LoopArgument::Place);
    LinearRows {
        file: "lifted_turn.s",
        call: "lifted_turn_rows",
        arguments: numbers.into_iter().chain(places).collect(),
        planes: 0..0,
        numbers: Vec::new(),
        squares,
    }
}

/// Returns the additional loops of a page to which no rows were handed over; they precede the others. Empty
/// if blocks hand nothing over.
pub(super) fn opening(
    problem: &MgProblem,
    key: (MultigridOperator, u32),
    block: OperatorBlock,
) -> Vec<PageLoop> {
    let tile = tile(problem.precision(), key, block);
    match block.handed {
        true => residuals(problem, key, tile, planes::RowSubset::Opening),
        false => Vec::new(),
    }
}

/// Index of the output of lifted rows, in a pass that has other outputs too.
const LIFTED: usize = 1;

/// Returns the loop that projects rows of a plane from a place, and the page setup with its switches.
fn projection(
    (precision, quads): (Precision, i64),
    tile: PlaneTile,
    from: RowOperand,
    frame: PageSetup,
) -> (LinearRows, PageSetup) {
    let places = [from, tile.place(TileArray::Projected)];
    let call = ("plane_projection.s", "plane_projection_rows");
    let projected = plane_loop(call, quads, &places, Vec::new());
    // The first page has an odd plane: its mask keeps the sum so far and its factor is 1; the next page's are
    // 0 and 1/2.
    let number = |value| fill_quad(precision, value);
    let switch = Some([[[u32::MAX; 4], number(1.0)], [[0; 4], number(0.5)]]);
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
    problem: &MgProblem,
    (operator, level): (MultigridOperator, u32),
    tile: PlaneTile,
    which: planes::RowSubset,
) -> Vec<PageLoop> {
    let precision = problem.precision();
    let [fine, coarse] = [level, level.saturating_sub(1)].map(|of| quads(precision, of) as i64);
    let row = tile.row();
    let (mut parts, mut u) = (Vec::new(), RowOperand::Input(0, 0));
    if let MultigridOperator::Ascend { add } = operator {
        u = field(tile, add);
        let (first, pairs) = tile.pairs(which);
        // Two rows of u, twice as long, for each of the correction.
        let shorter = coarse * quad_bytes(precision);
        let correction = RowOperand::Input(if add { 2 } else { 0 }, (first - 1) * shorter);
        let places = [correction, shift_operand(u, 4 * first * shorter)];
        let call = ("interpolation.s", "correction_rows");
        let rows = plane_loop(call, coarse, &places, vec![addend(add)]);
        parts.push(page_loop(rows, pairs.unsigned_abs()));
    }
    let (first, rows) = tile.part(which);
    let squares = matches!(
        operator,
        MultigridOperator::ResidualSquares | MultigridOperator::Finish
    );
    let places = [
        u,
        RowOperand::Input(V, 0),
        tile.place(TileArray::Partial),
        tile.place(TileArray::Given),
    ];
    let places = places.map(|place| shift_operand(place, first * row));
    let mut numbers = operator_weights();
    numbers.push(("SQUARES", u8::from(squares).to_string()));
    let call = ("plane_residual.s", "plane_residual_rows");
    let residual = LinearRows {
        squares,
        ..plane_loop(call, fine, &places, numbers)
    };
    parts.push(page_loop(residual, rows.unsigned_abs()));
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
