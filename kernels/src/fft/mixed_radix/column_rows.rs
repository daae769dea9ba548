//! The rows of the columns of a block.

use super::column_loop::COMPLEX;
use crate::pipeline::{Body, Pointer, Reg, Value};

/// Where the rows of a column are, one column in an iteration: pointers, and bytes from a row to the next.
#[derive(Clone, Copy, Debug)]
pub(super) enum ColumnRows {
    /// Quads.
    Quads(Pointer, i64),
    /// Single numbers of two transforms.
    Twins([Pointer; 2], i64),
    /// Two columns of one transform whose odd rows begin between two quads: a pointer for the even ones, one
    /// for the others.
    Shifted([Pointer; 2], i64),
}

impl ColumnRows {
    /// Row m of the column.
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

    /// `y` becomes row m.
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
