//! The planner of n-D FFTs with an axis divided between two passes.
//!
//! The first pass transforms across the parts of the axis, with another axis; the second within each part,
//! and along a third axis where there is one.

mod choice;

use super::axis_pass::rings;
use super::column_and_row_pages::{ColumnPages, RowPages, section_rows};
use super::divided_axis::{DividedAxisPages, DividedAxisShape};
use super::divided_rows::{self, DividedRowPages};
use super::line_batch::{LAST, LineBatch};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::job::{Job, data_end, image};
use choice::DividedAxisPlan;
use cp2_asm::{Assembly, Program};
use cp2_host::paging::{PassEstimate, QUAD, Ring, RingPass, deals_quads};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Two passes over arrays. With n = N/8 n1 + n2 and k = k1 + 8 k2 along the divided axis of N numbers, the
/// first transforms n1 to k1, and another axis; the second transforms n2 to k2, for each k1 at frequencies
/// shifted by k1/8. Other numbers of parts than 8 are divided likewise.
#[derive(Clone, Debug)]
pub(super) struct DividedAxisPasses {
    divided: DividedAxis,
    direction: TransformDirection,
    sections: u64,
    /// Options of the first pass: the fastest of them depends on the batch.
    first: Vec<PassOption>,
    /// Options of the second pass.
    second: Vec<PassOption>,
}

/// The axis that is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DividedAxis {
    /// An axis before the last: for each k1 the first pass leaves a matrix of rows n2, which the second
    /// transforms along n2, and along another axis as well, if there is one.
    Columns(DividedAxisShape),
    /// The rows of arrays, in a number of parts. The lengths are the rows of an array, those along the inner
    /// of two axes before the last, and the numbers of a row. The first pass leaves tiles whose rows (row,
    /// k1) have numbers n2.
    Rows([usize; 3], usize),
}

/// An option of a pass: its lines, buffers and program.
#[derive(Clone, Debug)]
pub(super) struct PassOption {
    pub lines: LineBatch,
    pub ring: Ring,
    pub program: Arc<Program>,
}

impl DividedAxisPasses {
    /// Lists the divisions of the last two or three axes of arrays of this shape.
    pub(super) fn all(
        shape: &[usize],
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Vec<Self>, FftError> {
        let (&[.., length, width], true) = (shape, deals_quads(machine)) else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        let mut add = |divided, [first, second]: [Vec<PassOption>; 2]| {
            let split = Self {
                divided,
                direction,
                sections: machine.cp2.sections as u64,
                first,
                second,
            };
            all.extend(split.keep_transferable(machine));
        };
        for joint in DividedAxisShape::all(shape) {
            add(DividedAxis::Columns(joint), joint.ways(direction, machine)?);
        }
        for parts in divided_rows::PARTS {
            let two = [1, length, width];
            let three = match shape {
                &[.., outer, _, _] => Some([outer, length, width]),
                _ => None,
            };
            for [outer, inner, width] in [two].into_iter().chain(three) {
                let ways = divided_rows::ways([outer, inner, width], parts, direction, machine)?;
                add(
                    DividedAxis::Rows([outer * inner, inner, width], parts),
                    ways,
                );
            }
        }
        Ok(all)
    }

    /// Returns the number of axes that the two passes transform: 2 or 3.
    pub(super) fn axes(&self) -> usize {
        match self.divided {
            DividedAxis::Columns(joint) if joint.joined > 1 => 3,
            DividedAxis::Rows([rows, inner, _], _) if rows > inner => 3,
            _ => 2,
        }
    }

    /// True if the factors of the first pass come by DMA.
    fn loads_factors(&self) -> bool {
        matches!(self.divided, DividedAxis::Rows([rows, inner, _], parts) if parts != LAST || rows > inner)
    }

    /// Returns the length of the lines of the second pass.
    fn second_pass_length(&self) -> usize {
        self.second.first().map_or(0, |visit| visit.lines.len())
    }

    /// Returns an upper bound of the bytes of programs, tables and factors.
    pub(super) fn image(&self) -> u64 {
        let all = self.first.iter().chain(&self.second);
        let most = all.map(|visit| self.times(visit) * image(&visit.program));
        let most = most.max().unwrap_or(0);
        let factors = self.second.iter().map(|visit| match self.divided {
            DividedAxis::Columns(DividedAxisShape { parts, .. }) => {
                parts * visit.lines.column_factor_bytes()
            }
            DividedAxis::Rows(_, parts) => {
                parts as u64 / visit.lines.per_section() as u64 * visit.lines.factor_bytes()
            }
        });
        let tiles = self
            .first
            .iter()
            .map(|visit| visit.lines.column_factor_bytes());
        2 * most + factors.max().unwrap_or(0) + tiles.max().unwrap_or(0)
    }

    /// Prices the passes over `batch` arrays, the loads of their programs included.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> Option<PassEstimate> {
        Some(self.fastest(machine, batch)?.expected)
    }

