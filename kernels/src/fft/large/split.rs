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
use crate::ring::{Ring, RingPass};
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
    /// The ways to make each pass: which of them is the fastest depends on the batch.
    first: Vec<Visit>,
    second: Vec<Visit>,
}

/// A pass over memory.
#[derive(Clone, Debug)]
struct Visit {
    lines: Lines,
    ring: Ring,
    program: Arc<Program>,
}

impl Split {
    /// The ways through arrays of this shape; none where the second pass cannot
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
        let some = !first.is_empty() && !second.is_empty();
        Ok(some.then_some(Self {
            length,
            width,
            sections: sections as u64,
            first,
            second,
        }))
    }

    /// Length of the columns of the second pass.
    pub(super) fn columns(&self) -> usize {
        self.length / LAST
    }

    /// Bytes of programs, tables and factors.
    pub(super) fn image(&self) -> u64 {
        let all = self.first.iter().chain(&self.second);
        let most = all.map(|visit| image(&visit.program)).max().unwrap_or(0);
        2 * most as u64 + (self.factors().len() * size_of::<Complex32>()) as u64
    }

    /// What the passes over `batch` arrays should take, the loads of their programs included.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> Option<f64> {
        let [(_, first), (_, second)] = self.fastest(machine, batch)?;
        Some(first + second)
    }

    /// The fastest way to make each pass, and what it should take.
    fn fastest(&self, machine: &Machine, batch: u64) -> Option<[(&Visit, f64); 2]> {
        let first = |visit: &Visit| self.first_pass(visit, batch, [0; 2]);
        let second = |visit: &Visit| self.second_pass(visit, batch, [0; 2], 0);
        Some([
            fastest(&self.first, machine, first)?,
            fastest(&self.second, machine, second)?,
        ])
    }

    /// Adds the passes over `batch` arrays to a job.
    pub(super) fn add(
        &self,
        job: &mut Job,
        batch: u64,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let machine = job.machine().clone();
        let Some([(first, _), (second, _)]) = self.fastest(&machine, batch) else {
            return Ok(());
        };
        let numbers = batch.saturating_mul((self.length * self.width) as u64);
        let between = job.temporary::<Complex32>(numbers)?.address();
        let factors = job.input(&self.factors())?.address();
        let program = job.program(&format!("eighths of {}", self.length), &first.program)?;
        let pass = self.first_pass(first, batch, [from, between]);
        job.ring(&program, "arrays", pass)?;
        let program = job.program(&format!("columns of {}", self.columns()), &second.program)?;
        let pass = self.second_pass(second, batch, [between, to], factors);
        Ok(job.ring(&program, "columns", pass)?)
    }

    /// The factors of the second pass for each k1.
    fn factors(&self) -> Vec<Complex32> {
        let columns = self.second.first().map(|visit| &visit.lines);
        let of = |row| columns.map(|columns| columns.column_factors(row, LAST));
        (0..LAST).filter_map(of).flatten().collect()
    }

    fn first_pass(&self, visit: &Visit, batch: u64, [from, to]: [u64; 2]) -> RingPass {
        let pages = EighthPages {
            lines: visit.lines.clone(),
            sections: self.sections,
            batch,
            shape: [self.length as u64, self.width as u64],
            from,
            to,
        };
        RingPass::new(visit.ring.clone(), pages)
    }

    fn second_pass(
        &self,
        visit: &Visit,
        batch: u64,
        [from, to]: [u64; 2],
        factors: u64,
    ) -> RingPass {
        let pages = ColumnPages {
            lines: visit.lines.clone(),
            sections: self.sections,
            matrices: LAST as u64 * batch,
            width: self.width as u64,
            from,
            to,
            tiled: Some(LAST as u64),
            factors: Some(factors),
        };
        RingPass::new(visit.ring.clone(), pages)
    }
}

/// The fastest of these ways to make a pass, and what it should take.
fn fastest<'a>(
    visits: &'a [Visit],
    machine: &Machine,
    pass: impl Fn(&Visit) -> RingPass,
) -> Option<(&'a Visit, f64)> {
    let rate = machine.dma.bandwidth;
    let cycles = |visit: &'a Visit| {
        let image = image(&visit.program) as f64 * rate.den as f64 / rate.num.max(1) as f64;
        (visit, pass(visit).expect(machine).cycles + image)
    };
    let all = visits.iter().map(cycles);
    all.min_by(|(_, a), (_, b)| a.total_cmp(b))
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
