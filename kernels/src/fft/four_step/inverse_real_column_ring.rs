//! The pages of columns of half a spectrum that go through DMEM in eighths (`back_columns.s`).

use super::column_and_row_ring::{self, BLOCKS, RING_BYTES};
use super::inverse_real_pages::{InverseRealBlockLayout, InverseRealColumnPages};
use super::line_batch::{COMPLEX, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;

/// Bytes of a couple of columns of one row.
const COUPLE: u64 = 2 * COMPLEX;

/// Full pages of columns, eight of 512 numbers in each section, or four of 1024.
#[derive(Debug)]
pub(super) struct InverseRealColumnRingPages {
    pub columns: InverseRealColumnPages,
}

impl InverseRealColumnRingPages {
    /// DMEM for ring, numbers that are left, factors and tables.
    pub(super) fn bytes(lines: &LineBatch) -> u64 {
        let eight = u64::from(Self::third_is_eight(lines));
        // Ones, sets of passes 2 to 4; pass 3 of radix 4 has two numbers p0 in a set.
        let tables = 16 + 128 + 512 * (1 + eight) + 4 * lines.len() as u64;
        let steps = 512 + 256 * eight;
        RING_BYTES + 2 * Self::left(lines) + 2 * Self::factors(lines) + tables + steps
    }

    /// Whether pass 3 has radix 8 and not 4.
    fn third_is_eight(lines: &LineBatch) -> bool {
        lines.radix(2) == 8
    }

    /// Bytes of the numbers that a page leaves to the next.
    fn left(lines: &LineBatch) -> u64 {
        lines.len() as u64 / 2 * COMPLEX
    }

    /// Bytes of the factors of a page's columns.
    fn factors(lines: &LineBatch) -> u64 {
        lines.per_section() as u64 * COMPLEX
    }

    /// Couples of columns of a section's page, bytes of a row of a block, of each couple its own granule and that of its
    /// partners, and rows for each digit n0, of which as many are to that of the next digit n1.
    fn rows(&self) -> (u32, u64, u64) {
        let lines = &self.columns.lines;
        let couples = lines.per_section() as u64 / 2;
        (
            couples as u32,
            2 * couples * COUPLE,
            lines.len() as u64 / 32,
        )
    }

    /// Pages of a matrix.
    fn pages(&self) -> u64 {
        let InverseRealBlockLayout {
            width, sections, ..
        } = self.columns.blocks;
        InverseRealColumnPages::full(&self.columns.lines, width, sections)
    }

    /// Page, matrix and its page, and the eighth of a block.
    fn split(&self, block: u64) -> [u64; 4] {
        let page = block / BLOCKS;
        let pages = self.pages();
        [page, page / pages, page % pages, block % BLOCKS]
    }
}

impl RingPages for InverseRealColumnRingPages {
    fn count(&self) -> u64 {
        self.columns.matrices * self.pages() * BLOCKS
    }

    /// The columns' factors, then rows of block n1 and of their partners, and of the first page's the partners that others find
    /// where the page before has left them, through both areas from the one of this matrix on. Factors come with the first block
    /// that has its place from the page before: what has its place from the page before that, which is in the last pass still,
    /// comes too early for the factors of that one.
    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let [page, matrix, of_matrix, n1] = self.split(block);
        let InverseRealColumnPages { blocks, lines, .. } = &self.columns;
        let columns = lines.per_section() as u64;
        let (first, row) = (of_matrix * columns, (blocks.width * COMPLEX) as i64);
        let stride = (blocks.width / (2 * blocks.sections) * COMPLEX) as i64;
        let [own, mirrored] = [1, -1].map(|sign| Target::Blocks {
            stride: sign * stride,
        });
        let from = self.columns.from + matrix * self.columns.pitch;
        let at = |row: u64, column: u64| from + (row * blocks.width + column) * COMPLEX;
        let digit = blocks.height as i64 / 4 * row;
        let (couples, bytes, rows) = self.rows();
        let left = Self::left(lines);
        // Rows one after the other from `load` on, or back, couples as well, and those of the next digit n0.
        let of_block = |load: Descriptor, sign: i64| {
            let (row, digit) = (sign * row, sign * digit);
            load.level(couples, COUPLE as i64, sign * 2 * COUPLE as i64)
                .level(rows as u32, row, bytes as i64)
                .level(2, digit, (rows * bytes) as i64)
        };
        let last = blocks.height / 2 - 1 - rows * n1;
        let lower = Descriptor::load(own, at(rows * n1, first), local, COUPLE);
        let partners = at(last, blocks.width - first - columns);
        let behind = local + (bytes - COUPLE) as u32;
        let upper = Descriptor::load(mirrored, partners, behind, COUPLE);
        let factors = (n1 == BLOCKS / 2).then(|| {
            let each = Self::factors(lines);
            let local = RING_BYTES + 2 * left + page % 2 * each;
            let system = self.columns.factors + first * COMPLEX;
            Descriptor::load(own, system, local as u32, each)
        });
        let left = (of_matrix == 0).then(|| {
            let local = RING_BYTES + (matrix * left + 2 * n1 * left / BLOCKS) % (2 * left);
            Descriptor::load(mirrored, at(last, blocks.width), local as u32, COUPLE)
                .level(rows as u32, -row, 2 * COUPLE as i64)
                .level(2, -digit, COUPLE as i64)
        });
        let data = [of_block(lower, 1), of_block(upper, -1)];
        factors.into_iter().chain(left).chain(data).collect()
    }

    /// Block p1: results j/2 = e + 2 p1 + 16 p2 + N1/8 p3, of every couple e = 0, 1, for each p2 and p3.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let [_, matrix, of_matrix, p1] = self.split(block);
        let blocks = &self.columns.blocks;
        let (apart, each) = (blocks.block() as i64, blocks.differences());
        let (couples, row, rows) = self.rows();
        let first = of_matrix * u64::from(couples) * blocks.couple();
        let to = self.columns.to + matrix * blocks.bytes() + p1 * blocks.block() + first;
        let stride = (blocks.width / (4 * blocks.sections) * blocks.couple()) as i64;
        let (half, seconds) = ((rows * row) as i64, (rows / 4) as u32);
        let store = |to, local, run| {
            let target = Target::Blocks { stride };
            Descriptor::store(target, to, local, run)
        };
        let (second, third) = (8 * apart, i64::from(8 * seconds) * apart);
        if blocks.group == u64::from(couples) {
            let run = blocks.group * each;
            let all = store(to, local, run).level(2, run as i64, half);
            let all = all.level(4, third, row as i64);
            return vec![all.level(seconds, second, 4 * row as i64)];
        }
        let of = |p2: u32| {
            let local = local + 4 * p2 * row as u32;
            store(to + u64::from(p2) * second as u64, local, each)
                .level(2, each as i64, half)
                .level(couples, 2 * each as i64, 2 * COUPLE as i64)
                .level(4, third, row as i64)
        };
        (0..seconds).map(of).collect()
    }

    fn period(&self) -> u64 {
        // The areas of numbers that are left change places with each matrix.
        2 * self.pages() * BLOCKS
    }

    /// A block, and what is behind the ring to the end.
    fn dmem_bytes(&self, _block: u64) -> Option<[u64; 3]> {
        let behind = Self::bytes(&self.columns.lines) - RING_BYTES;
        Some([column_and_row_ring::BLOCK, behind, 0])
    }

    fn arithmetic_cycles(&self, block: u64) -> u64 {
        let lines = &self.columns.lines;
        // The last pass has a level more, which joins neighbours.
        let last = InverseRealColumnPages::issues(lines) / (u64::from(lines.len().ilog2()) + 1) * 3;
        column_and_row_ring::issues(lines, block, last)
    }
}

/// Where there are rows for such columns: the store finds a couple of each section.
pub(super) fn supports_rows(rows: &LineBatch) -> bool {
    rows.per_section() == 2
}
