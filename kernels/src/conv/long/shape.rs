//! How a long block is cut into pages.

/// Rows of a block.
pub(super) const ROWS: usize = 64;
/// Columns of a page of columns.
pub(super) const COLUMNS: usize = 16;
/// Numbers of a section's page: 16 columns, or some rows.
pub(super) const PAGE: usize = ROWS * COLUMNS;
/// Passes of radix 8 down the columns.
pub(super) const PASSES: u32 = 2;
/// Lengths of a row. 256 would need records for every other iteration, and
/// gains nothing: blocks of 2^13 and of 2^15 cost as little as those of 2^14
/// wherever these are the best.
pub(in crate::conv) const ROW_LENGTHS: [usize; 3] = [128, 512, 1024];

/// Blocks of `ROWS` rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Numbers of a row.
    pub(super) row: usize,
    /// Sections that a block is dealt to.
    pub(super) sections: usize,
    /// Blocks of which the same pages follow one another, with the same factors.
    pub(super) together: usize,
    /// Rows of a block that are no outputs.
    pub(super) skip: usize,
}

impl Shape {
    /// Numbers of a block.
    pub(super) fn numbers(&self) -> usize {
        ROWS * self.row
    }

    /// Pages of each kind in a block, if it can be dealt.
    pub(super) fn pages(&self) -> Option<usize> {
        let pages = self.row / COLUMNS;
        (pages % self.sections == 0).then_some(pages / self.sections)
    }

    /// The columns of a section's page: dealt two neighbours at a time.
    pub(super) fn columns(&self, page: usize, section: usize) -> [usize; COLUMNS] {
        let all = self.sections;
        std::array::from_fn(|c| page * all * COLUMNS + c / 2 * 2 * all + 2 * section + c % 2)
    }
}
