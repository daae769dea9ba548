//! The page kernel of `array.s`: arrays of two axes, one in each section, or eight parts of one.

use super::cost::AFTER;
use super::lines::{COMPLEX, LAST, Lines};
use crate::ring::Pages;
use cp2_dma::{Descriptor, Target};

/// Cycles that the rows of a page take beside their arithmetic, words counted in `array.s` and
/// `stockham.s`.
const ROWS: u64 = 90;
/// The loop around the pieces of an array: two words of the ring, a wait, two counts and a branch.
const PIECE: u64 = 6;
/// A further piece of the result: the last pass is filled and drained again.
const RESULT: u64 = 42;
/// Words behind the signal of a piece.
const AFTER_PIECE: u64 = 2;

/// `batch` arrays, as many at a time as there are sections, each in pieces: a page of the pass is
/// a piece of every section's array.
#[derive(Debug)]
pub(super) struct ArrayPages {
    /// The columns, all those of an array.
    pub lines: Lines,
    pub sections: u64,
    pub batch: u64,
    pub pieces: u64,
    /// Address of the arrays.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
}

impl ArrayPages {
    /// The sections' arrays, and bytes from the first array to the first of a group. Where the last ones are
    /// fewer than the sections, some are transformed again.
    fn of(&self, group: u64) -> (Target, u64) {
        let bytes = self.lines.page_bytes();
        let first = (group * self.sections).min(self.batch.saturating_sub(self.sections));
        let target = Target::Blocks {
            stride: bytes as i64,
        };
        (target, first * bytes)
    }

    /// The group of a page, and the piece that it is.
    fn at(&self, page: u64) -> (u64, u64) {
        (page / self.pieces, page % self.pieces)
    }

    /// Bytes of a piece of an array.
    fn piece_bytes(&self) -> u64 {
        self.lines.page_bytes() / self.pieces
    }

    /// Issues of the rows of a piece, of the columns' passes but the last, and of a piece of that.
    fn parts(&self) -> [u64; 3] {
        let halves = (self.lines.len() * self.lines.per_section() / 2) as u64;
        let rows = halves * u64::from(self.lines.per_section().ilog2());
        let last = halves * u64::from(LAST.ilog2());
        let early = self.lines.butterflies() - last;
        [rows / self.pieces, early, last / self.pieces]
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
        self.batch.div_ceil(self.sections) * self.pieces
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (group, piece) = self.at(page);
        let (target, at) = self.of(group);
        let bytes = self.piece_bytes();
        let system = self.from + at + piece * bytes;
        vec![Descriptor::load(target, system, local, bytes)]
    }

    /// An eighth of a piece are rows on end, an eighth of the array apart.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (group, piece) = self.at(page);
        let (target, at) = self.of(group);
        let (bytes, eighths) = (self.piece_bytes(), LAST as u64);
        let (run, apart) = (bytes / eighths, self.lines.page_bytes() / eighths);
        // The place of a piece of the array is not where its results lie.
        let first = u64::from(local) - piece * bytes + piece * run;
        let store = Descriptor::store(target, self.to + at + piece * run, first as u32, run);
        vec![store.level(eighths as u32, apart as i64, apart as i64)]
    }

    fn period(&self) -> u64 {
        self.pieces
    }

    fn group(&self) -> u64 {
        self.pieces
    }

    fn issues(&self, page: u64) -> u64 {
        let [rows, early, last] = self.parts();
        rows + last + early * u64::from(self.at(page).1 == 0)
    }

    fn overhead(&self, page: u64) -> u64 {
        match (self.pieces, self.at(page).1) {
            (1, _) => ROWS + self.lines.column_overhead(),
            (_, 0) => ROWS + PIECE + self.lines.column_overhead(),
            _ => ROWS + PIECE + RESULT,
        }
    }

    fn head(&self, _page: u64) -> u64 {
        let [rows, ..] = self.parts();
        match self.pieces {
            1 => 0,
            _ => rows + ROWS + PIECE,
        }
    }

    fn after(&self, _page: u64) -> u64 {
        match self.pieces {
            1 => AFTER,
            _ => AFTER_PIECE,
        }
    }

    /// The places of an array are free when all of the result before has gone.
    fn next(&self, page: Option<u64>, ahead: u64) -> Vec<u64> {
        match page {
            None => (0..ahead).collect(),
            Some(page) if (page + 1) % self.pieces > 0 => Vec::new(),
            Some(page) => (page + 1 - self.pieces..=page)
                .map(|page| page + ahead)
                .collect(),
        }
    }
}
