//! Pages of the real FFT: paired real columns, half-spectrum rows.
//!
//! Between the passes, rows lie in tiles of two numbers for each section, eight on four sections: the even or
//! the odd ones of sixteen columns, all rows one behind the other. So a section's rows, which are adjacent,
//! are one run of a tile.

use super::column_and_row_pages::ColumnPages;
use super::line_batch::{COMPLEX, LAST, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;

/// Bytes of the numbers of one parity that lie together in a page of rows; as many of the other parity
/// follow.
pub(super) const HALF: u64 = LAST as u64 / 2 * COMPLEX;

/// Layout of the matrix between the passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealTileLayout {
    /// Length of the columns, N1.
    pub height: u64,
    /// Real columns, N2.
    pub width: u64,
    /// Sections of the machine: a power of two from 2 on.
    pub sections: u64,
}

impl RealTileLayout {
    /// Returns the real columns of two tiles, one of even and one of odd columns.
    fn columns(&self) -> u64 {
        4 * self.sections
    }

    /// Returns the bytes of a row of a tile, of which each section is dealt a granule.
    pub(super) fn row(&self) -> u64 {
        self.columns() / 2 * COMPLEX
    }

    /// Returns the bytes of a tile: rows 0 to N1/2, and one that makes up a pair.
    pub(super) fn tile(&self) -> u64 {
        (self.height / 2 + 2) * self.row()
    }

    /// Returns the tiles of each parity.
    pub(super) fn pages(&self) -> u64 {
        self.width / self.columns()
    }

    /// Returns the bytes of a matrix.
    pub(super) fn bytes(&self) -> u64 {
        self.pages() * 2 * self.tile()
    }
}

/// Pages of columns with two real ones in each, whose transforms are split.
#[derive(Clone, Debug)]
pub(super) struct RealColumnPages {
    pub columns: ColumnPages,
    pub tiles: RealTileLayout,
}

impl RealColumnPages {
    /// Returns the bytes of a page of `lines` in DMEM: the split adds two rows.
    pub(super) fn page_bytes(lines: &LineBatch) -> u64 {
        lines.page_bytes() + 2 * lines.per_section() as u64 * COMPLEX
    }
}

impl RingPages for RealColumnPages {
    fn count(&self) -> u64 {
        self.columns.count()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        self.columns.loads(page, local, factors)
    }

    /// Stores rows k of the even columns in ascending order, and those of the odd ones from row N1 + 1 of the
    /// page down.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let lines = &self.columns.lines;
        let pages = self.tiles.width / (2 * lines.per_section() as u64 * self.tiles.sections);
        let quads = lines.per_section() as u64 / 2;
        let (matrix, first) = (page / pages, page % pages * quads);
        let to = self.columns.to + matrix * self.tiles.bytes() + first * 2 * self.tiles.tile();
        let row = lines.per_section() as i64 * COMPLEX as i64;
        let (rows, wide) = (self.tiles.height / 2 + 1, self.tiles.row());
        let last = ((self.tiles.height + 1) * row as u64) as u32;
        [(0, local, row), (1, local + last, -row)]
            .map(|(parity, local, row)| {
                let to = to + parity * self.tiles.tile();
                Descriptor::store(Target::Deal, to, local, wide)
                    .level(rows as u32, wide as i64, row)
                    .level(quads as u32, 2 * self.tiles.tile() as i64, 16)
            })
            .to_vec()
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        Some([Self::page_bytes(&self.columns.lines), 0, 0])
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        let lines = &self.columns.lines;
        lines.butterflies() + lines.separate_issues()
    }
}

/// Division of rows 0 to N1/2 of a matrix into pages. Of four sections, section s has N1/8 rows from row s
/// N1/8 on, and two more: the first row of the next section, whose conjugates share granules with this
/// section's last ones, and another to make a pair. These two are in the last page, alone or with other rows
/// of the section.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HalfSpectrumRows {
    /// Length of the columns, N1.
    height: u64,
    /// Sections of the machine.
    sections: u64,
    pub lines: LineBatch,
    /// The rows of the last page.
    pub last: LineBatch,
}

impl HalfSpectrumRows {
    /// Returns the numbers of rows that the last page may have where full ones have `rows`: what these leave,
    /// and `rows` more where that is a single pair. Full pages of single pairs cannot take two more rows,
    /// since no place in the next result would be free in time for their conjugates.
    pub(super) fn last_page_rows(
        height: u64,
        sections: u64,
        rows: usize,
    ) -> impl Iterator<Item = usize> {
        let share = (height / (2 * sections)) as usize + 2;
        let left = match share % rows {
            0 => rows,
            left => left,
        };
        let more = (rows > 2 && left == 2).then_some(rows + 2);
        std::iter::once(left).chain(more)
    }

