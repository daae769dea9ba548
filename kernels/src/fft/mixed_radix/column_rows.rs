//! Addresses of the rows of a column in a block: pointers and pitch.

use super::column_loop::COMPLEX;
use crate::pipeline::{Body, Pointer, Reg, Value};

/// Addresses of the rows of a column, one column in an iteration: pointers, and bytes from a row to the next.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnRows {
    /// Rows are quads.
    Quads(Pointer, i64),
    /// Rows are single numbers of two transforms, with a pointer for each.
    Twins([Pointer; 2], i64),
    /// Rows are two columns of one transform whose odd rows begin between two quads: a pointer for the even
    /// rows, one for the odd ones.
    Shifted([Pointer; 2], i64),
}

impl ColumnRows {
    /// Loads row m of the column.
    pub(super) fn load(self, body: &mut Body, m: usize) -> Value {
        let x = body.quad();
        match self {
            Self::Quads(a, apart) => body.load(Reg::Whole(x), a, m as i64 * apart),
            Self::Twins([a, b], apart) => {
                body.load(Reg::Lo(x), a, m as i64 * apart);
                body.load(Reg::Hi(x), b, m as i64 * apart);
            }
            Self::Shifted([a, _], apart) if m.is_multiple_of(2) => {
                body.load(Reg::Whole(x), a, m as i64 * apart)
            }
            Self::Shifted([_, a], apart) => {
                body.load(Reg::Lo(x), a, m as i64 * apart);
                body.load(Reg::Hi(x), a, m as i64 * apart + COMPLEX);
            }
        }
        x
    }

    /// Stores `y` as row m of the column.
    pub(super) fn store(self, body: &mut Body, m: usize, y: Value) {
        match self {
            Self::Quads(a, apart) => body.store(Reg::Whole(y), a, m as i64 * apart),
            Self::Twins([a, b], apart) => {
                body.store(Reg::Lo(y), a, m as i64 * apart);
                body.store(Reg::Hi(y), b, m as i64 * apart);
            }
            Self::Shifted([a, _], apart) if m.is_multiple_of(2) => {
                body.store(Reg::Whole(y), a, m as i64 * apart)
            }
            Self::Shifted([_, a], apart) => {
                body.store(Reg::Lo(y), a, m as i64 * apart);
                body.store(Reg::Hi(y), a, m as i64 * apart + COMPLEX);
            }
        }
    }
}
