//! Areas of DMEM that a kernel owns while it works on a page of a plan.

use super::argument_blocks::HEADER;
use super::stream_plan::StreamPlan;
use crate::paging::{PAGE_EVENT, QUAD};
use cp2_emu::{Area, PageAreas, Protection, Results};

/// Returns the area of `bytes` bytes from `address` on, both inside DMEM. Its end is rounded up to an access
/// of the widest kind; the bytes between that and the next area belong to nobody.
fn area(address: u32, bytes: u64) -> Area {
    let bytes = u32::try_from(bytes.next_multiple_of(QUAD)).unwrap_or(u32::MAX);
    Area { address, bytes }
}

impl StreamPlan {
    /// Returns the areas that the page kernel may access (`docs/abi.md`): the blocks of its page, scratch,
    /// arguments and program data.
    #[must_use]
    pub fn protection(&self) -> Protection {
        let at = |address: u64| u32::try_from(address).unwrap_or(u32::MAX);
        let reserved = self.job().reserved.iter();
        let reserved = reserved.map(|r| area(at(r.address), r.bytes));
        let Some(blocks) = self.args().first().map(|block| block.image().count()) else {
            return Protection {
                signal: PAGE_EVENT,
                own: reserved.collect(),
                ..Protection::default()
            };
        };
        let arguments = self.args().into_iter();
        let arguments = arguments.map(|block| area(block.start(), 4 * blocks as u64));
        let mut pages = Vec::new();
        let count = self.pages().len();
        // Only the first page and the last two may have other numbers of blocks than the rest.
        let mut ends = [1, count.saturating_sub(2), count.saturating_sub(1), count];
        ends.sort_unstable();
        let mut first = 0;
        for end in ends {
            if end > first {
                let turns = first..end.min(first + self.degree() as u64);
                pages.push(PageAreas {
                    pages: end - first,
                    areas: turns.map(|k| self.areas(k)).collect(),
                });
                first = end;
            }
        }
        Protection {
            signal: PAGE_EVENT,
            own: reserved.chain(self.scratch_area()).collect(),
            arguments: arguments.collect(),
            pages,
            windows: Vec::new(),
            results: Results {
                head: HEADER,
                ..Results::default()
            },
        }
    }

    fn scratch_area(&self) -> Option<Area> {
        let scratch = self.scratch()?;
        let region = |address: u32| {
            let mut regions = self.map().regions.iter();
            regions.find(|r| r.address == u64::from(address))
        };
        Some(area(scratch, region(scratch)?.bytes))
    }

    /// Returns the buffers of page `k`, as far as its blocks fill them.
    fn areas(&self, k: u64) -> Vec<Area> {
        let Some(page) = self.pages().get(k) else {
            return Vec::new();
        };
        let buffer = self.buffer(&page);
        let streams = self.job().inputs.iter().chain(&self.job().outputs);
        let places = self.buffers();
        let areas = streams.zip(places).filter_map(|(stream, places)| {
            Some(area(
                *places.get(buffer)?,
                stream.page_bytes(page.per_section)?,
            ))
        });
        areas.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BlocksPerSection, Buffering, Paging, Reserved, Stream};
    use super::*;
    use cp2_machine::Machine;
    use proptest::prelude::*;

    proptest! {
        /// Every page's own transfers lie inside its areas, and those of the pages that are in DMEM with it
        /// lie outside.
        #[test]
        fn a_page_has_what_its_transfers_move(blocks in 1u64..300, size in 1u32..6, degree in 0usize..3, overlap in 0u64..3, in_place: bool) {
            let vm7 = Machine::builtin("vm7").unwrap();
            let stream = |name, at| Stream::contiguous(name, at, 48);
            let input = Stream::overlapping("x", 0, 48, 16 * overlap);
            let plan = StreamPlan::new(Paging {
                in_place: in_place && overlap == 0,
                scratch: 100,
                reserved: vec![Reserved { name: "data".into(), address: 4096, bytes: 64 }],
                size: BlocksPerSection::Range { min: 1, max: size },
                buffering: [Buffering::Single, Buffering::Double, Buffering::Triple][degree],
                ..Paging::new(blocks, vec![input], vec![stream("y", 1 << 20)])
            }, &vm7).unwrap();
            let protection = plan.protection();
            prop_assert_eq!(protection.pages.iter().map(|p| p.pages).sum::<u64>(), plan.pages().len());
            let of = |page: u64| {
                let mut left = page;
                let turns = protection.pages.iter().find(|turns| {
                    let here = left < turns.pages;
                    if !here { left -= turns.pages; }
                    here
                }).unwrap();
                turns.areas[left as usize % turns.areas.len()].clone()
            };
            let mut bytes = vec![0u8; vm7.cp2.dmem.0 as usize];
            for k in 0..plan.pages().len() {
                let page = plan.pages().get(k).unwrap();
                let transfers = plan.loads(&page).into_iter().chain(plan.stores(&page));
                bytes.fill(0);
                for (_, d) in transfers {
                    for run in d.runs(&vm7) {
                        bytes[run.local as usize..][..run.bytes as usize].fill(1);
                    }
                }
                let mut owned = vec![0u8; bytes.len()];
                for area in of(k) {
                    owned[area.address as usize..][..area.bytes as usize].fill(1);
                }
                // In a page that repeats blocks, some blocks are not stored.
                prop_assert!(bytes.iter().zip(&owned).all(|(moved, own)| moved <= own), "page {}", k);
                if page.is_whole() {
                    prop_assert_eq!(&bytes, &owned, "page {}", k);
                }
            }
            let all: u32 = protection.own.iter().map(|a| a.bytes).sum();
            prop_assert_eq!(all, 64 + 112);
        }
    }
}
