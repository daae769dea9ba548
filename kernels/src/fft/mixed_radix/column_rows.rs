//! Addresses of the rows of a column in a block: pointers and pitch.

use super::column_loop::COMPLEX;
use cp2_asm::schedule::{DataOperand, DataPointer, DataValue, Dataflow};

/// Addresses of the rows of a column, one column in an iteration: pointers, and bytes from a row to the next.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnRows {
    /// Rows are quads.
    Quads(DataPointer, i64),
    /// Rows are single numbers of two transforms, with a pointer for each.
    Twins([DataPointer; 2], i64),
    /// Rows are two columns of one transform whose odd rows begin between two quads: a pointer for the even
    /// rows, one for the odd ones.
    Shifted([DataPointer; 2], i64),
}

impl ColumnRows {
    /// Loads row m of the column.
    pub(super) fn load(self, body: &mut Dataflow, m: usize) -> DataValue {
        let x = body.quad();
        match self {
            Self::Quads(a, apart) => body.load(DataOperand::Whole(x), a, m as i64 * apart),
            Self::Twins([a, b], apart) => {
                body.load(DataOperand::Lo(x), a, m as i64 * apart);
                body.load(DataOperand::Hi(x), b, m as i64 * apart);
            }
            Self::Shifted([a, _], apart) if m.is_multiple_of(2) => {
                body.load(DataOperand::Whole(x), a, m as i64 * apart)
            }
            Self::Shifted([_, a], apart) => {
                body.load(DataOperand::Lo(x), a, m as i64 * apart);
                body.load(DataOperand::Hi(x), a, m as i64 * apart + COMPLEX);
            }
        }
        x
    }

    /// Stores `y` as row m of the column.
    pub(super) fn store(self, body: &mut Dataflow, m: usize, y: DataValue) {
        match self {
            Self::Quads(a, apart) => body.store(DataOperand::Whole(y), a, m as i64 * apart),
            Self::Twins([a, b], apart) => {
                body.store(DataOperand::Lo(y), a, m as i64 * apart);
                body.store(DataOperand::Hi(y), b, m as i64 * apart);
            }
            Self::Shifted([a, _], apart) if m.is_multiple_of(2) => {
                body.store(DataOperand::Whole(y), a, m as i64 * apart)
            }
            Self::Shifted([_, a], apart) => {
                body.store(DataOperand::Lo(y), a, m as i64 * apart);
                body.store(DataOperand::Hi(y), a, m as i64 * apart + COMPLEX);
            }
        }
    }
}
