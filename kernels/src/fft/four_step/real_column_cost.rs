//! The arithmetic of the last pass of real columns.

use super::line_batch::LineBatch;

impl LineBatch {
    /// The iterations of the last pass of couples of real columns, but for the columns that are their own partners.
    fn frames(&self) -> u64 {
        (self.len() as u64 / 16 - 1) * self.per_section() as u64 / 2
    }

    /// Arithmetic issues of a page's separation: 16 of an iteration, 18 of the first of a couple, and two halves.
    pub(super) fn separate_issues(&self) -> u64 {
        18 * self.frames() + 20 * self.per_section() as u64 / 2
    }

    /// Of these the products by 1/2, two of an iteration and of the first of a couple; the others are butterflies.
    pub(super) fn separate_halves(&self) -> u64 {
        2 * self.frames() + self.per_section() as u64
    }
}