    /// Returns the columns of a tile that the first pass leaves; 0 where columns are divided.
    fn tile(&self, first: &PassOption) -> u64 {
        match self.divided {
            DividedAxis::Columns(_) => 0,
            DividedAxis::Rows(..) => first.lines.per_section() as u64 * self.sections,
        }
    }

    /// Adds the passes over `batch` arrays to a job. The intermediate array is at `between`, or in new
    /// memory.
    pub(super) fn add(
        &self,
        job: &mut Job,
        batch: u64,
        [from, to]: [u64; 2],
        between: Option<u64>,
    ) -> Result<(), FftError> {
        let machine = job.machine().clone();
        let Some(DividedAxisPlan { visits, behind, .. }) = self.fastest(&machine, batch) else {
            return Ok(());
        };
        let numbers = batch.saturating_mul(self.numbers());
        let between = match between {
            Some(address) => address,
            None => job.temporary::<Complex32>(numbers)?.address(),
        };
        if let (DividedAxis::Columns(joint), true) = (self.divided, visits[1].lines.is_in_parts()) {
            return self.add_in_parts(job, joint, visits, batch, [from, between, to]);
        }
        let second = job.table(&self.factors(&visits[1].lines))?.address();
        let factors = match self.divided {
            DividedAxis::Rows(..) if self.loads_factors() => {
                let first = job.table(&visits[0].lines.column_factors(0, 1))?;
                [first.address(), second]
            }
            _ => [0, second],
        };
        let entries = self.entries();
        let names = match self.divided {
            DividedAxis::Columns(joint) => joint.names(),
            DividedAxis::Rows([length, ..], parts) => [
                format!("{length} x {parts}"),
                format!("rows of {}", self.second_pass_length()),
            ],
        };
        let passes = self.passes(
            visits,
            behind.unwrap_or(0),
            batch,
            [from, between, to],
            factors,
        );
        if let Some(tables) = behind {
            let (program, second) = self.link_programs(visits, tables, &machine)?;
            let program = job.program(&names.join(" and "), &program)?;
            return Ok(job.followed(&program, entries, passes, second)?);
        }
        for (((pass, visit), name), entry) in passes.into_iter().zip(visits).zip(names).zip(entries)
        {
            let program = job.program(&name, &visit.program)?;
            job.ring(&program, entry, pass)?;
        }
        Ok(())
    }

    /// Returns the labels of both kernels in their programs.
    fn entries(&self) -> [&'static str; 2] {
        match self.divided {
            DividedAxis::Columns(_) => ["arrays", "columns"],
            DividedAxis::Rows(..) => ["columns", "rows"],
        }
    }

    /// Adds the passes where columns go through DMEM in eighths of a page: the second pass is one for every
    /// part, with a program of its own, whose tables are the part's factors.
    fn add_in_parts(
        &self,
        job: &mut Job,
        joint: DividedAxisShape,
        [first, second]: [&PassOption; 2],
        batch: u64,
        [from, between, to]: [u64; 3],
    ) -> Result<(), FftError> {
        let machine = job.machine().clone();
        let [name, next] = joint.names();
        let program = job.program(&name, &first.program)?;
        let pass = self.first_pass(first, batch, [from, between, 0]);
        job.ring(&program, "arrays", pass)?;
        for part in 0..joint.parts {
            let pages =
                joint.make_part_pages((&second.lines, self.sections), (batch, part), [between, to]);
            let Some(pages) = pages else {
                continue;
            };
            let program = pages.program(self.direction, &machine)?;
            let program = job.program(&next, &program)?;
            job.ring(
                &program,
                "columns",
                RingPass::new(second.ring.clone(), pages),
            )?;
        }
        Ok(())
    }

    /// Returns the number of passes that the second one is: one for every part where each has a program of
    /// its own.
    fn times(&self, second: &PassOption) -> u64 {
        match self.divided {
            DividedAxis::Columns(joint) if second.lines.is_in_parts() => joint.parts,
            _ => 1,
        }
    }

    /// Computes the factors of the second pass, for each k1 or for the rows of each section.
    fn factors(&self, lines: &LineBatch) -> Vec<Complex32> {
        let sections = self.sections as usize;
        match self.divided {
            DividedAxis::Columns(DividedAxisShape { parts, .. }) => (0..parts as usize)
                .flat_map(|k1| lines.column_factors(k1, parts as usize))
                .collect(),
            DividedAxis::Rows([_, _, width], parts) => {
                let per = lines.per_section();
                (0..parts / per)
                    .map(|i| section_rows(i / sections, i % sections, sections, per))
                    .flat_map(|rows| lines.factors(&rows, width))
                    .collect()
            }
        }
    }

