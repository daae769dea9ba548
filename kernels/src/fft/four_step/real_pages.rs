//! The pages of a transform of real numbers: columns that are couples of real columns, and
//! rows of half a spectrum (`real.s`).
//!
//! Between the passes, rows lie in tiles of two numbers for each section, eight on four: those of one parity of sixteen
//! columns, all rows one behind the other. So a section's rows, neighbours, are one run of a tile.

use super::column_and_row_pages::ColumnPages;
use super::line_batch::{COMPLEX, LAST, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;

/// Bytes of numbers of one parity that lie together in a page of rows, between as many of the other.
pub(super) const HALF: u64 = LAST as u64 / 2 * COMPLEX;

/// The matrix between the passes.
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
    /// Real columns of a tile of either parity.
    fn columns(&self) -> u64 {
        4 * self.sections
    }

    /// Bytes of a row of a tile: what is dealt to each section.
    pub(super) fn row(&self) -> u64 {
        self.columns() / 2 * COMPLEX
    }

    /// Bytes of a tile: rows 0 to N1/2, and one that fills up a couple.
    pub(super) fn tile(&self) -> u64 {
        (self.height / 2 + 2) * self.row()
    }

    /// Tiles of either parity.
    pub(super) fn pages(&self) -> u64 {
        self.width / self.columns()
    }

    /// Bytes of a matrix.
    pub(super) fn bytes(&self) -> u64 {
        self.pages() * 2 * self.tile()
    }
}

/// Columns, two real ones in each, whose transforms are separated.
#[derive(Clone, Debug)]
pub(super) struct RealColumnPages {
    pub columns: ColumnPages,
    pub tiles: RealTileLayout,
}

impl RealColumnPages {
    /// Bytes of a page of `lines` in DMEM: two more rows.
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

    /// Rows k of the even columns, and of the odd ones from row N1 + 1 back.
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

/// The pages of rows 0 to N1/2 of a matrix. Section s has an eighth of N1 from row s N1/8 on and two rows more:
/// the first row of the next section, whose conjugates share granules with its own last ones, and another
/// to make a couple. These two are in the last page, alone or with other rows of the section.
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
    /// Rows that the last page may have where full ones have `rows`: what these leave, and `rows` more where that is
    /// little; but of couples alone no number has a place in the next result that would not be read any more.
    pub(super) fn lasts(height: u64, sections: u64, rows: usize) -> impl Iterator<Item = usize> {
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

    /// Rows that a section has for itself.
    fn share(&self) -> u64 {
        self.height / (2 * self.sections)
    }

    /// Full pages of a matrix.
    pub(super) fn full(&self) -> u64 {
        let [rows, last] = [&self.lines, &self.last].map(|lines| lines.per_section() as u64);
        (self.share() + 2).saturating_sub(last) / rows
    }

    /// The rows of a page of a matrix.
    fn page(&self, page: u64) -> &LineBatch {
        match page < self.full() {
            true => &self.lines,
            false => &self.last,
        }
    }

    /// The page that has most rows.
    pub(super) fn most(&self) -> &LineBatch {
        match self.last.per_section() > self.lines.per_section() {
            true => &self.last,
            false => &self.lines,
        }
    }

    /// What all pages of a matrix have of something.
    pub(super) fn sum(&self, of: fn(&LineBatch) -> u64) -> u64 {
        self.full() * of(&self.lines) + of(&self.last)
    }

    /// The rows of each section in each page of a matrix.
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

    /// The rows of each section in each page as if the last one were full.
    pub(super) fn wholes(&self) -> impl Iterator<Item = Vec<usize>> {
        let rows = self.lines.per_section() as u64;
        (0..=self.full()).flat_map(move |page| {
            let of = move |section| (section * self.share() + page * rows) as usize;
            (0..self.sections)
                .map(move |section| (of(section)..of(section) + rows as usize).collect())
        })
    }

    /// Issues for the conjugates of a page, two at a time.
    pub(super) fn conjugates(lines: &LineBatch) -> u64 {
        (lines.len() * lines.per_section() / 4) as u64
    }
}

/// The same of all matrices, and where they are.
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
    /// Whether these are loaded once, with the first page.
    pub resident: bool,
}

impl HalfSpectrumRowPages {
    /// The loads of the factors of a page, or, where these stay, of all pages with the first.
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

    /// The matrix of a page, which page of it, and its rows.
    pub(super) fn split(&self, page: u64) -> (u64, u64, &LineBatch) {
        let period = self.period();
        let (matrix, page) = (page / period, page % period);
        (matrix, page, self.rows.page(page))
    }

    /// Rows of its buffer before those of a page, so that what goes to the next result leaves those that are still
    /// read; a couple alone sends nothing there.
    fn leading_rows(&self, lines: &LineBatch) -> u64 {
        match lines.per_section() {
            2 => 0,
            rows => (self.rows.most().per_section() - rows) as u64,
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
        // Four numbers of the even columns, then four of the odd.
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

    /// Both halves lie in blocks (`real.s`), which are a couple's numbers of an eighth of a row: first the conjugates,
    /// whose last couple is the first in the spectrum, then the lower half. Of the conjugates the first couple shares its
    /// granules with the row before, of a section's first page with the section before, which stores them at the end of its
    /// rows; number N/2 comes from the first row of all.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (matrix, page, lines) = self.split(page);
        let RealTileLayout {
            height,
            width,
            sections,
        } = self.tiles;
        let rows = self.rows.lines.per_section() as u64;
        // Of the last page's couples the last has no numbers of its own.
        let couples = lines.per_section() as u64 / 2;
        let own = couples - u64::from(page == self.rows.full());
        let (first, to) = (page * rows, self.to + matrix * self.pitch);
        let (half, granule, columns) = (width / 2, 2 * COMPLEX, width / LAST as u64);
        let stride = (height / (2 * sections) * COMPLEX) as i64;
        let turn = (height * COMPLEX) as i64;
        let (block, eighth) = (
            (columns * granule) as i64,
            width * self.rows.most().per_section() as u64,
        );
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
            store((first, local), own, (block, turn))
        };
        // The conjugates of couples from `from` on, which are the last numbers.
        let mirror = |from: u64| {
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
        let most = self.rows.most();
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
