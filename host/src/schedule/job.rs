//! The description of a paging job.

use crate::view::Views;
use cp2_dma::Level;
use serde::{Deserialize, Serialize};

/// A job for the scheduler: `blocks` independent blocks, each loaded,
/// computed by a page kernel, and stored.
///
/// All sizes are bytes; DMEM sizes are per section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paging {
    /// Number of blocks in the whole job.
    pub blocks: u64,
    /// Streams that a page loads.
    pub inputs: Vec<Stream>,
    /// Streams that a page stores.
    pub outputs: Vec<Stream>,
    /// True if the kernel leaves output `i` where input `i` was: they share one page buffer.
    pub in_place: bool,
    /// DMEM bytes of working space, shared by all pages.
    pub scratch: u64,
    /// DMEM bytes of working space for every block per section of a page.
    pub scratch_per_block: u64,
    /// DMEM already taken: the program's own data.
    pub reserved: Vec<Reserved>,
    /// Kernel-specific words of the argument block.
    pub args: PageArgs,
    /// Blocks of each section in one page.
    pub size: BlocksPerSection,
    /// Number of pages in DMEM at a time.
    pub buffering: Buffering,
    /// Expected cycles of the kernel per block, where known: the scheduler chooses the page size by it.
    /// `None` takes the kernel to be as fast as the DMA.
    pub cycles_per_block: Option<u64>,
    /// Expected cycles of the kernel per page, besides those of its blocks.
    pub cycles_per_page: u64,
    /// Views: arrays that streams name by addresses beyond system memory.
    #[serde(skip)]
    pub views: Views,
}

impl Paging {
    /// Creates a job in which the scheduler chooses everything: separate pages for inputs and outputs, no
    /// scratch, a kernel as fast as the DMA.
    #[must_use]
    pub fn new(blocks: u64, inputs: Vec<Stream>, outputs: Vec<Stream>) -> Self {
        Self {
            blocks,
            inputs,
            outputs,
            in_place: false,
            scratch: 0,
            scratch_per_block: 0,
            reserved: Vec::new(),
            args: PageArgs::default(),
            size: BlocksPerSection::ANY,
            buffering: Buffering::Auto,
            cycles_per_block: None,
            cycles_per_page: 0,
            views: Views::default(),
        }
    }
}

/// One array that pages go through: positions of its blocks in system memory, and their layout in DMEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// Name in listings and on the timeline.
    pub name: String,
    /// Address of block 0 in system memory.
    pub system: u64,
    /// Bytes from a block to the next in system memory.
    pub stride: u64,
    /// Bytes from a block to the next in a page in DMEM.
    pub pitch: u64,
    /// Alignment of the page in DMEM: a power of two. The granule is used if it is larger.
    pub align: u64,
    /// Bytes of the following blocks that every section has behind its own, for inputs of adjacent blocks
    /// only: history, or the far end of a filter.
    #[serde(default)]
    pub overlap: u64,
    /// Transfers of one block, relative to its system and local address.
    pub pieces: Vec<BlockPiece>,
}

/// A strided part of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPiece {
    /// Bytes from the block's system address.
    pub system: i64,
    /// Bytes from the block's local address.
    pub local: i64,
    /// Bytes of one contiguous run.
    pub run: u64,
    /// Nested repetitions, innermost first.
    pub levels: Vec<Level>,
}

impl BlockPiece {
    /// Creates a piece of `run` bytes at the block's start, repeated by `levels`.
    #[must_use]
    pub fn new(run: u64, levels: Vec<Level>) -> Self {
        Self {
            system: 0,
            local: 0,
            run,
            levels,
        }
    }
}

impl Stream {
    /// Creates a stream of blocks of `bytes` that follow each other in system memory, with the same layout in
    /// DMEM.
    #[must_use]
    pub fn contiguous(name: &str, system: u64, bytes: u64) -> Self {
        Self::strided(
            name,
            system,
            bytes,
            bytes,
            vec![BlockPiece::new(bytes, Vec::new())],
        )
    }

    /// Creates a stream of blocks of any layout: `stride` bytes apart in system memory, `pitch` bytes apart
    /// in DMEM.
    #[must_use]
    pub fn strided(
        name: &str,
        system: u64,
        stride: u64,
        pitch: u64,
        pieces: Vec<BlockPiece>,
    ) -> Self {
        Self {
            name: name.to_string(),
            system,
            stride,
            pitch,
            align: 1,
            overlap: 0,
            pieces,
        }
    }

    /// Creates a stream of adjacent blocks of `bytes`, where a kernel also reads `overlap` bytes of the
    /// blocks that follow. A section's blocks are contiguous in its page, and the overlap, loaded once for
    /// all of them, lies behind the last. The array has `overlap` bytes more than its blocks.
    #[must_use]
    pub fn overlapping(name: &str, system: u64, bytes: u64, overlap: u64) -> Self {
        Self {
            overlap,
            ..Self::contiguous(name, system, bytes)
        }
    }

    /// Returns the bytes that `blocks` blocks of a section take in a page, or nothing on overflow.
    pub(super) fn page_bytes(&self, blocks: u32) -> Option<u64> {
        let own = self.pitch.checked_mul(u64::from(blocks))?;
        own.checked_add(self.overlap)
    }

    /// Aligns the pages in DMEM, as bit-reversed and modulo addressing need it.
    #[must_use]
    pub fn aligned(mut self, align: u64) -> Self {
        self.align = align;
        self
    }

    /// Returns the bytes moved for one block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        self.pieces
            .iter()
            .map(|p| {
                p.levels
                    .iter()
                    .fold(p.run, |n, l| n.saturating_mul(u64::from(l.count)))
            })
            .fold(0, u64::saturating_add)
    }
}

/// DMEM that is taken before the scheduler places anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reserved {
    /// Name in listings.
    pub name: String,
    /// Byte address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The kernel-specific words of a page's argument block.
///
/// The block is, in 32-bit words: input 0, output 0, blocks per section,
/// scratch address, the further inputs, the further outputs, these words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageArgs {
    /// The words, the same for every page.
    pub words: Vec<u32>,
}

/// Blocks of each section in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlocksPerSection {
    /// Exactly so many, in every page but the last.
    Fixed(u32),
    /// The scheduler chooses within the bounds, and may make the first and
    /// the last page smaller so that less time passes before the first
    /// kernel and after the last.
    Range {
        /// Least number.
        min: u32,
        /// Largest number.
        max: u32,
    },
}

impl BlocksPerSection {
    /// Any number that fits.
    pub const ANY: Self = Self::Range {
        min: 1,
        max: u32::MAX,
    };
}

/// Pages in DMEM at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Buffering {
    /// The degree with the smallest expected time, and the smaller one if times are equal.
    #[default]
    Auto,
    /// One page: load, compute, store in turn.
    Single,
    /// Two pages: page k computes while k-1 unloads and k+1 loads.
    Double,
    /// Three pages: loads run one page further ahead.
    Triple,
}

impl Buffering {
    /// Returns the degrees to try.
    #[must_use]
    pub fn degrees(self) -> &'static [usize] {
        match self {
            Self::Auto => &[1, 2, 3],
            Self::Single => &[1],
            Self::Double => &[2],
            Self::Triple => &[3],
        }
    }

    /// Returns the name of a degree.
    #[must_use]
    pub fn name(degree: usize) -> &'static str {
        match degree {
            1 => "single",
            2 => "double",
            3 => "triple",
            _ => "multiple",
        }
    }
}
