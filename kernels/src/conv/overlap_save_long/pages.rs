//! Pages of a phase: transfers of columns, rows and inverse columns.

use super::phase_buffers::{PrefetchRoom, lcm};
use super::schedule::{BlockGroup, PhaseShare};
use super::shape::{LongBlockShape, PAGE};
use super::twiddle_tables::{TAP_BYTES, column_bytes, row_bytes};
use crate::conv::block_filter::COMPLEX;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;
use std::ops::Range;

/// Kind of a page. A block goes through them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LongPageKind {
    Columns,
    Rows,
    Back,
}

impl LongPageKind {
    pub(super) const ALL: [Self; 3] = [Self::Columns, Self::Rows, Self::Back];
}

/// Bytes of a section's page.
pub(super) const PAGE_BYTES: u64 = PAGE as u64 * COMPLEX;

/// Addresses in system memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongAddresses {
    pub(super) x: u64,
    /// Intermediate arrays of the three units in progress.
    pub(super) between: [u64; 3],
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) y: u64,
}

impl LongAddresses {
    /// Addresses for plans that are not run: far apart, whatever the arrays' sizes.
    pub(super) const NOWHERE: Self = Self {
        x: 0,
        between: [1 << 48, 2 << 48, 3 << 48],
        rows: 4 << 48,
        columns: 5 << 48,
        y: 6 << 48,
    };
}

/// Blocks of a filter, grouped in units.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongBlocks {
    pub(super) shape: LongBlockShape,
    /// Pages of each kind in a block.
    pub(super) pages: u64,
    pub(super) at: LongAddresses,
}

/// A phase: pages of several kinds that alternate, as many of each.
#[derive(Debug)]
pub(super) struct LongPhase {
    pub(super) blocks: LongBlocks,
    pub(super) kinds: Vec<PhaseShare>,
    /// Rounds of the phase: pages of each share.
    pub(super) steps: u64,
    /// Tables for which there is room for the next ones beside those in use.
    pub(super) room: PrefetchRoom,
    /// DMEM addresses of the taps that have areas of their own.
    pub(super) taps: [u32; 2],
}

impl LongBlocks {
    /// Returns the bytes of a block between its passes.
    pub(super) fn block_bytes(&self) -> u64 {
        self.shape.numbers() as u64 * COMPLEX
    }

    /// Returns the transfer of a tile of columns, from row `from` on, whose first number is at `system`.
    /// `make` builds the descriptor from target, system address, place in the page, and run.
    pub(super) fn tile(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        system: u64,
        local: u32,
        from: usize,
    ) -> Descriptor {
        let cut = self.shape.cut;
        let own = cut.columns() as u64 * COMPLEX;
        let local = local + (from as u64 * own) as u32;
        let run = own * self.shape.sections as u64;
        let pitch = cut.row as u64 * COMPLEX;
        make(Target::Deal, system, local, run).level(
            (cut.rows - from) as u32,
            pitch as i64,
            own as i64,
        )
    }
}

/// A page: its unit, its block in the signal (`block`) and in the unit (`turn`), and its number in the block.
#[derive(Clone, Copy)]
pub(super) struct LongPage {
    kind: LongPageKind,
    unit: u64,
    block: u64,
    turn: u64,
    pub(super) number: u64,
    /// True for the first page of its kind in the phase.
    is_first: bool,
    /// True if its factors differ from those of the page before.
    begins: bool,
    /// Number of the page's group, counted over all units of its kind. Pages of a group have the same
    /// factors.
    group: u64,
}

