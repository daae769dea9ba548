//! How a long block is cut into rows, columns and pages.

use super::pages::LongPageKind;
use super::schedule::PhaseShare;
use cp2_machine::Class;

/// Numbers of a section's page: some columns, or some rows.
pub(super) const PAGE: usize = 1024;

/// A block of `rows` rows of `row` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::conv) struct BlockMatrix {
    /// Number of rows: 64, or 512.
    pub(in crate::conv) rows: usize,
    /// Numbers of a row.
    pub(in crate::conv) row: usize,
}

/// Block sizes that there are kernels for: every power of two from 2^13 to 2^19.
pub(in crate::conv) const CUTS: [BlockMatrix; 7] = [
    BlockMatrix::new(64, 128),
    BlockMatrix::new(64, 256),
    BlockMatrix::new(64, 512),
    BlockMatrix::new(64, 1024),
    BlockMatrix::new(512, 256),
    BlockMatrix::new(512, 512),
    BlockMatrix::new(512, 1024),
];

/// Number of taps above which blocks of 512 rows can be the fastest (measured in `docs/convolution.md`).
const MANY_ROWS_TAPS: usize = 8192;

impl BlockMatrix {
    const fn new(rows: usize, row: usize) -> Self {
        Self { rows, row }
    }

    /// Returns the numbers of a block.
    pub(in crate::conv) fn numbers(self) -> usize {
        self.rows * self.row
    }

    /// Returns the numbers of a block that are no outputs with so many taps, rounded up to what `sections`
    /// are dealt at a time: two columns of a row for each.
    pub(super) fn overlap(self, taps: usize, sections: usize) -> usize {
        (taps - 1).next_multiple_of(2 * sections)
    }

    /// Returns whether a block has at least one row more than the overlap, and is not certainly slower than
    /// another kind.
    pub(in crate::conv) fn suits_taps(self, taps: usize) -> bool {
        (taps - 1).div_ceil(self.row) < self.rows
            && (self.rows == CUTS[0].rows || taps > MANY_ROWS_TAPS)
    }

    /// Returns the columns of a section's page.
    pub(super) fn columns(self) -> usize {
        PAGE / self.rows
    }

    /// Returns the passes of radix 8 down the columns.
    pub(super) fn passes(self) -> u32 {
        self.rows.ilog2() / 3
    }
}

/// Long blocks on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LongBlockShape {
    /// Number and length of the rows.
    pub(super) cut: BlockMatrix,
    /// Sections that a block is dealt to.
    pub(super) sections: usize,
    /// Blocks whose pages of one number follow one another, with the same factors.
    pub(super) together: usize,
    /// Numbers of a block that are no outputs; they may end in the middle of a row.
    pub(super) overlap: usize,
}

impl LongBlockShape {
    /// Returns the numbers of a block.
    pub(super) fn numbers(&self) -> usize {
        self.cut.numbers()
    }

    /// Returns the outputs of a block.
    pub(super) fn outputs(&self) -> usize {
        self.numbers() - self.overlap
    }

    /// Returns the pages of each kind in a block, if it can be dealt to the sections.
    pub(super) fn pages(&self) -> Option<usize> {
        let pages = self.numbers() / PAGE;
        pages
            .is_multiple_of(self.sections)
            .then_some(pages / self.sections)
    }

    /// Returns the butterflies and products of a section's page.
    pub(super) fn arithmetic(&self, kind: LongPageKind) -> (u64, u64) {
        let page = PAGE as u64;
        match kind {
            LongPageKind::Columns | LongPageKind::Back => {
                (page / 2 * u64::from(3 * self.cut.passes()), 0)
            }
            LongPageKind::Rows => (page * u64::from(self.cut.row.ilog2()), page / 2),
        }
    }

    /// Returns the arithmetic of `steps` pages of each share, of all sections: class and operations.
    pub(super) fn operations(&self, shares: &[PhaseShare], steps: u64) -> Vec<(Class, u64)> {
        let kinds = shares.iter().map(|share| self.arithmetic(share.kind));
        let (butterflies, products) =
            kinds.fold((0, 0), |all, kind| (all.0 + kind.0, all.1 + kind.1));
        let each = steps * self.sections as u64;
        vec![
            (Class::Butterfly, butterflies * each),
            (Class::Madd, products * each),
        ]
    }

    /// Returns the columns of a section's page: two adjacent ones are dealt at a time.
    pub(super) fn columns(&self, page: usize, section: usize) -> Vec<usize> {
        let (all, own) = (self.sections, self.cut.columns());
        let column = |c: usize| page * all * own + c / 2 * 2 * all + 2 * section + c % 2;
        (0..own).map(column).collect()
    }
}
