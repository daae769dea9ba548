//! Arithmetic cycles of the last pass of paired real columns.

use super::line_batch::LineBatch;

impl LineBatch {
    /// Returns the iterations of the last pass over paired real columns, without those of columns that are
    /// their own partners.
    fn frames(&self) -> u64 {
        (self.len() as u64 / 16 - 1) * self.per_section() as u64 / 2
    }

    /// Returns the issues of a page's split. An iteration has 16 and two products by 1/2; the iteration of a
    /// pair's columns that are their own partners has 18 and two products by 1/2.
    pub(super) fn separate_issues(&self) -> u64 {
        18 * self.frames() + 20 * self.per_section() as u64 / 2
    }

    /// Returns the issues of a page's split that are products by 1/2: two of every iteration. The others are
    /// butterflies.
    pub(super) fn separate_halves(&self) -> u64 {
        2 * self.frames() + self.per_section() as u64
    }
}
