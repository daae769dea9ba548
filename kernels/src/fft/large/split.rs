//! The planner of arrays of two axes of which one is divided between the passes: eight parts of it
//! with the other axis, then the transforms across each part.

use super::array::EighthPages;
use super::axis::rings;
use super::lines::{LAST, Lines};
use super::pages::{ColumnPages, RowPages, rows_of};
use crate::fft::error::FftError;
use crate::fft::program::{array_program, large_program};
use crate::fft::recipe::{Direction, Recipe};
use crate::job::{Job, data_end, image, load};
use crate::ring::{Ring, RingPass};
use cp2_asm::{Assembly, Program};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Two passes over arrays. With n = N/8 n1 + n2 and k = k1 + 8 k2 along the divided axis of N numbers the
/// first makes k1 of n1 and transforms the other axis, the second makes k2 of n2, for each k1 at
/// frequencies shifted by k1/8.
#[derive(Debug)]
pub(super) struct Split {
    /// Rows, and numbers of a row.
    shape: [usize; 2],
    divided: Divided,
    sections: u64,
    /// The ways to make each pass: which of them is the fastest depends on the batch.
    first: Vec<Visit>,
    second: Vec<Visit>,
}

/// Which axis is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Divided {
    /// The columns: for each k1 the first pass leaves a matrix of rows n2.
    Columns,
    /// The rows: it leaves tiles of which rows (row, k1) have numbers n2.
    Rows,
}

/// A pass over memory.
#[derive(Clone, Debug)]
struct Visit {
    lines: Lines,
    ring: Ring,
    program: Arc<Program>,
}

/// Ways to make the two passes, and what they should take.
struct Plan<'a> {
    visits: [&'a Visit; 2],
    cycles: f64,
}

impl Split {
    /// The ways through arrays of this shape, of which one axis or the other is divided.
    pub(super) fn all(
        shape: [usize; 2],
        direction: Direction,
        machine: &Machine,
    ) -> Result<Vec<Self>, FftError> {
        if machine.dma.granule.0 != 16 {
            return Ok(Vec::new());
        }
        let of = |divided, [first, second]: [Vec<Visit>; 2]| {
            (!first.is_empty() && !second.is_empty()).then_some(Self {
                shape,
                divided,
                sections: machine.cp2.sections as u64,
                first,
                second,
            })
        };
        let columns = of(Divided::Columns, by_columns(shape, direction, machine)?);
        let rows = of(Divided::Rows, by_rows(shape, direction, machine)?);
        Ok(columns.into_iter().chain(rows).collect())
    }

    /// Length of the lines of the second pass.
    fn across(&self) -> usize {
        self.shape[self.divided as usize] / LAST
    }

    /// Bytes of programs, tables and factors.
    pub(super) fn image(&self) -> u64 {
        let all = self.first.iter().chain(&self.second);
        let most = all.map(|visit| image(&visit.program)).max().unwrap_or(0);
        2 * most + (self.factors().len() * size_of::<Complex32>()) as u64
    }

    /// What the passes over `batch` arrays should take, the loads of their programs included.
    pub(super) fn expect(&self, machine: &Machine, batch: u64) -> Option<f64> {
        Some(self.fastest(machine, batch)?.cycles)
    }

