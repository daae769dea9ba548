//! Columns of 2048, pairs of real ones, in eighths (real_column_ring.s).

use super::column_and_row_ring::{self, BLOCKS, ColumnRingPages, RING_BYTES};
use super::line_batch::{COMPLEX, LineBatch};
use super::real_pages::RealTileLayout;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;

/// Bytes of a pair of columns in one row.
const QUAD: u64 = 2 * COMPLEX;
/// Bytes beside the ring for the results that have no place in it: row N1/2 of S and row 0 of D.
const BEYOND: u64 = 2 * QUAD;
/// Bytes of the tables: factors of passes 1 to 3, twiddle sets and constants of the last pass, steps.
const TABLES: u64 = 16 + 128 + 1024 + 128 + 127 * 48 + 64 * 8 + 8 * 16;
/// Columns k of the last pass, whose eight results share a place, and rows from one of these results to the
/// next.
const BASES: u64 = 256;
/// Results of one parity (S or D) in a place.
const OUTER: u64 = 4;
/// Numbers p2 in a row of a block.
const INNER: u64 = 8;
/// Rows from one number p2 of a row of a block to the next.
const APART: u64 = 32;
/// Bytes of a place: the eight results of a column k.
const COLUMN: u64 = 2 * OUTER * QUAD;
/// Block of the results of rows 32 p2, which follow on the block's other rows: those before 32 (p2 + 1).
const FIRST: u64 = 1;
/// Pairs of columns k, 256 - k that the last pass takes after the completion of a block and before that of
/// the next. In the first half page the two columns that are their own partners come first.
const COUPLES: [u64; BLOCKS as usize] = [32, 27, 0, 8, 32, 28, 0, 0];
/// Block of each half page with which pass 3 of the half is counted.
const HALVES: [u64; 2] = [0, 3];

/// Pages in eighths of columns with two real ones in each, whose transforms are split.
#[derive(Clone, Debug)]
pub(super) struct RealColumnRingPages {
    pub columns: ColumnRingPages,
    pub tiles: RealTileLayout,
}

impl RealColumnRingPages {
    /// Makes the columns of `length` numbers; none where there is no kernel.
    pub(super) fn lines(length: usize) -> Option<LineBatch> {
        LineBatch::new_ring_page(length).filter(|lines| lines.per_section() == 2)
    }

    /// Returns the bytes of DMEM for ring, results beside it and tables.
    pub(super) const fn bytes() -> u64 {
        RING_BYTES + BEYOND + TABLES
    }

    /// Returns the issues of the last pass for `couples` pairs of columns, and, with `own`, for the two
    /// columns that are their own partners.
    fn last(lines: &LineBatch, couples: u64, own: bool) -> u64 {
        let of = |columns: u64| columns * 8 / 2 * 3 * lines.per_section() as u64;
        let own = if own { of(2) + 20 } else { 0 };
        couples * (of(2) + 18) + own
    }
}

impl RingPages for RealColumnRingPages {
    fn count(&self) -> u64 {
        self.columns.count()
    }

    fn loads(&self, block: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        self.columns.loads(block, local, factors)
    }

    /// Stores block b: the rows k + 256 m of the even columns and 1024 - k - 256 m of the odd ones, m = 0 ..
    /// 3, k = 32 p2 + f + e with f = 4 b - 7 and e = 0 .. 3. Block 1, whose last number f + e is 0, brings
    /// the results beside the ring too.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let (pages, b) = (self.tiles.pages(), block % BLOCKS);
        let (matrix, page) = (block / BLOCKS / pages, block / BLOCKS % pages);
        let tile = self.tiles.tile();
        let even = self.columns.to + matrix * self.tiles.bytes() + page * 2 * tile;
        let odd = even + tile;
        let wide = self.tiles.row();
        let row = wide as i64;
        let [inner, outer] = [APART, BASES].map(|rows| rows as i64 * row);
        let half = self.tiles.height / 2;
        let place = |e: u64| u64::from(local) + column_and_row_ring::BLOCK / 4 * e;
        let store = |system: u64, local: u64, count: u64, sign: i64| {
            Descriptor::store(Target::Deal, system, local as u32, wide)
                .level(
                    count as u32,
                    row,
                    sign * column_and_row_ring::BLOCK as i64 / 4,
                )
                .level(INNER as u32, inner, sign * COLUMN as i64)
                .level(OUTER as u32, outer, sign * QUAD as i64)
        };
        // Stores rows f + e' of the even columns, e' = 0 .. count - 1, which begin at e of the block. Rows of
        // the odd columns descend: the first in the tile is the last in the block.
        let both = |f: u64, e: u64, count: u64| {
            let last = f + count - 1 + (INNER - 1) * APART + (OUTER - 1) * BASES;
            let end = place(e + count - 1) + (INNER - 1) * COLUMN + (2 * OUTER - 1) * QUAD;
            let up = store(even + f * wide, place(e), count, 1);
            [up, store(odd + (half - last) * wide, end, count, -1)]
        };
        if b != FIRST {
            return both((4 * b + APART - 7) % APART, 0, 4).to_vec();
        }
        let beyond = Descriptor::store(Target::Deal, even + half * wide, RING_BYTES as u32, wide)
            .level(2, (tile - half * wide) as i64, QUAD as i64);
        let all = both(APART - 3, 0, 3).into_iter();
        all.chain(both(0, 3, 1)).chain([beyond]).collect()
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    /// Counts pass 1 on each block as it comes, pass 2 on all blocks, pass 3 on half of them, and the last
    /// pass on two columns at a time.
    fn arithmetic_cycles(&self, block: u64) -> u64 {
        let (lines, b) = (&self.columns.lines, block % BLOCKS);
        let across = if b == 0 {
            column_and_row_ring::pass(lines, 1)
        } else {
            0
        };
        let half = match HALVES.contains(&b) {
            true => column_and_row_ring::pass(lines, 2) / 2,
            false => 0,
        };
        let last = Self::last(lines, COUPLES[b as usize], b == 0);
        column_and_row_ring::column_head(lines) + across + half + last
    }
}
