//! The pages of a transform of real numbers: columns that are couples of real columns, and
//! rows of half a spectrum (`real.s`).
//!
//! Between the passes, rows lie in tiles of eight numbers: those of one parity of sixteen
//! columns, all rows one behind the other. So a section's rows, neighbours, are one run of a tile.

use super::cost::AFTER;
use super::lines::{COMPLEX, ColumnPages, Lines};
use crate::ring::Pages;
use cp2_dma::{Descriptor, Target};

/// Sections that the kernels and the tiles are made for.
pub(super) const SECTIONS: u64 = 4;
/// Real columns of a tile of either parity.
const TILE: u64 = 4 * SECTIONS;
/// Bytes of a row of a tile: a granule of each section.
const TILE_ROW: u64 = TILE / 2 * COMPLEX;

/// The matrix between the passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiles {
    /// Length of the columns, N1.
    pub height: u64,
    /// Real columns, N2.
    pub width: u64,
}

impl Tiles {
    /// Bytes of a tile: rows 0 to N1/2, and one that fills up a couple.
    fn tile(&self) -> u64 {
        (self.height / 2 + 2) * TILE_ROW
    }

    /// Bytes of a matrix.
    pub(super) fn bytes(&self) -> u64 {
        self.width / TILE * 2 * self.tile()
    }
}

/// Columns, two real ones in each, whose transforms are separated.
#[derive(Clone, Debug)]
pub(super) struct RealColumns {
    pub columns: ColumnPages,
    pub tiles: Tiles,
}

impl RealColumns {
    /// Bytes of a page of `lines` in DMEM: two more rows.
    pub(super) fn page_bytes(lines: &Lines) -> u64 {
        lines.page_bytes() + 2 * lines.per_section() as u64 * COMPLEX
    }

    /// Loads and stores of a page that is separated: four for a quad and its partner.
    pub(super) fn separated(lines: &Lines) -> u64 {
        4 * (lines.len() / 2 + 1) as u64 * lines.per_section() as u64 / 2
    }
}

impl Pages for RealColumns {
    fn count(&self) -> u64 {
        self.columns.count()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        self.columns.loads(page, local, factors)
    }

    /// Rows k of the even columns, and of the odd ones from row N1 + 1 back.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let lines = &self.columns.lines;
        let pages = self.tiles.width / (2 * lines.per_section() as u64 * SECTIONS);
        let quads = lines.per_section() as u64 / 2;
        let (matrix, first) = (page / pages, page % pages * quads);
        let to = self.columns.to + matrix * self.tiles.bytes() + first * 2 * self.tiles.tile();
        let row = lines.per_section() as i64 * COMPLEX as i64;
        let rows = self.tiles.height / 2 + 1;
        let last = ((self.tiles.height + 1) * row as u64) as u32;
        [(0, local, row), (1, local + last, -row)]
            .map(|(parity, local, row)| {
                let to = to + parity * self.tiles.tile();
                Descriptor::store(Target::Deal, to, local, TILE_ROW)
                    .level(rows as u32, TILE_ROW as i64, row)
                    .level(quads as u32, 2 * self.tiles.tile() as i64, 16)
            })
            .to_vec()
    }

    fn issues(&self, _page: u64) -> u64 {
        let lines = &self.columns.lines;
        lines.butterflies() + Self::separated(lines)
    }

    fn overhead(&self, _page: u64) -> u64 {
        let lines = &self.columns.lines;
        lines.column_overhead() + lines.separate_cycles() - Self::separated(lines)
    }

    fn after(&self, _page: u64) -> u64 {
        AFTER
    }
}

/// Rows 0 to N1/2. Section s has an eighth of N1 from row s N1/8 on and two more: the first
/// row of the next section, whose conjugates share granules with its own last ones, and
/// another to make a couple.
#[derive(Clone, Debug)]
pub(super) struct RealRows {
    pub lines: Lines,
    pub matrices: u64,
    pub tiles: Tiles,
    /// Address of the tiles.
    pub from: u64,
    /// Address of the half spectra.
    pub to: u64,
    /// Bytes from a half spectrum to the next.
    pub pitch: u64,
    /// Address of the factors of the pages of one matrix.
    pub factors: u64,
}

impl RealRows {
    /// Rows of a section, where columns have `height` numbers.
    fn own(height: u64) -> u64 {
        height / (2 * SECTIONS) + 2
    }

    /// Pages of a matrix of columns of `height` numbers.
    pub(super) fn pages(lines: &Lines, height: u64) -> u64 {
        Self::own(height).div_ceil(lines.per_section() as u64)
    }

