//! Transfers of fft4096.s from half spectra to 8192 real numbers.

use super::power_of_two::COMPLEX;
use super::ring4096_pages::{self, BLOCKS, BYTES};
use super::ring4096_real::PITCH;
use cp2_dma::Descriptor;
use cp2_host::paging::{RingPages, SectionBlocks};

/// Number of blocks that must have come before the first pass can begin.
const FIRST: u64 = BLOCKS / 2;

/// Blocks of half spectra at address `x`, transformed to real numbers at address `y`.
#[derive(Debug)]
pub(super) struct Ring4096InverseRealPages {
    pub batch: SectionBlocks,
    pub x: u64,
    pub y: u64,
    /// DMEM address of the copies of numbers that the first pass reads last: their blocks are overwritten
    /// before.
    pub ends: u32,
    /// Cycles of the first pass.
    pub first: u64,
}

impl Ring4096InverseRealPages {
    /// Returns the loads of number N/2 and of the quads of columns 256 and 510 to the place of their copies,
    /// which the transform before no longer needs when its first results leave.
    fn ends(&self, page: u64) -> Vec<Descriptor> {
        let quads = |column: u64, behind: u32| {
            let at = self.x + column * COMPLEX;
            self.copies(page, move |target, from| {
                Descriptor::load(target, at + from, self.ends + 16 * behind, 16).level(
                    8,
                    BYTES / 8,
                    16,
                )
            })
        };
        let last = self.x + BYTES as u64;
        let mut all = self.copies(page, |target, from| {
            Descriptor::load(target, last + from, self.ends, 16)
        });
        all.extend(quads(256, 1));
        all.extend(quads(510, 9));
        all
    }

    fn copies(
        &self,
        page: u64,
        copy: impl Fn(cp2_dma::Target, u64) -> Descriptor,
    ) -> Vec<Descriptor> {
        let apart = PITCH as u64 * COMPLEX;
        self.batch.loads(page / BLOCKS, apart, copy)
    }
}

impl RingPages for Ring4096InverseRealPages {
    fn count(&self) -> u64 {
        self.batch.groups() * BLOCKS
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let apart = PITCH as u64 * COMPLEX;
        let mut loads = match page % BLOCKS {
            7 => self.ends(page),
            _ => Vec::new(),
        };
        loads.extend(ring4096_pages::load(
            self.batch,
            page,
            (self.x, apart),
            local,
        ));
        loads
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        ring4096_pages::store(self.batch, page, (self.y, BYTES as u64), local)
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        // The first pass merges a column of blocks 0 .. 3 with its partner in blocks 4 .. 7, when the latter
        // has come.
        let head = match page % BLOCKS {
            0..FIRST => 0,
            _ => self.first / FIRST,
        };
        ring4096_pages::issues(page, head)
    }
}