    fn first_pass(
        &self,
        visit: &PassOption,
        batch: u64,
        [from, to, factors]: [u64; 3],
    ) -> RingPass {
        let (lines, sections) = (visit.lines.clone(), self.sections);
        let ring = visit.ring.clone();
        let pass = match self.divided {
            DividedAxis::Columns(joint) => {
                RingPass::new(ring, joint.first(lines, (sections, batch), [from, to]))
            }
            DividedAxis::Rows([_, inner, width], parts) if self.loads_factors() => {
                let pages = DividedRowPages {
                    lines,
                    parts: parts as u64,
                    inner: inner as u64,
                    sections,
                    batch,
                    width: width as u64,
                    from,
                    to,
                    factors,
                    buffers: ring.pages.len() as u64,
                };
                RingPass::new(ring, pages)
            }
            DividedAxis::Rows([_, _, width], parts) => {
                let pages = ColumnPages {
                    lines,
                    sections,
                    matrices: batch,
                    width: (width / parts) as u64,
                    from,
                    to,
                    tiled: Some(1),
                    factors: None,
                };
                RingPass::new(ring, pages)
            }
        };
        pass.price_by_kernel(&visit.program, self.entries()[0])
    }

    /// Describes the second pass, over tiles of `tile` columns.
    fn second_pass(
        &self,
        visit: &PassOption,
        tile: u64,
        batch: u64,
        [from, to, factors]: [u64; 3],
    ) -> RingPass {
        let (lines, sections) = (visit.lines.clone(), self.sections);
        let ring = visit.ring.clone();
        let pass = match self.divided {
            DividedAxis::Columns(arrays) => {
                if let Some(pages) =
                    arrays.make_part_pages((&lines, sections), (batch, 0), [from, to])
                {
                    return RingPass::new(ring, pages)
                        .price_by_kernel(&visit.program, self.entries()[1]);
                }
                let pages = DividedAxisPages {
                    arrays,
                    lines,
                    sections,
                    batch,
                    from,
                    to,
                    factors,
                    buffers: 0,
                };
                RingPass::new(ring, pages)
            }
            DividedAxis::Rows([length, ..], parts) => {
                let (length, buffers) = (length as u64, ring.pages.len() as u64);
                let pages = parts as u64 / (lines.per_section() as u64 * sections);
                let pages = RowPages {
                    lines,
                    sections,
                    // A buffer that always holds the same rows of a matrix keeps their factors.
                    resident: if buffers % pages.max(1) == 0 {
                        buffers
                    } else {
                        0
                    },
                    matrices: length * batch,
                    height: parts as u64,
                    sharing: length,
                    tile,
                    from,
                    to,
                    factors,
                };
                RingPass::new(ring, pages)
            }
        };
        pass.price_by_kernel(&visit.program, self.entries()[1])
    }

    /// Returns the numbers of an array.
    fn numbers(&self) -> u64 {
        match self.divided {
            DividedAxis::Columns(joint) => joint.numbers(),
            DividedAxis::Rows([length, _, width], _) => (length * width) as u64,
        }
    }

    /// Returns the operations of each pass for arrays of twice `halves` numbers in all.
    pub(super) fn operations(&self, halves: u64) -> Vec<Vec<(Class, u64)>> {
        let of = |levels: u32| (Class::Butterfly, halves * u64::from(levels));
        let (all, second) = (
            self.numbers().ilog2(),
            self.second_pass_length().max(1).ilog2(),
        );
        let rows = matches!(self.divided, DividedAxis::Rows(..));
        let products = rows.then_some((Class::Madd, halves));
        let second_pass = std::iter::once(of(second)).chain(products);
        vec![vec![of(all - second)], second_pass.collect()]
    }

    /// Describes the passes in words, for a recipe.
    pub(super) fn recipe(&self) -> String {
        match self.divided {
            DividedAxis::Columns(joint) => joint.recipe(),
            DividedAxis::Rows(_, parts) => {
                let parts = match parts {
                    LAST => "eighths".to_owned(),
                    parts => format!("{parts} parts"),
                };
                format!(
                    "columns and {parts} of rows, then rows of {}",
                    self.second_pass_length()
                )
            }
        }
    }
}

/// Lists the options for pages of `lines` with `factors` bytes of factors whose buffers fit `free` bytes of
/// DMEM.
pub(super) fn visits(
    lines: LineBatch,
    (factors, free): (u64, u64),
    assembled: Result<Assembly, FftError>,
) -> Result<Vec<PassOption>, FftError> {
    let program = match assembled {
        Ok(assembly) => Arc::new(assembly.program),
        Err(FftError::Unfit(e)) if e.is_size() => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let first = data_end(&program).next_multiple_of(QUAD);
    let rings = rings(&lines, factors, first, free).into_iter();
    let visit = |ring| PassOption {
        lines: lines.clone(),
        ring,
        program: program.clone(),
    };
    Ok(rings.map(visit).collect())
}