    pub(super) fn new(height: u64, sections: u64, lines: &LineBatch, last: usize) -> Self {
        Self {
            height,
            sections,
            lines: lines.clone(),
            last: lines.with_per_section(last),
        }
    }

    /// Returns the rows that a section has for itself.
    fn share(&self) -> u64 {
        self.height / (2 * self.sections)
    }

    /// Returns the full pages of a matrix.
    pub(super) fn full(&self) -> u64 {
        let [rows, last] = [&self.lines, &self.last].map(|lines| lines.per_section() as u64);
        (self.share() + 2).saturating_sub(last) / rows
    }

    /// Returns the rows of a page of a matrix.
    fn page(&self, page: u64) -> &LineBatch {
        match page < self.full() {
            true => &self.lines,
            false => &self.last,
        }
    }

    /// Returns the rows of the largest page.
    pub(super) fn largest_page(&self) -> &LineBatch {
        match self.last.per_section() > self.lines.per_section() {
            true => &self.last,
            false => &self.lines,
        }
    }

    /// Returns the sum of a quantity over all pages of a matrix.
    pub(super) fn sum(&self, of: fn(&LineBatch) -> u64) -> u64 {
        self.full() * of(&self.lines) + of(&self.last)
    }

    /// Lists the rows of each section in each page of a matrix.
    pub(super) fn all(&self) -> impl Iterator<Item = (&LineBatch, Vec<usize>)> {
        (0..=self.full()).flat_map(move |page| {
            let lines = self.page(page);
            let first = page * self.lines.per_section() as u64;
            let rows = move |section| {
                let first = (section * self.share() + first) as usize;
                (lines, (first..first + lines.per_section()).collect())
            };
            (0..self.sections).map(rows)
        })
    }

    /// Lists the rows of each section in each page, as if the last page were full.
    pub(super) fn list_full_pages(&self) -> impl Iterator<Item = Vec<usize>> {
        let rows = self.lines.per_section() as u64;
        (0..=self.full()).flat_map(move |page| {
            let of = move |section| (section * self.share() + page * rows) as usize;
            (0..self.sections)
                .map(move |section| (of(section)..of(section) + rows as usize).collect())
        })
    }

    /// Returns the issues for the conjugates of a page, two numbers at a time.
    pub(super) fn conjugates(lines: &LineBatch) -> u64 {
        (lines.len() * lines.per_section() / 4) as u64
    }
}

/// Pages of rows 0 to N1/2 of all matrices, with addresses.
#[derive(Clone, Debug)]
pub(super) struct HalfSpectrumRowPages {
    pub rows: HalfSpectrumRows,
    pub matrices: u64,
    pub tiles: RealTileLayout,
    /// Address of the tiles.
    pub from: u64,
    /// Address of the half spectra.
    pub to: u64,
    /// Bytes from a half spectrum to the next.
    pub pitch: u64,
    /// Address of the factors of the pages of one matrix.
    pub factors: u64,
    /// True if the factors of all pages are loaded once, with the first page.
    pub resident: bool,
}

impl HalfSpectrumRowPages {
    /// Makes the loads of the factors of a page, or of all pages with the first one where factors are
    /// resident.
    fn factor_loads(&self, matrix: u64, page: u64, local: u32) -> Vec<Descriptor> {
        let (full, each) = (self.rows.full(), self.rows.lines.factor_bytes());
        let of = |page: u64, local: u64| {
            let bytes = self.rows.page(page).factor_bytes();
            let target = Target::Blocks {
                stride: bytes as i64,
            };
            let system = self.factors + page * self.tiles.sections * each;
            Descriptor::load(target, system, local as u32, bytes)
        };
        let local = u64::from(local);
        if !self.resident {
            return vec![of(page, local)];
        }
        if matrix > 0 || page > 0 {
            return Vec::new();
        }
        let pages = of(0, local).level(
            full as u32,
            (self.tiles.sections * each) as i64,
            each as i64,
        );
        let first = (full > 0).then_some(pages);
        first
            .into_iter()
            .chain([of(full, local + full * each)])
            .collect()
    }

    /// Returns the matrix of a page, the page within it, and its rows.
    pub(super) fn split(&self, page: u64) -> (u64, u64, &LineBatch) {
        let period = self.period();
        let (matrix, page) = (page / period, page % period);
        (matrix, page, self.rows.page(page))
    }

    /// Returns the rows that are left free at the start of a page's buffer, so that the conjugates that go to
    /// the next result do not overwrite rows that are still read. A page of a single pair sends nothing
    /// there.
    fn leading_rows(&self, lines: &LineBatch) -> u64 {
        match lines.per_section() {
            2 => 0,
            rows => (self.rows.largest_page().per_section() - rows) as u64,
        }
    }
}

