//! Arrays with one axis divided between two passes, and their pages.
//!
//! The divided axis is before the last. The first pass transforms parts of it with the rows, the second what
//! is left of it, with another axis where there is one.

use super::array_pages::ArrayPartPages;
use super::divided_axis_planner::{PassOption, visits};
use super::divided_axis_ring::{self, DividedAxisRingPages};
use super::line_batch::{COMPLEX, LAST, LineBatch};
use super::recipe::MIN_RUN_BYTES;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::power_of_two_recipe::{PassLayout, PowerOfTwoRecipe};
use crate::fft::program::{array_program, large_program};
use cp2_asm::Assembly;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;
use cp2_machine::Machine;

/// Numbers of parts that a divided axis may have.
const PARTS: [u64; 7] = [8, 4, 2, 16, 32, 64, 128];
/// Number of parts where the rows have four passes; other rows do not take it.
const FOUR_PASS_PARTS: usize = 2;

/// Shape of arrays with rows of `width` numbers, an axis that is divided between two passes, and maybe
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DividedAxisShape {
    /// Length of the divided axis.
    pub divided: u64,
    /// Length of the other axis; 1 where there is none.
    pub joined: u64,
    /// Numbers of a row.
    pub width: u64,
    /// True if the other axis is the outer one.
    pub outer: bool,
    /// Parts of the divided axis.
    pub parts: u64,
}

impl DividedAxisShape {
    /// Lists all divisions of arrays of this shape, whose last axis is contiguous, over the last two axes and
    /// the last three.
    pub(super) fn all(shape: &[usize]) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |[divided, joined, width]: [usize; 3], outer| {
            for parts in PARTS {
                all.push(Self {
                    divided: divided as u64,
                    joined: joined as u64,
                    width: width as u64,
                    outer,
                    parts,
                });
            }
        };
        if let &[.., length, width] = shape {
            add([length, 1, width], false);
        }
        if let &[.., a, b, width] = shape {
            add([a, b, width], false);
            add([b, a, width], true);
        }
        all
    }

    /// Returns the lengths of the second pass's lines, along the divided axis and the other.
    pub(super) fn sides(&self) -> [u64; 2] {
        [self.divided / self.parts, self.joined]
    }

    /// Names the parts in words.
    fn describe_parts(&self) -> String {
        match self.parts {
            8 => "eighths".to_owned(),
            4 => "quarters".to_owned(),
            2 => "halves".to_owned(),
            parts => format!("{parts} parts"),
        }
    }

    /// Names the second pass's lines in words.
    fn columns(&self) -> String {
        match self.sides() {
            [first, 1] => format!("columns of {first}"),
            [first, second] => format!("columns of {first} x {second}"),
        }
    }

    /// Returns the names of the passes on a timeline.
    pub(super) fn names(&self) -> [String; 2] {
        [
            format!("{} of {}", self.describe_parts(), self.divided),
            self.columns(),
        ]
    }

    /// Describes the passes in words, for a recipe.
    pub(super) fn recipe(&self) -> String {
        let (parts, columns) = (self.describe_parts(), self.columns());
        match self.joined {
            1 => format!("rows and {parts} of columns, then {columns}"),
            _ => format!(
                "rows and {parts} of the {} axis of {}, then {columns}",
                if self.outer { "inner" } else { "outer" },
                self.divided
            ),
        }
    }

    /// Returns the bytes from a row to the next along the divided axis and the other.
    pub(super) fn strides(&self) -> [u64; 2] {
        let row = self.width * COMPLEX;
        match self.outer {
            true => [row, self.divided * row],
            false => [self.joined * row, row],
        }
    }

    /// Returns the numbers of an array.
    pub(super) fn numbers(&self) -> u64 {
        self.divided * self.joined * self.width
    }

    /// Returns the two-axis arrays that the first pass sees in each array: their number, their rows and
    /// numbers of a row.
    fn first_pass_arrays(&self) -> (u64, [u64; 2]) {
        match self.outer {
            true => (self.joined, [self.divided, self.width]),
            false => (1, [self.divided * self.joined, self.width]),
        }
    }

    /// Makes the pages of the first pass over `batch` arrays.
    pub(super) fn first(
        &self,
        lines: LineBatch,
        (sections, batch): (u64, u64),
        [from, to]: [u64; 2],
    ) -> ArrayPartPages {
        let (each, shape) = self.first_pass_arrays();
        ArrayPartPages {
            lines,
            sections,
            batch: batch * each,
            shape,
            from,
            to,
        }
    }

    /// Makes the pages of the columns of one part, where `lines` go through DMEM in eighths of a page.
    pub(super) fn make_part_pages(
        &self,
        (lines, sections): (&LineBatch, u64),
        (batch, part): (u64, u64),
        [from, to]: [u64; 2],
    ) -> Option<DividedAxisRingPages> {
        let axes = divided_axis_ring::axes(lines, self.sides()).filter(|_| lines.is_in_parts())?;
        Some(DividedAxisRingPages {
            arrays: *self,
            lines: lines.clone(),
            sections,
            axes,
            batch,
            part,
            from,
            to,
        })
    }

    /// Lists the options of the two passes; none where there are no such kernels.
    pub(super) fn ways(
        &self,
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<[Vec<PassOption>; 2], FftError> {
        let none = Ok([Vec::new(), Vec::new()]);
        let sections = machine.cp2.sections as u64;
        let (divided, joined, parts) = (
            self.divided as usize,
            self.joined as usize,
            self.parts as usize,
        );
        let (width, numbers) = (self.width as usize, self.numbers());
        // Rows of two or four passes end in the page in which they begin, rows of three in the output page
        // (array.s).
        let rows = PowerOfTwoRecipe::new(width, direction).ok();
        let rows = rows.filter(|rows| match (rows.layout(), rows.passes().len()) {
            (PassLayout::Stockham, 4) => parts == FOUR_PASS_PARTS,
            (PassLayout::Stockham, 2 | 3) => parts != FOUR_PASS_PARTS,
            _ => false,
        });
        let fits = divided % parts == 0 && divided > parts && numbers <= u64::from(u32::MAX);
        let page = self.parts.saturating_mul(self.width) * COMPLEX;
        let fits = fits && 3 * page <= machine.cp2.dmem.0;
        let Some(rows) = rows.filter(|_| fits) else {
            return none;
        };
        let second = column_options([divided / parts, joined], self.width, direction, machine)?;
        if second.is_empty() {
            return none;
        }
        let (_, [height, _]) = self.first_pass_arrays();
        let mut first = Vec::new();
        let mut groups = 1;
        while (height / self.parts).is_multiple_of(groups * sections) {
            let per = groups as usize * width;
            let lines = match (rows.passes().len(), parts) {
                (3, _) => LineBatch::new_short_then_rows(parts, per),
                (4, _) => Some(LineBatch::new_length2(per)),
                (_, LAST) => Some(LineBatch::new_length8(per)),
                _ => LineBatch::new_short(parts, per).or_else(|| LineBatch::new(parts, per)),
            };
            let Some(lines) = lines.filter(|l| 3 * l.page_bytes() <= machine.cp2.dmem.0) else {
                break;
            };
            let assembled = array_program(&lines, &rows, 1, machine);
            if lines.is_in_place() {
                first.extend(in_place_options(lines, assembled, machine)?);
            } else {
                first.extend(visits(lines, (0, machine.cp2.dmem.0), assembled)?);
            }
            groups *= 2;
        }
        Ok([first, second])
    }
}

