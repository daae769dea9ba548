//! The page kernel of `array.s`: arrays of two axes, one in each section, or the parts of one.

use super::line_batch::{COMPLEX, LAST, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;

/// What a page needs beside it: the rows of lines that end in place have there what is between their passes.
fn scratch_bytes(lines: &LineBatch) -> u64 {
    match lines.in_place() {
        true => lines.page_bytes(),
        false => 0,
    }
}

/// Arrays of two axes, as many at a time as there are sections, each in pieces: a page of the pass is
/// a piece of every section's array. The rows of `inner` arrays lie in turn.
#[derive(Debug)]
pub(super) struct ArrayPages {
    /// The columns, all those of an array.
    pub lines: LineBatch,
    pub sections: u64,
    /// How many times `inner` arrays.
    pub batch: u64,
    /// Arrays whose rows lie in turn.
    pub inner: u64,
    pub pieces: u64,
    /// Address of the arrays.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
}

impl ArrayPages {
    fn arrays(&self) -> u64 {
        self.batch * self.inner
    }

    /// The sections' arrays of a group in system memory. Where the last ones are fewer than the sections,
    /// some are transformed again; where all are, the other sections have the first one too.
    fn group_addresses(&self, group: u64, load: bool) -> Vec<(Target, u64)> {
        let (arrays, sections) = (self.arrays(), self.sections);
        if arrays < sections {
            let own = (0..arrays).map(|array| match (array, load) {
                (0, true) => (Target::Broadcast, self.array(0)),
                _ => (Target::Section(array as u32), self.array(array)),
            });
            return own.collect();
        }
        let first = (group * sections).min(arrays - sections);
        let stride = (self.array(first + 1) - self.array(first)) as i64;
        vec![(Target::Blocks { stride }, self.array(first))]
    }

    /// Where an array begins.
    fn array(&self, number: u64) -> u64 {
        let (matrix, among) = (number / self.inner, number % self.inner);
        matrix * self.inner * self.lines.page_bytes() + among * self.row()
    }

    /// Bytes of a row, and from a row to the next in system memory.
    fn row(&self) -> u64 {
        self.lines.per_section() as u64 * COMPLEX
    }

    fn row_pitch_bytes(&self) -> u64 {
        self.inner * self.row()
    }

    /// A transfer of so many rows on end.
    fn rows(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        (target, system): (Target, u64),
        local: u32,
        rows: u64,
    ) -> Descriptor {
        match self.inner {
            1 => make(target, system, local, rows * self.row()),
            _ => make(target, system, local, self.row()).level(
                rows as u32,
                self.row_pitch_bytes() as i64,
                self.row() as i64,
            ),
        }
    }

    /// The group of a page, and the piece that it is.
    fn split_page_number(&self, page: u64) -> (u64, u64) {
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
        let last = halves * u64::from(self.lines.last().ilog2());
        let early = self.lines.butterflies() - last;
        [rows / self.pieces, early, last / self.pieces]
    }
}

/// The same row of every part of arrays, and of several rows n2 side by side.
#[derive(Debug)]
pub(super) struct ArrayPartPages {
    /// The columns across the parts, a page all those of its rows.
    pub lines: LineBatch,
    pub sections: u64,
    pub batch: u64,
    /// Rows of an array and numbers of a row.
    pub shape: [u64; 2],
    /// Address of the arrays.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
}

impl ArrayPartPages {
    /// Bytes of a section's rows of a part.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * COMPLEX
    }

    /// Bytes of a part of an array.
    fn part(&self) -> u64 {
        self.shape[0] / self.lines.len() as u64 * self.shape[1] * COMPLEX
    }

    /// Pages of an array.
    fn per_array(&self) -> u64 {
        self.part() / (self.sections * self.run())
    }

    /// A run of a section's rows of a part.
    fn row(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        (base, page): (u64, u64),
        local: u32,
    ) -> Descriptor {
        let (array, among) = (page / self.per_array(), page % self.per_array());
        let run = self.run();
        let at = base + array * self.shape[0] * self.shape[1] * COMPLEX;
        let target = Target::Blocks { stride: run as i64 };
        make(target, at + among * self.sections * run, local, run)
    }
}

impl RingPages for ArrayPartPages {
    fn count(&self) -> u64 {
        self.batch * self.per_array()
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let row = self.row(Descriptor::load, (self.from, page), local);
        vec![self.lines.spread(row, &[self.part()], self.run())]
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let row = self.row(Descriptor::store, (self.to, page), local);
        vec![self.lines.results(row, &[self.part()], self.run())]
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        Some([self.lines.page_bytes(), 0, scratch_bytes(&self.lines)])
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        let rows = self.lines.len() as u64 * self.lines.per_section() as u64 / 2;
        rows * u64::from(self.shape[1].ilog2()) + self.lines.butterflies()
    }
}

impl RingPages for ArrayPages {
    fn count(&self) -> u64 {
        self.arrays().div_ceil(self.sections) * self.pieces
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (group, piece) = self.split_page_number(page);
        let rows = self.lines.len() as u64 / self.pieces;
        let from = self.from + piece * rows * self.row_pitch_bytes();
        let arrays = self.group_addresses(group, true).into_iter();
        let load = |(target, at)| self.rows(Descriptor::load, (target, from + at), local, rows);
        arrays.map(load).collect()
    }

    /// An eighth of a piece are rows on end, an eighth of the array apart.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (group, piece) = self.split_page_number(page);
        let arrays = self.group_addresses(group, false).into_iter();
        let (row, apart) = (self.row(), self.row_pitch_bytes());
        if self.lines.leaves_out_of_order() {
            let store = |(target, at)| {
                let store = Descriptor::store(target, self.to + at, local, row);
                self.lines.results(store, &[apart], row)
            };
            return arrays.map(store).collect();
        }
        let eighths = LAST as u64;
        let eighth = self.lines.len() as u64 / eighths;
        let rows = eighth / self.pieces;
        // The place of a piece of the array is not where its results lie.
        let first = u64::from(local) - piece * (self.piece_bytes() - rows * row);
        let to = self.to + piece * rows * apart;
        let store = |(target, at)| {
            let store = self.rows(Descriptor::store, (target, to + at), first as u32, rows);
            let [system, local] = [apart, row].map(|bytes| (eighth * bytes) as i64);
            store.level(eighths as u32, system, local)
        };
        arrays.map(store).collect()
    }

    fn period(&self) -> u64 {
        self.pieces
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        Some([self.piece_bytes(), 0, scratch_bytes(&self.lines)])
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        let [rows, early, last] = self.parts();
        rows + last + early * u64::from(self.split_page_number(page).1 == 0)
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
