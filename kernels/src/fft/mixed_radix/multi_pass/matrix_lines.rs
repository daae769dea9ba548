//! The lines of a pass of [`super::two_pass`], columns or rows, and their pages.

use super::persistent_kernel::{FACTORS, PersistentKernel, PersistentKernelBuffers, REACH};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::mixed_radix::block_fft::COMPLEX;
use crate::fft::mixed_radix::page_kernels::in_place;
use crate::fft::mixed_radix::recipe::{best_radices, least_slots};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{RingPages, RingPass};
use cp2_machine::Machine;

/// Transforms of a granule of the DMA and of a quad.
pub(super) const COUPLE: usize = 2;
/// Matrices for which lines are chosen: as many one by one as in one go.
const FOUR: usize = 4;
pub(super) const ALL: u64 = 2 * FOUR as u64;
/// Couples of lines that a section's page may have.
const COUPLES: [usize; 4] = [1, 2, 4, 8];
/// Page buffers: with two one computes while the other is stored and loaded, a third lets
/// transfers run ahead, and with one alone nothing goes beside anything else.
const BUFFERS: [usize; 3] = [3, 2, 1];
/// DMEM for tables and arguments, at a guess; more is refused when it is known.
const TABLES: usize = 12_288;

/// Lines of one pass: columns or rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatrixLines {
    pub(super) length: usize,
    /// How many there are, an even number.
    pub(super) count: usize,
    pub(super) radices: Vec<usize>,
    /// Couples of them in a section's page.
    pub(super) couples: usize,
    /// Page buffers.
    pub(super) buffers: usize,
    /// Whether they are columns, whose results are multiplied.
    columns: bool,
}

impl MatrixLines {
    /// The lines of `length` numbers by the couples in a page that should take
    /// the least time, and the cycles of [`ALL`] matrices, four of them alone and four in one go.
    pub(super) fn best(
        (length, count): (usize, usize),
        columns: bool,
        machine: &Machine,
    ) -> Option<(u64, Self)> {
        let sections = machine.cp2.sections;
        let radices = best_radices(length, (!columns, false))?;
        // Rows come one behind the other: one pass cannot leave quads where it reads them.
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
            // Columns' factors have a buffer beside each, and all pages one working space.
            let places = lines.buffers * if columns { 2 } else { 1 } + 1;
            lines.page_lines(sections) <= lines.count
                && places * lines.page_bytes() + TABLES <= machine.cp2.dmem.0.min(REACH) as usize
        };
        let both = |couples| BUFFERS.map(|buffers| (couples, buffers));
        let all = COUPLES.into_iter().flat_map(both).map(of).filter(fits);
        let cost = |lines: &Self| FOUR as u64 * lines.cost(1, machine) + lines.cost(FOUR, machine);
        let priced = all.map(|lines| (cost(&lines), lines));
        priced.min_by_key(|(cost, _)| *cost)
    }

    /// Lines of a page of all sections.
    fn page_lines(&self, sections: usize) -> usize {
        COUPLE * self.couples * sections
    }

    /// Numbers from a row to the next in the matrix between the passes, or rows that it has.
    pub(super) fn even(&self) -> usize {
        self.length.next_multiple_of(COUPLE)
    }

    /// Bytes of a section's page.
    fn page_bytes(&self) -> usize {
        let length = if self.columns {
            self.length
        } else {
            self.even()
        };
        COUPLE * self.couples * length * COMPLEX as usize
    }

    /// The least slots of a section's page.
    pub(super) fn slots(&self) -> usize {
        let ends = (!self.columns, false);
        let couple = least_slots(self.length, 1, &self.radices, ends) as usize;
        self.couples * (couple + self.products())
    }

    /// Products of a couple of lines.
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

    /// Cycles of the pass over `batch` matrices, before its program is known.
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

    /// The page kernel.
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
            *text = in_place(length, radices, self.couples, factors, machine)?;
            Ok(())
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
    /// Bytes from the first matrix to that of a page where it is read, or where it is written.
    fn matrix(&self, page: u64, read: bool) -> u64 {
        let (index, _) = self.first(page);
        // Between the passes there are rows that fill up.
        let length = if read == self.lines.columns {
            self.lines.length
        } else {
            self.lines.even()
        };
        index * (self.lines.count * length) as u64 * COMPLEX
    }

    /// The matrix of a page and its first line: the last page
    /// begins earlier where it would not be full, and computes some once more.
    fn first(&self, page: u64) -> (u64, u64) {
        let pages = self.lines.pages(self.sections) as u64;
        let lines = self.lines.page_lines(self.sections) as u64;
        let last = self.lines.count as u64 - lines;
        (page / pages, (page % pages * lines).min(last))
    }

    /// The page's lines as columns of the matrix at `system`, granules dealt in turn.
    fn dealt(
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
                self.dealt(self.turns, page, factors, Descriptor::load),
                self.dealt(system, page, local, Descriptor::load),
            ];
        }
        // Couples of rows, dealt to the sections in turn.
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
        vec![self.dealt(matrix, page, local, Descriptor::store)]
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.issues
    }
}
