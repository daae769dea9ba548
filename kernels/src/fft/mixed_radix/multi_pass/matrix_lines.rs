//! The lines of a pass of `mixed_radix_two_pass`, columns or rows, and their pages.

use super::persistent_kernel::{
    FACTORS, MAX_DMEM_BYTES, PersistentKernel, PersistentKernelBuffers,
};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::mixed_radix::block_fft::COMPLEX;
use crate::fft::mixed_radix::page_kernels::write_in_place_passes;
use crate::fft::mixed_radix::recipe::{best_radices, least_slots};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{RingPages, RingPass};
use cp2_machine::Machine;

/// Transforms in a granule of the DMA and in a quad.
pub(super) const COUPLE: usize = 2;
/// Matrices of a batch for which lines are priced, beside as many matrices one by one.
const PRICED_MATRICES: usize = 4;
pub(super) const PRICED_MATRICES_IN_ALL: u64 = 2 * PRICED_MATRICES as u64;
/// Pairs of lines that a section's page may have.
const TRIED_LINE_PAIRS: [usize; 4] = [1, 2, 4, 8];
/// Numbers of page buffers. With two, one is computed while the other is stored and loaded; a third lets
/// transfers run ahead; with one, nothing overlaps.
const TRIED_BUFFERS: [usize; 3] = [3, 2, 1];
/// Bytes of DMEM assumed for tables and arguments. Pages are chosen before tables are made; a kernel that
/// needs more is refused when it is assembled.
const ASSUMED_TABLE_BYTES: usize = 12_288;

/// Lines of one pass: columns or rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatrixLines {
    pub(super) length: usize,
    /// Number of lines of a matrix, rounded up to an even number.
    pub(super) count: usize,
    pub(super) radices: Vec<usize>,
    /// Pairs of lines in a section's page.
    pub(super) couples: usize,
    /// Page buffers.
    pub(super) buffers: usize,
    /// True if the lines are columns, whose results are multiplied by twiddle factors.
    columns: bool,
}

impl MatrixLines {
    /// Chooses the pairs of lines in a page and the page buffers with the smallest price, for lines of
    /// `length` numbers. Returns also the cycles of [`PRICED_MATRICES_IN_ALL`] matrices, four of them alone and
    /// four in a batch.
    pub(super) fn best(
        (length, count): (usize, usize),
        columns: bool,
        machine: &Machine,
    ) -> Option<(u64, Self)> {
        let sections = machine.cp2.sections;
        let radices = best_radices(length, (!columns, false))?;
        // Rows come as consecutive single numbers: one pass alone cannot leave quads where it reads these.
        if radices.len() < if columns { 1 } else { 2 } {
            return None;
        }
        let of = |(couples, buffers)| Self {
            length,
            count: count.next_multiple_of(COUPLE),
            radices: radices.clone(),
            couples,
            buffers,
            columns,
        };
        let fits = |lines: &Self| {
            // Each page buffer of columns has one for factors, and all pages share one working space.
            let places = lines.buffers * if columns { 2 } else { 1 } + 1;
            lines.page_lines(sections) <= lines.count
                && places * lines.page_bytes() + ASSUMED_TABLE_BYTES
                    <= machine.cp2.dmem.0.min(MAX_DMEM_BYTES) as usize
        };
        let both = |couples| TRIED_BUFFERS.map(|buffers| (couples, buffers));
        let all = TRIED_LINE_PAIRS
            .into_iter()
            .flat_map(both)
            .map(of)
            .filter(fits);
        let cost = |lines: &Self| {
            PRICED_MATRICES as u64 * lines.cost(1, machine) + lines.cost(PRICED_MATRICES, machine)
        };
        let priced = all.map(|lines| (cost(&lines), lines));
        priced.min_by_key(|(cost, _)| *cost)
    }

    /// Returns the lines of a page, all sections together.
    fn page_lines(&self, sections: usize) -> usize {
        COUPLE * self.couples * sections
    }

    /// Returns the length rounded up to an even number: the pitch of the rows, or the number of rows, of the
    /// matrix between the passes.
    pub(super) fn even(&self) -> usize {
        self.length.next_multiple_of(COUPLE)
    }

    /// Returns the bytes of a section's page.
    fn page_bytes(&self) -> usize {
        let length = if self.columns {
            self.length
        } else {
            self.even()
        };
        COUPLE * self.couples * length * COMPLEX as usize
    }

    /// Returns the least slots of a section's page.
    pub(super) fn slots(&self) -> usize {
        let ends = (!self.columns, false);
        let couple = least_slots(self.length, 1, &self.radices, ends) as usize;
        self.couples * (couple + self.products())
    }