impl LongPhase {
    /// Returns the label in overlap_save_long.s of the loop for these kinds.
    pub(super) fn entry(&self) -> &'static str {
        let kinds: Vec<LongPageKind> = self.kinds.iter().map(|share| share.kind).collect();
        match kinds.as_slice() {
            [LongPageKind::Columns] => "columns",
            [LongPageKind::Columns, LongPageKind::Rows] => "columns_and_rows",
            [
                LongPageKind::Columns,
                LongPageKind::Columns,
                LongPageKind::Rows,
            ] => "more_columns_and_rows",
            [LongPageKind::Rows] => "rows",
            [
                LongPageKind::Columns,
                LongPageKind::Rows,
                LongPageKind::Columns,
                LongPageKind::Rows,
                LongPageKind::Back,
            ] => "more_columns_and_all",
            [
                LongPageKind::Columns,
                LongPageKind::Rows,
                LongPageKind::Back,
                LongPageKind::Rows,
                LongPageKind::Back,
            ] => "all_and_more_back",
            [LongPageKind::Rows, LongPageKind::Back] => "rows_and_back",
            [LongPageKind::Rows, LongPageKind::Back, LongPageKind::Back] => "rows_and_more_back",
            [LongPageKind::Back] => "back",
            _ => "all",
        }
    }

    /// Returns the page that is number `page` of the phase.
    pub(super) fn place(&self, page: u64) -> LongPage {
        let kinds = self.kinds.len() as u64;
        let share = &self.kinds[(page % kinds) as usize];
        let BlockGroup { first, blocks } = share.unit;
        let (round, each) = (page / kinds, blocks * self.blocks.pages);
        let at = share.page(round);
        let is_first = at == share.start;
        let rotated = (at + share.rotated) % each;
        let turn = rotated % blocks;
        LongPage {
            kind: share.kind,
            unit: share.number + at / each,
            block: first + at / each * blocks + turn,
            turn,
            number: rotated / blocks,
            is_first,
            begins: turn == 0 || is_first || at.is_multiple_of(each),
            group: at / blocks,
        }
    }

    /// Returns the address of the page's tile of columns in the block that begins at `block`.
    fn tile_address(&self, place: &LongPage, block: u64) -> u64 {
        let shape = &self.blocks.shape;
        let wide = (shape.cut.columns() * shape.sections) as u64 * COMPLEX;
        block + place.number * wide
    }

    /// Returns the address of the page's block in the input or the output `array`.
    pub(super) fn array_block_address(&self, array: u64, place: &LongPage) -> u64 {
        let shape = &self.blocks.shape;
        array + place.block * shape.outputs() as u64 * COMPLEX
    }

    /// Returns the address of the page's block between its passes.
    fn intermediate_block_address(&self, place: &LongPage) -> u64 {
        let unit = self.blocks.at.between[(place.unit % 3) as usize];
        unit + place.turn * self.blocks.block_bytes()
    }

    /// Returns the transfer of what all sections have of page `number`, one section behind the other in
    /// system memory.
    fn describe_all(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        number: u64,
        (array, local, bytes): (u64, u32, u64),
    ) -> Descriptor {
        self.part(make, number, (array, local, bytes), 0..bytes)
    }

    /// Returns the transfer of the bytes `part` of the `bytes` that each section has of page `number`.
    fn part(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        number: u64,
        (array, local, bytes): (u64, u32, u64),
        part: Range<u64>,
    ) -> Descriptor {
        let target = Target::Blocks {
            stride: bytes as i64,
        };
        let from = array + number * self.blocks.shape.sections as u64 * bytes + part.start;
        make(target, from, local, part.end - part.start)
    }

    /// Returns the rows' share of the phase.
    fn rows_share(&self) -> Option<&PhaseShare> {
        self.kinds
            .iter()
            .find(|share| share.kind == LongPageKind::Rows)
    }

    /// Returns the load of the taps of a group of pages of rows.
    fn taps(&self, group: u64) -> Option<Descriptor> {
        let first = self.rows_share()?.first_group();
        let bytes = row_bytes(self.blocks.shape.cut.row);
        let local = self.taps[((group - first) % 2) as usize];
        let from = (self.blocks.at.rows, local, bytes);
        let number = group % self.blocks.pages;
        Some(self.part(Descriptor::load, number, from, bytes - TAP_BYTES..bytes))
    }

    /// Returns the load of the factors of rows where they change, together with the taps unless these have
    /// areas of their own.
    fn factors(&self, place: &LongPage, local: u32) -> Option<Descriptor> {
        let bytes = row_bytes(self.blocks.shape.cut.row);
        let end = match self.room {
            PrefetchRoom::Taps => bytes - TAP_BYTES,
            PrefetchRoom::Both | PrefetchRoom::One => bytes,
        };
        let from = (self.blocks.at.rows, local, bytes);
        let load = || self.part(Descriptor::load, place.number, from, 0..end);
        place.begins.then(load)
    }

    /// Returns the load of a page of rows.
    fn rows(&self, place: &LongPage, local: u32) -> Descriptor {
        let from = self.intermediate_block_address(place);
        self.describe_all(Descriptor::load, place.number, (from, local, PAGE_BYTES))
    }

    /// Returns the load of the next group's taps. It follows the loads that a page of rows waits for, in the
    /// middle of a group's blocks, or at the first page of the phase if that is later.
    fn next_taps(&self, page: u64) -> Option<Descriptor> {
        let (place, rows) = (self.place(page), self.rows_share()?);
        let middle = rows.unit.blocks / 2;
        let now = place.turn == middle || (place.is_first && place.turn > middle);
        let wanted = place.kind == LongPageKind::Rows && self.room == PrefetchRoom::Taps && now;
        let last = (rows.start + rows.nth.1 * self.steps - 1) / rows.unit.blocks;
        let next = (wanted && place.group < last).then_some(place.group + 1);
        next.and_then(|group| self.taps(group))
    }

    /// Returns whether rows are loaded with the page before, into a buffer of their own; only a phase of
    /// several kinds has such a page.
    fn is_early(&self) -> bool {
        self.kinds.len() > 1
    }
}

