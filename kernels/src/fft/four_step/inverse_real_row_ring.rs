//! The pages of rows of 2048 numbers from half a spectrum (`parts_rows.s` with WOVEN), which go through DMEM in eighths.

use super::column_and_row_ring::{self, BLOCKS, RING, RowRingPages};
use super::inverse_real_pages::InverseRealBlockLayout;
use super::line_batch::{COMPLEX, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{Ring, RingPages};

/// Bytes of a quarter of a block in DMEM: numbers of one digit n0.
const QUARTER: u64 = column_and_row_ring::BLOCK / 4;
/// Bytes of a couple of numbers of both rows.
const COUPLE: u64 = 4 * COMPLEX;
/// Bytes of a block: behind its numbers one couple more of each half of the differences.
const BLOCK: u64 = column_and_row_ring::BLOCK + 2 * COUPLE;
/// Bytes of the step tables of the passes over blocks and in them.
const STEPS: u64 = 64 * 8 + 32 * 16;

/// Rows of all couples of real columns, a couple of rows in a section's page.
#[derive(Clone, Debug)]
pub(super) struct InverseRealRowRingPages {
    pub rows: RowRingPages,
    pub blocks: InverseRealBlockLayout,
}

impl InverseRealRowRingPages {
    /// Rows of `length` numbers; none where there is no kernel.
    pub(super) fn lines(length: usize) -> Option<LineBatch> {
        LineBatch::new_ring_page(length).filter(|lines| lines.per_section() == 2)
    }

    /// DMEM for ring, factors and tables.
    pub(super) const fn bytes(lines: &LineBatch) -> u64 {
        RING as u64 * BLOCK
            + 2 * column_and_row_ring::factor_bytes(lines)
            + column_and_row_ring::LAST_SETS
            + STEPS
    }

    /// The ring; the argument block lies at `arguments`.
    pub(super) fn ring(arguments: u64) -> Ring {
        Ring::new_in_place(arguments, 0, RING, BLOCK)
    }
}

impl RingPages for InverseRealRowRingPages {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    /// An eighth of the factors, then of block n1 the sums of two digits n0, the differences of the others, which lie the other
    /// way round, group by group, and the couples that follow on these.
    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (page, n1) = (block / BLOCKS, (block % BLOCKS) as i64);
        let bytes = self.blocks.block();
        let target = Target::Blocks {
            stride: bytes as i64,
        };
        // All blocks of all matrices follow each other.
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
        // Of two digits n0 the differences from couple `couple` on, `place` couples behind their first.
        let differences =
            |couple: i64, place: i64| load(couple, 0, half + (place * each) as u64, run);
        let both = |load: Descriptor| load.level(2, -digit * apart, QUARTER as i64);
        let top = last - n1 * own;
        // Whole groups, each the other way round, behind a first couple, and before the lowest group without its first, which
        // follows on the others.
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
