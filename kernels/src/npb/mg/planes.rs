//! Places of the rows that fused passes keep between planes.
//!
//! The operator on a plane and both its neighbours is taken apart: the contribution of a plane to its
//! neighbours is computed once, when the plane is loaded. With C = u(y-1) + u(y+1), H = u + C/2 and Q = C +
//! H(x-1) + H(x+1), a plane has the partial residual P = v - a0 u - a2 (C(x-1) + C(x+1)) - a2 Q(z-1) until
//! the next plane is loaded; then its residual is P - a2 Q(z+1): nine operations a quad. The smoother takes
//! ten by the same idea.
//!
//! The residual of the plane before takes the place of the rows of v of the current page, since it is needed
//! in that page alone. Its last rows are stored from there, and the section's next block, if it is adjacent,
//! loads them there instead of computing them again.

use super::rows::{MultigridOperator, RowOperand};

/// The arrays of a section in its working space, made of rows of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaneTile {
    /// Number of rows of a block, on the finer level.
    pub(super) height: i64,
    /// Number of rows before the block whose residual is computed too.
    pub(super) before: i64,
    /// Number of rows behind the block whose residual is computed too.
    pub(super) behind: i64,
    /// True if a residual is computed.
    pub(super) residual: bool,
    /// Bytes of a row of the finer level.
    pub(super) row: i64,
    /// Number of rows of the residual that the block before hands over, if it is of the same section: the
    /// first ones.
    pub(super) handed: i64,
}

/// Subsets of a block's rows that a loop computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowSubset {
    /// All rows, or those that are not handed over.
    Own,
    /// The first rows, which a block computes besides if they were not handed over to it.
    Opening,
}

/// Index of the input v, whose place the residual takes.
pub(super) const V: usize = 1;

/// Arrays in the working space. The page that loads plane z finds values of the planes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TileArray {
    /// Partial residual P of plane z-1, without the contribution of plane z; includes the rows beside the
    /// block.
    Partial,
    /// Contribution Q of plane z-1; includes the rows beside the block.
    Given,
    /// Smoothed plane z-2, without the contribution of the residual of plane z-1.
    Smoothed,
    /// u of plane z-1 with the contribution of the residual of plane z-2.
    Begun,
    /// Partial sum of a row of a projection.
    Projected,
    /// u of plane z where it is not in the page; includes two rows more on either side.
    Field,
}

impl PlaneTile {
    /// Returns the bytes of a row.
    pub(super) fn row(self) -> i64 {
        self.row
    }

    /// Returns the number of rows whose residual is computed.
    pub(super) fn residuals(self) -> i64 {
        self.before + self.height + self.behind
    }

    /// Returns the first row whose residual a part computes, relative to the block's first row, and the
    /// number of rows.
    pub(super) fn part(self, part: RowSubset) -> (i64, i64) {
        match part {
            RowSubset::Opening => (-self.before, self.handed),
            RowSubset::Own => (self.handed - self.before, self.residuals() - self.handed),
        }
    }

    /// Returns the first pair of rows of u that a part needs for its residual, relative to the block, and the
    /// number of pairs.
    ///
    /// The pair before the block is included if nothing is handed over.
    pub(super) fn pairs(self, part: RowSubset) -> (i64, i64) {
        match (part, self.handed) {
            (RowSubset::Opening, _) => (-1, 1),
            (RowSubset::Own, 0) => (-1, self.height / 2 + 2),
            (RowSubset::Own, _) => (0, self.height / 2 + 1),
        }
    }

    /// Returns the place of the block's first row of an array in the working space.
    pub(super) fn place(self, kept: TileArray) -> RowOperand {
        let (height, all) = (self.height, self.residuals());
        let state = if self.residual { 2 * all } else { 0 };
        let rows = match kept {
            TileArray::Partial => self.before,
            TileArray::Given => all + self.before,
            // Kernels that smooth do not project, so the two share a place; a projection needs a quarter of a
            // plane.
            TileArray::Smoothed | TileArray::Projected => state,
            TileArray::Begun => state + height,
            TileArray::Field => state + 2 * height + 2,
        };
        RowOperand::Scratch(rows * self.row())
    }

    /// Returns the bytes of the working space of a kernel.
    pub(super) fn bytes(self, operator: MultigridOperator) -> i64 {
        let height = self.height;
        let state = if self.residual {
            2 * self.residuals()
        } else {
            0
        };
        let more = match operator {
            MultigridOperator::Ascend { add: false } => 3 * height + 4,
            MultigridOperator::Ascend { add: true } => 2 * height,
            MultigridOperator::Descend | MultigridOperator::Begin => (height + 3) / 4,
            _ => 0,
        };
        (state + more) * self.row()
    }
}

/// Returns a place so many bytes further.
pub(super) fn shift_operand(place: RowOperand, bytes: i64) -> RowOperand {
    match place {
        RowOperand::Input(i, at) => RowOperand::Input(i, at + bytes),
        RowOperand::Output(i, at) => RowOperand::Output(i, at + bytes),
        RowOperand::Scratch(at) => RowOperand::Scratch(at + bytes),
    }
}
