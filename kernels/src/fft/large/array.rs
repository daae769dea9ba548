//! The page kernel of `array.s`: arrays of two axes, one in each section.

use super::cost::AFTER;
use super::lines::Lines;
use crate::ring::Pages;
use cp2_dma::{Descriptor, Target};

/// Cycles that the rows of a page take beside their arithmetic, words counted in `array.s` and
/// `stockham.s`.
const ROWS: u64 = 90;

/// `batch` arrays, as many at a time as there are sections.
#[derive(Debug)]
pub(super) struct ArrayPages {
    /// The columns, a page all of them.
    pub lines: Lines,
    pub sections: u64,
    pub batch: u64,
    /// Address of the arrays.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
}

impl ArrayPages {
    /// The sections' arrays, and bytes from the first array to the first of a page. Where the last ones are
    /// fewer than the sections, some are transformed again.
    fn of(&self, page: u64) -> (Target, u64) {
        let bytes = self.lines.page_bytes();
        let first = (page * self.sections).min(self.batch.saturating_sub(self.sections));
        let target = Target::Blocks {
            stride: bytes as i64,
        };
        (target, first * bytes)
    }
}

impl Pages for ArrayPages {
    fn count(&self) -> u64 {
        self.batch.div_ceil(self.sections)
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (target, at) = self.of(page);
        let bytes = self.lines.page_bytes();
        vec![Descriptor::load(target, self.from + at, local, bytes)]
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (target, at) = self.of(page);
        let bytes = self.lines.page_bytes();
        vec![Descriptor::store(target, self.to + at, local, bytes)]
    }

    fn issues(&self, _page: u64) -> u64 {
        let numbers = (self.lines.len() * self.lines.per_section()) as u64;
        numbers / 2 * u64::from(numbers.ilog2())
    }

    fn overhead(&self, _page: u64) -> u64 {
        ROWS + self.lines.column_overhead()
    }

    fn after(&self) -> u64 {
        AFTER
    }
}
