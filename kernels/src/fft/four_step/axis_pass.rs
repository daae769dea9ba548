//! One pass of an n-D FFT along an axis, or over whole arrays in DMEM.

use super::array_pages::ArrayPages;
use super::column_and_row_pages::ColumnPages;
use super::column_and_row_ring::{self, ColumnRingPages};
use super::line_batch::{COMPLEX, LAST, LineBatch};
use super::program_prefetch;
use super::recipe::MIN_RUN_BYTES;
use crate::assembly::moves;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::power_of_two_recipe::PowerOfTwoRecipe;
use crate::fft::program::{array_program, large_program, large_program_at, parts_program};
use crate::job::{Job, data_end, image, load};
use cp2_asm::Program;
use cp2_host::paging::{OverlapBound, PassEstimate, QUAD, Ring, RingPass, deals_quads};
use cp2_machine::Machine;
use std::sync::Arc;

/// Numbers of pieces that a whole array may come in. More pieces hide more of the first load and the last
/// store, but fill and drain the pipelines of the passes more often.
const TRIED_PIECES: [usize; 4] = [1, 2, 4, 8];

/// A pass over memory: along an axis before the last, or over whole arrays.
#[derive(Clone, Debug)]
pub(super) struct AxisPass {
    /// Matrices of one array whose columns lie along the axis.
    matrices: u64,
    /// Numbers from an element of a column to the next.
    width: u64,
    sections: u64,
    direction: TransformDirection,
    lines: LineBatch,
    ring: Ring,
    program: Arc<Program>,
    /// Pieces of a page and number of arrays with interleaved rows, where pages are whole arrays, whose rows
    /// are transformed as well. None for columns.
    arrays: Option<[u64; 2]>,
}

