//! Loops over rows of an operator, on rows in the lifted layout.
//!
//! An iteration computes one row of the result, or the rows that belong to one row of the coarser level.
//!
//! In a *lifted* row of n points, quad X holds the points X, X + n/L, .. of which there are as many as a quad has
//! numbers: L = 4 in single precision, L = 2 in double precision. In double-single precision L = 4 too, and a quad X
//! is two quads of registers and of memory: the upper parts of its numbers, then the lower parts. So the neighbours
//! along x of a quad are the adjacent quads. Only at the ends of a row the numbers of a quad are rotated by one, which
//! closes the periodic ring. The point 2 J + 1 of a row is in the place of a quad that J has in a row of the coarser
//! level.
//!
//! The coarsest rows have two points. Where a quad has four numbers they are stored as rows of four, the two points
//! twice: a sequence of period 2 also has the period 4.

use cp2_problems::npb::Precision;

/// Bytes of a quad.
pub(super) const QUAD: i64 = 16;

/// Returns how many numbers of a precision an operation on quads computes.
pub(super) fn numbers_of_quad(precision: Precision) -> u64 {
    match precision {
        Precision::Single | Precision::DoubleSingle => 4,
        Precision::Double => 2,
    }
}

/// Returns the bytes of as many numbers of a precision as an operation on quads computes.
pub(super) fn quad_bytes(precision: Precision) -> i64 {
    (numbers_of_quad(precision) * precision.bytes()) as i64
}

/// The place of the first row that an iteration reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowOperand {
    /// In the page of an input: its number, and the bytes from its start.
    Input(usize, i64),
    /// In the page of an output: its number, and the bytes from its start.
    Output(usize, i64),
    /// In the working space: the bytes from its start.
    Scratch(i64),
}

/// Operators of V-cycles, single and fused. A is the 27-point operator, S the smoother.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MultigridOperator {
    /// `r = v - A u`: the first input is u, the second v.
    Residual,
    /// `u + S r`: the first input is r; the second is u, if it is not zero.
    Smooth {
        /// True if u is not zero.
        add: bool,
    },
    /// Projection: a row of the coarser level from three rows of three planes.
    Project,
    /// Interpolation: two rows of two planes. The first input is the coarser level; the second is u, if it is
    /// not zero, which the result is added to.
    Interpolate {
        /// True if u is not zero.
        add: bool,
    },
    /// Correction, residual and smoother in one pass over planes.
    ///
    /// The inputs are u, if it is not zero, v, and the correction interpolated along z; without u the
    /// correction is the first input.
    Ascend {
        /// True if u is not zero.
        add: bool,
    },
    /// Residual and projection in one pass over planes: the inputs are u and v.
    Descend,
    /// The planes of a level that lie between those of the coarser level, interpolated along z.
    Expand,
    /// The sum of the squares of the residual of a page, lane by lane, in a pass over planes: the inputs are
    /// u and v. The residual is not stored.
    ResidualSquares,
    /// Rows in natural order to lifted rows, with the sum of their squares.
    Lift,
    /// Rows in natural order to lifted rows, with the sum of their squares and their projection, in one pass
    /// over planes.
    Begin,
    /// Lifted rows to rows in natural order.
    Lower,
    /// Lifted rows of u to rows in natural order, and the sum of the squares of the residual, in one pass
    /// over planes: the inputs are u and v.
    Finish,
}

/// Returns the lanes of a quad whose numbers are all the same one, of which it has the upper parts in double-single
/// precision.
pub(super) fn fill_quad(precision: Precision, value: f64) -> [u32; 4] {
    match precision {
        Precision::Single | Precision::DoubleSingle => [(value as f32).to_bits(); 4],
        Precision::Double => {
            let bits = value.to_bits();
            let [low, high] = [bits as u32, (bits >> 32) as u32];
            [low, high, low, high]
        }
    }
}