    /// The fastest way to make the passes.
    fn fastest(&self, machine: &Machine, batch: u64) -> Option<Plan<'_>> {
        let price = |visit: &Visit, pass: RingPass| {
            pass.expect(machine).cycles + load(image(&visit.program), machine)
        };
        // The fastest after the first pass last looked at, on whose tiles it depends.
        let mut after: Option<(u64, &Visit, f64)> = None;
        let mut best: Option<Plan<'_>> = None;
        for first in &self.first {
            let tile = self.tile(first);
            if after.is_none_or(|(of, ..)| of != tile) {
                let seconds = self.second.iter();
                let priced = seconds.map(|visit| {
                    let pass = self.second_pass(visit, tile, batch, [0; 3]);
                    (tile, visit, price(visit, pass))
                });
                after = priced.min_by(|(.., a), (.., b)| a.total_cmp(b));
            }
            let (_, second, rest) = after?;
            let cycles = rest + price(first, self.first_pass(first, batch, [0; 2]));
            if best.as_ref().is_none_or(|best| cycles < best.cycles) {
                let visits = [first, second];
                best = Some(Plan { visits, cycles });
            }
        }
        best
    }

    /// Columns of a tile that the first pass leaves to rows.
    fn tile(&self, first: &Visit) -> u64 {
        match self.divided {
            Divided::Columns => 0,
            Divided::Rows => first.lines.per_section() as u64 * self.sections,
        }
    }

    /// Adds the passes over `batch` arrays to a job.
    pub(super) fn add(
        &self,
        job: &mut Job,
        batch: u64,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let machine = job.machine().clone();
        let Some(Plan { visits, .. }) = self.fastest(&machine, batch) else {
            return Ok(());
        };
        let [length, width] = self.shape;
        let numbers = batch.saturating_mul((length * width) as u64);
        let between = job.temporary::<Complex32>(numbers)?.address();
        let factors = job.input(&self.factors())?.address();
        let (names, entries) = match self.divided {
            Divided::Columns => (
                [
                    format!("eighths of {length}"),
                    format!("columns of {}", self.across()),
                ],
                ["arrays", "columns"],
            ),
            Divided::Rows => (
                [
                    format!("{length} x {LAST}"),
                    format!("rows of {}", self.across()),
                ],
                ["columns", "rows"],
            ),
        };
        let passes = [
            self.first_pass(visits[0], batch, [from, between]),
            self.second_pass(
                visits[1],
                self.tile(visits[0]),
                batch,
                [between, to, factors],
            ),
        ];
        for (((pass, visit), name), entry) in passes.into_iter().zip(visits).zip(names).zip(entries)
        {
            let program = job.program(&name, &visit.program)?;
            job.ring(&program, entry, pass)?;
        }
        Ok(())
    }

    /// The factors of the second pass: of each k1, or of the rows of each section.
    fn factors(&self) -> Vec<Complex32> {
        let Some(Visit { lines, .. }) = self.second.first() else {
            return Vec::new();
        };
        let sections = self.sections as usize;
        match self.divided {
            Divided::Columns => (0..LAST)
                .flat_map(|k1| lines.column_factors(k1, LAST))
                .collect(),
            Divided::Rows => (0..sections)
                .map(|section| rows_of(0, section, sections, lines.per_section()))
                .flat_map(|rows| lines.factors(&rows, self.shape[1]))
                .collect(),
        }
    }

    fn first_pass(&self, visit: &Visit, batch: u64, [from, to]: [u64; 2]) -> RingPass {
        let [length, width] = self.shape.map(|n| n as u64);
        let (lines, sections) = (visit.lines.clone(), self.sections);
        let ring = visit.ring.clone();
        match self.divided {
            Divided::Columns => {
                let pages = EighthPages {
                    lines,
                    sections,
                    batch,
                    shape: [length, width],
                    from,
                    to,
                };
                RingPass::new(ring, pages)
            }
            Divided::Rows => {
                let pages = ColumnPages {
                    lines,
                    sections,
                    matrices: batch,
                    width: width / LAST as u64,
                    from,
                    to,
                    tiled: Some(1),
                    factors: None,
                };
                RingPass::new(ring, pages)
            }
        }
    }

    /// The second pass, over tiles of so many columns.
    fn second_pass(
        &self,
        visit: &Visit,
        tile: u64,
        batch: u64,
        [from, to, factors]: [u64; 3],
    ) -> RingPass {
        let [length, width] = self.shape.map(|n| n as u64);
        let (lines, sections) = (visit.lines.clone(), self.sections);
        let ring = visit.ring.clone();
        match self.divided {
            Divided::Columns => {
                let pages = ColumnPages {
                    lines,
                    sections,
                    matrices: LAST as u64 * batch,
                    width,
                    from,
                    to,
                    tiled: Some(LAST as u64),
                    factors: Some(factors),
                };
                RingPass::new(ring, pages)
            }
            Divided::Rows => {
                let pages = RowPages {
                    lines,
                    sections,
                    matrices: length * batch,
                    height: LAST as u64,
                    sharing: length,
                    tile,
                    from,
                    to,
                    factors,
                };
                RingPass::new(ring, pages)
            }
        }
    }

    /// What each pass computes for arrays of twice `halves` numbers in all.
    pub(super) fn operations(&self, halves: u64) -> Vec<Vec<(Class, u64)>> {
        let of = |levels: u32| (Class::Butterfly, halves * u64::from(levels));
        let (all, second) = (
            self.shape[0].ilog2() + self.shape[1].ilog2(),
            self.across().ilog2(),
        );
        let products = (self.divided == Divided::Rows).then_some((Class::Madd, halves));
        let second_pass = std::iter::once(of(second)).chain(products);
        vec![vec![of(all - second)], second_pass.collect()]
    }

    /// What the passes are, for a recipe.
    pub(super) fn recipe(&self) -> String {
        let across = self.across();
        match self.divided {
            Divided::Columns => format!("rows and eighths of columns, then columns of {across}"),
            Divided::Rows => format!("columns and eighths of rows, then rows of {across}"),
        }
    }
}

