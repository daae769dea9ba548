//! Transfers of a ring block: samples, tables and outputs by parts.

use super::N;
use crate::conv::block_filter::COMPLEX;
use crate::conv::overlap_save::{BlockCover, issues};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{RingPages, SectionBlocks};
use std::ops::Range;

/// Parts of a block.
const PARTS: u64 = 8;
/// Number of parts in the ring, which begins at DMEM address 0.
pub(super) const RING: u64 = 12;
/// Rows of a part, and numbers of a row.
const ROWS: usize = 8;
const ROW: usize = N / ROWS / PARTS as usize;
/// Bytes of a part.
pub(super) const PART: u64 = N as u64 * COMPLEX / PARTS;
/// Bytes of a row of a part, and of a row of a block.
const ROW_BYTES: u64 = ROW as u64 * COMPLEX;
const PITCH: u64 = PARTS * ROW_BYTES;
/// Number of pieces of the middle pass's tables, bytes of a piece, and DMEM address of the area behind the
/// ring. The area holds two pieces, or the factors of the last pass.
pub(super) const EIGHTHS: u64 = 8;
pub(super) const EIGHTH: u64 = 6144;
const AREA: u64 = RING * PART;
/// Pages of a block: loads of parts, pieces of tables, stores of parts.
const PAGES: u64 = 2 * PARTS + EIGHTHS;
/// Event that the DMA posts when tables are loaded.
const TABLES: u32 = 2;
/// Issues of a pass of radix 8 over a block.
const PASS_ISSUES: u64 = N as u64 / 2 * 3;

/// Addresses in system memory; 0 in plans that are not run.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::conv) struct OverlapSaveRingAddresses {
    pub(in crate::conv) x: u64,
    pub(in crate::conv) tables: u64,
    pub(in crate::conv) y: u64,
}

/// Pages of blocks, one block for each section at a time.
#[derive(Debug)]
pub(super) struct OverlapSaveRingPages {
    pub(super) blocks: SectionBlocks,
    pub(super) cover: BlockCover,
    pub(super) at: OverlapSaveRingAddresses,
}

/// Kind of a page, with its number in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RingPageKind {
    /// Load of a part of the samples, over which the first pass goes.
    Comes(u64),
    /// Load of a piece of the middle pass's tables.
    Tables(u64),
    /// Store of a part of the outputs.
    Goes(u64),
}

impl RingPageKind {
    /// Splits the number of a page into its group of blocks and its kind.
    fn classify_page(page: u64) -> (u64, Self) {
        let place = page % PAGES;
        let kind = match place.checked_sub(PARTS) {
            None => Self::Comes(place),
            Some(piece) if piece < EIGHTHS => Self::Tables(piece),
            Some(beyond) => Self::Goes(beyond - EIGHTHS),
        };
        (page / PAGES, kind)
    }

    /// Returns the number of this page of a group of blocks.
    fn page(self, group: u64) -> u64 {
        let place = match self {
            Self::Comes(part) => part,
            Self::Tables(piece) => PARTS + piece,
            Self::Goes(part) => PARTS + EIGHTHS + part,
        };
        group * PAGES + place
    }
}

/// Run of numbers of a part: `rows` rows, `len` numbers of each, from number `number` of the block on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartRows {
    number: usize,
    len: usize,
    rows: usize,
}

/// Returns the numbers of a part that are in `wanted`: whole rows together, and rows of which only a piece is
/// wanted.
fn rows(part: usize, wanted: &Range<usize>) -> Vec<PartRows> {
    let mut all: Vec<PartRows> = Vec::new();
    for row in 0..ROWS {
        let first = row * N / ROWS + part * ROW;
        let (from, to) = (first.max(wanted.start), (first + ROW).min(wanted.end));
        match all.last_mut() {
            _ if from >= to => {}
            Some(last) if (last.len, to - from) == (ROW, ROW) => last.rows += 1,
            _ => all.push(PartRows {
                number: from,
                len: to - from,
                rows: 1,
            }),
        }
    }
    all
}

impl OverlapSaveRingPages {
    /// Returns the place in the ring of a part of a group's block.
    fn place(group: u64, part: u64) -> u64 {
        (group * PARTS + part) % RING * PART
    }

    /// Loads a piece of the tables into the area behind the ring, for all sections.
    fn table(&self, from: u64, to: u64, bytes: u64) -> Vec<Descriptor> {
        let at = self.at.tables + from;
        vec![Descriptor::load(
            Target::Broadcast,
            at,
            (AREA + to) as u32,
            bytes,
        )]
    }
}

impl RingPages for OverlapSaveRingPages {
    fn count(&self) -> u64 {
        self.blocks.groups() * PAGES
    }

    fn loads(&self, page: u64, _local: u32, _factors: u32) -> Vec<Descriptor> {
        let (group, kind) = RingPageKind::classify_page(page);
        match kind {
            RingPageKind::Comes(part) => {
                let at = self.at.x + part * ROW_BYTES;
                let local = Self::place(group, part) as u32;
                let hop = self.cover.hop as u64 * COMPLEX;
                self.blocks.loads(group, hop, |target, from| {
                    Descriptor::load(target, at + from, local, ROW_BYTES).level(
                        ROWS as u32,
                        PITCH as i64,
                        ROW_BYTES as i64,
                    )
                })
            }
            RingPageKind::Tables(piece) => self.table(piece * EIGHTH, piece % 2 * EIGHTH, EIGHTH),
            RingPageKind::Goes(0) => self.table(EIGHTHS * EIGHTH, 0, 2 * EIGHTH),
            RingPageKind::Goes(_) => Vec::new(),
        }
    }

