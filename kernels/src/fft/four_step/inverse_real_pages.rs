//! The pages of a transform from half a spectrum to real numbers (`real_back.s`): columns of the
//! spectrum with their conjugates, and rows that are couples of real columns.
//!
//! Between the passes, each section's rows of a page, R of them, are a block: for each couple of columns, 0 to
//! N2/2 - 1, R granules of differences and R of sums, and of N2/2 and its neighbour the differences. So a page of rows
//! is one run. For rows in parts the differences of all couples of a page of columns lie together, and so do the sums.

use super::column_and_row_pages::RowPages;
use super::line_batch::{COMPLEX, LineBatch, root};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;
use num_complex::Complex32;

/// Bytes of a couple of columns of one row.
const COUPLE: u64 = 2 * COMPLEX;

/// The matrix between the passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct InverseRealBlockLayout {
    /// Length of the columns, N1.
    pub height: u64,
    /// Length of the rows, N2.
    pub width: u64,
    /// Rows that a section has of a page.
    pub rows: u64,
    /// Couples of columns whose differences lie together, then their sums.
    pub group: u64,
    /// Sections of the machine: a power of two.
    pub sections: u64,
}

impl InverseRealBlockLayout {
    /// Bytes of the differences of a couple of columns of a block.
    pub(super) fn differences(&self) -> u64 {
        self.rows * COUPLE
    }

    /// Bytes of a couple of columns of a block, differences and sums.
    pub(super) fn couple(&self) -> u64 {
        2 * self.differences()
    }

    /// Where the differences of a couple of columns lie in a block.
    pub(super) fn place(&self, couple: u64) -> u64 {
        (couple / self.group * self.group + couple) * self.differences()
    }

    /// Bytes of a block: couples 0 to N2/4 - 1, and the differences of the next.
    pub(super) fn block(&self) -> u64 {
        self.width / 4 * self.couple() + self.differences()
    }

    fn blocks(&self) -> u64 {
        self.height / (2 * self.rows)
    }

    /// Pages of rows of a matrix.
    pub(super) fn pages(&self) -> u64 {
        self.blocks() / self.sections
    }

    /// Bytes of a matrix.
    pub(super) fn bytes(&self) -> u64 {
        self.blocks() * self.block()
    }
}

/// Columns 0 to N2/2 of spectra. Of S sections, section s has N2/2S from column s N2/2S on, in full pages. After those of
/// all matrices pages of two columns have the last column of one matrix in each section, and another to make a couple.
#[derive(Clone, Debug)]
pub(super) struct InverseRealColumnPages {
    pub lines: LineBatch,
    pub matrices: u64,
    pub blocks: InverseRealBlockLayout,
    /// Address of the half spectra.
    pub from: u64,
    /// Bytes from a half spectrum to the next.
    pub pitch: u64,
    /// Address of the blocks.
    pub to: u64,
    /// Address of the factors of columns 0 to N2/2 + 1.
    pub factors: u64,
    /// Whether there are none but the last columns: another kernel has the full pages.
    pub ends: bool,
}

impl InverseRealColumnPages {
    /// Bytes of a page of `lines`, as it is loaded: a couple more of the conjugates.
    pub(super) fn page_bytes(lines: &LineBatch) -> u64 {
        lines.page_bytes() + lines.len() as u64 / 2 * COUPLE
    }

    /// Room for the tables of the last columns' kernel.
    pub(super) fn end_tables(lines: &LineBatch) -> u64 {
        lines.len() as u64 * COMPLEX
    }

    /// Full pages of a matrix of rows of `width` numbers.
    pub(super) fn full(lines: &LineBatch, width: u64, sections: u64) -> u64 {
        width / (2 * sections * lines.per_section() as u64)
    }

    /// The factor of S and D of each column of a transform of `n` numbers.
    pub(super) fn factors(width: usize, n: usize) -> impl Iterator<Item = Complex32> {
        (0..width / 2 + 2).map(move |column| root(column, n))
    }

    /// Issues of a page: a level of butterflies more than its lines have.
    pub(super) fn issues(lines: &LineBatch) -> u64 {
        lines.butterflies() + (lines.len() * lines.per_section() / 2) as u64
    }

