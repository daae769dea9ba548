//! The pages of columns of half a spectrum that go through DMEM in eighths (`back_columns.s`).

use super::lines::{COMPLEX, Lines};
use super::parts::{self, BLOCKS, RING_BYTES};
use super::real_back::BackColumns;
use crate::ring::Pages;
use cp2_dma::{Descriptor, Target};

/// Bytes of a couple of columns of one row.
const COUPLE: u64 = 2 * COMPLEX;
/// Couples of columns of a section's page.
const COUPLES: u32 = 4;
/// Bytes of a row of a block: of each couple its own granule and that of its partners.
const ROW: u64 = 2 * COUPLES as u64 * COUPLE;
/// Rows of a block for each digit n0, and from such a row to that of the next digit n1.
const ROWS: u32 = 16;
/// Bytes of the numbers that a page leaves to the next, a granule for each.
const LEFT: u64 = 4096;
/// Bytes of the factors of a page's columns.
const FACTORS: u64 = 64;
/// Bytes of the tables.
const TABLES: u64 = 16 + 128 + 512 + 2048 + 512;
/// Cycles of a page's first pass beside its arithmetic: of each couple of rows partners come that were left and others are left.
const APART: u64 = 8 * 64;
/// Words of a page beside these and its arithmetic: passes are filled and drained.
const WORDS: u64 = 472;

/// Full pages of columns, eight in each section.
#[derive(Debug)]
pub(super) struct BackColumnParts {
    pub columns: BackColumns,
}

impl BackColumnParts {
    /// DMEM for ring, numbers that are left, factors and tables.
    pub(super) const fn bytes() -> u64 {
        RING_BYTES + 2 * LEFT + 2 * FACTORS + TABLES
    }

    /// Pages of a matrix.
    fn pages(&self) -> u64 {
        BackColumns::full(&self.columns.lines, self.columns.blocks.width)
    }

    /// Page, matrix and its page, and the eighth of a block.
    fn split(&self, block: u64) -> [u64; 4] {
        let page = block / BLOCKS;
        let pages = self.pages();
        [page, page / pages, page % pages, block % BLOCKS]
    }
}

impl Pages for BackColumnParts {
    fn count(&self) -> u64 {
        self.columns.matrices * self.pages() * BLOCKS
    }

    /// The columns' factors with the first block, then rows of block n1 and of their partners, and of the first page's the
    /// partners that others find where the page before has left them.
    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let [page, matrix, of_matrix, n1] = self.split(block);
        let BackColumns { blocks, lines, .. } = &self.columns;
        let columns = lines.per_section() as u64;
        let (first, row) = (of_matrix * columns, (blocks.width * COMPLEX) as i64);
        let stride = (blocks.width / 8 * COMPLEX) as i64;
        let [own, mirrored] = [1, -1].map(|sign| Target::Blocks {
            stride: sign * stride,
        });
        let from = self.columns.from + matrix * self.columns.pitch;
        let at = |row: u64, column: u64| from + (row * blocks.width + column) * COMPLEX;
        let rows = u64::from(ROWS);
        let digit = blocks.height as i64 / 4 * row;
        let turn = page % 2;
        // Rows one after the other from `load` on, or back, couples as well, and those of the next digit n0.
        let of_block = |load: Descriptor, sign: i64| {
            let (row, digit) = (sign * row, sign * digit);
            load.level(COUPLES, COUPLE as i64, sign * 2 * COUPLE as i64)
                .level(ROWS, row, ROW as i64)
                .level(2, digit, i64::from(ROWS) * ROW as i64)
        };
        let last = blocks.height / 2 - 1 - rows * n1;
        let lower = Descriptor::load(own, at(rows * n1, first), local, COUPLE);
        let partners = at(last, blocks.width - first - columns);
        let behind = local + (ROW - COUPLE) as u32;
        let upper = Descriptor::load(mirrored, partners, behind, COUPLE);
        let factors = (n1 == 0).then(|| {
            let local = RING_BYTES + 2 * LEFT + turn * FACTORS;
            let system = self.columns.factors + first * COMPLEX;
            Descriptor::load(own, system, local as u32, FACTORS)
        });
        let left = (of_matrix == 0).then(|| {
            let local = RING_BYTES + turn * LEFT + n1 * LEFT / BLOCKS;
            Descriptor::load(mirrored, at(last, blocks.width), local as u32, COUPLE)
                .level(ROWS, -row, 2 * COUPLE as i64)
                .level(2, -digit, COUPLE as i64)
        });
        let data = [of_block(lower, 1), of_block(upper, -1)];
        factors.into_iter().chain(left).chain(data).collect()
    }

    /// Block p1: results j/2 = e + 2 p1 + 16 p2 + 64 p3, of every couple e = 0, 1, for each p2 and p3.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let [_, matrix, of_matrix, p1] = self.split(block);
        let blocks = &self.columns.blocks;
        let (apart, each) = (blocks.block() as i64, blocks.differences());
        let couples = u64::from(COUPLES);
        let first = of_matrix * couples * blocks.couple();
        let to = self.columns.to + matrix * blocks.bytes() + p1 * blocks.block() + first;
        let stride = (blocks.width / 16 * blocks.couple()) as i64;
        let half = i64::from(ROWS) * ROW as i64;
        let store = |to, local, run| {
            let target = Target::Blocks { stride };
            Descriptor::store(target, to, local, run)
        };
        let (second, third) = (8 * apart, 32 * apart);
        if blocks.group == couples {
            let run = couples * each;
            let all = store(to, local, run).level(2, run as i64, half);
            let all = all.level(4, third, ROW as i64);
            return vec![all.level(4, second, 4 * ROW as i64)];
        }
        let of = |p2: u64| {
            let local = local + (4 * p2 * ROW) as u32;
            store(to + p2 * second as u64, local, each)
                .level(2, each as i64, half)
                .level(COUPLES, 2 * each as i64, 2 * COUPLE as i64)
                .level(4, third, ROW as i64)
        };
        (0..4).map(of).collect()
    }

    fn period(&self) -> u64 {
        self.pages() * BLOCKS
    }

    fn issues(&self, block: u64) -> u64 {
        let lines = &self.columns.lines;
        // The last pass has a level more, which joins neighbours.
        let last = BackColumns::issues(lines) / (u64::from(lines.len().ilog2()) + 1) * 3;
        parts::issues(lines, block, last)
    }

    fn group(&self) -> u64 {
        BLOCKS
    }

    fn head(&self, _block: u64) -> u64 {
        parts::column_head(&self.columns.lines) + APART / BLOCKS
    }

    fn overhead(&self, _block: u64) -> u64 {
        (APART + WORDS) / BLOCKS
    }
}

/// Where there are rows for such columns: the store finds a couple of each section.
pub(super) fn takes(rows: &Lines) -> bool {
    rows.per_section() == 2
}