impl RingPages for LongPhase {
    fn count(&self) -> u64 {
        self.kinds.len() as u64 * self.steps
    }

    fn period(&self) -> u64 {
        // Pages of columns forward are all alike.
        let others = self
            .kinds
            .iter()
            .filter(|share| share.kind != LongPageKind::Columns);
        let turns = others.map(|share| share.unit.blocks).fold(1, lcm);
        self.kinds.len() as u64 * turns
    }

    fn cost_period(&self) -> u64 {
        // If the overlap ends in the middle of a row, the later columns of a block have more outputs.
        let whole = self
            .blocks
            .shape
            .overlap
            .is_multiple_of(self.blocks.shape.cut.row);
        let back = self
            .kinds
            .iter()
            .any(|share| share.kind == LongPageKind::Back);
        self.period() * if whole || !back { 1 } else { self.blocks.pages }
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let place = self.place(page);
        let (b, load) = (&self.blocks, Descriptor::load);
        match place.kind {
            LongPageKind::Columns => {
                let from = self.array_block_address(b.at.x, &place);
                vec![b.tile(load, self.tile_address(&place, from), local, 0)]
            }
            LongPageKind::Rows => {
                let early = self.is_early();
                let factors = self.factors(&place, factors);
                let factors = factors.filter(|_| !(early && self.room == PrefetchRoom::Both));
                let first = self.room == PrefetchRoom::Taps && place.is_first;
                let taps = first.then(|| self.taps(place.group)).flatten();
                let rows = (!early).then(|| self.rows(&place, local));
                factors.into_iter().chain(taps).chain(rows).collect()
            }
            LongPageKind::Back => {
                let bytes = column_bytes(b.shape.cut);
                let factors =
                    || self.describe_all(load, place.number, (b.at.columns, factors, bytes));
                let factors = place.begins.then(factors);
                let from = self.tile_address(&place, self.intermediate_block_address(&place));
                let tile = b.tile(load, from, local, 0);
                factors.into_iter().chain([tile]).collect()
            }
        }
    }

    fn list_early_loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let place = self.place(page);
        let taps = page.checked_sub(1).and_then(|page| self.next_taps(page));
        if place.kind != LongPageKind::Rows || !self.is_early() {
            return taps.into_iter().collect();
        }
        let factors = self.factors(&place, factors);
        let factors = factors.filter(|_| self.room == PrefetchRoom::Both);
        let rows = self.rows(&place, local);
        factors.into_iter().chain([rows]).chain(taps).collect()
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let place = self.place(page);
        let (b, store) = (&self.blocks, Descriptor::store);
        let inside = self.intermediate_block_address(&place);
        match place.kind {
            LongPageKind::Columns => {
                vec![b.tile(store, self.tile_address(&place, inside), local, 0)]
            }
            LongPageKind::Rows => {
                vec![self.describe_all(store, place.number, (inside, local, PAGE_BYTES))]
            }
            LongPageKind::Back => self.outputs(&place, local),
        }
    }

    fn dmem_bytes(&self, page: u64) -> Option<[u64; 3]> {
        let (kind, cut) = (self.place(page).kind, self.blocks.shape.cut);
        Some(match kind {
            LongPageKind::Columns => [PAGE_BYTES, 0, 0],
            LongPageKind::Rows => [PAGE_BYTES, row_bytes(cut.row) - TAP_BYTES, TAP_BYTES],
            LongPageKind::Back => [PAGE_BYTES, column_bytes(cut), 0],
        })
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        let (butterflies, products) = self.blocks.shape.arithmetic(self.place(page).kind);
        butterflies + products
    }
}
