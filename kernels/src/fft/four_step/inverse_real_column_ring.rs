//! Half-spectrum columns to reals, in eighths (inverse_real_column_ring.s).

use super::column_and_row_ring::{self, BLOCKS, RING_BYTES};
use super::inverse_real_pages::{InverseRealBlockLayout, InverseRealColumnPages};
use super::line_batch::{COMPLEX, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;

/// Bytes of a pair of columns in one row.
const COUPLE: u64 = 2 * COMPLEX;

/// Full pages of columns in eighths: eight columns of 512 numbers in each section, or four of 1024.
#[derive(Debug)]
pub(super) struct InverseRealColumnRingPages {
    pub columns: InverseRealColumnPages,
}

impl InverseRealColumnRingPages {
    /// Returns the bytes of DMEM for the ring, the numbers that pages leave to the next, factors and tables.
    pub(super) fn bytes(lines: &LineBatch) -> u64 {
        let eight = u64::from(Self::third_is_eight(lines));
        // Ones, and twiddle sets of passes 2 to 4; pass 3 of radix 4 has two numbers p0 in a set.
        let tables = 16 + 128 + 512 * (1 + eight) + 4 * lines.len() as u64;
        let steps = 512 + 256 * eight;
        RING_BYTES + 2 * Self::carried_bytes(lines) + 2 * Self::factors(lines) + tables + steps
    }

    /// True if pass 3 has radix 8, false if it has radix 4.
    fn third_is_eight(lines: &LineBatch) -> bool {
        lines.radix(2) == 8
    }

    /// Returns the bytes of the numbers that a page leaves to the next.
    fn carried_bytes(lines: &LineBatch) -> u64 {
        lines.len() as u64 / 2 * COMPLEX
    }

    /// Returns the bytes of the factors of a section's columns in a page.
    fn factors(lines: &LineBatch) -> u64 {
        lines.per_section() as u64 * COMPLEX
    }

    /// Returns the pairs of columns in a section's page; the bytes of a row of a block, which has two
    /// granules for each pair, its own and its partners'; and the rows of a block for each digit n0, which
    /// are also the rows from a digit n1 to the next.
    fn rows(&self) -> (u32, u64, u64) {
        let lines = &self.columns.lines;
        let couples = lines.per_section() as u64 / 2;
        (
            couples as u32,
            2 * couples * COUPLE,
            lines.len() as u64 / 32,
        )
    }

    /// Returns the full pages of a matrix.
    fn pages(&self) -> u64 {
        let InverseRealBlockLayout {
            width, sections, ..
        } = self.columns.blocks;
        InverseRealColumnPages::full(&self.columns.lines, width, sections)
    }

    /// Returns the page of a block, its matrix, the page within the matrix, and the block within the page.
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

    /// Loads the columns' factors, then the rows of block n1 and of their partners. Pages find the partners
    /// of their first column where the page before has left them; those of a matrix's first page are loaded
    /// too, to the matrix's area and on through the other one. Factors come with block 4, the first one that
    /// takes a place of the page before. Blocks 0 to 3 take places of the page before that one, whose last
    /// pass may still need the factors in this buffer.
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
        let left = Self::carried_bytes(lines);
        // Extends the load of one granule to all pairs, the rows of a digit n0, and both digits n0, in
        // ascending order or, for `sign` -1, in descending order.
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

    /// Stores block p1: results j/2 = e + 2 p1 + 16 p2 + N1/8 p3 of every pair of columns, e = 0, 1, for each
    /// p2 and p3.
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
        // The two areas of numbers that pages leave alternate from matrix to matrix.
        2 * self.pages() * BLOCKS
    }

    /// Returns the bytes of a block, and of everything behind the ring.
    fn dmem_bytes(&self, _block: u64) -> Option<[u64; 3]> {
        let behind = Self::bytes(&self.columns.lines) - RING_BYTES;
        Some([column_and_row_ring::BLOCK, behind, 0])
    }

    fn arithmetic_cycles(&self, block: u64) -> u64 {
        let lines = &self.columns.lines;
        // The last pass has one more level, which merges adjacent results.
        let last = InverseRealColumnPages::issues(lines) / (u64::from(lines.len().ilog2()) + 1) * 3;
        column_and_row_ring::issues(lines, block, last)
    }
}

/// True for rows that columns in eighths can precede: their store needs one pair of rows in each section.
pub(super) fn supports_rows(rows: &LineBatch) -> bool {
    rows.per_section() == 2
}