    /// Full pages of a matrix.
    fn full_pages(&self) -> u64 {
        match self.ends {
            true => 0,
            false => Self::full(&self.lines, self.blocks.width, self.blocks.sections),
        }
    }

    fn split(&self, page: u64) -> InverseRealColumnPage {
        let [full, _] = self.pages_of_kind();
        if page >= full {
            let sections = self.blocks.sections;
            let first = (page - full) * sections;
            let matrices = (self.matrices - first).min(sections);
            return InverseRealColumnPage::Couples { first, matrices };
        }
        let pages = self.full_pages().max(1);
        let (matrix, page) = (page / pages, page % pages);
        InverseRealColumnPage::Full { matrix, page }
    }

    fn lines_of(&self, page: u64) -> LineBatch {
        match self.split(page) {
            InverseRealColumnPage::Full { .. } => self.lines.clone(),
            InverseRealColumnPage::Couples { .. } => self.lines.with_per_section(2),
        }
    }

    /// The loads of columns from `first` on of a matrix, and of their partners.
    fn load(
        &self,
        columns: u64,
        (matrix, first): (u64, u64),
        targets: [Target; 2],
        local: u32,
    ) -> [Descriptor; 2] {
        let InverseRealBlockLayout { height, width, .. } = self.blocks;
        let (run, row) = (columns * COMPLEX, (width * COMPLEX) as i64);
        let from = self.from + matrix * self.pitch;
        let half = |target, number: u64, local, run: u64, row| {
            let system = from + number * COMPLEX;
            let rows = (height / 2) as u32;
            Descriptor::load(target, system, local, run).level(rows, row, run as i64)
        };
        let upper = local + (height / 2 * run) as u32;
        let partners = width - first - columns + width * (height / 2 - 1);
        let [lower, mirrored] = targets;
        [
            half(lower, first, local, run, row),
            half(mirrored, partners, upper, run + COUPLE, -row),
        ]
    }
}

/// A matrix for each of the first sections, `bytes` from one to the next: in one transfer if all have one.
fn sections(all: u64, (first, matrices): (u64, u64), bytes: u64) -> Vec<(Target, u64)> {
    let stride = bytes as i64;
    if matrices == all {
        return vec![(Target::Blocks { stride }, first)];
    }
    (0..matrices)
        .map(|section| (Target::Section(section as u32), first + section))
        .collect()
}

/// What a page of columns is.
enum InverseRealColumnPage {
    /// Of one matrix, which page of it.
    Full { matrix: u64, page: u64 },
    /// The last columns of so many matrices.
    Couples { first: u64, matrices: u64 },
}

impl RingPages for InverseRealColumnPages {
    fn count(&self) -> u64 {
        self.pages_of_kind().iter().sum()
    }

    fn period(&self) -> u64 {
        self.count()
    }