    fn stores(&self, page: u64, _local: u32) -> Vec<Descriptor> {
        let (group, RingPageKind::Goes(part)) = RingPageKind::classify_page(page) else {
            return Vec::new();
        };
        let wanted = &self.cover.outputs;
        let pieces = rows(part as usize, wanted).into_iter();
        let pitch = wanted.len() as u64 * COMPLEX;
        let store = |piece: PartRows| {
            let row = piece.number / (N / ROWS) * ROW + piece.number % ROW;
            let local = Self::place(group, part) + row as u64 * COMPLEX;
            let at = self.at.y + (piece.number - wanted.start) as u64 * COMPLEX;
            self.blocks.list_transfers(group, pitch, |target, from| {
                let run = piece.len as u64 * COMPLEX;
                Descriptor::store(target, at + from, local as u32, run).level(
                    piece.rows as u32,
                    PITCH as i64,
                    ROW_BYTES as i64,
                )
            })
        };
        pieces.flat_map(store).collect()
    }

    /// Returns the pages of three blocks: the ring holds three half blocks, so places then repeat.
    fn period(&self) -> u64 {
        3 * PAGES
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        let middle = issues(N) - 6 * PASS_ISSUES;
        // Passes 2 and 3, and 4 and 5, go over a whole block and wait for nothing.
        match RingPageKind::classify_page(page).1 {
            RingPageKind::Comes(part) if part + 1 == PARTS => PASS_ISSUES / PARTS + 2 * PASS_ISSUES,
            RingPageKind::Comes(_) | RingPageKind::Goes(_) => PASS_ISSUES / PARTS,
            RingPageKind::Tables(piece) if piece + 1 == EIGHTHS => {
                middle / EIGHTHS + 2 * PASS_ISSUES
            }
            RingPageKind::Tables(_) => middle / EIGHTHS,
        }
    }

    fn event(&self, page: u64) -> u32 {
        match RingPageKind::classify_page(page).1 {
            RingPageKind::Comes(_) => 0,
            RingPageKind::Tables(_) | RingPageKind::Goes(_) => TABLES,
        }
    }

    fn next(&self, page: Option<u64>, _ahead: u64) -> Vec<u64> {
        let Some(page) = page else {
            // At the start everything that fits is loaded: a block and half of the next.
            let first = (0..PARTS).map(|part| RingPageKind::Comes(part).page(0));
            let tables = (0..2).map(|piece| RingPageKind::Tables(piece).page(0));
            let second = (0..RING - PARTS).map(|part| RingPageKind::Comes(part).page(1));
            return first.chain(tables).chain(second).collect();
        };
        let (group, kind) = RingPageKind::classify_page(page);
        match kind {
            RingPageKind::Comes(_) => Vec::new(),
            RingPageKind::Tables(piece) if piece + 2 < EIGHTHS => {
                vec![RingPageKind::Tables(piece + 2).page(group)]
            }
            RingPageKind::Tables(piece) if piece + 1 < EIGHTHS => Vec::new(),
            RingPageKind::Tables(_) => vec![RingPageKind::Goes(0).page(group)],
            RingPageKind::Goes(part) => {
                let later = group * PARTS + part + RING;
                let mut next = vec![RingPageKind::Comes(later % PARTS).page(later / PARTS)];
                if part + 1 == PARTS {
                    next.extend((0..2).map(|piece| RingPageKind::Tables(piece).page(group + 1)));
                }
                next
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number wanted is stored once, and no other.
    #[test]
    fn parts_cover_what_is_wanted() {
        for wanted in [
            0..N,
            2..N,
            600..N,
            512..4094,
            1026..1030,
            64..128,
            3000..3200,
        ] {
            let mut stored = vec![0; N];
            for part in 0..PARTS as usize {
                let pieces = rows(part, &wanted);
                assert!(pieces.len() <= 3, "{pieces:?}");
                for piece in pieces {
                    for row in 0..piece.rows {
                        let at = piece.number + row * N / ROWS;
                        stored[at..at + piece.len].iter_mut().for_each(|n| *n += 1);
                    }
                }
            }
            assert!(
                stored
                    .iter()
                    .enumerate()
                    .all(|(n, &times)| times == i32::from(wanted.contains(&n)))
            );
        }
    }

    /// Every page that is loaded has its turn once, after the page whose place it takes.
    #[test]
    fn every_page_is_loaded_once() {
        let blocks = SectionBlocks {
            count: 20,
            sections: 4,
        };
        let cover = BlockCover::new_overlapping(600, N);
        let parts = OverlapSaveRingPages {
            blocks,
            cover,
            at: OverlapSaveRingAddresses::default(),
        };
        let all = std::iter::once(None).chain((0..parts.count()).map(Some));
        let next = all.flat_map(|page| parts.next(page, 1));
        let mut loaded: Vec<u64> = next.filter(|&page| page < parts.count()).collect();
        for kind in [0, TABLES] {
            let own: Vec<u64> = loaded
                .iter()
                .copied()
                .filter(|&p| parts.event(p) == kind)
                .collect();
            assert!(own.is_sorted(), "{own:?}");
        }
        loaded.sort_unstable();
        let wanted = |page: &u64| !parts.loads(*page, 0, 0).is_empty();
        assert_eq!(
            loaded,
            (0..parts.count()).filter(wanted).collect::<Vec<_>>()
        );
    }
}