    /// The first row of section 0 in a page: the last page is full, too, and computes some once more.
    pub(super) fn first(lines: &Lines, height: u64, page: u64) -> u64 {
        let rows = lines.per_section() as u64;
        (page * rows).min(Self::own(height) - rows)
    }

    /// The first rows of the sections of a page.
    pub(super) fn firsts(lines: &Lines, height: u64, page: u64) -> [u64; SECTIONS as usize] {
        let first = Self::first(lines, height, page);
        std::array::from_fn(|section| section as u64 * height / (2 * SECTIONS) + first)
    }

    fn split(&self, page: u64) -> (u64, u64) {
        let pages = Self::pages(&self.lines, self.tiles.height);
        (page / pages, page % pages)
    }

    /// Loads and stores of the conjugates of a page: of every couple, and of the row before.
    pub(super) fn mirrored(lines: &Lines) -> u64 {
        (lines.len() / 2 * (lines.per_section() + 2)) as u64
    }
}

impl Pages for RealRows {
    fn count(&self) -> u64 {
        self.matrices * Self::pages(&self.lines, self.tiles.height)
    }

    fn period(&self) -> u64 {
        Self::pages(&self.lines, self.tiles.height)
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (matrix, page) = self.split(page);
        let Tiles { height, width } = self.tiles;
        let each = self.lines.factor_bytes();
        let target = Target::Blocks {
            stride: each as i64,
        };
        let system = self.factors + page * SECTIONS * each;
        let own = Descriptor::load(target, system, factors, each);
        let first = Self::first(&self.lines, height, page);
        let system = self.from + matrix * self.tiles.bytes() + first * TILE_ROW;
        let target = Target::Blocks {
            stride: (height / (2 * SECTIONS) * TILE_ROW) as i64,
        };
        // Eight numbers of a row are two halves: four of the even columns, four of the odd.
        let half = TILE_ROW / 2;
        let data = [0, 1].map(|parity| {
            let system = system + parity * self.tiles.tile();
            let local = local + (parity * half) as u32;
            Descriptor::load(target, system, local, half)
                .level(2, half as i64, 2 * half as i64)
                .level(
                    self.lines.per_section() as u32,
                    TILE_ROW as i64,
                    (width * COMPLEX) as i64,
                )
                .level(
                    (width / TILE) as u32,
                    2 * self.tiles.tile() as i64,
                    (TILE * COMPLEX) as i64,
                )
        });
        [own].into_iter().chain(data).collect()
    }

    /// The lower half of the results, then the conjugates of the upper one, whose last is the
    /// first in the spectrum. The couple of a page's first row with the row before is there
    /// already, or comes from the section before, where that is not the last of the page before.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (matrix, page) = self.split(page);
        let Tiles { height, width } = self.tiles;
        let first = Self::first(&self.lines, height, page);
        let to = self.to + matrix * self.pitch;
        let rows = self.lines.per_section() as u64;
        let (run, half) = (rows * COMPLEX, width / 2);
        let (stride, turn) = (
            (height / (2 * SECTIONS) * COMPLEX) as i64,
            (height * COMPLEX) as i64,
        );
        let whole = page > 0 && first == page * rows;
        let mirrored = run - if whole { 0 } else { 2 * COMPLEX };
        let upper = local + (half * run) as u32;
        let last = height - first - rows + 2 + height * (half - 1);
        let lower = Descriptor::store(Target::Blocks { stride }, to + first * COMPLEX, local, run);
        let target = Target::Blocks { stride: -stride };
        let mirror = Descriptor::store(target, to + last * COMPLEX, upper, mirrored);
        let mut stores = vec![
            lower.level(half as u32, turn, run as i64),
            mirror.level(half as u32, -turn, run as i64),
        ];
        if page == 0 {
            // Number N/2 is the first of row N1.
            let middle = upper + (run - 2 * COMPLEX) as u32;
            let at = to + height * half * COMPLEX;
            stores.push(Descriptor::store(
                Target::Section(0),
                at,
                middle,
                2 * COMPLEX,
            ));
        }
        stores
    }

    fn issues(&self, _page: u64) -> u64 {
        self.lines.shifted_issues() + Self::mirrored(&self.lines)
    }

    fn overhead(&self, _page: u64) -> u64 {
        let lines = &self.lines;
        lines.row_overhead() + lines.mirror_cycles() - Self::mirrored(lines)
    }

    fn after(&self, _page: u64) -> u64 {
        AFTER
    }
}