    fn pages_of_kind(&self) -> [u64; 2] {
        let couples = self.matrices.div_ceil(self.blocks.sections);
        [self.matrices * self.full_pages(), couples]
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let columns = self.lines_of(page).per_section() as u64;
        let own = |target, first: u64| {
            let system = self.factors + first * COMPLEX;
            Descriptor::load(target, system, factors, columns * COMPLEX)
        };
        let InverseRealBlockLayout {
            width,
            sections: all,
            ..
        } = self.blocks;
        match self.split(page) {
            InverseRealColumnPage::Full { matrix, page } => {
                let stride = (width / (2 * all) * COMPLEX) as i64;
                let targets = [1, -1].map(|sign| Target::Blocks {
                    stride: sign * stride,
                });
                let first = page * columns;
                let data = self.load(columns, (matrix, first), targets, local);
                [own(targets[0], first)].into_iter().chain(data).collect()
            }
            InverseRealColumnPage::Couples { first, matrices } => {
                // Sections that are left over have the last one again, which counts for nothing.
                let last = (Target::Broadcast, first + matrices - 1);
                let each = |count| sections(all, (first, count), self.pitch);
                let targets = match matrices == all {
                    true => each(all),
                    false => [last].into_iter().chain(each(matrices - 1)).collect(),
                };
                let first = width / 2;
                let data = targets.into_iter().flat_map(|(target, matrix)| {
                    self.load(columns, (matrix, first), [target; 2], local)
                });
                [own(Target::Broadcast, first)]
                    .into_iter()
                    .chain(data)
                    .collect()
            }
        }
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let couple = self.blocks.couple();
        let (blocks, apart) = (self.blocks.blocks() as u32, self.blocks.block() as i64);
        let columns = self.lines_of(page).per_section() as u64 / 2 * couple;
        // The rows of `columns`, or of what is first in them, of a matrix.
        let store = |(target, matrix): (Target, u64), first: u64, run: u64| {
            let system = self.to + matrix * self.blocks.bytes() + first;
            Descriptor::store(target, system, local, run).level(blocks, apart, columns as i64)
        };
        let (couples, all) = (self.blocks.width / 4, self.blocks.sections);
        match self.split(page) {
            InverseRealColumnPage::Full { matrix, page } => {
                let stride = (couples / all * couple) as i64;
                let target = (Target::Blocks { stride }, matrix);
                vec![store(target, page * columns, columns)]
            }
            InverseRealColumnPage::Couples { first, matrices } => {
                let each = sections(all, (first, matrices), self.blocks.bytes()).into_iter();
                let run = self.blocks.differences();
                each.map(|target| store(target, couples * couple, run))
                    .collect()
            }
        }
    }

    /// A page as it is loaded, its factors, and what is between its passes.
    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        let lines = &self.lines;
        let factors = lines.per_section() as u64 * COMPLEX;
        // Where there are none but the last columns, tables lie behind it and stay as long.
        let tables = match self.ends {
            true => Self::end_tables(lines),
            false => 0,
        };
        let beside = lines.page_bytes() + tables;
        Some([Self::page_bytes(lines), factors, beside])
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        Self::issues(&self.lines_of(page))
    }
}

/// Rows of all couples of real columns; results as those of a complex transform.
#[derive(Clone, Debug)]
pub(super) struct InverseRealRowPages {
    pub rows: RowPages,
    pub blocks: InverseRealBlockLayout,
    /// Whether the factors of all pages of a matrix are loaded once, with the first page.
    pub resident: bool,
    /// ... each page's by itself, so that some can come where others have no room yet.
    pub apart: bool,
}

impl InverseRealRowPages {
    /// Bytes of a page of `lines`, as it is loaded.
    pub(super) fn page_bytes(lines: &LineBatch) -> u64 {
        lines.page_bytes() + lines.per_section() as u64 * COUPLE
    }
}

impl RingPages for InverseRealRowPages {
    fn count(&self) -> u64 {
        self.rows.count()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let block = self.blocks.block();
        let target = Target::Blocks {
            stride: block as i64,
        };
        // All blocks of all matrices follow each other.
        let system = self.rows.from + page * self.blocks.sections * block;
        let data = Descriptor::load(target, system, local, block);
        let own = match (self.resident, page) {
            (false, _) => vec![self.rows.factors(page, factors)],
            (true, 0) if self.apart => {
                let each = self.rows.lines.factor_bytes() as u32;
                let pages = (0..self.blocks.pages()).zip((factors..).step_by(each.max(1) as usize));
                pages
                    .map(|(page, local)| self.rows.factors(page, local))
                    .collect()
            }
            (true, 0) => vec![self.rows.all_factors(factors)],
            _ => Vec::new(),
        };
        own.into_iter().chain([data]).collect()
    }

    /// With factors that stay the first page has more to load than those that follow.
    fn period(&self) -> u64 {
        match self.resident {
            true => self.blocks.pages(),
            false => 1,
        }
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        self.rows.stores(page, local)
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        let lines = &self.rows.lines;
        let pages = if self.resident {
            self.blocks.pages()
        } else {
            1
        };
        let factors = pages * lines.factor_bytes();
        Some([Self::page_bytes(lines), factors, lines.page_bytes()])
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        self.rows.arithmetic_cycles(page)
    }
}
