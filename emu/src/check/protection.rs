//! DMEM that belongs to a kernel, page by page, for the checkers of its accesses.

use crate::check::results::Results;
use serde::{Deserialize, Serialize};

/// A range of DMEM byte addresses, equal in every section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// First byte address.
    pub address: u32,
    /// Length in bytes.
    pub bytes: u32,
}

impl Area {
    /// True if all of `bytes` bytes from `address` on lie inside.
    fn contains(self, address: u32, bytes: u32) -> bool {
        let end = |at: u32, bytes: u32| u64::from(at) + u64::from(bytes);
        address >= self.address && end(address, bytes) <= end(self.address, self.bytes)
    }

    /// True if at least one of `bytes` bytes from `address` on lies inside.
    pub(crate) fn overlaps(self, address: u32, bytes: u32) -> bool {
        let end = |at: u32, bytes: u32| u64::from(at) + u64::from(bytes);
        u64::from(address) < end(self.address, self.bytes)
            && u64::from(self.address) < end(address, bytes)
    }
}

/// Pages that take the same areas in turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageAreas {
    /// Number of pages.
    pub pages: u64,
    /// Areas of the first page, of the second, and so on; the page after the last entry has the
    /// areas of the first entry again.
    pub areas: Vec<Vec<Area>>,
}

/// A circular buffer of lines in which each page has a window. Windows of successive pages overlap:
/// a page finds lines there that earlier pages had in theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sliding {
    /// The whole buffer: its lines once, or several copies of them one behind the other.
    pub area: Area,
    /// Bytes from one line to the next.
    pub pitch: u32,
    /// Number of distinct lines.
    pub lines: u64,
    /// Lines of a window.
    pub window: u64,
    /// First line of the first page's window.
    pub first: u64,
    /// Lines from a page's window to that of the next page in a row of pages.
    pub step: u64,
    /// Pages in a row of pages, and lines from the window of a row's first page to that of the next
    /// row's.
    pub row: (u64, u64),
    /// True if the kernel may also write the window.
    pub writes: bool,
}

impl Sliding {
    /// True if all bytes of an access lie in the window of page `page`.
    fn contains_access(&self, page: u64, address: u32, bytes: u32) -> bool {
        if !self.area.contains(address, bytes) {
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

/// Memory protection of a page kernel: the DMEM that it may access. Without one it may access
/// everything.
///
/// Its size does not depend on the number of pages. It belongs to the checkers only: no machine has
/// it, and it costs no simulated time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protection {
    /// Event that the kernel signals when it is done with a page; from then on the areas of the
    /// next page are its own.
    pub signal: u32,
    /// Areas that belong to the kernel throughout: data of its program, and scratch.
    pub own: Vec<Area>,
    /// Argument blocks, which the kernel may only read.
    pub arguments: Vec<Area>,
    /// Areas that belong to single pages, in the order of the pages.
    pub pages: Vec<PageAreas>,
    /// Sliding windows, which the kernel may read, and write where they say so.
    pub windows: Vec<Sliding>,
    /// Buffers of the kernel's streams, and the rows that are stored from them.
    #[serde(default)]
    pub results: Results,
}

/// Owner of an address that the kernel may not access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The argument blocks, which the kernel may only read.
    Arguments,
    /// A sliding window that the kernel may only read, or lines outside the page's window.
    Window,
    /// Another page, or the same buffer in a page with more blocks.
    OtherPage,
    /// No owner.
    None,
}

impl Protection {
    /// Returns the areas of page `page`; none after the last page.
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

    /// True if the argument block at `block`, and the addresses in it that the page loop uses, are
    /// ones that a host loads; also true if there is no page loop. Otherwise the block was
    /// overwritten.
    ///
    /// `word` reads a word of DMEM.
    pub fn has_arguments(&self, block: u32, word: impl Fn(u32) -> Option<u32>) -> bool {
        /// Bytes between the address of the next block and the block that it stands before.
        const NEXT: u32 = 16;
        let head = self.results.head;
        if head < NEXT || self.arguments.is_empty() {
            return true;
        }
        let is_block = |at: u32| self.arguments.iter().any(|area| area.address + head == at);
        let next = block.checked_sub(NEXT).and_then(&word);
        // Addresses of the first input and of the first output; 0 if there is none.
        let pages = [0, 4].map(|at| block.checked_add(at).and_then(&word));
        let is_page = |at: u32| at == 0 || self.pages_meet(at);
        is_block(block) && next.is_none_or(is_block) && pages.into_iter().flatten().all(is_page)
    }

    /// True if an address lies in an area of any page, in a window, or in one of the kernel's own
    /// areas.
    fn pages_meet(&self, address: u32) -> bool {
        let pages = self
            .pages
            .iter()
            .flat_map(|turns| turns.areas.iter().flatten());
        let windows = self.windows.iter().map(|window| &window.area);
        let mut all = pages.chain(windows).chain(&self.own);
        all.any(|area| area.overlaps(address, 1))
    }

    /// Returns the first address of the area of arguments that `address` lies in.
    pub(crate) fn argument_block(&self, address: u32) -> Option<u32> {
        let mut blocks = self.arguments.iter();
        Some(blocks.find(|area| area.overlaps(address, 1))?.address)
    }

    /// Returns the owner of the DMEM that an access at page `page` touches, or `None` if the kernel
    /// may make it.
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
        if own
            .chain(readable)
            .any(|area| area.contains(address, bytes))
            || windows.any(|window| window.contains_access(page, address, bytes))
        {
            return None;
        }
        let meets = |area: &Area| area.overlaps(address, bytes);
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

    /// A block address that is no argument block, or whose link leads to none, shows that the block
    /// was overwritten.
    #[test]
    fn argument_blocks_lead_to_each_other() {
        let mut protection = Protection {
            own: vec![area(0, 64)],
            arguments: vec![area(64, 32), area(96, 32)],
            ..Protection::default()
        };
        assert!(protection.has_arguments(5, |_| None));
        protection.results.head = 16;
        // Words of a block: the link to the next block, the first input's address and the first
        // output's.
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

    /// A buffer of five lines of 32 bytes with windows of three; rows of two pages, four lines
    /// apart.
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
        // The second half of the access is in the line behind the window.
        assert_eq!(violated(64 + 3 * 32 - 8, 16, false), Some(Owner::OtherPage));
        assert_eq!(violated(64 + 10 * 32, 16, false), Some(Owner::None));
        // A window that the kernel may fill.
        let mut filled = protection.clone();
        filled.windows[0].writes = true;
        let violated = |address| filled.violated(0, address, 16, true);
        assert_eq!(violated(64), None);
        assert_eq!(violated(64 + 3 * 32), Some(Owner::Window));
    }
}
