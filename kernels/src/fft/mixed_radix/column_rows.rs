//! Addresses of the rows of a column in a block: pointers and pitch.

use super::column_loop::COMPLEX;
use crate::pipeline::{BlockBody, BodyOperand, BodyPointer, BodyValue};

/// Addresses of the rows of a column, one column in an iteration: pointers, and bytes from a row to the next.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnRows {
    /// Rows are quads.
    Quads(BodyPointer, i64),
    /// Rows are single numbers of two transforms, with a pointer for each.
    Twins([BodyPointer; 2], i64),
    /// Rows are two columns of one transform whose odd rows begin between two quads: a pointer for the even
    /// rows, one for the odd ones.
    Shifted([BodyPointer; 2], i64),
}

impl ColumnRows {
    /// Loads row m of the column.
    pub(super) fn load(self, body: &mut BlockBody, m: usize) -> BodyValue {
        let x = body.quad();
        match self {
            Self::Quads(a, apart) => body.load(BodyOperand::Whole(x), a, m as i64 * apart),
            Self::Twins([a, b], apart) => {
                body.load(BodyOperand::Lo(x), a, m as i64 * apart);
                body.load(BodyOperand::Hi(x), b, m as i64 * apart);
            }
            Self::Shifted([a, _], apart) if m.is_multiple_of(2) => {
                body.load(BodyOperand::Whole(x), a, m as i64 * apart)
            }
            Self::Shifted([_, a], apart) => {
                body.load(BodyOperand::Lo(x), a, m as i64 * apart);
                body.load(BodyOperand::Hi(x), a, m as i64 * apart + COMPLEX);
            }
        }
        x
    }

    /// Stores `y` as row m of the column.
    pub(super) fn store(self, body: &mut BlockBody, m: usize, y: BodyValue) {
        match self {
            Self::Quads(a, apart) => body.store(BodyOperand::Whole(y), a, m as i64 * apart),
            Self::Twins([a, b], apart) => {
                body.store(BodyOperand::Lo(y), a, m as i64 * apart);
                body.store(BodyOperand::Hi(y), b, m as i64 * apart);
            }
            Self::Shifted([a, _], apart) if m.is_multiple_of(2) => {
                body.store(BodyOperand::Whole(y), a, m as i64 * apart)
            }
            Self::Shifted([_, a], apart) => {
                body.store(BodyOperand::Lo(y), a, m as i64 * apart);
                body.store(BodyOperand::Hi(y), a, m as i64 * apart + COMPLEX);
            }
        }
    }
}
