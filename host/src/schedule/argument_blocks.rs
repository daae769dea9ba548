//! Argument blocks in DMEM.

use serde::{Deserialize, Serialize};

/// Bytes before an argument block that belong to the page loop (`page.s`): address of the next page's block,
/// nothing, number of pages, nothing.
pub(super) const HEADER: u32 = 16;

/// The argument block of a page. Every page buffer has a place for one in DMEM; pages with the same number of
/// blocks per section find the same words there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgBlock {
    /// Byte address in DMEM of word 0, which the kernel has in `a15`.
    pub address: u32,
    /// Page buffer that the block names.
    pub buffer: usize,
    /// Blocks per section.
    pub per_section: u32,
    /// Words of the page loop.
    pub header: [u32; HEADER as usize / 4],
    /// Words of the kernel.
    pub words: Vec<u32>,
}

impl ArgBlock {
    /// Returns the byte address in DMEM where the load begins: that of the header.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.address - HEADER
    }

    /// Returns all words, the header's first.
    pub fn image(&self) -> impl Iterator<Item = u32> {
        self.header.iter().chain(&self.words).copied()
    }
}
