//! Argument blocks in DMEM.

use serde::{Deserialize, Serialize};

/// Bytes before an argument block that belong to the page loop
/// (`page.s`): address of the next page's block, nothing, number of pages, nothing.
pub(super) const HEADER: u32 = 16;

/// The argument block of a page. Every page buffer has a place for one in
/// DMEM; pages with the same number of blocks per section find the same there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgBlock {
    /// Byte address in DMEM of word 0, what the kernel has in `a15`.
    pub address: u32,
    /// The page buffer it names.
    pub buffer: usize,
    /// Blocks per section.
    pub per_section: u32,
    /// The words of the page loop.
    pub header: [u32; HEADER as usize / 4],
    /// The kernel's words.
    pub words: Vec<u32>,
}

impl ArgBlock {
    /// Byte address in DMEM of what is loaded: the block with its header.
    #[must_use]
    pub fn start(&self) -> u32 {
        self.address - HEADER
    }

    /// All words, the header's first.
    pub fn image(&self) -> impl Iterator<Item = u32> {
        self.header.iter().chain(&self.words).copied()
    }
}