/// The ways through arrays whose columns are divided; none where the second pass cannot
/// have all columns in a page.
fn by_columns(
    [length, width]: [usize; 2],
    direction: Direction,
    machine: &Machine,
) -> Result<[Vec<Visit>; 2], FftError> {
    let sections = machine.cp2.sections;
    let rows = Recipe::new(width, direction).ok();
    // Their passes begin and end in one page (array.s).
    let rows = rows.filter(|rows| rows.passes().len() == 2 && length % LAST == 0);
    let per = width / sections;
    let shifted = Lines::new(length / LAST, per).filter(|_| per % 2 == 0 && width % sections == 0);
    let (Some(rows), Some(shifted)) = (rows, shifted) else {
        return Ok([Vec::new(), Vec::new()]);
    };
    let assembled = large_program(Some(&shifted), None, true, direction, machine);
    let factors = shifted.column_factor_bytes();
    let second = visits(shifted, factors, assembled, machine)?;
    let mut first = Vec::new();
    let mut groups = 1;
    while (length / LAST) % (groups * sections) == 0 {
        let lines = Lines::eight(groups * width);
        let assembled = array_program(&lines, &rows, 1, machine);
        first.extend(visits(lines, 0, assembled, machine)?);
        groups *= 2;
    }
    Ok([first, second])
}

/// The ways through arrays whose rows are divided; none where the eight parts of a row do not come
/// to the sections in couples.
fn by_rows(
    [length, width]: [usize; 2],
    direction: Direction,
    machine: &Machine,
) -> Result<[Vec<Visit>; 2], FftError> {
    let sections = machine.cp2.sections;
    let (per, numbers) = (LAST / sections, width / LAST);
    let rows = Lines::new(numbers, per).filter(|_| per % 2 == 0 && LAST % sections == 0);
    let Some(rows) = rows.filter(|_| width % LAST == 0) else {
        return Ok([Vec::new(), Vec::new()]);
    };
    let mut first = Vec::new();
    // Runs of 128 bytes, or of 256.
    for per in [16 / sections, 32 / sections] {
        let tiles = per % 2 == 0 && numbers % (per * sections) == 0;
        let Some(lines) = Lines::by_eight(length, per).filter(|_| tiles) else {
            continue;
        };
        if 3 * lines.page_bytes() <= machine.cp2.dmem.0 {
            let assembled = large_program(Some(&lines), None, false, direction, machine);
            first.extend(visits(lines, 0, assembled, machine)?);
        }
    }
    if first.is_empty() {
        return Ok([Vec::new(), Vec::new()]);
    }
    let assembled = large_program(None, Some(&rows), false, direction, machine);
    let factors = rows.factor_bytes();
    Ok([first, visits(rows, factors, assembled, machine)?])
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
