//! Pages of array.s: whole two-axis arrays in DMEM, or slices of parts.

use super::line_batch::{COMPLEX, LAST, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;

/// Returns the bytes of scratch memory of a page. Rows after columns in place keep the numbers between their
/// passes there.
fn scratch_bytes(lines: &LineBatch) -> u64 {
    match lines.is_in_place() {
        true => lines.page_bytes(),
        false => 0,
    }
}

/// Arrays of two axes, one in each section at a time, each in pieces: a page of the pass is a piece of every
/// section's array. The rows of `inner` arrays are interleaved in system memory.
#[derive(Debug)]
pub(super) struct ArrayPages {
    /// All columns of an array.
    pub lines: LineBatch,
    pub sections: u64,
    /// Groups of `inner` arrays.
    pub batch: u64,
    /// Arrays whose rows are interleaved.
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

    /// Returns the system addresses of a group's arrays, one for each section. A last group with fewer arrays
    /// than sections begins earlier and transforms some again; if all arrays are fewer than the sections, the
    /// idle sections load the first one too.
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

    /// Returns the byte offset of an array from the first one.
    fn array(&self, number: u64) -> u64 {
        let (matrix, among) = (number / self.inner, number % self.inner);
        matrix * self.inner * self.lines.page_bytes() + among * self.row()
    }

    /// Returns the bytes of a row.
    fn row(&self) -> u64 {
        self.lines.per_section() as u64 * COMPLEX
    }

    /// Returns the bytes from a row of an array to the next in system memory.
    fn row_pitch_bytes(&self) -> u64 {
        self.inner * self.row()
    }

    /// Makes the transfer of `rows` consecutive rows of an array.
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

    /// Returns the group of a page, and the number of its piece.
    fn split_page_number(&self, page: u64) -> (u64, u64) {
        (page / self.pieces, page % self.pieces)
    }

    /// Returns the bytes of a piece of an array.
    fn piece_bytes(&self) -> u64 {
        self.lines.page_bytes() / self.pieces
    }

    /// Returns the issues of the rows of a piece, of all column passes but the last, and of a piece of the
    /// last one.
    fn parts(&self) -> [u64; 3] {
        let halves = (self.lines.len() * self.lines.per_section() / 2) as u64;
        let rows = halves * u64::from(self.lines.per_section().ilog2());
        let last = halves * u64::from(self.lines.last().ilog2());
        let early = self.lines.butterflies() - last;
        [rows / self.pieces, early, last / self.pieces]
    }
}

/// Pages of arrays in parts: rows n2, n2 + 1, .. of every part of an array.
#[derive(Debug)]
pub(super) struct ArrayPartPages {
    /// Columns across the parts; a page has all columns of its rows.
    pub lines: LineBatch,
    pub sections: u64,
    pub batch: u64,
    /// Rows of an array, and numbers of a row.
    pub shape: [u64; 2],
    /// Address of the arrays.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
}

impl ArrayPartPages {
    /// Returns the bytes of a section's rows of a part.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * COMPLEX
    }

    /// Returns the bytes of a part of an array.
    fn part(&self) -> u64 {
        self.shape[0] / self.lines.len() as u64 * self.shape[1] * COMPLEX
    }

    /// Returns the pages of an array.
    fn per_array(&self) -> u64 {
        self.part() / (self.sections * self.run())
    }

    /// Makes the transfer of one part's rows of a page, a run for each section.
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

    /// Stores a piece as eight runs of consecutive rows; the runs begin an eighth of the array apart.
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
        // The results of a piece lie in all eighths of the array, not where the piece was loaded.
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

    /// Returns all pieces of the next array after the last piece of an array has been stored, none before: an
    /// array's place is free only then.
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
