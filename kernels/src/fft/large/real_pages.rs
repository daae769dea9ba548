//! The pages of a transform of real numbers: columns that are couples of real columns, and
//! rows of half a spectrum (`real.s`).
//!
//! Between the passes, rows lie in tiles of eight numbers: those of one parity of sixteen
//! columns, all rows one behind the other. So a section's rows, neighbours, are one run of a tile.

use super::cost::AFTER;
use super::lines::{COMPLEX, LAST, Lines};
use super::pages::ColumnPages;
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
        lines.butterflies() + lines.separate_issues()
    }

    fn overhead(&self, _page: u64) -> u64 {
        self.columns.lines.separate_overhead()
    }

    fn after(&self, _page: u64) -> u64 {
        AFTER
    }
}

/// Rows 0 to N1/2. Section s has an eighth of N1 from row s N1/8 on, in full pages, and in one
/// more page two: the first row of the next section, whose conjugates share granules with its
/// own last ones, and another to make a couple.
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
    /// Whether these are loaded once, with the first page.
    pub resident: bool,
}

/// Words of a page that find its factors where all stay.
const FIND: u64 = 2;

impl RealRows {
    /// Full pages of a matrix of columns of `height` numbers.
    pub(super) fn full(lines: &Lines, height: u64) -> u64 {
        height / (2 * SECTIONS * lines.per_section() as u64)
    }

    /// The first rows of the sections of all pages of a matrix.
    pub(super) fn firsts(lines: &Lines, height: u64) -> impl Iterator<Item = u64> {
        let (full, rows) = (Self::full(lines, height), lines.per_section() as u64);
        let sections = move |page| {
            let first = move |section| section * height / (2 * SECTIONS) + page * rows;
            (0..SECTIONS).map(first)
        };
        (0..=full).flat_map(sections)
    }

    /// Issues for the conjugates of a page, two at a time.
    pub(super) fn conjugates(lines: &Lines) -> u64 {
        (lines.len() * lines.per_section() / 4) as u64
    }

    /// Arithmetic issues of a page.
    pub(super) fn half_issues(lines: &Lines) -> u64 {
        lines.shifted_issues() + Self::conjugates(lines)
    }

    fn full_pages(&self) -> u64 {
        Self::full(&self.lines, self.tiles.height)
    }

    /// The rows of a page.
    fn page_lines(&self, page: u64) -> Lines {
        if self.split(page).2 {
            self.lines.clone()
        } else {
            self.lines.with(2)
        }
    }

    /// The load of the factors of a page, or, where these stay, of all pages with the first.
    fn factor_load(&self, matrix: u64, page: u64, local: u32) -> Option<Descriptor> {
        let each = self.lines.factor_bytes();
        let target = Target::Blocks {
            stride: each as i64,
        };
        let of =
            |page| Descriptor::load(target, self.factors + page * SECTIONS * each, local, each);
        if !self.resident {
            return Some(of(page));
        }
        let pages = self.full_pages() + 1;
        let all = || of(0).level(pages as u32, (SECTIONS * each) as i64, each as i64);
        (matrix == 0 && page == 0).then(all)
    }

    /// The matrix of a page, which page of it, and whether it is full.
    fn split(&self, page: u64) -> (u64, u64, bool) {
        let full = self.full_pages();
        let (matrix, page) = (page / (full + 1), page % (full + 1));
        (matrix, page, page < full)
    }
}

impl Pages for RealRows {
    fn count(&self) -> u64 {
        self.matrices * self.period()
    }

