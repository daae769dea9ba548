//! The pages of a phase: the transfers of columns forward, rows, columns back.

use super::shape::{COLUMNS, PAGE, PASSES, ROWS, Shape};
use super::tables::{COLUMN_BYTES, row_bytes};
use crate::conv::filter::COMPLEX;
use crate::conv::overlap::digits;
use crate::ring::Pages;
use cp2_dma::{Descriptor, Target};
use cp2_machine::Class;

/// A kind of page, in the order in which a block goes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Columns,
    Rows,
    Back,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Columns, Self::Rows, Self::Back];
}

/// Cycles of a pass of radix 8 beside its butterflies, of the middle pass, and
/// of a page, as long.s has them.
const PASS: u64 = 47;
const MIDDLE: u64 = 100;
const TURN: u64 = 24;

/// Bytes of a section's page.
pub(super) const PAGE_BYTES: u64 = PAGE as u64 * COMPLEX;

/// Addresses in system memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) x: u64,
    /// A place for each of the three units under way.
    pub(super) between: [u64; 3],
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) y: u64,
}

impl Addresses {
    /// For plans that are not carried out.
    pub(super) const NOWHERE: Self = Self {
        x: 0,
        between: [0; 3],
        rows: 0,
        columns: 0,
        y: 0,
    };
}

/// Blocks, in units of a few.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub(super) shape: Shape,
    /// Pages of each kind in a block.
    pub(super) pages: u64,
    /// Blocks in all.
    pub(super) total: u64,
    pub(super) at: Addresses,
}

/// What takes turns: kinds, each from a unit on.
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) blocks: Blocks,
    pub(super) kinds: Vec<(Kind, u64)>,
    /// Units of each kind.
    pub(super) units: u64,
    /// Whether the factors of rows have room for those of the next.
    pub(super) early_factors: bool,
}

impl Blocks {
    fn together(&self) -> u64 {
        self.shape.together as u64
    }

    /// Units that the blocks make.
    pub(super) fn units(&self) -> u64 {
        self.total.div_ceil(self.together())
    }

    /// Bytes of a block between its passes.
    pub(super) fn block_bytes(&self) -> u64 {
        self.shape.numbers() as u64 * COMPLEX
    }

    /// Butterflies and products of a section's page.
    fn arithmetic(&self, kind: Kind) -> (u64, u64) {
        let page = PAGE as u64;
        match kind {
            Kind::Columns | Kind::Back => (page / 2 * u64::from(3 * PASSES), 0),
            Kind::Rows => (page * u64::from(self.shape.row.ilog2()), page / 2),
        }
    }

    /// A tile of columns from row `from` on, which lies at `system`: `make` makes the
    /// descriptor from target, address, place in the page, and run.
    fn tile(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        system: u64,
        local: u32,
        from: usize,
    ) -> Descriptor {
        let own = COLUMNS as u64 * COMPLEX;
        let local = local + (from as u64 * own) as u32;
        let run = own * self.shape.sections as u64;
        let pitch = self.shape.row as u64 * COMPLEX;
        make(Target::Deal, system, local, run).level((ROWS - from) as u32, pitch as i64, own as i64)
    }
}

/// A page: its unit, its block in all and in the unit, and its number in the block.
#[derive(Clone, Copy)]
struct Place {
    kind: Kind,
    unit: u64,
    block: u64,
    turn: u64,
    number: u64,
}

impl Phase {
    fn place(&self, page: u64) -> Place {
        let kinds = self.kinds.len() as u64;
        let (kind, first) = self.kinds[(page % kinds) as usize];
        let (step, together) = (page / kinds, self.blocks.together());
        let unit = first + step / (together * self.blocks.pages);
        // The last units overlap rather than end behind the last block.
        let begin = (unit * together).min(self.blocks.total.saturating_sub(together));
        let turn = step % together;
        Place {
            kind,
            unit,
            block: begin + turn,
            turn,
            number: step / together % self.blocks.pages,
        }
    }

    /// Arithmetic of a section for all pages: class and operations.
    pub(super) fn operations(&self) -> Vec<(Class, u64)> {
        let kinds = self.kinds.iter();
        let (mut butterflies, mut products) = (0, 0);
        for (b, p) in kinds.map(|&(kind, _)| self.blocks.arithmetic(kind)) {
            butterflies += b;
            products += p;
        }
        let each = self.steps() * self.blocks.shape.sections as u64;
        vec![
            (Class::Butterfly, butterflies * each),
            (Class::Madd, products * each),
        ]
    }