/// Lists the options for columns along two axes of `first` and `second` numbers, `second` maybe 1, in
/// matrices of `width` columns.
pub(super) fn column_options(
    [first, second]: [usize; 2],
    width: u64,
    direction: TransformDirection,
    machine: &Machine,
) -> Result<Vec<PassOption>, FftError> {
    let sections = machine.cp2.sections as u64;
    let mut ways = Vec::new();
    // Long columns go through DMEM in eighths of a page; this program has the factors of the first part.
    let lines = LineBatch::new_ring_page(first * second);
    let lines = lines.filter(|lines| width.is_multiple_of(lines.per_section() as u64 * sections));
    if let Some(lines) = lines
        && let Some(axes) = divided_axis_ring::axes(&lines, [first, second].map(|n| n as u64))
    {
        let assembled = axes.program(&lines, [0, 1], direction, machine);
        ways.extend(visits(lines, (0, machine.cp2.dmem.0), assembled)?);
    }
    for per in [2, 4, 8, 16] {
        let run = per as u64 * sections * COMPLEX;
        let whole = run == width * COMPLEX;
        // Runs are shorter than RUN only where a page has all columns.
        if !width.is_multiple_of(per as u64 * sections) || (run < MIN_RUN_BYTES && !whole) {
            continue;
        }
        let orders = [([first, second], 0), ([second, first], 1)];
        for (sides, shifted) in orders.into_iter().take(1 + usize::from(second > 1)) {
            let lines = LineBatch::new_over_axes(&sides, shifted, per);
            // A last pass of radix 4 takes four columns at a time, at least twice.
            let fits = |lines: &LineBatch| {
                let few = lines.leaves_out_of_order() && per < LAST;
                !few && lines.len() >= 2 * LAST && 3 * lines.page_bytes() <= machine.cp2.dmem.0
            };
            let Some(lines) = lines.filter(fits) else {
                continue;
            };
            let assembled = large_program(Some(&lines), None, true, direction, machine);
            let room = (lines.column_factor_bytes(), machine.cp2.dmem.0);
            ways.extend(visits(lines, room, assembled)?);
        }
    }
    Ok(ways)
}

