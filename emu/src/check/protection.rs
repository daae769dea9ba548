//! What of DMEM belongs to a kernel, page by page: what the checkers hold its accesses against.

use crate::check::results::Results;
use serde::{Deserialize, Serialize};

/// A stretch of DMEM, the same in every section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Its first byte address.
    pub address: u32,
    /// Its bytes.
    pub bytes: u32,
}

impl Area {
    /// Whether `bytes` bytes from `address` on lie inside.
    fn holds(self, address: u32, bytes: u32) -> bool {
        let end = |at: u32, bytes: u32| u64::from(at) + u64::from(bytes);
        address >= self.address && end(address, bytes) <= end(self.address, self.bytes)
    }

    /// Whether one of them does.
    pub(crate) fn meets(self, address: u32, bytes: u32) -> bool {
        let end = |at: u32, bytes: u32| u64::from(at) + u64::from(bytes);
        u64::from(address) < end(self.address, self.bytes)
            && u64::from(self.address) < end(address, bytes)
    }
}

/// Pages that take the same areas in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAreas {
    /// How many pages.
    pub pages: u64,
    /// Areas of the first page, of the second, ...; that behind the last has those of the first again.
    pub areas: Vec<Vec<Area>>,
}

/// A circular buffer of lines, each a stretch of DMEM, of which every page has a window: the next pages find in theirs what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sliding {
    /// All of it: the lines, or several times as many, one behind the other.
    pub area: Area,
    /// Bytes from a line to the next.
    pub pitch: u32,
    /// How many lines there are.
    pub lines: u64,
    /// Lines of a window.
    pub window: u64,
    /// Where the first page's window begins, in lines.
    pub first: u64,
    /// Lines to the next page's.
    pub step: u64,
    /// Pages of a row of pages, and lines from the first of a row to the first of the next.
    pub row: (u64, u64),
    /// Whether the kernel may write it too.
    pub writes: bool,
}

impl Sliding {
    /// Whether page `page` has all bytes of an access in its window.
    fn holds(&self, page: u64, address: u32, bytes: u32) -> bool {
        if !self.area.holds(address, bytes) {
            return false;
        }
        let (pages, lines) = (self.row.0.max(1), self.lines.max(1));
        let begin = self.first + page / pages * self.row.1 + page % pages * self.step;
        let inside = |at: u32| {
            let line = u64::from((at - self.area.address) / self.pitch.max(1));
            (line + lines - begin % lines) % lines < self.window
        };
        inside(address) && inside(address + bytes.saturating_sub(1))
    }
}

/// The memory protection of a page kernel: what of DMEM it may touch. Without one it may touch everything.
///
/// It is a value of fixed size, however many pages there are, costs no simulated time, and is nothing that the machine has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protection {
    /// The event that the kernel signals when it is done with a page: behind it the next page's areas are its own.
    pub signal: u32,
    /// What belongs to the kernel throughout: data of its program, scratch.
    pub own: Vec<Area>,
    /// Argument blocks: it may read them.
    pub arguments: Vec<Area>,
    /// What belongs to each page beside that, in the order of the pages.
    pub pages: Vec<PageAreas>,
    /// Windows that slide: it may read them, and write some.
    pub windows: Vec<Sliding>,
    /// The buffers of its streams, and what is stored of them.
    #[serde(default)]
    pub results: Results,
}

/// Whose an address is that is not the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The argument blocks, which the kernel may only read.
    Arguments,
    /// A window that slides which the kernel may only read, or lines beside it.
    Window,
    /// Another page, or the same buffer in a page with more blocks.
    OtherPage,
    /// Nobody.
    None,
}

impl Protection {
    /// The areas of page `page`; none behind the last.
    fn page_areas(&self, page: u64) -> &[Area] {
        let mut left = page;
        for turns in &self.pages {
            if left < turns.pages {
                let count = turns.areas.len().max(1) as u64;
                let areas = turns.areas.get((left % count) as usize);
                return areas.map_or(&[], Vec::as_slice);
            }
            left -= turns.pages;
        }
        &[]
    }

    /// Whether the argument block at an address, and what its page loop goes by, are still such as a host loads; true where there is no page loop.
    /// `word` reads DMEM. What is no block of arguments any more was overwritten.
    pub fn has_arguments(&self, block: u32, word: impl Fn(u32) -> Option<u32>) -> bool {
        /// From a block to the address of the next, in bytes.
        const NEXT: u32 = 16;
        let head = self.results.head;
        if head < NEXT || self.arguments.is_empty() {
            return true;
        }
        let is_block = |at: u32| self.arguments.iter().any(|area| area.address + head == at);
        let next = block.checked_sub(NEXT).and_then(&word);
        // Of the first input and the first output; 0 where there is none.
        let pages = [0, 4].map(|at| block.checked_add(at).and_then(&word));
        let is_page = |at: u32| at == 0 || self.pages_meet(at);
        is_block(block) && next.is_none_or(is_block) && pages.into_iter().flatten().all(is_page)
    }

    /// Whether an address lies in a page, or in what the kernel has throughout.
    fn pages_meet(&self, address: u32) -> bool {
        let pages = self
            .pages
            .iter()
            .flat_map(|turns| turns.areas.iter().flatten());
        let windows = self.windows.iter().map(|window| &window.area);
        let mut all = pages.chain(windows).chain(&self.own);
        all.any(|area| area.meets(address, 1))
    }

    /// The beginning of the argument block that an address is in.
    pub(crate) fn argument_block(&self, address: u32) -> Option<u32> {
        let mut blocks = self.arguments.iter();
        Some(blocks.find(|area| area.meets(address, 1))?.address)
    }

