//! Transfers of fft4096.s: 4096-point FFTs in eighths through a DMEM ring.

use super::power_of_two::COMPLEX;
use cp2_dma::Descriptor;
use cp2_host::paging::{RingPages, SectionBlocks};

/// Blocks of a transform.
pub(super) const BLOCKS: u64 = 8;
/// Blocks in the ring, which begins at address 0.
pub(super) const RING: usize = 12;
/// Length of the transform.
const N: u64 = 4096;
/// Bytes of a transform. Digits: n = 512 n0 + 64 n1 + 8 n2 + n3, k = p0 + 8 p1 + 64 p2 + 512 p3.
pub(super) const BYTES: i64 = (N * COMPLEX) as i64;
/// Bytes of a block.
pub(super) const BLOCK: u64 = N * COMPLEX / BLOCKS;
/// Issues of a pass of radix 8 over a transform: N/2 log2 8.
pub(super) const PASS: u64 = N / 2 * 3;

/// Blocks of transforms from address `x` to address `y`, one transform for each section at a time.
#[derive(Debug)]
pub(super) struct Ring4096Pages {
    pub batch: SectionBlocks,
    pub x: u64,
    pub y: u64,
}

/// Returns the loads of block n1 = `page` % 8 of transforms at address `x`, `apart` bytes from one to the
/// next: runs of its 64 numbers n2, n3 from every row n0.
pub(super) fn load(
    batch: SectionBlocks,
    page: u64,
    (x, apart): (u64, u64),
    local: u32,
) -> Vec<Descriptor> {
    let at = x + page % BLOCKS * 64 * COMPLEX;
    batch.loads(page / BLOCKS, apart, |target, from| {
        Descriptor::load(target, at + from, local, 64)
            .level(8, 64, 512)
            .level(8, BYTES / 8, 64)
    })
}

/// Returns the stores of block p1 = `page` % 8 of results at address `y`, `apart` bytes from one to the next:
/// p0 in pairs, then p2, then p3.
pub(super) fn store(
    batch: SectionBlocks,
    page: u64,
    (y, apart): (u64, u64),
    local: u32,
) -> Vec<Descriptor> {
    let at = y + page % BLOCKS * 64;
    batch.list_transfers(page / BLOCKS, apart, |target, from| {
        Descriptor::store(target, at + from, local, 16)
            .level(4, 16, 128)
            .level(8, 512, 512)
            .level(8, BYTES / 8, 16)
    })
}

/// Returns the issues up to the completion of a block: `head` of pass 1 for this block alone, passes 2 and 3
/// over all blocks before the first is complete, and an eighth of pass 4.
pub(super) fn issues(page: u64, head: u64) -> u64 {
    let middle = if page.is_multiple_of(BLOCKS) {
        2 * PASS
    } else {
        0
    };
    head + middle + PASS / BLOCKS
}

impl RingPages for Ring4096Pages {
    fn count(&self) -> u64 {
        self.batch.groups() * BLOCKS
    }

    /// Loads block n1: runs of its 64 numbers n2, n3 from every row n0.
    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        load(self.batch, page, (self.x, BYTES as u64), local)
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        store(self.batch, page, (self.y, BYTES as u64), local)
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        // Pass 1 goes block by block, too.
        issues(page, PASS / BLOCKS)
    }
}