/// Lists the options for pages whose results stay in place; the numbers between the passes of their rows lie
/// behind the buffers.
fn in_place_options(
    lines: LineBatch,
    assembled: Result<Assembly, FftError>,
    machine: &Machine,
) -> Result<Vec<PassOption>, FftError> {
    let page = lines.page_bytes();
    let free = machine.cp2.dmem.0.saturating_sub(page);
    let mut ways = visits(lines, (0, free), assembled)?;
    for way in &mut ways {
        let end = way
            .ring
            .pages
            .iter()
            .max()
            .map_or(0, |&last| u64::from(last) + page);
        way.ring = way.ring.clone().with_extra_address(end);
    }
    Ok(ways)
}

/// Pages of the second pass: columns along the rest of the divided axis and the other axis, of each part on
/// its own.
#[derive(Debug)]
pub(super) struct DividedAxisPages {
    pub arrays: DividedAxisShape,
    /// Lines along the rest of the divided axis, and the other axis.
    pub lines: LineBatch,
    pub sections: u64,
    pub batch: u64,
    /// Address of the arrays as the first pass leaves them: part k1 of the frequencies where part n1 = k1 of
    /// the input was.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
    /// Address of the factors of all parts.
    pub factors: u64,
    /// Number of buffers that keep their factors, where one part makes these the same for all pages; 0 if
    /// every page brings its own.
    pub buffers: u64,
}

impl DividedAxisPages {
    /// Returns the bytes of a run in system memory: one row of a page's columns.
    fn run(&self) -> u64 {
        self.lines.per_section() as u64 * self.sections * COMPLEX
    }

    fn tiles(&self) -> u64 {
        self.arrays.width * COMPLEX / self.run()
    }

    /// Returns the part of a page, and the byte offset of its tile of columns in the arrays.
    fn locate_page(&self, page: u64) -> (u64, u64) {
        let (matrix, tile) = (page / self.tiles(), page % self.tiles());
        let (array, part) = (matrix / self.arrays.parts, matrix % self.arrays.parts);
        (
            part,
            array * self.arrays.numbers() * COMPLEX + tile * self.run(),
        )
    }

    /// Returns the bytes from a number to the next along both axes of the lines; along the divided one they
    /// are `rows` rows of that axis.
    fn strides(&self, rows: u64) -> [u64; 2] {
        let [divided, joined] = self.arrays.strides();
        match self.lines.shifted() {
            0 => [rows * divided, joined],
            _ => [joined, rows * divided],
        }
    }

    /// Returns the bytes of a row of a section's page.
    fn local_row_bytes(&self) -> u64 {
        self.lines.per_section() as u64 * COMPLEX
    }
}

impl RingPages for DividedAxisPages {
    fn count(&self) -> u64 {
        self.batch * self.arrays.parts * self.tiles()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (part, at) = self.locate_page(page);
        let each = self.lines.column_factor_bytes();
        let shift = Descriptor::load(Target::Broadcast, self.factors + part * each, factors, each);
        let (run, own) = (self.run(), self.local_row_bytes());
        let left = self.arrays.divided / self.arrays.parts;
        let from = self.from + at + part * left * self.arrays.strides()[0];
        let strides = self.strides(1);
        let inner = self.lines.sides().get(1).map_or(1, |&side| side as u64);
        let data = if [inner * run, run] == strides {
            // A page of all columns has consecutive rows.
            let rows = self.lines.len() as u64;
            Descriptor::load(Target::Deal, from, local, rows * run)
        } else {
            let row = Descriptor::load(Target::Deal, from, local, run);
            self.lines.spread(row, &strides, own)
        };
        let shift = (self.buffers == 0 || page < self.buffers).then_some(shift);
        shift.into_iter().chain([data]).collect()
    }

    /// Returns the number of buffers that keep their factors, since the first page of each has more to load.
    fn period(&self) -> u64 {
        self.buffers.max(1)
    }

    /// Stores result k of part k1 as number k1 + parts k of the divided axis.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (part, at) = self.locate_page(page);
        let to = self.to + at + part * self.arrays.strides()[0];
        let row = Descriptor::store(Target::Deal, to, local, self.run());
        let apart = self.strides(self.arrays.parts);
        vec![self.lines.results(row, &apart, self.local_row_bytes())]
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        Some([self.lines.page_bytes(), self.lines.column_factor_bytes(), 0])
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.lines.butterflies()
    }
}
