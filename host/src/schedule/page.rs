//! Blocks dealt to pages and sections.

use serde::{Deserialize, Serialize};

/// The pages of a job: a pure function from page number to [`Page`].
///
/// Section `s` of a page gets consecutive blocks, and the sections' shares
/// follow each other, so that a page of adjacent blocks is one contiguous
/// stretch of system memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPages {
    blocks: u64,
    sections: u32,
    /// Blocks per section of an ordinary page.
    size: u32,
    /// Blocks per section of the first and the last page.
    edge: u32,
}

/// One page: which blocks each section computes and which it stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// Number of the page.
    pub index: u64,
    /// First block of the page.
    pub first: u64,
    /// Number of distinct blocks.
    pub blocks: u64,
    /// Blocks that every section computes.
    pub per_section: u32,
    /// First block of each section. Sections short of blocks start early
    /// enough to have `per_section` valid blocks: they compute some that
    /// another section computes too, and do not store them.
    pub starts: Vec<u64>,
}

impl Page {
    /// Returns the blocks from a section's start to the next section's, if all distances are equal.
    #[must_use]
    pub fn stride(&self) -> Option<u64> {
        let stride = match self.starts.get(..2) {
            Some([a, b]) => b - a,
            _ => return Some(0),
        };
        self.starts
            .windows(2)
            .all(|w| w[1] - w[0] == stride)
            .then_some(stride)
    }

    /// Returns the blocks that section `s` stores; each block of the page is stored by one section.
    #[must_use]
    pub fn stored(&self, s: usize) -> std::ops::Range<u64> {
        let Some(&start) = self.starts.get(s) else {
            return 0..0;
        };
        let end = start + u64::from(self.per_section);
        let done = match s.checked_sub(1).and_then(|p| self.starts.get(p)) {
            Some(before) => before + u64::from(self.per_section),
            None => start,
        };
        done.max(start).min(end)..end
    }

    /// Returns true if every section stores all blocks that it computes.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.blocks == u64::from(self.per_section) * self.starts.len() as u64
    }
}

impl StreamPages {
    /// Cuts `blocks` blocks into pages of `size` blocks for each of `sections` sections. The first and the
    /// last page have `edge` blocks per section if the job is long enough.
    #[must_use]
    pub fn new(blocks: u64, sections: u32, size: u32, edge: u32) -> Self {
        let (sections, size) = (sections.max(1), size.max(1));
        let edge = edge.clamp(1, size);
        let short = blocks <= 2 * u64::from(sections) * u64::from(edge);
        Self {
            blocks,
            sections,
            size,
            edge: if short { size } else { edge },
        }
    }