    /// Whose DMEM an access in page `page` touches, if it is not the kernel's own.
    pub(crate) fn violated(
        &self,
        page: u64,
        address: u32,
        bytes: u32,
        write: bool,
    ) -> Option<Owner> {
        let own = self.page_areas(page).iter().chain(&self.own);
        let readable = self.arguments.iter().filter(|_| !write);
        let mut windows = self.windows.iter().filter(|window| !write || window.writes);
        if own.chain(readable).any(|area| area.holds(address, bytes))
            || windows.any(|window| window.holds(page, address, bytes))
        {
            return None;
        }
        let meets = |area: &Area| area.meets(address, bytes);
        let slides = self.windows.iter().any(|window| meets(&window.area));
        let mut others = self
            .pages
            .iter()
            .flat_map(|turns| turns.areas.iter().flatten());
        Some(if self.arguments.iter().any(meets) {
            Owner::Arguments
        } else if slides && write {
            Owner::Window
        } else if slides || others.any(meets) {
            Owner::OtherPage
        } else {
            Owner::None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(address: u32, bytes: u32) -> Area {
        Area { address, bytes }
    }

    #[test]
    fn pages_take_their_areas_in_turn() {
        let turns = |pages, areas: &[u32]| PageAreas {
            pages,
            areas: areas.iter().map(|&at| vec![area(at, 16)]).collect(),
        };
        let protection = Protection {
            signal: 0,
            own: vec![area(0, 16)],
            arguments: vec![area(16, 32)],
            pages: vec![turns(3, &[64, 80]), turns(1, &[96]), turns(1, &[])],
            ..Protection::default()
        };
        let of = |page| protection.page_areas(page).first().map(|a| a.address);
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(of),
            [Some(64), Some(80), Some(64), Some(96), None, None]
        );
        let violated = |page, address, write| protection.violated(page, address, 8, write);
        assert_eq!(violated(0, 64, true), None);
        assert_eq!(violated(0, 72, false), None);
        assert_eq!(violated(0, 80, false), Some(Owner::OtherPage));
        assert_eq!(violated(1, 80, true), None);
        assert_eq!(violated(9, 8, true), None);
        assert_eq!(violated(0, 24, false), None);
        assert_eq!(violated(0, 24, true), Some(Owner::Arguments));
        assert_eq!(violated(0, 200, true), Some(Owner::None));
        // Past the end of an area, and at the end of all addresses.
        assert_eq!(
            protection.violated(0, 72, 16, false),
            Some(Owner::OtherPage)
        );
        assert_eq!(violated(0, u32::MAX - 7, true), Some(Owner::None));
    }

    /// A block that is none of those that there are, or does not lead to one, was overwritten.
    #[test]
    fn argument_blocks_lead_to_each_other() {
        let mut protection = Protection {
            own: vec![area(0, 64)],
            arguments: vec![area(64, 32), area(96, 32)],
            ..Protection::default()
        };
        assert!(protection.has_arguments(5, |_| None));
        protection.results.head = 16;
        // The next block, and the pages of the one at hand.
        let block = |words: [u32; 3]| {
            move |at: u32| match at {
                64 => Some(words[0]),
                80 => Some(words[1]),
                84 => Some(words[2]),
                _ => None,
            }
        };
        let next = |to: u32| block([to, 0, 48]);
        assert!(!protection.has_arguments(80, block([112, 128, 48])));
        assert!(!protection.has_arguments(80, block([112, 0, 1 << 30])));
        assert!(protection.has_arguments(80, next(112)));
        assert!(!protection.has_arguments(80, next(96)));
        assert!(!protection.has_arguments(81, next(112)));
        assert_eq!(
            [64, 100, 128].map(|at| protection.argument_block(at)),
            [Some(64), Some(96), None]
        );
    }

    /// Five lines of 32 bytes, windows of three of them; two pages, and then a window of its own.
    #[test]
    fn windows_slide_through_their_lines() {
        let protection = Protection {
            signal: 0,
            own: Vec::new(),
            arguments: Vec::new(),
            pages: Vec::new(),
            windows: vec![Sliding {
                area: area(64, 2 * 5 * 32),
                pitch: 32,
                lines: 5,
                window: 3,
                first: 0,
                step: 1,
                row: (2, 4),
                writes: false,
            }],
            ..Protection::default()
        };
        let has = |page: u64| -> Vec<u32> {
            let lines = (0..10).filter(|line| {
                let at = 64 + 32 * line;
                protection.violated(page, at + 16, 16, false).is_none()
            });
            lines.collect()
        };
        assert_eq!(has(0), [0, 1, 2, 5, 6, 7]);
        assert_eq!(has(1), [1, 2, 3, 6, 7, 8]);
        assert_eq!(has(2), [0, 1, 4, 5, 6, 9]);
        assert_eq!(has(3), [0, 1, 2, 5, 6, 7]);
        let violated = |address, bytes, write| protection.violated(0, address, bytes, write);
        assert_eq!(violated(64, 16, true), Some(Owner::Window));
        assert_eq!(violated(64 + 3 * 32, 16, false), Some(Owner::OtherPage));
        // Half of it is in the line behind the window.
        assert_eq!(violated(64 + 3 * 32 - 8, 16, false), Some(Owner::OtherPage));
        assert_eq!(violated(64 + 10 * 32, 16, false), Some(Owner::None));
        // One that is the kernel's to fill.
        let mut filled = protection.clone();
        filled.windows[0].writes = true;
        let violated = |address| filled.violated(0, address, 16, true);
        assert_eq!(violated(64), None);
        assert_eq!(violated(64 + 3 * 32), Some(Owner::Window));
    }
}