    /// Pages of each kind.
    fn steps(&self) -> u64 {
        self.units * self.blocks.together() * self.blocks.pages
    }

    /// Where a column tile of the page is in an array whose blocks are `apart`.
    fn tile_at(&self, place: &Place, block: u64) -> u64 {
        let wide = (COLUMNS * self.blocks.shape.sections) as u64 * COMPLEX;
        block + place.number * wide
    }

    /// Where a block begins in the input or the output.
    fn outside(&self, array: u64, place: &Place) -> u64 {
        let shape = &self.blocks.shape;
        array + place.block * ((ROWS - shape.skip) * shape.row) as u64 * COMPLEX
    }

    /// Where it is between its passes.
    fn inside(&self, place: &Place) -> u64 {
        let unit = self.blocks.at.between[(place.unit % 3) as usize];
        unit + place.turn * self.blocks.block_bytes()
    }

    /// A part of the page for every section, one behind the other in system memory.
    fn each(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        place: &Place,
        (array, local, bytes): (u64, u32, u64),
    ) -> Descriptor {
        let target = Target::Blocks {
            stride: bytes as i64,
        };
        let pages = place.number * self.blocks.shape.sections as u64;
        make(target, array + pages * bytes, local, bytes)
    }

    /// The loads of rows: the factors where they change, the rows.
    fn rows(&self, place: &Place, local: u32, factors: u32) -> (Option<Descriptor>, Descriptor) {
        let at = self.blocks.at.rows;
        let bytes = row_bytes(self.blocks.shape.row);
        let change = place.turn == 0;
        let factors = change.then(|| self.each(Descriptor::load, place, (at, factors, bytes)));
        let from = self.inside(place);
        let rows = self.each(Descriptor::load, place, (from, local, PAGE_BYTES));
        (factors, rows)
    }

    /// Rows come with the page before, into a buffer of their own, where there is such a page.
    fn is_early(&self) -> bool {
        self.kinds.len() > 1
    }
}

impl Pages for Phase {
    fn count(&self) -> u64 {
        self.kinds.len() as u64 * self.steps()
    }

    fn period(&self) -> u64 {
        self.kinds.len() as u64 * self.blocks.together()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let place = self.place(page);
        let (b, load) = (&self.blocks, Descriptor::load);
        match place.kind {
            Kind::Columns => {
                let from = self.outside(b.at.x, &place);
                vec![b.tile(load, self.tile_at(&place, from), local, 0)]
            }
            Kind::Rows => {
                let (factors, rows) = self.rows(&place, local, factors);
                let factors = factors.filter(|_| !(self.is_early() && self.early_factors));
                let rows = (!self.is_early()).then_some(rows);
                factors.into_iter().chain(rows).collect()
            }
            Kind::Back => {
                let change = place.turn == 0;
                let factors =
                    change.then(|| self.each(load, &place, (b.at.columns, factors, COLUMN_BYTES)));
                let from = self.tile_at(&place, self.inside(&place));
                let tile = b.tile(load, from, local, 0);
                factors.into_iter().chain([tile]).collect()
            }
        }
    }

    fn early(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let place = self.place(page);
        if place.kind != Kind::Rows || !self.is_early() {
            return Vec::new();
        }
        let (factors, rows) = self.rows(&place, local, factors);
        let factors = factors.filter(|_| self.early_factors);
        factors.into_iter().chain([rows]).collect()
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let place = self.place(page);
        let (b, store) = (&self.blocks, Descriptor::store);
        let inside = self.inside(&place);
        vec![match place.kind {
            Kind::Columns => b.tile(store, self.tile_at(&place, inside), local, 0),
            Kind::Rows => self.each(store, &place, (inside, local, PAGE_BYTES)),
            Kind::Back => {
                let to = self.outside(b.at.y, &place);
                b.tile(store, self.tile_at(&place, to), local, b.shape.skip)
            }
        }]
    }

    fn issues(&self, page: u64) -> u64 {
        let (butterflies, products) = self.blocks.arithmetic(self.place(page).kind);
        butterflies + products
    }

    fn overhead(&self, page: u64) -> u64 {
        TURN + match self.place(page).kind {
            Kind::Columns | Kind::Back => u64::from(PASSES) * PASS,
            Kind::Rows => MIDDLE + 2 * u64::from(digits(self.blocks.shape.row).outer) * PASS,
        }
    }
}
