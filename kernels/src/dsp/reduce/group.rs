//! Loads of four contiguous rows of n floats, which are n quads for every n.
//!
//! Registers are loaded by quads at multiples of 16 bytes and by pairs at multiples of 8. Even rows begin at
//! a multiple of 8. If n is odd, the last float of an even row and the first float of the odd row behind it
//! share a pair: rows 0 and 1 share one, rows 2 and 3 another. So the floats of a row are
//!
//! * *units* of four, each a quad, or two pairs where rows do not begin at multiples of 16 bytes;
//! * an *extra* pair, if there are two or three more: the pairs of two rows are loaded as a quad;
//! * an *odd* float: those of all rows are in the two shared pairs, in the rows' order.

use super::super::kernel::{InPage, pointer};
use super::QUAD;
use cp2_asm::schedule::{DataOperand, DataPointer, Dataflow};

/// Number of rows of a group.
pub(super) const ROWS: usize = 4;

/// The parts of rows of one length.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowGroup {
    /// Number of floats of a row.
    pub(super) n: usize,
    /// Number of units of a row.
    pub(super) units: usize,
    /// True if there is an extra pair.
    pub(super) extra: bool,
    /// True if there is an odd float.
    pub(super) odd: bool,
}

impl RowGroup {
    /// Divides rows of `n` floats into parts.
    pub(super) fn new(n: usize) -> Self {
        Self {
            n,
            units: n / QUAD,
            extra: n % QUAD >= 2,
            odd: n % 2 == 1,
        }
    }

    /// Returns the index of the first float of a row that is not the odd one.
    fn begin(&self, row: usize) -> usize {
        row * self.n + usize::from(self.odd && row % 2 == 1)
    }
}

/// A group of rows of an input, and the pointers through which it is loaded, as far as there are any: to
/// quads, to the pairs of units, and to the floats beyond the units.
///
/// An iteration's accesses through a pointer lie within an interval and have offsets of one alignment.
#[derive(Debug)]
pub(super) struct InputGroup {
    group: RowGroup,
    /// Number of the input.
    input: usize,
    pointers: [Option<DataPointer>; 3],
}

impl InputGroup {
    /// Creates a group that nothing is loaded of yet.
    pub(super) fn new(group: RowGroup, input: usize) -> Self {
        Self {
            group,
            input,
            pointers: [None; 3],
        }
    }

    /// Returns its pointers into the input's page.
    pub(super) fn pages(&self) -> impl Iterator<Item = InPage> + '_ {
        let pointers = self.pointers.iter().flatten();
        pointers.map(|&pointer| (pointer, self.input, 0))
    }

    /// Returns a pointer, which is made when it is first needed.
    fn pointer(&mut self, body: &mut Dataflow, which: usize) -> DataPointer {
        let register = 2 + 3 * self.input + which;
        let bytes = (4 * ROWS * self.group.n) as i64;
        *self.pointers[which].get_or_insert_with(|| pointer(body, register, bytes))
    }

    /// Loads a quad of the group.
    pub(super) fn quad(&mut self, body: &mut Dataflow, quad: usize) -> DataOperand {
        let value = DataOperand::Whole(body.quad());
        let from = self.pointer(body, 0);
        body.load(value, from, 16 * quad as i64);
        value
    }

    /// Loads two pairs as a quad, by the indices of their first floats.
    fn pairs(&mut self, body: &mut Dataflow, which: usize, places: [usize; 2]) -> DataOperand {
        let value = body.quad();
        let from = self.pointer(body, which);
        for (half, at) in [DataOperand::Lo(value), DataOperand::Hi(value)]
            .into_iter()
            .zip(places)
        {
            body.load(half, from, 4 * at as i64);
        }
        DataOperand::Whole(value)
    }

    /// Loads a unit of a row.
    pub(super) fn unit(&mut self, body: &mut Dataflow, row: usize, unit: usize) -> DataOperand {
        let at = self.group.begin(row) + QUAD * unit;
        if at.is_multiple_of(QUAD) {
            self.quad(body, at / QUAD)
        } else {
            self.pairs(body, 1, [at, at + 2])
        }
    }

    /// Loads the extra pairs of rows 0 and 1 (`half` 0), or of rows 2 and 3.
    pub(super) fn extra(&mut self, body: &mut Dataflow, half: usize) -> DataOperand {
        let of = |row: usize| self.group.begin(row) + QUAD * self.group.units;
        self.pairs(body, 2, [of(2 * half), of(2 * half + 1)])
    }

    /// Loads the odd float of every row.
    pub(super) fn odd(&mut self, body: &mut Dataflow) -> DataOperand {
        let n = self.group.n;
        self.pairs(body, 2, [n - 1, 3 * n - 1])
    }
}
