//! The page kernel of `array.s`: arrays of two axes, one in each section, or eight parts of one.

use super::cost::AFTER;
use super::lines::{COMPLEX, Lines};
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

/// Eight rows of arrays, with the same row of every eighth, and of several rows n2 side by side.
#[derive(Debug)]
pub(super) struct EighthPages {
    /// The columns across the eighths, a page all those of its rows.
    pub lines: Lines,
    pub sections: u64,
    pub batch: u64,
    /// Rows of an array and numbers of a row.
    pub shape: [u64; 2],
    /// Address of the arrays.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
}

impl EighthPages {
    /// Bytes of a section's rows of an eighth.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * COMPLEX
    }

    /// Bytes of an eighth of an array.
    fn eighth(&self) -> u64 {
        self.shape[0] / self.lines.len() as u64 * self.shape[1] * COMPLEX
    }

    /// Pages of an array.
    fn per_array(&self) -> u64 {
        self.eighth() / (self.sections * self.run())
    }

    /// Where a section's rows begin, and how the sections' and the eighths' lie.
    fn transfer(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        (base, page): (u64, u64),
        local: u32,
    ) -> Vec<Descriptor> {
        let (array, part) = (page / self.per_array(), page % self.per_array());
        let (run, eighths) = (self.run(), self.lines.len() as u64);
        let at = base + array * eighths * self.eighth() + part * self.sections * run;
        let target = Target::Blocks { stride: run as i64 };
        let all = make(target, at, local, run);
        vec![all.level(eighths as u32, self.eighth() as i64, run as i64)]
    }
}

impl Pages for EighthPages {
    fn count(&self) -> u64 {
        self.batch * self.per_array()
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        self.transfer(Descriptor::load, (self.from, page), local)
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        self.transfer(Descriptor::store, (self.to, page), local)
    }

    fn issues(&self, _page: u64) -> u64 {
        let rows = self.lines.len() as u64 * self.lines.per_section() as u64 / 2;
        rows * u64::from(self.shape[1].ilog2()) + self.lines.butterflies()
    }

    fn overhead(&self, _page: u64) -> u64 {
        ROWS + self.lines.column_overhead()
    }

    fn after(&self, _page: u64) -> u64 {
        AFTER
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

    fn after(&self, _page: u64) -> u64 {
        AFTER
    }
}
