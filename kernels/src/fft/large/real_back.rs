//! The pages of a transform from half a spectrum to real numbers (`real_back.s`): columns of the
//! spectrum with their conjugates, and rows that are couples of real columns.
//!
//! Between the passes, each section's rows of a page, R of them, are a block: for each couple of columns, 0 to
//! N2/2 + 1, R granules of sums and R of differences. So a page of rows is one run.

use super::cost::{AFTER, END};
use super::lines::{COMPLEX, Lines, RowPages, root};
use super::real_pages::SECTIONS;
use crate::ring::Pages;
use cp2_dma::{Descriptor, Target};
use num_complex::Complex32;

/// Bytes of a couple of columns of one row.
const COUPLE: u64 = 2 * COMPLEX;

/// The matrix between the passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// Length of the columns, N1.
    pub height: u64,
    /// Length of the rows, N2.
    pub width: u64,
    /// Rows that a section has of a page.
    pub rows: u64,
}

impl Blocks {
    /// Bytes of a couple of columns of a block, sums and differences.
    fn couple(&self) -> u64 {
        2 * self.rows * COUPLE
    }

    /// Bytes of a block: couples 0 to N2/4.
    pub(super) fn block(&self) -> u64 {
        (self.width / 4 + 1) * self.couple()
    }

    fn blocks(&self) -> u64 {
        self.height / (2 * self.rows)
    }

    /// Pages of rows of a matrix.
    pub(super) fn pages(&self) -> u64 {
        self.blocks() / SECTIONS
    }

    /// Bytes of a matrix.
    pub(super) fn bytes(&self) -> u64 {
        self.blocks() * self.block()
    }
}

/// Columns 0 to N2/2 of a spectrum. Section s has an eighth of N2 from column s N2/8 on, in full pages; one page more,
/// the same in all sections, has the last column, and another to make a couple.
#[derive(Clone, Debug)]
pub(super) struct BackColumns {
    pub lines: Lines,
    pub matrices: u64,
    pub blocks: Blocks,
    /// Address of the half spectra.
    pub from: u64,
    /// Bytes from a half spectrum to the next.
    pub pitch: u64,
    /// Address of the blocks.
    pub to: u64,
    /// Address of the factors of columns 0 to N2/2 + 1.
    pub factors: u64,
}

impl BackColumns {
    /// Bytes of a page of `lines`, as it is loaded: a couple more of the conjugates.
    pub(super) fn page_bytes(lines: &Lines) -> u64 {
        lines.page_bytes() + lines.len() as u64 / 2 * COUPLE
    }

    /// Full pages of a matrix of rows of `width` numbers.
    pub(super) fn full(lines: &Lines, width: u64) -> u64 {
        width / (2 * SECTIONS * lines.per_section() as u64)
    }

    /// The factor of S and D of each column of a transform of `n` numbers.
    pub(super) fn factors(width: usize, n: usize) -> impl Iterator<Item = Complex32> {
        (0..width / 2 + 2).map(move |column| root(column, n))
    }

    /// Issues of a page: a level of butterflies more than its lines have.
    pub(super) fn issues(lines: &Lines) -> u64 {
        lines.butterflies() + (lines.len() * lines.per_section() / 2) as u64
    }

    /// The matrix of a page, and which page of it; none for the couple that ends it.
    fn split(&self, page: u64) -> (u64, Option<u64>) {
        let full = self.period() - 1;
        let (matrix, page) = (page / (full + 1), page % (full + 1));
        (matrix, (page < full).then_some(page))
    }

    fn lines_of(&self, page: u64) -> Lines {
        match self.split(page).1 {
            Some(_) => self.lines.clone(),
            None => self.lines.with(2),
        }
    }
}

impl Pages for BackColumns {
    fn count(&self) -> u64 {
        self.matrices * self.period()
    }

    fn period(&self) -> u64 {
        Self::full(&self.lines, self.blocks.width) + 1
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let Blocks { height, width, .. } = self.blocks;
        let (matrix, full) = self.split(page);
        let from = self.from + matrix * self.pitch;
        let columns = self.lines_of(page).per_section() as u64;
        let apart = (width / (2 * SECTIONS) * COMPLEX) as i64;
        let first = full.map_or(width / 2, |page| page * columns);
        let blocks = |stride| match full {
            Some(_) => Target::Blocks { stride },
            None => Target::Broadcast,
        };
        let (run, row) = (columns * COMPLEX, (width * COMPLEX) as i64);
        let half = |target, system, local, run: u64, row| {
            let rows = (height / 2) as u32;
            Descriptor::load(target, system, local, run).level(rows, row, run as i64)
        };
        let upper = local + (height / 2 * run) as u32;
        let partners = width - first - columns + width * (height / 2 - 1);
        let own = self.factors + first * COMPLEX;
        vec![
            Descriptor::load(blocks(apart), own, factors, run),
            half(blocks(apart), from + first * COMPLEX, local, run, row),
            half(
                blocks(-apart),
                from + partners * COMPLEX,
                upper,
                run + COUPLE,
                -row,
            ),
        ]
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (matrix, full) = self.split(page);
        let (couple, columns) = (self.blocks.couple(), self.blocks.width);
        let to = self.to + matrix * self.blocks.bytes();
        let run = self.lines_of(page).per_section() as u64 / 2 * couple;
        let (target, first) = match full {
            Some(page) => {
                let stride = (columns / (4 * SECTIONS) * couple) as i64;
                (Target::Blocks { stride }, page * run)
            }
            None => (Target::Section(0), columns / 4 * couple),
        };
        let store = Descriptor::store(target, to + first, local, run);
        let (blocks, apart) = (self.blocks.blocks() as u32, self.blocks.block() as i64);
        vec![store.level(blocks, apart, run as i64)]
    }

    fn issues(&self, page: u64) -> u64 {
        Self::issues(&self.lines_of(page))
    }

    fn overhead(&self, page: u64) -> u64 {
        let end = if self.split(page).1.is_none() { END } else { 0 };
        self.lines_of(page).back_column_overhead() - end
    }

    fn after(&self, _page: u64) -> u64 {
        AFTER
    }
}

/// Rows of all couples of real columns; results as those of a complex transform.
#[derive(Clone, Debug)]
pub(super) struct BackRows {
    pub rows: RowPages,
    pub blocks: Blocks,
}

impl BackRows {
    /// Bytes of a page of `lines`, as it is loaded.
    pub(super) fn page_bytes(lines: &Lines) -> u64 {
        lines.page_bytes() + 2 * lines.per_section() as u64 * COUPLE
    }
}

impl Pages for BackRows {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let block = self.blocks.block();
        let target = Target::Blocks {
            stride: block as i64,
        };
        // All blocks of all matrices follow each other.
        let system = self.rows.from + page * SECTIONS * block;
        let data = Descriptor::load(target, system, local, block);
        vec![self.rows.factors(page, factors), data]
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        self.rows.stores(page, local)
    }

    fn issues(&self, page: u64) -> u64 {
        self.rows.issues(page)
    }

    fn overhead(&self, _page: u64) -> u64 {
        self.rows.lines.back_row_overhead()
    }

    fn after(&self, page: u64) -> u64 {
        self.rows.after(page)
    }
}
