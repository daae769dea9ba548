//! Pages of the inverse real FFT: half-spectrum columns, paired rows.
//!
//! Columns of the half spectrum come with their conjugates; rows are pairs of real ones (`inverse_real_pages.s`).
//!
//! Between the passes, each section's rows of a page, R of them, are a block. For each pair of columns from 0
//! to N2/2 - 1 it has R granules of differences D and R of sums S, and for column N2/2 and its neighbour the
//! differences. So a page of rows is one run. For rows in parts the differences of all pairs of a page of
//! columns lie together, and so do the sums.

use super::column_and_row_pages::RowPages;
use super::line_batch::{COMPLEX, LineBatch, root};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;
use num_complex::Complex32;

/// Bytes of a pair of columns in one row.
const COUPLE: u64 = 2 * COMPLEX;

/// Layout of the matrix between the passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct InverseRealBlockLayout {
    /// Length of the columns, N1.
    pub height: u64,
    /// Length of the rows, N2.
    pub width: u64,
    /// Rows of a section in a page.
    pub rows: u64,
    /// Pairs of columns whose differences lie together, followed by their sums.
    pub group: u64,
    /// Sections of the machine: a power of two.
    pub sections: u64,
}

impl InverseRealBlockLayout {
    /// Returns the bytes of the differences of a pair of columns in a block.
    pub(super) fn differences(&self) -> u64 {
        self.rows * COUPLE
    }

    /// Returns the bytes of a pair of columns in a block, differences and sums.
    pub(super) fn couple(&self) -> u64 {
        2 * self.differences()
    }

    /// Returns the byte offset of the differences of a pair of columns in a block.
    pub(super) fn place(&self, couple: u64) -> u64 {
        (couple / self.group * self.group + couple) * self.differences()
    }

    /// Returns the bytes of a block: pairs 0 to N2/4 - 1, and the differences of the next pair.
    pub(super) fn block(&self) -> u64 {
        self.width / 4 * self.couple() + self.differences()
    }

    fn blocks(&self) -> u64 {
        self.height / (2 * self.rows)
    }

    /// Returns the pages of rows of a matrix.
    pub(super) fn pages(&self) -> u64 {
        self.blocks() / self.sections
    }

    /// Returns the bytes of a matrix.
    pub(super) fn bytes(&self) -> u64 {
        self.blocks() * self.block()
    }
}

/// Pages of columns 0 to N2/2 of spectra. Of S sections, section s has N2/2S columns from s N2/2S on, in full
/// pages. After the full pages of all matrices come pages of two columns: in each section the last column of
/// one matrix, and its neighbour to make a pair.
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
    /// True if the pass has only the last columns, because another kernel has the full pages.
    pub ends: bool,
}

impl InverseRealColumnPages {
    /// Returns the bytes of a page of `lines` as it is loaded: the rows of conjugates have one more pair.
    pub(super) fn page_bytes(lines: &LineBatch) -> u64 {
        lines.page_bytes() + lines.len() as u64 / 2 * COUPLE
    }

    /// Returns the bytes reserved for the tables of the last columns' kernel.
    pub(super) fn end_tables(lines: &LineBatch) -> u64 {
        lines.len() as u64 * COMPLEX
    }

    /// Returns the full pages of a matrix with rows of `width` numbers.
    pub(super) fn full(lines: &LineBatch, width: u64, sections: u64) -> u64 {
        width / (2 * sections * lines.per_section() as u64)
    }

    /// Computes the merge factor of each column c of a transform of `n` numbers, exp(-2 pi i c/n).
    pub(super) fn factors(width: usize, n: usize) -> impl Iterator<Item = Complex32> {
        (0..width / 2 + 2).map(move |column| root(column, n))
    }

    /// Returns the issues of a page: the butterflies of its lines and one more level, the merge.
    pub(super) fn issues(lines: &LineBatch) -> u64 {
        lines.butterflies() + (lines.len() * lines.per_section() / 2) as u64
    }

    /// Returns the full pages of a matrix in this pass.
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

    fn page_lines(&self, page: u64) -> LineBatch {
        match self.split(page) {
            InverseRealColumnPage::Full { .. } => self.lines.clone(),
            InverseRealColumnPage::Couples { .. } => self.lines.with_per_section(2),
        }
    }

    /// Makes the loads of `columns` columns of a matrix from `first` on, and of their partners.
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

/// Returns the targets of `matrices` matrices, one for each of the first sections, `bytes` from one to the
/// next: a single transfer if every section has one.
fn sections(all: u64, (first, matrices): (u64, u64), bytes: u64) -> Vec<(Target, u64)> {
    let stride = bytes as i64;
    if matrices == all {
        return vec![(Target::Blocks { stride }, first)];
    }
    (0..matrices)
        .map(|section| (Target::Section(section as u32), first + section))
        .collect()
}

/// Kind of a page of columns.
enum InverseRealColumnPage {
    /// Full page number `page` of a matrix.
    Full { matrix: u64, page: u64 },
    /// The last columns of `matrices` matrices from `first` on.
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
        let columns = self.page_lines(page).per_section() as u64;
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
                // Sections without a matrix load the last one again; their results are not stored.
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
        let columns = self.page_lines(page).per_section() as u64 / 2 * couple;
        // Stores `run` bytes of every block from byte `first` of it on, for a matrix.
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

    /// Returns the bytes of a page as it is loaded, of its factors, and of the numbers between its passes.
    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        let lines = &self.lines;
        let factors = lines.per_section() as u64 * COMPLEX;
        // In a pass of only the last columns the tables lie behind these numbers.
        let tables = match self.ends {
            true => Self::end_tables(lines),
            false => 0,
        };
        let beside = lines.page_bytes() + tables;
        Some([Self::page_bytes(lines), factors, beside])
    }

    fn arithmetic_cycles(&self, page: u64) -> u64 {
        Self::issues(&self.page_lines(page))
    }
}

/// Pages of rows, each a pair of real ones; results are stored as those of a complex transform.
#[derive(Clone, Debug)]
pub(super) struct InverseRealRowPages {
    pub rows: RowPages,
    pub blocks: InverseRealBlockLayout,
    /// True if the factors of all pages of a matrix are loaded once, with the first page.
    pub resident: bool,
    /// True if resident factors are loaded by one transfer for each page, so that some can come while others
    /// have no room yet.
    pub apart: bool,
}

impl InverseRealRowPages {
    /// Returns the bytes of a page of rows as it is loaded: one more pair of differences.
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
        // Blocks of all matrices are contiguous.
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

    /// Returns the pages of a matrix where factors are resident, since the first page has more to load.
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