    /// Returns the blocks per section of an ordinary page.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the blocks per section of the first and the last page.
    #[must_use]
    pub fn edge(&self) -> u32 {
        self.edge
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    fn edge_blocks(&self) -> u64 {
        if self.edge == self.size {
            0
        } else {
            u64::from(self.edge) * u64::from(self.sections)
        }
    }

    fn page_blocks(&self) -> u64 {
        u64::from(self.size) * u64::from(self.sections)
    }

    /// Returns the number of pages.
    #[must_use]
    pub fn len(&self) -> u64 {
        let edge = self.edge_blocks();
        let middle = (self.blocks - 2 * edge).div_ceil(self.page_blocks());
        middle + if edge > 0 { 2 } else { 0 }
    }

    /// Returns true if there are no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Returns page `k`, or `None` past the last.
    #[must_use]
    pub fn get(&self, k: u64) -> Option<Page> {
        let (first, blocks) = self.extent(k)?;
        Some(self.share(k, first, blocks))
    }

    /// Returns the first block and the number of blocks of page `k`. Pages with as many blocks differ only in
    /// their first block.
    pub(crate) fn extent(&self, k: u64) -> Option<(u64, u64)> {
        if k >= self.len() {
            return None;
        }
        let (edge, full) = (self.edge_blocks(), self.page_blocks());
        Some(if edge == 0 {
            let first = k * full;
            (first, full.min(self.blocks - first))
        } else if k == 0 {
            (0, edge)
        } else if k == self.len() - 1 {
            (self.blocks - edge, edge)
        } else {
            let first = edge + (k - 1) * full;
            (first, full.min(self.blocks - edge - first))
        })
    }

    /// Returns the blocks that every section computes of a page of `blocks`.
    pub(crate) fn per_section(&self, blocks: u64) -> u32 {
        // The quotient is at most the page size, which is u32.
        u32::try_from(self.blocks_per_section(blocks)).unwrap_or(self.size)
    }

    fn blocks_per_section(&self, blocks: u64) -> u64 {
        blocks.div_ceil(u64::from(self.sections)).max(1)
    }

    /// Returns the per-section counts that occur, each once.
    #[must_use]
    pub fn list_block_counts(&self) -> Vec<u32> {
        let len = self.len();
        let mut counts: Vec<u32> = [Some(0), Some(1), len.checked_sub(2), len.checked_sub(1)]
            .into_iter()
            .flatten()
            .filter_map(|k| self.get(k))
            .map(|p| p.per_section)
            .collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.dedup();
        counts
    }

    /// Deals `blocks` blocks from `first` on to the sections.
    fn share(&self, index: u64, first: u64, blocks: u64) -> Page {
        let sections = u64::from(self.sections);
        let per = self.blocks_per_section(blocks);
        let spare = blocks - per;
        // An even spacing is preferred if one covers all blocks: a single descriptor serves it.
        let even =
            (sections > 1 && spare.is_multiple_of(sections - 1)).then(|| spare / (sections - 1));
        let starts = (0..sections)
            .map(|s| {
                first
                    + match even {
                        Some(stride) => s * stride,
                        None => (s * per).min(spare),
                    }
            })
            .collect();
        Page {
            index,
            first,
            blocks,
            per_section: self.per_section(blocks),
            starts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_last_page_repeats_valid_blocks() {
        let pages = StreamPages::new(18, 4, 4, 4);
        assert_eq!(pages.len(), 2);
        let last = pages.get(1).unwrap();
        assert_eq!((last.first, last.blocks, last.per_section), (16, 2, 1));
        assert_eq!(last.starts, [16, 17, 17, 17]);
        assert_eq!(last.stride(), None);
        let stored: Vec<_> = (0..4).map(|s| last.stored(s)).collect();
        assert_eq!(stored, [16..17, 17..18, 18..18, 18..18]);
    }

    #[test]
    fn one_block_is_a_broadcast() {
        let only = StreamPages::new(1, 4, 8, 8).get(0).unwrap();
        assert_eq!((only.stride(), only.per_section), (Some(0), 1));
        assert_eq!(only.starts, [0; 4]);
    }

    proptest! {
        #[test]
        fn every_block_is_stored_once(blocks in 1u64..5000, sections in 1u32..9, size in 1u32..40, edge in 1u32..40) {
            let pages = StreamPages::new(blocks, sections, size, edge);
            let mut next = 0;
            for k in 0..pages.len() {
                let page = pages.get(k).unwrap();
                prop_assert_eq!(page.starts.len(), sections as usize);
                prop_assert!(page.per_section >= 1 && page.per_section <= size);
                for s in 0..sections as usize {
                    // Every computed block belongs to this page.
                    prop_assert!(page.starts[s] >= page.first);
                    prop_assert!(page.starts[s] + u64::from(page.per_section) <= page.first + page.blocks);
                    for b in page.stored(s) {
                        prop_assert_eq!(b, next);
                        prop_assert!(b >= page.starts[s] && b < page.starts[s] + u64::from(page.per_section));
                        next += 1;
                    }
                }
                prop_assert!(pages.list_block_counts().contains(&page.per_section));
            }
            prop_assert_eq!(next, blocks);
            prop_assert!(pages.get(pages.len()).is_none());
        }
    }
}
