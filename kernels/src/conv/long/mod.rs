//! Overlap-save with blocks beyond local memory: N = 64 R numbers as 64 rows.
//!
//! Every block goes over system memory three times: columns forward, rows
//! (forward, product, back), columns back, its pages dealt to the sections. While
//! the rows of one block are computed, the columns of the next and of the one before
//! take turns with them, so that arithmetic and transfers are level. A few blocks
//! can go together, a *unit*, so that factors are loaded once for all of them
//! (`docs/convolution.md`).

mod pages;
mod shape;
mod tables;

use super::error::ConvError;
use super::filter::{COMPLEX, Filter};
use super::overlap::{Digits, digits};
use super::program::program;
use crate::job::{Job, JobError, data_end};
use crate::ring::{Ring, RingPass};
use cp2_asm::Program;
use cp2_host::Buffer;
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use pages::{Addresses, Blocks, Kind, PAGE_BYTES, Phase};
use shape::{ROWS, Shape};
use std::sync::Arc;

pub(super) use shape::ROW_LENGTHS;

/// Most taps: all rows but one may overlap.
pub(super) const MOST_TAPS: usize = (ROWS - 1) * (1 << 10) + 1;

/// Blocks that go through their pages together.
const TOGETHER: [usize; 3] = [1, 2, 4];
/// Page buffers of columns alone: one computes, one is stored, one loaded, one waits.
const ALONE: usize = 4;
/// Local memory that a machine should have: what pages, factors and tables take at least, in round numbers.
const DMEM: u64 = 56 << 10;

/// What the passes of blocks need.
#[derive(Debug)]
pub(super) struct Long {
    machine: Arc<Machine>,
    program: Arc<Program>,
    shape: Shape,
    /// Pages of each kind in a block.
    pages: u64,
    rows: Arc<[Complex32]>,
    columns: Arc<[Complex32]>,
}

/// Whether a block of such rows has more than what overlaps.
pub(super) fn takes(taps: usize, row: usize) -> bool {
    (taps - 1).div_ceil(row) < ROWS
}

/// What of a machine blocks beyond local memory need.
pub(super) fn needs(machine: &Machine) -> String {
    let (cp2, dma) = (&machine.cp2, &machine.dma);
    format!(
        "blocks beyond local memory take a DMA granule of 16 bytes, {DMEM} bytes of local memory and sections by which {} can be divided; these are {}, {} and {}",
        ROW_LENGTHS[0] / shape::COLUMNS,
        dma.granule.0,
        cp2.dmem.0,
        cp2.sections,
    )
}

/// Filters whose blocks have rows of `row` numbers; none where they cannot be
/// dealt to the sections or local memory is too small.
pub(super) fn filters(
    taps: &[Complex32],
    row: usize,
    machine: &Arc<Machine>,
) -> Result<Vec<Filter>, ConvError> {
    let Digits { outer, middle } = digits(row);
    let defines = [("R", row as i64), ("A", outer.into()), ("M", middle as i64)];
    let shape = Shape {
        row,
        sections: machine.cp2.sections,
        together: 1,
        skip: (taps.len() - 1).div_ceil(row),
    };
    let Some(pages) = shape.pages().filter(|_| machine.dma.granule.0 == 16) else {
        return Ok(Vec::new());
    };
    let title = format!("overlap-save by rows of {row}");
    let program = Arc::new(program(("long.s", &title), &defines, "", machine)?);
    let rows: Arc<[Complex32]> = tables::rows(taps, &shape).into();
    let columns: Arc<[Complex32]> = tables::columns(&shape).into();
    let longs = TOGETHER.map(|together| Long {
        machine: machine.clone(),
        program: program.clone(),
        shape: Shape { together, ..shape },
        pages: pages as u64,
        rows: rows.clone(),
        columns: columns.clone(),
    });
    let fit = longs.into_iter().filter(Long::fits);
    Ok(fit.map(Long::filter).collect())
}

impl Long {
    fn filter(self) -> Filter {
        let Shape {
            row,
            together,
            skip,
            ..
        } = self.shape;
        let n = self.shape.numbers();
        let lead = skip * row;
        let turns = match together {
            1 => String::new(),
            _ => format!(", {together} blocks in turn"),
        };
        Filter {
            title: format!("overlap-save {n} by rows of {row}{turns}"),
            program: self.program.clone(),
            machine: self.machine.clone(),
            lead,
            window: n,
            hop: n - lead,
            out: n - lead,
            skip: 0,
            first: 0,
            in_place: true,
            fixed: true,
            operations: Vec::new(),
            cycles_per_block: 0,
            cycles_per_page: 0,
            long: Some(Arc::new(self)),
        }
    }

    /// Page buffers for kinds that take turns, and whether rows have room for the next factors.
    fn ring(&self, kinds: &[Kind]) -> Option<(Ring, bool)> {
        let areas = [2, 1].into_iter();
        areas
            .map(|areas| (self.ring_of(kinds, areas), areas > 1))
            .find_map(|(ring, early)| Some((ring?, early)))
    }