    /// Returns the products with twiddle factors of a pair of lines.
    fn products(&self) -> usize {
        if self.columns {
            COUPLE * self.length
        } else {
            0
        }
    }

    fn pages(&self, sections: usize) -> usize {
        self.count.div_ceil(self.page_lines(sections))
    }

    /// Estimates the cycles of the pass over `batch` matrices, before its program is known.
    fn cost(&self, batch: usize, machine: &Machine) -> u64 {
        let pages = MatrixPages {
            lines: self.clone(),
            sections: machine.cp2.sections,
            matrices: batch,
            from: 0,
            to: 0,
            turns: 0,
            issues: self.slots() as u64,
        };
        let pass = RingPass::new(self.ring_buffers().ring(0), pages);
        pass.expect(machine).cycles as u64
    }

    fn ring_buffers(&self) -> PersistentKernelBuffers {
        let page = self.page_bytes() as u64;
        PersistentKernelBuffers {
            page,
            factors: if self.columns { page } else { 0 },
            scratch: page,
            count: self.buffers,
            in_place: true,
        }
    }

    /// Generates the page kernel.
    pub(super) fn stage(
        &self,
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<PersistentKernel, FftError> {
        let kind = if self.columns { "columns" } else { "rows" };
        let per = COUPLE * self.couples;
        let name = format!("{kind} of {}, {per} at a time", self.length);
        PersistentKernel::new(name, machine, self.ring_buffers(), |text| {
            let factors = self.columns.then_some(FACTORS);
            let radices = (&self.radices[..], direction);
            let length = (self.length, self.even());
            *text = write_in_place_passes(length, radices, self.couples, factors, machine);
        })
    }
}

/// Pages of columns of matrices, or of their rows, whose results are columns.
#[derive(Clone, Debug)]
pub(super) struct MatrixPages {
    pub(super) lines: MatrixLines,
    pub(super) sections: usize,
    pub(super) matrices: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    /// Address of the columns' factors.
    pub(super) turns: u64,
    pub(super) issues: u64,
}

impl MatrixPages {
    /// Returns the byte offset of the matrix of a page in the input (`read`) or in the output.
    fn matrix(&self, page: u64, read: bool) -> u64 {
        let (index, _) = self.first(page);
        // The matrix between the passes has padding rows.
        let length = if read == self.lines.columns {
            self.lines.length
        } else {
            self.lines.even()
        };
        index * (self.lines.count * length) as u64 * COMPLEX
    }

    /// Returns the matrix of a page and its first line. A last page that would not be full begins earlier,
    /// and computes some lines again.
    fn first(&self, page: u64) -> (u64, u64) {
        let pages = self.lines.pages(self.sections) as u64;
        let lines = self.lines.page_lines(self.sections) as u64;
        let last = self.lines.count as u64 - lines;
        (page / pages, (page % pages * lines).min(last))
    }

    /// Makes the transfer of a page's lines as columns of the matrix at `system`, whose granules are dealt to
    /// the sections in turn.
    fn make_dealt_transfer(
        &self,
        system: u64,
        page: u64,
        local: u32,
        transfer: fn(Target, u64, u32, u64) -> Descriptor,
    ) -> Descriptor {
        let (_, first) = self.first(page);
        let run = self.lines.page_lines(self.sections) as u64 * COMPLEX;
        let couples = (COUPLE * self.lines.couples) as i64 * COMPLEX as i64;
        let row = (self.lines.count as u64 * COMPLEX) as i64;
        transfer(Target::Deal, system + first * COMPLEX, local, run).level(
            self.lines.length as u32,
            row,
            couples,
        )
    }
}

impl RingPages for MatrixPages {
    fn count(&self) -> u64 {
        (self.matrices * self.lines.pages(self.sections)) as u64
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (_, first) = self.first(page);
        let system = self.from + self.matrix(page, true);
        if self.lines.columns {
            return vec![
                self.make_dealt_transfer(self.turns, page, factors, Descriptor::load),
                self.make_dealt_transfer(system, page, local, Descriptor::load),
            ];
        }
        // Pairs of rows are dealt to the sections in turn.
        let couple = (COUPLE * self.lines.even()) as u64 * COMPLEX;
        let target = Target::Blocks {
            stride: couple as i64,
        };
        let at = system + first / COUPLE as u64 * couple;
        let load = Descriptor::load(target, at, local, couple);
        let next = (self.sections as u64 * couple) as i64;
        vec![load.level(self.lines.couples as u32, next, couple as i64)]
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let matrix = self.to + self.matrix(page, false);
        vec![self.make_dealt_transfer(matrix, page, local, Descriptor::store)]
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.issues
    }
}