impl AxisPass {
    /// Plans the fastest pass over the columns of `matrices` matrices of `width` columns; none if nothing
    /// fits.
    pub(super) fn new(
        length: usize,
        (matrices, width): (u64, u64),
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Option<Self>, FftError> {
        let sections = machine.cp2.sections as u64;
        if !deals_quads(machine) {
            return Ok(None);
        }
        let dmem = machine.cp2.dmem.0;
        let whole = [2, 4, 8, 16].map(|per| LineBatch::new(length, per));
        let parts = LineBatch::new_ring_page(length).filter(|_| sections.is_power_of_two());
        let mut found = Vec::new();
        // Short columns come in the numbers that their passes take at a time.
        let short = [8, 16, 32, 64].map(|per| LineBatch::new_short(length, per));
        for lines in whole.into_iter().chain(short).flatten().chain(parts) {
            let fits = lines.is_in_parts() || 3 * lines.page_bytes() <= dmem;
            if width % (lines.per_section() as u64 * sections) != 0 || !fits {
                continue;
            }
            let assembly = match lines.is_in_parts() {
                true => parts_program(&lines, false, direction, machine),
                false => large_program(Some(&lines), None, false, direction, machine),
            };
            let program = match assembly {
                Ok(assembly) => Arc::new(assembly.program),
                // Smaller pages may fit.
                Err(FftError::Unfit(e)) if e.is_size() => continue,
                Err(e) => return Err(e),
            };
            for ring in rings(&lines, 0, data_end(&program).next_multiple_of(QUAD), dmem) {
                let axis = Self {
                    matrices,
                    width,
                    sections,
                    direction,
                    lines: lines.clone(),
                    ring,
                    program: program.clone(),
                    arrays: None,
                };
                let pass = axis.pass(1, [0; 2]);
                if moves(&axis.name(), &pass, machine).is_ok() {
                    found.push((pass.expect(machine).cycles, axis));
                }
            }
        }
        // Runs of RUN bytes and more come first, unless there are only so few such pages that all are in DMEM
        // at a time.
        let many = matrices * width * COMPLEX / MIN_RUN_BYTES > 3;
        found.sort_by(|(a, one), (b, other)| {
            let short = |axis: &Self| many && axis.run() < MIN_RUN_BYTES;
            short(one).cmp(&short(other)).then(a.total_cmp(b))
        });
        Ok(found.into_iter().next().map(|(_, axis)| axis))
    }

    /// Lists the passes over both axes of arrays of `length` rows of `width` numbers, each array in a
    /// section's DMEM. There are `matrices` groups of `inner` arrays with interleaved rows. None if there is
    /// no such kernel or no room for three pages.
    pub(super) fn whole_array_options(
        (length, width): (usize, usize),
        (matrices, inner): (u64, u64),
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Vec<Self>, FftError> {
        // Rows of two passes begin and end in the page; rows of three end in the output page.
        let rows = PowerOfTwoRecipe::new(width, direction).ok();
        let lines = match rows.as_ref().map(|rows| rows.passes().len()) {
            Some(2) => LineBatch::new(length, width)
                .or(LineBatch::new_short(length, width).filter(|_| length > 4)),
            Some(3) => LineBatch::new_short_then_rows(length, width),
            _ => None,
        };
        let (Some(lines), Some(rows)) = (lines, rows) else {
            return Ok(Vec::new());
        };
        let (dmem, page) = (machine.cp2.dmem.0, lines.page_bytes());
        let sections = machine.cp2.sections as u64;
        let dealt = inner == 1 || inner % sections == 0;
        if !deals_quads(machine) || 3 * page > dmem || !dealt {
            return Ok(Vec::new());
        }
        let mut ways = Vec::new();
        for pieces in TRIED_PIECES {
            if pieces > 1
                && (lines.leaves_out_of_order() || !(length / LAST).is_multiple_of(pieces))
            {
                continue;
            }
            let program = match array_program(&lines, &rows, pieces as u64, machine) {
                Ok(assembly) => Arc::new(assembly.program),
                Err(FftError::Unfit(e)) if e.is_size() => continue,
                Err(e) => return Err(e),
            };
            let first = data_end(&program).next_multiple_of(QUAD);
            let ring = |buffers: usize| {
                let pages = first + Ring::argument_bytes(buffers * pieces);
                let end = pages + buffers as u64 * page;
                // Rows after columns in place keep the numbers between their passes behind the buffers.
                let beside = if lines.is_in_place() { page } else { 0 };
                (end + beside <= dmem).then(|| match lines.is_in_place() {
                    true => Ring::new_in_place(first, pages, buffers, page).with_extra_address(end),
                    false => Ring::new_in_pieces((first, pages), (buffers, pieces), page),
                })
            };
            ways.extend([4, 3].into_iter().find_map(ring).map(|ring| Self {
                matrices,
                width: width as u64,
                sections,
                direction,
                lines: lines.clone(),
                ring,
                program,
                arrays: Some([pieces as u64, inner]),
            }));
        }
        ways.retain(|way| moves(&way.name(), &way.pass(1, [0; 2]), machine).is_ok());
        Ok(ways)
    }

    /// Returns the columns of a section's page.
    pub(super) fn lines(&self) -> &LineBatch {
        &self.lines
    }

    /// Returns the bytes of a run in system memory.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * self.sections * COMPLEX
    }

    /// Returns the name of the pass on a timeline.
    fn name(&self) -> String {
        match self.arrays {
            Some(_) => format!("{} x {}", self.lines.len(), self.width),
            None => format!("columns of {}", self.lines.len()),
        }
    }

    /// Returns the bytes of the program and its tables.
    pub(super) fn image(&self) -> u64 {
        image(&self.program)
    }

    /// Prices the pass, the load of its program included.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> PassEstimate {
        let image = load(self.image(), machine);
        let pass = self.pass(batch, [0; 2]).expect(machine);
        PassEstimate {
            cycles: pass.cycles + image,
            least: pass.least + image,
        }
    }

    /// Returns a lower bound of the pass's time; `late` if its program may be loaded during the pass before.
    pub(super) fn floor(&self, machine: &Machine, batch: u64, late: bool) -> OverlapBound {
        self.pass(batch, [0; 2]).floor(machine, late)
    }

