//! Rows of 2048 of the inverse real FFT, in eighths (four_step_row_ring.s).

use super::column_and_row_ring::{self, BLOCKS, RING, RowRingPages};
use super::inverse_real_pages::InverseRealBlockLayout;
use super::line_batch::{COMPLEX, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{Ring, RingPages};

/// Bytes of a quarter of a block in DMEM: the numbers of one digit n0.
const QUARTER: u64 = column_and_row_ring::BLOCK / 4;
/// Bytes of two adjacent numbers of both rows.
const COUPLE: u64 = 4 * COMPLEX;
/// Bytes of a block: its numbers, and behind them one more pair of each half of the differences.
const BLOCK: u64 = column_and_row_ring::BLOCK + 2 * COUPLE;
/// Bytes of the step tables of the passes across blocks and within them.
const STEPS: u64 = 64 * 8 + 32 * 16;

/// Pages in eighths of rows that are pairs of real ones (`four_step_row_ring.s` with WOVEN); a section's page has two
/// rows.
#[derive(Clone, Debug)]
pub(super) struct InverseRealRowRingPages {
    pub rows: RowRingPages,
    pub blocks: InverseRealBlockLayout,
}

impl InverseRealRowRingPages {
    /// Makes the rows of `length` numbers; none where there is no kernel.
    pub(super) fn lines(length: usize) -> Option<LineBatch> {
        LineBatch::new_ring_page(length).filter(|lines| lines.per_section() == 2)
    }

    /// Returns the bytes of DMEM for ring, factors and tables.
    pub(super) const fn bytes(lines: &LineBatch) -> u64 {
        RING as u64 * BLOCK
            + 2 * column_and_row_ring::factor_bytes(lines)
            + column_and_row_ring::LAST_SETS
            + STEPS
    }

    /// Makes the ring, with its argument block at `arguments`.
    pub(super) fn ring(arguments: u64) -> Ring {
        Ring::new_in_place(arguments, 0, RING, BLOCK)
    }
}

impl RingPages for InverseRealRowRingPages {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    /// Loads an eighth of the factors, then block n1: the sums of two digits n0; the differences of the two
    /// others, in reverse order group by group; and the pair of differences that follows on these.
    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (page, n1) = (block / BLOCKS, (block % BLOCKS) as i64);
        let bytes = self.blocks.block();
        let target = Target::Blocks {
            stride: bytes as i64,
        };
        // Blocks of all matrices are contiguous.
        let first = self.rows.from + page * self.blocks.sections * bytes;
        let (run, group) = (self.blocks.differences(), self.blocks.group as i64);
        let last = (self.blocks.width / 4) as i64;
        let (digit, own) = (last / 2, last / 16);
        let apart = self.blocks.couple() as i64;
        let load = |couple: i64, behind: u64, local: u64, run: u64| {
            let system = first + self.blocks.place(couple as u64) + behind;
            Descriptor::load(target, system, local as u32, run)
        };
        let (half, local) = (u64::from(local) + 2 * QUARTER, u64::from(local));
        let each = run as i64;
        // Loads the differences of pair `couple` to a place `place` pairs behind the first one; `both`
        // repeats it for two digits n0.
        let differences =
            |couple: i64, place: i64| load(couple, 0, half + (place * each) as u64, run);
        let both = |load: Descriptor| load.level(2, -digit * apart, QUARTER as i64);
        let top = last - n1 * own;
        // After the first pair come whole groups, each in reverse order, then the lowest group without its
        // first pair, which is loaded last.
        let groups = own / group;
        let whole = differences(top - group, group)
            .level(group as u32, each, -each)
            .level(groups as u32 - 1, -group * apart, group * each);
        let lowest = differences(top - own + 1, own - 1).level(group as u32 - 1, each, -each);
        vec![
            self.rows.factor_load(block, RING as u64 * BLOCK),
            load(n1 * own, group as u64 * run, local, group as u64 * run)
                .level(groups as u32, group * apart, group * each)
                .level(2, digit * apart, QUARTER as i64),
            both(differences(top, 0)),
            both(whole),
            both(lowest),
            load(digit - (n1 + 1) * own, 0, half + 2 * QUARTER, run).level(2, digit * apart, each),
        ]
    }

    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        self.rows.stores(block, local)
    }

    fn period(&self) -> u64 {
        self.rows.period()
    }

    fn arithmetic_cycles(&self, block: u64) -> u64 {
        self.rows.arithmetic_cycles(block)
    }
}
