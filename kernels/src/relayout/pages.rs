//! The pages of a relayout, a block for every section, and their transfers.

use super::block::BlockShape;
use cp2_dma::{Chunk, Descriptor, Direction, coalesce, over_sections};
use cp2_host::paging::RingPages;

/// Bytes that are contiguous both in an array and in DMEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteSpan {
    /// Number of the array.
    pub(super) array: u8,
    /// Byte offset from the start of the array.
    pub(super) from: u64,
    /// Byte offset from the start of the block in DMEM.
    pub(super) local: u64,
    /// Number of bytes.
    pub(super) bytes: u64,
}

impl ByteSpan {
    /// Adds so many bytes: to the last span where they continue it, or as a new span.
    pub(super) fn extend(all: &mut Vec<Self>, array: u8, (from, bytes): (u64, u64), local: u64) {
        match all.last_mut() {
            Some(last) if last.array == array && last.from + last.bytes == from => {
                last.bytes += bytes;
            }
            _ => all.push(Self {
                array,
                from,
                local,
                bytes,
            }),
        }
    }
}

/// The spans of a block that are loaded and stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BlockSlice {
    pub(super) loads: Vec<ByteSpan>,
    pub(super) stores: Vec<ByteSpan>,
}

/// Blocks of one shape and the arrays that they belong to.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    pub(super) shape: BlockShape,
    pub(super) parts: Vec<BlockSlice>,
    /// For each block the number of its part, and the group of rows it begins in.
    pub(super) blocks: Vec<(u32, u64)>,
    /// Bytes from a group to the next: in each source array, and in the new one.
    pub(super) steps: (Vec<u64>, u64),
    /// Byte addresses of the source arrays, and of the new one.
    pub(super) addresses: (Vec<u64>, u64),
    /// Number of sections of the machine, and levels of its transfers.
    pub(super) limits: (usize, usize),
}

impl Copies {
    /// Returns these blocks for source arrays at other addresses and another new array.
    pub(super) fn with_addresses(&self, (from, to): (&[u64], u64)) -> Self {
        Self {
            addresses: (from.to_vec(), to),
            ..self.clone()
        }
    }

    /// Returns the chunks that a block loads or stores; `local` is its address in DMEM.
    fn chunks(&self, block: usize, local: u32, direction: Direction) -> Vec<Chunk> {
        let Some(&(part, group)) = self.blocks.get(block) else {
            return Vec::new();
        };
        let BlockSlice { loads, stores } = &self.parts[part as usize];
        let (spans, apart) = match direction {
            Direction::Load => (loads, self.shape.input),
            Direction::Store => (stores, self.shape.output),
        };
        let place = |array: u8| match direction {
            Direction::Load => {
                let array = usize::from(array);
                (self.addresses.0[array], self.steps.0[array])
            }
            Direction::Store => (self.addresses.1, self.steps.1),
        };
        let times = 0..self.shape.times;
        // Span after span, so that chunks that differ in the group alone follow each other and can be merged.
        let all = spans.iter().flat_map(|span| {
            let (address, step) = place(span.array);
            times.clone().map(move |time| {
                let system = address + span.from + (group + time) * step;
                let at = u64::from(local) + span.local + time * apart;
                Chunk::new(system, u32::try_from(at).unwrap_or(u32::MAX), span.bytes)
            })
        });
        coalesce(all, self.limits.1)
    }

    /// Returns the transfers of a page, one block for each section.
    fn page_transfers(&self, page: u64, local: u32, direction: Direction) -> Vec<Descriptor> {
        let (sections, count) = (self.limits.0 as u64, self.blocks.len() as u64);
        let first = page * sections;
        let own = match direction {
            // Sections that have no block compute the last block again.
            Direction::Load => sections,
            Direction::Store => sections.min(count - first.min(count)),
        };
        let blocks = (first..first + own).map(|block| block.min(count.saturating_sub(1)) as usize);
        let chunks: Vec<_> = blocks
            .map(|block| self.chunks(block, local, direction))
            .collect();
        if own < sections {
            let each = chunks.into_iter().enumerate();
            return each
                .flat_map(|(section, chunks)| section_transfers(section, chunks, direction))
                .collect();
        }
        over_sections(direction, chunks)
    }
}

/// Makes the transfers of one section alone.
fn section_transfers(section: usize, chunks: Vec<Chunk>, direction: Direction) -> Vec<Descriptor> {
    let target = cp2_dma::Target::Section(u32::try_from(section).unwrap_or(u32::MAX));
    let with = |chunk: Chunk| Descriptor {
        direction,
        levels: chunk.levels,
        ..Descriptor::load(target, chunk.system, chunk.local, chunk.run)
    };
    chunks.into_iter().map(with).collect()
}

impl RingPages for Copies {
    fn count(&self) -> u64 {
        (self.blocks.len() as u64).div_ceil(self.limits.0.max(1) as u64)
    }

    fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        self.page_transfers(page, local, Direction::Load)
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        self.page_transfers(page, local, Direction::Store)
    }

    /// Blocks of other parts may take longer, so all pages count unless there is one part.
    fn period(&self) -> u64 {
        match self.parts.len() {
            1 => 1,
            _ => self.count().max(1),
        }
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        0
    }
}
