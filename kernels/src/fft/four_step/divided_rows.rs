//! Arrays whose rows are divided between two passes: pages and options.

use super::divided_axis_planner::{PassOption, visits};
use super::line_batch::{COMPLEX, LAST, LineBatch};
use super::recipe::MIN_RUN_BYTES;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::program::large_program;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;
use cp2_machine::Machine;

/// Numbers of parts that the rows of an array may have.
pub(super) const PARTS: [usize; 3] = [LAST, 16, 32];

/// Pages of the first pass: columns n2 of arrays whose rows are divided, transformed along the columns and
/// along the parts n1 of the rows. The kernel is that of columns at shifted frequencies, with a shift of 0. A
/// page leaves as a tile of rows (row, k1).
#[derive(Debug)]
pub(super) struct DividedRowPages {
    /// Lines along two axes, the parts and the columns in either order, or along three; axis `shifted` is
    /// that of the parts.
    pub lines: LineBatch,
    pub parts: u64,
    /// Rows along the inner one of two axes before the last, or all rows where there is one.
    pub inner: u64,
    pub sections: u64,
    pub batch: u64,
    /// Numbers of a row.
    pub width: u64,
    /// Address of the arrays.
    pub from: u64,
    /// Address of the tiles.
    pub to: u64,
    /// Address of the factors, the same for all pages; the first page of each of the `buffers` buffers brings
    /// them.
    pub factors: u64,
    /// Number of page buffers.
    pub buffers: u64,
}

impl DividedRowPages {
    /// Returns the bytes from a number to the next along the axes of the lines, where parts are `part` bytes
    /// apart and rows `row` bytes.
    fn axis_strides_bytes(&self, part: u64, row: u64) -> Vec<u64> {
        let rows = [row, self.inner * row];
        match self.lines.shifted() {
            0 => vec![part, rows[0], rows[1]],
            1 => vec![rows[0], part],
            _ => vec![rows[0], rows[1], part],
        }
    }

    /// Returns the bytes of a run in system memory: one row of a page's columns.
    fn run(&self) -> u64 {
        self.local_row_bytes() * self.sections
    }

    /// Returns the bytes of a row of a section's page.
    fn local_row_bytes(&self) -> u64 {
        self.lines.per_section() as u64 * COMPLEX
    }

    /// Returns the bytes from a part of a row to the next.
    fn part(&self) -> u64 {
        self.width / self.parts * COMPLEX
    }

    fn tiles(&self) -> u64 {
        self.part() / self.run()
    }
}

impl RingPages for DividedRowPages {
    fn count(&self) -> u64 {
        self.batch * self.tiles()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (array, tile) = (page / self.tiles(), page % self.tiles());
        let row = self.width * COMPLEX;
        let length = self.lines.len() as u64 / self.parts;
        let at = self.from + array * length * row + tile * self.run();
        let data = Descriptor::load(Target::Deal, at, local, self.run());
        let apart = self.axis_strides_bytes(self.part(), row);
        let data = self.lines.spread(data, &apart, self.local_row_bytes());
        let each = self.lines.column_factor_bytes();
        let shift = Descriptor::load(Target::Broadcast, self.factors, factors, each);
        let shift = (page < self.buffers).then_some(shift);
        shift.into_iter().chain([data]).collect()
    }

    /// Stores rows (row, k1) of a tile, of which k1 varies faster.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (run, own) = (self.run(), self.local_row_bytes());
        let bytes = self.lines.page_bytes() * self.sections;
        let to = self.to + page * bytes;
        if self.lines.shifted() == 0 && !self.lines.leaves_out_of_order() {
            return vec![Descriptor::store(Target::Deal, to, local, bytes)];
        }
        let row = Descriptor::store(Target::Deal, to, local, run);
        let apart = self.axis_strides_bytes(run, self.parts * run);
        vec![self.lines.results(row, &apart, own)]
    }

    /// Returns the number of buffers, since the first page of each has more to load.
    fn period(&self) -> u64 {
        self.buffers
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        Some([self.lines.page_bytes(), self.lines.column_factor_bytes(), 0])
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.lines.butterflies()
    }
}

/// Lists the options of both passes over arrays of `outer` x `inner` rows of `width` numbers, each row in
/// `parts` parts; `outer` is 1 for arrays of two axes. None where the parts of a row cannot be dealt to the
/// sections in pairs.
pub(super) fn ways(
    [outer, inner, width]: [usize; 3],
    parts: usize,
    direction: TransformDirection,
    machine: &Machine,
) -> Result<[Vec<PassOption>; 2], FftError> {
    let (sections, dmem) = (machine.cp2.sections, machine.cp2.dmem.0);
    let none = Ok([Vec::new(), Vec::new()]);
    let numbers = width / parts;
    if width % parts > 0 || inner % 4 > 0 {
        return none;
    }
    let mut second = Vec::new();
    for per in [2, 4, 8] {
        let Some(rows) = LineBatch::new(numbers, per) else {
            break;
        };
        if !parts.is_multiple_of(per * sections) || 3 * rows.page_bytes() > dmem {
            continue;
        }
        let assembled = large_program(None, Some(&rows), false, direction, machine);
        let factors = rows.factor_bytes();
        second.extend(visits(rows, (factors, dmem), assembled)?);
    }
    if second.is_empty() {
        return none;
    }
    let mut first = Vec::new();
    // Runs of 128 bytes, or of 256.
    let runs = [1, 2].map(|n| n * MIN_RUN_BYTES as usize / COMPLEX as usize);
    for per in runs.map(|columns| columns / sections) {
        if per < 2 || per % 2 > 0 || !numbers.is_multiple_of(per * sections) {
            continue;
        }
        if parts == LAST && outer == 1 {
            // A last pass without factors transforms along the parts.
            let lines =
                LineBatch::new_with_eight_axis(inner, per).filter(|l| 3 * l.page_bytes() <= dmem);
            if let Some(lines) = lines {
                let assembled = large_program(Some(&lines), None, false, direction, machine);
                first.extend(visits(lines, (0, dmem), assembled)?);
            }
            continue;
        }
        for (sides, at) in [([parts, inner, outer], 0), ([inner, outer, parts], 2)] {
            let lines = LineBatch::new_over_axes(&sides, at, per);
            let few = |l: &LineBatch| l.leaves_out_of_order() && (per < LAST || at > 0);
            let lines = lines.filter(|l| !few(l) && 3 * l.page_bytes() <= dmem);
            if let Some(lines) = lines {
                let assembled = large_program(Some(&lines), None, true, direction, machine);
                let factors = lines.column_factor_bytes();
                first.extend(visits(lines, (factors, dmem), assembled)?);
                // One order of the axes suffices.
                break;
            }
        }
    }
    Ok([first, second])
}