    /// The same with so many places for the factors of rows.
    fn ring_of(&self, kinds: &[Kind], areas: usize) -> Option<Ring> {
        let together = self.shape.together;
        // Buffers of each kind: alone it needs some to wait in; rows come a turn early.
        let alone = kinds.len() == 1;
        let places = |kind: Kind| match kind {
            Kind::Rows => (2, tables::row_bytes(self.shape.row), areas),
            Kind::Columns if alone => (ALONE, 0, 1),
            Kind::Back if alone => (ALONE, tables::COLUMN_BYTES, ALONE),
            Kind::Columns => (1, 0, 1),
            Kind::Back => (1, tables::COLUMN_BYTES, 1),
        };
        let most = kinds
            .iter()
            .map(|&kind| places(kind))
            .fold(1, |most, (pages, _, areas)| {
                most.max(pages).max(areas * together)
            });
        let entries = kinds.len() * most;
        let first = data_end(&self.program).next_multiple_of(16);
        let mut end = first + Ring::argument_bytes(entries);
        let mut take = |count: usize, bytes: u64| -> Vec<u32> {
            let at: Vec<u32> = (0..count as u64)
                .map(|i| (end + i * bytes) as u32)
                .collect();
            end += count as u64 * bytes;
            at
        };
        let places: Vec<(Vec<u32>, Vec<u32>)> = kinds
            .iter()
            .map(|&kind| places(kind))
            .map(|(pages, bytes, areas)| (take(pages, PAGE_BYTES), take(areas, bytes)))
            .collect();
        let steps = || (0..most).flat_map(|step| places.iter().map(move |place| (step, place)));
        let ring = Ring {
            arguments: first as u32,
            pages: steps()
                .map(|(step, (pages, _))| pages[step % pages.len()])
                .collect(),
            factors: steps()
                .map(|(step, (_, areas))| areas[step / together % areas.len()])
                .collect(),
            behind: 0,
            ahead: if alone {
                places[0].0.len()
            } else {
                kinds.len()
            },
        };
        (end <= self.machine.cp2.dmem.0).then_some(ring)
    }

    /// Whether local memory has room for all that take turns at a time.
    fn fits(&self) -> bool {
        let [columns, rows, back] = Kind::ALL;
        let all: [&[Kind]; 6] = [
            &[columns],
            &[columns, rows],
            &[columns, rows, back],
            &[rows],
            &[rows, back],
            &[back],
        ];
        all.iter().all(|kinds| self.ring(kinds).is_some())
    }

    fn blocks(&self, total: usize, at: Addresses) -> Blocks {
        Blocks {
            shape: self.shape,
            pages: self.pages,
            total: total as u64,
            at,
        }
    }

    /// The phases of blocks: units enter one by one, as long as there are any.
    fn phases(blocks: Blocks) -> Vec<(&'static str, Phase)> {
        let units = blocks.units();
        let mut phases: Vec<(&'static str, Phase)> = Vec::new();
        for turn in 0..units + 2 {
            let kinds: Vec<(Kind, u64)> = (0..)
                .zip(Kind::ALL)
                .filter_map(|(behind, kind)| Some((kind, turn.checked_sub(behind)?)))
                .filter(|&(_, unit)| unit < units)
                .collect();
            let name = match kinds.as_slice() {
                [(Kind::Columns, _)] => "columns",
                [(Kind::Rows, _)] => "rows",
                [(Kind::Back, _)] => "back",
                [(Kind::Columns, _), _] => "columns_and_rows",
                [_, _] => "rows_and_back",
                _ => "all",
            };
            match phases.last_mut() {
                Some((last, phase)) if *last == name => phase.units += 1,
                _ => phases.push((
                    name,
                    Phase {
                        blocks,
                        kinds,
                        units: 1,
                        early_factors: false,
                    },
                )),
            }
        }
        phases
    }

    /// Whether so many blocks can be computed.
    fn enough(&self, total: usize) -> bool {
        total >= self.shape.together
    }

    fn passes(&self, blocks: Blocks) -> impl Iterator<Item = (&'static str, RingPass)> {
        Self::phases(blocks)
            .into_iter()
            .filter_map(|(name, phase)| {
                let kinds: Vec<Kind> = phase.kinds.iter().map(|k| k.0).collect();
                let (ring, early_factors) = self.ring(&kinds)?;
                let phase = Phase {
                    early_factors,
                    ..phase
                };
                Some((name, RingPass::new(ring, phase)))
            })
    }

    /// The passes of `total` blocks from `x` to `y`.
    pub(super) fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        total: usize,
    ) -> Result<(), JobError> {
        let mut at = Addresses {
            x: x.address(),
            between: [0; 3],
            rows: job.input(&self.rows)?.address(),
            columns: job.input(&self.columns)?.address(),
            y: y.address(),
        };
        let numbers = (self.shape.together * self.shape.numbers()) as u64;
        for place in &mut at.between {
            *place = job.temporary::<Complex32>(numbers)?.address();
        }
        let program = job.program("overlap-save by rows", &self.program)?;
        for (name, pass) in self.passes(self.blocks(total, at)) {
            job.ring(&program, name, pass)?;
        }
        Ok(())
    }

    /// Bytes of system memory beside samples and outputs.
    pub(super) fn bytes(&self) -> u64 {
        let tables = (self.rows.len() + self.columns.len()) as u64 * COMPLEX;
        tables + 3 * (self.shape.together * self.shape.numbers()) as u64 * COMPLEX
    }

    /// Expected cycles of `total` blocks; none where they are too few.
    pub(super) fn estimate(&self, total: usize) -> Option<f64> {
        let passes = self.passes(self.blocks(total, Addresses::NOWHERE));
        let cycles = passes.map(|(_, pass)| pass.expect(&self.machine).cycles);
        self.enough(total).then(|| cycles.sum())
    }

    /// Arithmetic of `total` blocks, phase by phase.
    pub(super) fn operations(&self, total: usize) -> Vec<Vec<(Class, u64)>> {
        let phases = Self::phases(self.blocks(total, Addresses::NOWHERE));
        phases.iter().map(|(_, phase)| phase.operations()).collect()
    }
}