impl RingPages for HalfSpectrumRowPages {
    fn count(&self) -> u64 {
        self.matrices * self.period()
    }

    fn period(&self) -> u64 {
        self.rows.full() + 1
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (matrix, page, lines) = self.split(page);
        let RealTileLayout {
            height,
            width,
            sections,
        } = self.tiles;
        let wide = self.tiles.row();
        let own = self.factor_loads(matrix, page, factors);
        let first = page * self.rows.lines.per_section() as u64;
        let system = self.from + matrix * self.tiles.bytes() + first * wide;
        let local = local + (self.leading_rows(lines) * width * COMPLEX) as u32;
        let target = Target::Blocks {
            stride: (height / (2 * sections) * wide) as i64,
        };
        let rows = lines.per_section();
        // Four numbers of the even columns alternate with four of the odd ones.
        let data = [0, 1].map(|parity| {
            let system = system + parity * self.tiles.tile();
            let local = local + (parity * HALF) as u32;
            Descriptor::load(target, system, local, HALF)
                .level((wide / HALF) as u32, HALF as i64, 2 * HALF as i64)
                .level(rows as u32, wide as i64, (width * COMPLEX) as i64)
                .level(
                    self.tiles.pages() as u32,
                    2 * self.tiles.tile() as i64,
                    (self.tiles.columns() * COMPLEX) as i64,
                )
        });
        own.into_iter().chain(data).collect()
    }

    /// Stores both halves of the results, which lie in blocks (`half_spectrum_rows.s`) of a pair's numbers of an
    /// eighth of a row. The conjugates come first, of which the last pair is the first in the spectrum, then the lower
    /// half. The first pair's conjugates share granules with the row before; in a section's first page that
    /// row belongs to the section before, which stores them at the end of its rows. The first row of all has
    /// number N/2.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (matrix, page, lines) = self.split(page);
        let RealTileLayout {
            height,
            width,
            sections,
        } = self.tiles;
        let rows = self.rows.lines.per_section() as u64;
        // The last pair of the last page has no numbers of its own to store.
        let couples = lines.per_section() as u64 / 2;
        let own = couples - u64::from(page == self.rows.full());
        let (first, to) = (page * rows, self.to + matrix * self.pitch);
        let (half, granule, columns) = (width / 2, 2 * COMPLEX, width / LAST as u64);
        let stride = (height / (2 * sections) * COMPLEX) as i64;
        let turn = (height * COMPLEX) as i64;
        let (block, eighth) = (
            (columns * granule) as i64,
            width * self.rows.largest_page().per_section() as u64,
        );
        // Stores `couples` pairs of every number of half a row, from number `system` of the spectrum on, in
        // blocks `block` bytes apart in DMEM; the next number of a row is `turn` bytes further in the
        // spectrum.
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
            store((first, local), own, (block, turn))
        };
        // Stores the conjugates of pairs from `from` on, in descending order.
        let mirror = |from: u64| {
            let low = height - first - 2 * (couples - 1) + height * (half - 1);
            let last = local + (block * (couples - 1) as i64) as u32;
            store((low, last), couples - from, (-block, -turn))
        };
        // Stores one eighth of the conjugates of a page of one pair: number k lies where the last pass has
        // read column k.
        let read = |eighth: u64| {
            let low = height - first + height * (half - 1 - eighth * columns);
            let (system, local) = (to + low * COMPLEX, local + (eighth * granule) as u32);
            let target = Target::Blocks { stride: -stride };
            let mut store = Descriptor::store(target, system, local, granule);
            let (mut turn, mut apart) = (-turn, (width * COMPLEX) as i64);
            for &radix in lines.in_place_radices() {
                apart /= radix as i64;
                store = store.level(radix as u32, turn, apart);
                turn *= radix as i64;
            }
            store
        };
        if rows == 2 && page > 0 {
            let reads = (0..LAST as u64 / 2).map(read);
            return reads.chain((own > 0).then(lower)).collect();
        }
        let middle = || {
            let middle = to + height * half * COMPLEX;
            Descriptor::store(Target::Section(0), middle, local, granule)
        };
        let from = u64::from(page == 0);
        let stores = [
            (own > 0).then(lower),
            (couples > from).then(|| mirror(from)),
            (page == 0).then(middle),
        ];
        stores.into_iter().flatten().collect()
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        let most = self.rows.largest_page();
        let factors = match self.resident {
            true => self.rows.sum(LineBatch::factor_bytes),
            false => most.factor_bytes(),
        };
        Some([most.page_bytes(), factors, 0])
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        let lines = self.split(page).2;
        lines.shifted_issues() + HalfSpectrumRows::conjugates(lines)
    }
}
