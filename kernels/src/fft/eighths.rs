//! The blocks of `fft4096.s`: how eighths of transforms go through its ring.

use super::plan::COMPLEX;
use crate::ring::Pages;
use cp2_dma::{Descriptor, Target};

/// Blocks of a transform.
pub(super) const BLOCKS: u64 = 8;
/// Blocks in the ring, which begins at address 0.
pub(super) const RING: usize = 12;
/// Length of the transform.
const N: u64 = 4096;
/// Bytes of a transform, of a block, and of a row n0 or p3 of it in system memory.
const BYTES: i64 = (N * COMPLEX) as i64;
/// Bytes of a block.
pub(super) const BLOCK: u64 = N * COMPLEX / BLOCKS;
/// Issues of a pass of radix 8 over a transform.
const PASS: u64 = N / 2 * 3;
/// Cycles of a transform beside its butterflies (`docs/fft.md`).
const OVERHEAD: u64 = 88;

/// The blocks of `batch` transforms from `x` to `y`, one transform for each of
/// `sections` at a time.
#[derive(Debug)]
pub(super) struct Blocks {
    pub batch: u64,
    pub sections: u64,
    pub x: u64,
    pub y: u64,
}

impl Blocks {
    /// The transfers of the transforms that `page` belongs to: `descriptor` makes
    /// one of target and bytes from the first transform. Where the last ones are
    /// fewer than the sections, some are computed again.
    fn each(&self, page: u64, descriptor: impl Fn(Target, u64) -> Descriptor) -> Vec<Descriptor> {
        if let Some(spare) = self.batch.checked_sub(self.sections) {
            let first = (page / BLOCKS * self.sections).min(spare);
            let blocks = Target::Blocks { stride: BYTES };
            return vec![descriptor(blocks, first * BYTES as u64)];
        }
        (0..self.batch)
            .map(|i| {
                let section = u32::try_from(i).unwrap_or(u32::MAX);
                descriptor(Target::Section(section), i * BYTES as u64)
            })
            .collect()
    }
}

impl Pages for Blocks {
    fn count(&self) -> u64 {
        self.batch.div_ceil(self.sections) * BLOCKS
    }

    /// Block n1: runs of its 64 numbers n2, n3 from every row n0.
    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let at = self.x + page % BLOCKS * 64 * COMPLEX;
        let load = |target, from: u64| {
            Descriptor::load(target, at + from, local, 64)
                .level(8, 64, 512)
                .level(8, BYTES / 8, 64)
        };
        let mut loads = self.each(page, load);
        if self.batch < self.sections {
            // No section computes what was never loaded.
            loads.insert(0, load(Target::Broadcast, 0));
        }
        loads
    }

    /// Block p1: p0 in pairs, then p2, then p3.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let at = self.y + page % BLOCKS * 64;
        self.each(page, |target, from| {
            Descriptor::store(target, at + from, local, 16)
                .level(4, 16, 128)
                .level(8, 512, 512)
                .level(8, BYTES / 8, 16)
        })
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    /// Passes 1 and 4 go block by block, 2 and 3 between them through all.
    fn issues(&self, page: u64) -> u64 {
        let middle = if page % BLOCKS == 0 { 2 * PASS } else { 0 };
        self.head(page) + middle + PASS / BLOCKS
    }

    fn group(&self) -> u64 {
        BLOCKS
    }

    fn head(&self, _page: u64) -> u64 {
        PASS / BLOCKS
    }

    fn overhead(&self, _page: u64) -> u64 {
        OVERHEAD / BLOCKS
    }
}
