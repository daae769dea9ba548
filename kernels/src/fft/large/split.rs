//! Narrow arrays of two axes whose columns are divided between the passes: eight parts of
//! the columns with the rows, then the transforms across each part.

use super::array::EighthPages;
use super::axis::rings;
use super::lines::{ColumnPages, LAST, Lines};
use super::plan::image;
use crate::fft::error::FftError;
use crate::fft::program::{array_program, large_program};
use crate::fft::recipe::{Direction, Recipe};
use crate::job::{Job, data_end};
use crate::ring::{Expected, Ring, RingPass};
use cp2_asm::{Assembly, Program};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::sync::Arc;

/// Two passes over arrays of `length` rows of `width` numbers. With n = length/8 n1 + n2 and
/// k = k1 + 8 k2 the first transforms the rows and, across the eight of every n2, n1 to k1; the
/// second n2 to k2, for each k1 a matrix whose columns are at frequencies shifted by k1/8.
#[derive(Debug)]
pub(super) struct Split {
    length: usize,
    width: usize,
    sections: u64,
    first: Visit,
    second: Visit,
}

/// A pass over memory.
#[derive(Clone, Debug)]
struct Visit {
    lines: Lines,
    ring: Ring,
    program: Arc<Program>,
}

impl Split {
    /// The fastest way through arrays of this shape; none where the second pass cannot
    /// have all columns in a page.
    pub(super) fn new(
        (length, width): (usize, usize),
        direction: Direction,
        machine: &Machine,
    ) -> Result<Option<Self>, FftError> {
        let sections = machine.cp2.sections;
        let rows = Recipe::new(width, direction).ok();
        // Their passes begin and end in one page (array.s).
        let rows = rows.filter(|rows| rows.passes().len() == 2);
        let (Some(rows), true) = (rows, machine.dma.granule.0 == 16 && length % LAST == 0) else {
            return Ok(None);
        };
        let per = width / sections;
        let shifted =
            Lines::new(length / LAST, per).filter(|_| per % 2 == 0 && width % sections == 0);
        let Some(shifted) = shifted else {
            return Ok(None);
        };
        let assembled = large_program(Some(&shifted), None, true, direction, machine);
        let factors = shifted.column_factor_bytes();
        let second = visits(shifted, factors, assembled, machine)?;
        let mut first = Vec::new();
        let mut groups = 1;
        while (length / LAST) % (groups * sections) == 0 {
            let lines = Lines::eight(groups * width);
            let assembled = array_program(&lines, &rows, machine);
            first.extend(visits(lines, 0, assembled, machine)?);
            groups *= 2;
        }
        let all = first.iter().flat_map(|first| {
            second.iter().map(|second| Self {
                length,
                width,
                sections: sections as u64,
                first: first.clone(),
                second: second.clone(),
            })
        });
        // An array alone counts as much as one of several.
        let time = |split: &Self| {
            let cycles = |batch| split.expect(machine, batch).cycles;
            cycles(1) + cycles(4) / 4.0
        };
        Ok(all.min_by(|a, b| time(a).total_cmp(&time(b))))
    }

    /// Length of the columns of the second pass.
    pub(super) fn columns(&self) -> &Lines {
        &self.second.lines
    }

    /// Bytes of programs, tables and factors.
    pub(super) fn image(&self) -> u64 {
        let programs = [&self.first, &self.second].map(|visit| image(&visit.program) as u64);
        let factors = LAST as u64 * self.columns().column_factor_bytes();
        programs.iter().sum::<u64>() + factors
    }

    /// What the passes should take, the loads of their programs included.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> Expected {
        let rate = machine.dma.bandwidth;
        let visits = [&self.first, &self.second];
        let passes = self.passes(batch, [0; 3], 0);
        let mut all = Expected::default();
        for (visit, pass) in visits.into_iter().zip(passes) {
            let pass = pass.expect(machine);
            let image = image(&visit.program) as f64 * rate.den as f64 / rate.num.max(1) as f64;
            all.cycles += pass.cycles + image;
            all.least += pass.least + image;
        }
        all
    }

    /// Adds the passes over `batch` arrays to a job.
    pub(super) fn add(
        &self,
        job: &mut Job,
        batch: u64,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let between = job.temporary::<Complex32>(batch * (self.length * self.width) as u64)?;
        let columns = self.columns();
        let factors: Vec<Complex32> = (0..LAST)
            .flat_map(|row| columns.column_factors(row, LAST))
            .collect();
        let factors = job.input(&factors)?;
        let names = [
            (format!("eighths of {}", self.length), "arrays"),
            (format!("columns of {}", columns.len()), "columns"),
        ];
        let passes = self.passes(batch, [from, between.address(), to], factors.address());
        let visits = [&self.first, &self.second].into_iter().zip(names);
        for ((visit, (name, entry)), pass) in visits.zip(passes) {
            let program = job.program(&name, &visit.program)?;
            job.ring(&program, entry, pass)?;
        }
        Ok(())
    }

    /// The passes over `batch` arrays from one address over another to a third.
    fn passes(&self, batch: u64, [from, between, to]: [u64; 3], factors: u64) -> [RingPass; 2] {
        let first = EighthPages {
            lines: self.first.lines.clone(),
            sections: self.sections,
            batch,
            shape: [self.length as u64, self.width as u64],
            from,
            to: between,
        };
        let second = ColumnPages {
            lines: self.columns().clone(),
            sections: self.sections,
            matrices: LAST as u64 * batch,
            width: self.width as u64,
            from: between,
            to,
            tiled: Some(LAST as u64),
            factors: Some(factors),
        };
        [
            RingPass::new(self.first.ring.clone(), first),
            RingPass::new(self.second.ring.clone(), second),
        ]
    }
}

/// The ways through pages of `lines` with so many bytes of factors, where DMEM has room.
fn visits(
    lines: Lines,
    factors: u64,
    assembled: Result<Assembly, FftError>,
    machine: &Machine,
) -> Result<Vec<Visit>, FftError> {
    let program = match assembled {
        Ok(assembly) => Arc::new(assembly.program),
        Err(FftError::Unfit(e)) if e.is_size() => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let first = data_end(&program).next_multiple_of(16);
    let rings = rings(&lines, factors, first, machine.cp2.dmem.0).into_iter();
    let visit = |ring| Visit {
        lines: lines.clone(),
        ring,
        program: program.clone(),
    };
    Ok(rings.map(visit).collect())
}
