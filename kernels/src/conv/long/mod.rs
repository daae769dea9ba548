//! Overlap-save with blocks beyond local memory, as 64 or 512 rows.
//!
//! Every block goes over system memory three times: columns forward, rows
//! (forward, product, back), columns back, its pages dealt to the sections. While
//! the rows of one block are computed, the columns of the next and of the one before
//! take turns with them, so that arithmetic and transfers are level. A few blocks
//! can go together, a *unit*, so that factors are loaded once for all of them
//! (`docs/convolution.md`).

mod pages;
mod places;
mod shape;
mod tables;

use super::error::ConvError;
use super::filter::{COMPLEX, Filter, Passes};
use super::overlap::{Digits, digits};
use super::program::program;
use crate::job::{Job, JobError, data_end};
use crate::ring::RingPass;
use cp2_asm::Program;
use cp2_host::Buffer;
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use pages::{Addresses, Blocks, Kind, Phase};
use places::{Places, Room, places};
use shape::{PAGE, Shape};
use std::sync::Arc;

pub(super) use shape::{CUTS, Cut};
pub(super) use tables::{middle_factors, root};

/// Most taps: all rows but one may overlap.
pub(super) const MOST_TAPS: usize = (512 - 1) * (1 << 10) + 1;

/// Blocks that go through their pages together: the more, the fewer factors are moved; but the
/// first and the last are hidden behind nothing, and all should be a multiple.
const TOGETHER: [usize; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16];
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

/// What of a machine blocks beyond local memory need.
pub(super) fn needs(machine: &Machine) -> String {
    let (cp2, dma) = (&machine.cp2, &machine.dma);
    format!(
        "blocks beyond local memory take a DMA granule of 16 bytes, {DMEM} bytes of local memory and sections by which {} can be divided; these are {}, {} and {}",
        CUTS[0].numbers() / PAGE,
        dma.granule.0,
        cp2.dmem.0,
        cp2.sections,
    )
}

/// Filters with blocks of a kind; none where they cannot be
/// dealt to the sections or local memory is too small.
pub(super) fn filters(
    taps: &[Complex32],
    cut: Cut,
    machine: &Arc<Machine>,
) -> Result<Vec<Filter>, ConvError> {
    let Digits { outer, middle } = digits(cut.row);
    let defines = [
        ("R", cut.row as i64),
        ("A", outer.into()),
        ("M", middle as i64),
        ("C", cut.passes().into()),
    ];
    let shape = Shape {
        cut,
        sections: machine.cp2.sections,
        together: 1,
        skip: cut.skip(taps.len()),
    };
    let Some(pages) = shape.pages().filter(|_| machine.dma.granule.0 == 16) else {
        return Ok(Vec::new());
    };
    let program = Arc::new(program(("long.s", &title(cut)), &defines, "", machine)?);
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

/// What users know the kernel by.
pub(super) fn title(cut: Cut) -> String {
    format!("overlap-save {} by rows of {}", cut.numbers(), cut.row)
}

impl Long {
    fn filter(self) -> Filter {
        let Shape {
            cut,
            together,
            skip,
            ..
        } = self.shape;
        let n = self.shape.numbers();
        let lead = skip * cut.row;
        let turns = match together {
            1 => String::new(),
            _ => format!(", {together} blocks in turn"),
        };
        Filter {
            title: title(cut) + &turns,
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
            passes: Some(Arc::new(self)),
        }
    }

    /// The buffers of kinds that take turns.
    fn places(&self, kinds: &[Kind]) -> Option<Places> {
        let first = data_end(&self.program).next_multiple_of(16);
        places(kinds, &self.shape, first, self.machine.cp2.dmem.0)
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
        all.iter().all(|kinds| self.places(kinds).is_some())
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
                        room: Room::One,
                        taps: [0; 2],
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
                let Places { ring, room, taps } = self.places(&kinds)?;
                let phase = Phase {
                    room,
                    taps,
                    ..phase
                };
                Some((name, RingPass::new(ring, phase)))
            })
    }
}

impl Passes for Long {
    fn append(
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

    fn bytes(&self) -> u64 {
        let tables = (self.rows.len() + self.columns.len()) as u64 * COMPLEX;
        tables + 3 * (self.shape.together * self.shape.numbers()) as u64 * COMPLEX
    }

    fn estimate(&self, total: usize) -> Option<f64> {
        let passes = self.passes(self.blocks(total, Addresses::NOWHERE));
        let cycles = passes.map(|(_, pass)| pass.expect(&self.machine).cycles);
        self.enough(total).then(|| cycles.sum())
    }

    fn operations(&self, total: usize) -> Vec<Vec<(Class, u64)>> {
        let phases = Self::phases(self.blocks(total, Addresses::NOWHERE));
        phases.iter().map(|(_, phase)| phase.operations()).collect()
    }
}