    fn period(&self) -> u64 {
        self.full_pages() + 1
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (matrix, page, full) = self.split(page);
        let Tiles { height, width } = self.tiles;
        let own = self.factor_load(matrix, page, factors);
        let rows = self.lines.per_section() as u64;
        let system = self.from + matrix * self.tiles.bytes() + page * rows * TILE_ROW;
        let target = Target::Blocks {
            stride: (height / (2 * SECTIONS) * TILE_ROW) as i64,
        };
        let rows = if full { rows } else { 2 };
        // Eight numbers of a row are two halves: four of the even columns, four of the odd.
        let half = TILE_ROW / 2;
        let data = [0, 1].map(|parity| {
            let system = system + parity * self.tiles.tile();
            let local = local + (parity * half) as u32;
            Descriptor::load(target, system, local, half)
                .level(2, half as i64, 2 * half as i64)
                .level(rows as u32, TILE_ROW as i64, (width * COMPLEX) as i64)
                .level(
                    (width / TILE) as u32,
                    2 * self.tiles.tile() as i64,
                    (TILE * COMPLEX) as i64,
                )
        });
        own.into_iter().chain(data).collect()
    }

    /// Both halves lie in blocks (`real.s`), which are a couple's numbers of an eighth of a row: first the conjugates,
    /// whose last couple is the first in the spectrum, then the lower half. Of the conjugates the first couple shares its
    /// granules with the row before, of a section's first page with the section before, which stores them at the end of its
    /// rows; number N/2 comes from the first row of all.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (matrix, page, full) = self.split(page);
        let Tiles { height, width } = self.tiles;
        let rows = self.lines.per_section() as u64;
        let (first, to) = (page * rows, self.to + matrix * self.pitch);
        let (half, granule, columns) = (width / 2, 2 * COMPLEX, width / LAST as u64);
        let stride = (height / (2 * SECTIONS) * COMPLEX) as i64;
        let turn = (height * COMPLEX) as i64;
        let (block, eighth) = ((columns * granule) as i64, width * rows);
        // `couples` couples of every number, blocks on end in DMEM, that number `system` begins in the spectrum; the next is `turn` on.
        let store = |(system, local): (u64, u32), couples: u64, (block, turn): (i64, i64)| {
            let target = Target::Blocks {
                stride: stride * turn.signum(),
            };
            let system = to + system * COMPLEX;
            Descriptor::store(target, system, local, granule)
                .level(couples as u32, granule as i64, block)
                .level(columns as u32, turn, granule as i64)
                .level(LAST as u32 / 2, turn * columns as i64, eighth as i64)
        };
        let lower = || {
            let local = local + (LAST as u64 / 2 * eighth) as u32;
            store((first, local), rows / 2, (block, turn))
        };
        // The conjugates of couples `from` to `couples`, which are the first numbers.
        let mirror = |from: u64, couples: u64| {
            let low = height - first - 2 * (couples - 1) + height * (half - 1);
            let last = local + (block * (couples - 1) as i64) as u32;
            store((low, last), couples - from, (-block, -turn))
        };
        // The same of pages of one couple: number k of every eighth where the last pass has read column k.
        let read = |eighth: u64| {
            let low = height - first + height * (half - 1 - eighth * columns);
            let (system, local) = (to + low * COMPLEX, local + (eighth * granule) as u32);
            let target = Target::Blocks { stride: -stride };
            let mut store = Descriptor::store(target, system, local, granule);
            let (mut turn, mut apart) = (-turn, (width * COMPLEX) as i64);
            for &radix in self.lines.early() {
                apart /= radix as i64;
                store = store.level(radix as u32, turn, apart);
                turn *= radix as i64;
            }
            store
        };
        if rows == 2 && page > 0 {
            let reads = (0..LAST as u64 / 2).map(read);
            return reads.chain(full.then(lower)).collect();
        }
        if !full {
            return vec![mirror(0, 1)];
        }
        if page > 0 {
            return vec![lower(), mirror(0, rows / 2)];
        }
        let middle = to + height * half * COMPLEX;
        let middle = Descriptor::store(Target::Section(0), middle, local, granule);
        let mirror = (rows > 2).then(|| mirror(1, rows / 2));
        [lower()]
            .into_iter()
            .chain(mirror)
            .chain([middle])
            .collect()
    }

    fn issues(&self, page: u64) -> u64 {
        Self::half_issues(&self.page_lines(page))
    }

    fn overhead(&self, page: u64) -> u64 {
        self.page_lines(page).half_overhead() + FIND * u64::from(self.resident)
    }

    fn after(&self, _page: u64) -> u64 {
        AFTER
    }
}