    /// Returns the kernel's label in the program.
    fn entry(&self) -> &'static str {
        match self.arrays {
            Some(_) => "arrays",
            None => "columns",
        }
    }

    /// Adds the pass over `batch` arrays to a job.
    pub(super) fn add(
        &self,
        job: &mut Job,
        batch: u64,
        addresses: [u64; 2],
    ) -> Result<(), FftError> {
        let program = job.program(&self.name(), &self.program)?;
        let pass = self.pass(batch, addresses);
        Ok(job.ring(&program, self.entry(), pass)?)
    }

    /// Returns the DMEM address of the tables of the column pass `next` and the price of both passes, if the
    /// program of `next` is prefetched while this pass transforms whole arrays; none where DMEM has no room
    /// for that.
    pub(super) fn price_prefetch(
        &self,
        next: &Self,
        machine: &Machine,
        batch: u64,
    ) -> Option<(u64, PassEstimate)> {
        if self.arrays.is_none() || next.arrays.is_some() {
            return None;
        }
        let passes = |behind| {
            [
                self.pass(batch, [0, 1 << 40]),
                next.pass_with_dmem_offset(batch, [1 << 40; 2], behind),
            ]
        };
        let programs = [(&self.program, "arrays"), (&next.program, "columns")];
        program_prefetch::price_prefetch(passes, programs, machine)
    }

    /// Adds this pass and `next` to a job, with the prefetched tables of `next` at DMEM address `tables`.
    pub(super) fn add_prefetched(
        &self,
        next: &Self,
        tables: u64,
        job: &mut Job,
        batch: u64,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let (lines, direction, machine) = (&next.lines, next.direction, job.machine().clone());
        let other = large_program_at(tables, Some(lines), None, false, direction, &machine)?;
        let (program, second) =
            program_prefetch::link_programs(&self.program, &other.program, tables)?;
        let name = format!("{} and {}", self.name(), next.name());
        let program = job.program(&name, &program)?;
        let passes = [
            self.pass(batch, [from, to]),
            next.pass_with_dmem_offset(batch, [to; 2], tables),
        ];
        Ok(job.followed(&program, ["arrays", "columns"], passes, second)?)
    }

    /// Describes the pass over `batch` arrays from one address to another, or in place.
    fn pass(&self, batch: u64, addresses: [u64; 2]) -> RingPass {
        self.pass_with_dmem_offset(batch, addresses, 0)
    }

    /// Describes the pass with its buffers `behind` bytes further in DMEM.
    fn pass_with_dmem_offset(&self, batch: u64, [from, to]: [u64; 2], behind: u64) -> RingPass {
        let ring = self.ring.clone().shift_addresses(behind);
        if let Some([pieces, inner]) = self.arrays {
            let work = ArrayPages {
                lines: self.lines.clone(),
                sections: self.sections,
                batch: batch * self.matrices,
                inner,
                pieces,
                from,
                to,
            };
            return RingPass::new(ring, work).price_by_kernel(&self.program, self.entry());
        }
        let (lines, matrices, width) = (self.lines.clone(), batch * self.matrices, self.width);
        if lines.is_in_parts() {
            let work = ColumnRingPages {
                lines,
                sections: self.sections,
                matrices,
                width,
                from,
                to,
                tiled: false,
            };
            return RingPass::new(ring, work).price_by_kernel(&self.program, self.entry());
        }
        let work = ColumnPages {
            lines,
            sections: self.sections,
            matrices,
            width,
            from,
            to,
            tiled: None,
            factors: None,
        };
        RingPass::new(ring, work).price_by_kernel(&self.program, self.entry())
    }
}

/// Lists the rings that fit for pages of `lines` and their factors, behind tables that end at `first` in
/// DMEM: three or four buffers, or the one ring of blocks of lines in parts.
pub(super) fn rings(lines: &LineBatch, factors: u64, first: u64, dmem: u64) -> Vec<Ring> {
    if lines.is_in_parts() {
        // The ring lies before the tables.
        let fits = first + Ring::argument_bytes(column_and_row_ring::RING) <= dmem;
        return fits
            .then(|| column_and_row_ring::ring(first))
            .into_iter()
            .collect();
    }
    let ring = |buffers: usize| {
        let pages = first + Ring::argument_bytes(buffers);
        let page = lines.page_bytes();
        let fits = pages + buffers as u64 * (page + factors) <= dmem;
        fits.then(|| match lines.is_in_place() {
            true => Ring::new(first, pages, buffers, page, factors).store_in_place(),
            false => Ring::new(first, pages, buffers, page, factors),
        })
    };
    [3, 4].into_iter().filter_map(ring).collect()
}
